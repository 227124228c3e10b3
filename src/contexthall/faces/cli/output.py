"""What reaches the person or the script? Data on standard output, words on standard error."""

import click

from contexthall.core.errors import HallError


def print_data(text: str) -> None:
    """Print data as it is, in UTF-8 whatever the locale, with a newline at the end."""
    click.echo(text.encode("utf-8", "backslashreplace"), nl=not text.endswith("\n"))


def print_error(error: HallError) -> None:
    """Say what went wrong and what to type next."""
    click.echo(f"error[{error.code}]: {harmless(str(error))}", err=True)
    if error.hint:
        click.echo(f"\nhint: {harmless(error.hint)}", err=True)


def harmless(text: str) -> str:
    """Escape what a terminal would obey rather than show."""
    return "".join(each if each.isprintable() or each == "\n" else ascii(each)[1:-1] for each in text)
