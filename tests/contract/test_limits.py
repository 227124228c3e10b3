"""Every limit stands in one table with its reason, and `docs/security.md` prints that table."""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from docs.limits import PAGE, declared, shown, written
from docs.parts import with_parts

from contexthall.core import limits

PACKAGE = Path(__file__).parents[2] / "src" / "contexthall"
LIMIT = re.compile(r"_?(MOST|LONGEST|LARGEST)_|.*_SECONDS$")
FORMAT = {
    "caches/embedding/minilm.py _MOST_PIECES": "the model",
    "caches/embedding/minilm.py _LONGEST_WORD": "the model",
    "caches/index/postings.py _LONGEST_INLINE": "the layout of the index",
    "caches/index/segment_builder.py _LONGEST_INLINE": "the layout of a segment",
    "caches/model/format.py _LARGEST_COUNT": "a signed number of 64 bits, by the contract",
    "caches/model/sections.py MOST_BYTES": "section 8 of the contract",
    "caches/query/bm25f.py MOST_DECAYS": "section 8 of the contract",
    "caches/query/frozen.py _MOST_DIGITS": "as many as tell one 32-bit float from the next",
    "caches/query/section_ranking.py MOST_ORDERED": "section 8 of the contract",
    "caches/query/section_ranking.py MOST_PAIRED": "section 8 of the contract",
    "caches/query/section_reply.py _MOST_SKIPPED": "section 8 of the contract",
    "caches/query/section_reply.py _MOST_CHANGED": "section 8 of the contract",
    "contexts/brief/brief.py _MOST_SKIPPED": "section 8 of the contract",
    "contexts/files/context_file.py _LARGEST_WITHOUT_EXPONENT": "beyond which JavaScript writes an exponent",
    "contexts/files/yaml_text.py _LARGEST_EXACT": "up to which a double holds every integer",
    "contexts/files/yaml_text.py _MOST_BITS": "beyond which a double is infinite",
    "core/tokens.py LARGEST_BUDGET": "a signed number of 64 bits, by the contract",
    "core/wire.py _MOST_STRINGS": "the grammar of JSON",
    "faces/web/address.py _LARGEST_PORT": "TCP",
    "faces/web/api.py _LARGEST_OFFSET": "up to which the page's numbers are exact",
}


def constants(module: ast.Module) -> Iterator[str]:
    assigned = [each for each in module.body if isinstance(each, ast.Assign | ast.AnnAssign)]
    return (
        node.id
        for each in assigned
        for node in ast.walk(each)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )


def test_the_security_model_prints_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # tests give a busy machine more time
    page = PAGE.read_text(encoding="utf-8")
    assert with_parts(page, written()) == page, "type `make docs`, and look at what changed"


def test_every_limit_has_a_reason() -> None:
    found = list(declared(inspect.getsource(limits)))
    assert {limit.name for limit in found} == {name for name in vars(limits) if name.isupper()}
    assert [limit.name for limit in found if not limit.reason.endswith(".")] == []


def test_no_other_module_has_a_limit_of_its_own() -> None:
    others = [path for path in sorted(PACKAGE.rglob("*.py")) if path != PACKAGE / "core" / "limits.py"]
    found = [
        f"{path.relative_to(PACKAGE)} {name}"
        for path in others
        for name in constants(ast.parse(path.read_text()))
        if LIMIT.match(name)
    ]
    assert found == list(FORMAT)


def test_every_limit_is_used() -> None:
    text = "".join(path.read_text() for path in PACKAGE.rglob("*.py"))
    assert [limit.name for limit in declared(inspect.getsource(limits)) if f"limits.{limit.name}" not in text] == []


def test_the_limits_import_nothing_but_typing() -> None:
    body = ast.parse(inspect.getsource(limits)).body
    imports = [ast.unparse(each) for each in body if isinstance(each, ast.Import | ast.ImportFrom)]
    assert imports == ["from typing import Final"]


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("LINE_BYTES", 16 << 20, "16 MiB"),
        ("LINE_BYTES", 1 << 30, "1 GiB"),
        ("LINE_BYTES", 4096, "4 KiB"),
        ("LINE_BYTES", 200, "200 bytes"),
        ("WAIT_SECONDS", 0.25, "0.25 s"),
        ("WAIT_SECONDS", 1800.0, "1,800 s"),
        ("VALUES", 100_000, "100,000"),
    ],
)
def test_a_value_is_shown_for_people(name: str, value: float, text: str) -> None:
    assert shown(name, value) == text
