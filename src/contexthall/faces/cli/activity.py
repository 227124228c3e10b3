"""`context activity`: what did agents call, and what came of it?"""

import time
from collections.abc import Iterable, Iterator

import click
from msgspec.structs import asdict

from contexthall.core import limits
from contexthall.core.activity import Activity, ToolSummary, summaries
from contexthall.core.wire import compact
from contexthall.faces.cli.options import JSON, HallChoice, roots_options
from contexthall.faces.cli.output import counted, on_one_line, print_data, print_json, say
from contexthall.hall import Hall

_ALL = 1_000_000


@click.command
@click.option(
    "-n", "--lines", default=50, show_default=True, type=click.IntRange(min=0), help="How many calls to show."
)
@click.option("--follow", is_flag=True, help="Go on, and show calls as they are made.")
@click.option("--tools", "by_tool", is_flag=True, help="Show what the calls of each tool add up to.")
@JSON
@roots_options
def activity(lines: int, follow: bool, by_tool: bool, as_json: bool, hall: HallChoice) -> None:
    """Show what agents called, and what came of it.

    Of every hall of this user that serves or served: when, who, which tool, how long it took, how many bytes were
    answered, and the outcome. The newest call is the last. With --json one object a line.
    """
    opened = hall.open()
    if by_tool:
        for summary in summaries(opened.activity(_ALL)[0]):
            if as_json:
                print_json(compact(summary._asdict()))
            else:
                print_data(_summary_line(summary))
        return
    calls, unread = opened.activity(lines)
    if unread:
        say(f"{counted(unread, 'line')} of the journal could not be read")
    if not calls and not follow:
        say("no call is on record")
    _print(calls, as_json=as_json)
    for news in _followed(opened) if follow else ():
        _print(news, as_json=as_json)


def _followed(hall: Hall) -> Iterator[list[Activity]]:
    """Yield the calls that are made from now on."""
    seen = set(hall.activity(_ALL)[0])
    while True:
        time.sleep(limits.JOURNAL_FOLLOW_SECONDS)
        now = hall.activity(_ALL)[0]
        yield [each for each in now if each not in seen]
        seen = set(now)


def _print(calls: Iterable[Activity], *, as_json: bool) -> None:
    for each in calls:
        if as_json:
            print_json(compact(asdict(each)))
        else:
            print_data(_line(each))


def _line(call: Activity) -> str:
    about = " ".join(filter(None, (call.cache, call.scope, call.arguments)))
    facts = f"{call.time} {call.outcome:<9} {call.ms:>9.1f} ms {call.bytes:>8} B"
    return on_one_line(f"{facts}  {call.client or '-'}  {call.tool or '?'}" + (f"  {about}" if about else ""))


def _summary_line(summary: ToolSummary) -> str:
    times = f"median {summary.median_ms:.1f} ms, longest {summary.longest_ms:.1f} ms"
    counts = f"{counted(summary.calls, 'call'):>12}  {counted(summary.errors, 'error'):>10}"
    return on_one_line(f"{counts}  {times}  {summary.tool or '?'}")
