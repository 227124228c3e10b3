"""Renderings of caches: rows and a table for people, JSON for scripts.

Names of files and folders were chosen by others: they are escaped before they are printed.
"""

import os.path
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from contexthall.core.paths import shown
from contexthall.faces.cli.output import age, counted, first_few, shortened

if TYPE_CHECKING:
    from contexthall.caches.library import CacheReport
    from contexthall.core.catalog import JsonObject

_WIDEST_NAME = 40
_WIDEST_TEXT = 120
_STATES = ("fresh", "stale", "unknown")


def count_states(reports: "Mapping[str, CacheReport]") -> str:
    """Return how many caches there are of each state."""
    states = [report.freshness.state for report in reports.values()]
    return f"{counted(len(states), 'cache')}: {', '.join(f'{states.count(state)} {state}' for state in _STATES)}"


def status_rows(reports: "Mapping[str, CacheReport]", here: str) -> list[str]:
    """Return a line for each cache: its state, its name, and what is to be said of both."""
    width = _width(reports)
    return [
        f"{report.freshness.state:<8} {shortened(name, _WIDEST_NAME):<{width}}  {_about(report, here)}".rstrip()
        for name, report in reports.items()
    ]


def caches_table(reports: "Mapping[str, CacheReport]", here: str, now: datetime) -> str:
    width = max(len("NAME"), _width(reports))
    lines = (
        f"{shortened(name, _WIDEST_NAME):<{width}}  {report.documents:>9,}  {age(report.created_at, now):>6}  "
        f"{report.freshness.state:<7}  {_about(report, here)}".rstrip()
        for name, report in reports.items()
    )
    return "\n".join([f"{'NAME':<{width}}  DOCUMENTS  {'AGE':>6}  {'STATE':<7}  SOURCES", *lines])


def reports_json(reports: "Mapping[str, CacheReport]") -> "JsonObject":
    return {"caches": [_report_json(name, report) for name, report in reports.items()]}


def what_changed(report: "CacheReport") -> str:
    """Return how many sources changed, and the first few of them by kind; empty if none did."""
    if not report.freshness.changed:
        return ""
    names = [f"{kind} {first_few(files)}" for kind, files in report.changed.items() if files]
    return f"{report.freshness.changed:,} changed: {'; '.join(names)}"


def _about(report: "CacheReport", here: str) -> str:
    """Return where a cache came from, what changed there, or why that is not known."""
    places = ", ".join(f"{name}={_near(path, here)}" if name else _near(path, here) for name, path in report.sources)
    changed = what_changed(report)
    about = f"{places} ({changed})" if changed else report.reason or places
    return shortened(about, _WIDEST_TEXT)


def _near(path: str, here: str) -> str:
    """Return a path as it is typed from `here`, where that is shorter."""
    near = os.path.relpath(path, here)
    return path if near.startswith("..") else near


def _width(reports: "Mapping[str, CacheReport]") -> int:
    return max((len(shortened(name, _WIDEST_NAME)) for name in reports), default=0)


def _report_json(name: str, report: "CacheReport") -> "JsonObject":
    return {
        "name": name,
        "version": report.version,
        "documents": report.documents,
        "created_at": report.created_at,
        "sources": [{"name": name, "path": shown(path)} for name, path in report.sources],
        "state": report.freshness.state,
        "changed": {kind: [shown(file) for file in files] for kind, files in report.changed.items()},
        "reason": shown(report.reason),
    }
