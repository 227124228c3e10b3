"""The process: arguments in, exit code out."""

import os
import sys
from contextlib import suppress

from contexthall import __version__

EXIT_DISK = 6
EXIT_INTERRUPTED = 130
_YOUNG_OBJECTS = 50_000  # so many before garbage is looked for: a short command makes little


def main() -> None:
    """Run `context` with the arguments of the process, and end the process."""
    is_told = "utf8" in sys._xoptions  # noqa: SLF001 - nothing else says what was typed
    if sys.getfilesystemencoding() != "utf-8" and sys.executable and not is_told:
        _start_again_in_utf8()
    try:
        _leave(_run(sys.argv[1:]))
    except KeyboardInterrupt:
        _leave(EXIT_INTERRUPTED)


def _start_again_in_utf8() -> None:
    """Become a Python that reads names and arguments as UTF-8: a locale must not decide what they say."""
    command = [sys.executable, "-X", "utf8", *sys.orig_argv[1:]]
    with suppress(OSError):
        os.execve(sys.executable, command, {**os.environ, "PYTHONUTF8": "1"})  # noqa: S606 - ourselves


def _run(arguments: list[str]) -> int:
    if arguments == ["--version"]:
        # Scripts ask this all the time, and importing click alone would cost three bare interpreters.
        return _print_version()
    if arguments[:1] == ["hook"] and not {"-h", "--help"} & set(arguments):
        # An agent waits for this at every tool call.
        from contexthall.faces.hooks.entry import run as run_hook

        return run_hook(arguments[1:], os.environ)
    if arguments[:1] == ["serve"]:
        # A server told to stop while it still loads stops as quietly as one that serves. And while it loads there is
        # no garbage worth looking for: that would cost it a tenth of a second.
        import gc
        import signal

        gc.disable()

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: _leave(0))
    else:
        import gc

        gc.set_threshold(_YOUNG_OBJECTS)
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
    if not sys.flags.safe_path:
        # `python -m` looks for modules in the working directory first, which may be anybody's project.
        del sys.path[0]
    main()
