"""Which limits does the hall have? Writes the table in `security.md` from `core/limits.py`, group by group."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from docs.parts import table

from contexthall.core import limits

PAGE = Path(__file__).parent / "security.md"
PART = "limits"
SIZES = {"GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10}


class Limit(NamedTuple):
    """A limit as the module declares it; `reason` is empty if none follows."""

    name: str
    value: float
    reason: str
    line: int


def declared(source: str) -> Iterator[Limit]:
    """Yield each `Final` of the module, with the string that follows it."""
    body = ast.parse(source).body
    for statement, after in zip(body, [*body[1:], None], strict=True):
        match statement, after:
            case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(reason))):
                yield Limit(name, getattr(limits, name), reason, statement.lineno)
            case ast.AnnAssign(target=ast.Name(name)), _:
                yield Limit(name, getattr(limits, name), "", statement.lineno)


def written() -> dict[str, str]:
    """Write a heading and a table for each group, which a comment begins."""
    source = inspect.getsource(limits)
    comments = {number: line[2:] for number, line in enumerate(source.splitlines(), 1) if line.startswith("# ")}
    groups: dict[str, list[list[str]]] = {heading: [] for heading in comments.values()}
    for limit in declared(source):
        heading = comments[max(number for number in comments if number < limit.line)]
        groups[heading].append([f"`{limit.name}`", shown(limit.name, limit.value), limit.reason])
    tables = [f"### {heading}\n\n{table(['limit', 'value', 'reason'], rows)}" for heading, rows in groups.items()]
    return {PART: "\n\n".join(tables)}


def shown(name: str, value: float) -> str:
    """Spell a value for people; the end of its name tells the unit."""
    if name.endswith("_SECONDS"):
        return f"{value:,g} s"
    if name.endswith("_BYTES"):
        unit, size = next((each for each in SIZES.items() if not value % each[1]), ("bytes", 1))
        return f"{int(value) // size:,} {unit}"
    return f"{value:,}"
