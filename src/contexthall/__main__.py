"""The process: arguments in, exit code out."""

import sys

from contexthall import __version__


def main() -> None:
    """Run `context` with the arguments of the process."""
    if sys.argv[1:] == ["--version"]:
        # Scripts ask this all the time, and importing click alone would cost three bare interpreters.
        print(f"context {__version__}")
        return
    try:
        from contexthall.faces.cli.table import run
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
