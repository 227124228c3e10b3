"""What is said of a build besides its result: what was passed over, converted from elsewhere, or left out."""

from collections.abc import Iterator, Mapping

from contexthall.core import limits
from contexthall.core.paths import shown
from contexthall.faces.cli.output import counted

_ALL, _EXTRA = "; --all takes them", ": pip install 'contexthall[formats]'"
_ADVICE = {
    **dict.fromkeys(("hidden folder", "generated folder", "ignored by git"), _ALL),
    **dict.fromkeys((".pdf", ".docx", ".pptx", ".epub", ".eml", ".msg"), _EXTRA),
}


def what_was_odd(
    passed_over: Mapping[str, int], encodings: Mapping[str, str], failures: Mapping[str, str]
) -> Iterator[str]:
    """Yield a line for each kind of file that was passed over, and for each file that was not as it should be."""
    yield from _passed_over(passed_over)
    if encodings:
        named = _some([f"{name} ({encoding})" for name, encoding in encodings.items()])
        yield f"converted to UTF-8: {named}"
    first = list(failures.items())[: limits.BUILD_LINES]
    for name, reason in first:
        yield f"warning: {shown(name)} is left out: {reason}"
    if more := len(failures) - len(first):
        yield f"warning: {counted(more, 'more file')} left out; --strict stops at the first"


def _passed_over(kinds: Mapping[str, int]) -> Iterator[str]:
    often = sorted(kinds.items(), key=lambda kind: (-kind[1], kind[0]))
    for kind, count in often[: limits.BUILD_LINES]:
        number = counted(count, kind) if kind.endswith("folder") else f"{count:,} {kind}"
        yield f"{number} passed over{_ADVICE.get(kind, '')}"
    if rest := often[limits.BUILD_LINES :]:
        yield f"{sum(count for _, count in rest):,} of {len(rest):,} other kinds passed over"


def _some(items: list[str]) -> str:
    shown = items[: limits.BUILD_LINES]
    return ", ".join(shown) + (f" and {len(items) - len(shown):,} more" if len(items) > len(shown) else "")
