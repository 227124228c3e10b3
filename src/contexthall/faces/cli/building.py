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
    reasons = left_out(failures)
    for reason in list(reasons)[: limits.BUILD_LINES]:
        names = reasons.pop(reason)
        if len(names) == 1:
            yield f"warning: {names[0]} is left out: {reason}"
        else:
            yield f"warning: left out because {reason}: {_some(names)}"
    if more := sum(map(len, reasons.values())):
        yield f"warning: {counted(more, 'more file')} left out; --strict stops at the first"


def left_out(failures: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the files that became no page by the reason why, in the order in which the reasons come."""
    reasons: dict[str, list[str]] = {}
    for name, reason in failures.items():
        reasons.setdefault(reason, []).append(shown(name))
    return reasons


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
