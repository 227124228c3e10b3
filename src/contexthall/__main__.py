"""The process: arguments in, exit code out."""

import os
import sys
from contextlib import suppress

from contexthall import __version__

EXIT_DISK = 6
EXIT_INTERRUPTED = 130


def main() -> None:
    """Run `context` with the arguments of the process, and end the process."""
    try:
        _leave(_run(sys.argv[1:]))
    except KeyboardInterrupt:
        _leave(EXIT_INTERRUPTED)


def _run(arguments: list[str]) -> int:
    if arguments == ["--version"]:
        # Scripts ask this all the time, and importing click alone would cost three bare interpreters.
        return _print_version()
    if arguments[:1] == ["serve"]:
        # A server told to stop while it still loads stops as quietly as one that serves. And while it loads there is
        # no garbage worth looking for: that would cost it a tenth of a second.
        import gc
        import signal

        gc.disable()

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: _leave(0))
    from contexthall.faces.cli.table import run

    return run(arguments)


def _print_version() -> int:
    try:
        os.write(1, f"context {__version__}\n".encode())
    except BrokenPipeError:
        return 0
    except OSError:
        return EXIT_DISK
    return 0


def _leave(code: int) -> None:
    """End the process at once, with what was printed; whatever cannot be printed any more has been dealt with."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, RuntimeError, ValueError):
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
