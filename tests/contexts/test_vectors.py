"""The room against the golden vectors, which were written without knowing it."""

import base64
import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from contexthall.contexts.files.config import Config
from contexthall.contexts.files.context_file import read_context
from contexthall.contexts.files.schema import select_fields
from contexthall.contexts.files.yaml_text import finite
from contexthall.contexts.freshness.fingerprint import stat_fingerprint
from contexthall.contexts.freshness.ledger import Ledger
from contexthall.contexts.freshness.verdict import read_contents
from contexthall.contexts.project import Project
from contexthall.contexts.scan.directories import count, scan_one, walk
from contexthall.core.errors import ContextCorruptError, ContextVersionError, ScopeError
from contexthall.core.wire import compact
from contexthall.system.disk import Disk, Seen

VECTORS = Path(__file__).parents[2] / "vectors" / "contexts"


def load(name: str) -> Any:
    return json.loads((VECTORS / name).read_text("utf-8"))


def cases(name: str, section: str | None = None) -> list[Any]:
    found = load(name)[section] if section else load(name)
    return [pytest.param(case, id=case["name"]) for case in found]


def data_of(case: dict[str, Any]) -> bytes:
    if "base64" in case:
        return base64.b64decode(case["base64"])
    parts = case.get("parts", [case.get("text", "")])
    return "".join(part if isinstance(part, str) else part["repeat"] * part["times"] for part in parts).encode()


@pytest.mark.parametrize("case", cases("reading.json", "reading"))
def test_a_context_reads_as_it_should(case: dict[str, Any]) -> None:
    data = data_of(case)
    if case["outcome"] == "corrupt":
        with pytest.raises(ContextCorruptError):
            read_context(data)
    elif case["outcome"] == "unsupported":
        with pytest.raises(ContextVersionError) as error:
            read_context(data)
        assert error.value.detail == case.get("version", error.value.detail)
    else:
        served = finite(read_context(data))
        assert json.dumps(served, sort_keys=True) == json.dumps(case["values"], sort_keys=True)


@pytest.mark.parametrize("case", cases("reading.json", "serving"))
def test_a_context_is_served_in_order(case: dict[str, Any]) -> None:
    values = read_context(case["text"].encode())
    assert compact(finite(select_fields(values, case.get("filter", [])))) == case["output"]


@pytest.mark.parametrize("case", cases("fingerprints.json", "content"))
def test_contents_have_this_fingerprint(case: dict[str, Any], tmp_path: Path) -> None:
    for name, content in case["files"].items():
        data = content.encode() if isinstance(content, str) else base64.b64decode(content["base64"])
        (tmp_path / name).write_bytes(data)
    directory = scan_one(Disk(), str(tmp_path), ".")
    assert read_contents(Disk(), directory).fingerprint == case["fingerprint"]


@pytest.mark.parametrize("case", cases("fingerprints.json", "stat"))
def test_sizes_and_times_have_this_fingerprint(case: dict[str, Any]) -> None:
    files = [
        Seen(name, "file", found["size"], (1, found["seconds"] * 10**9 + found["nanoseconds"], 0))
        for name, found in case["files"].items()
        if name != ".context.yaml"
    ]
    assert stat_fingerprint(files) == case["fingerprint"]


@pytest.mark.parametrize("case", cases("fingerprints.json", "times"))
def test_a_time_is_rounded_as_in_doubles(case: dict[str, Any]) -> None:
    file = Seen("x", "file", 1, (1, case["seconds"] * 10**9 + case["nanoseconds"], 0))
    expected = sha256(f"x:{case['mtime_ms']}:1".encode()).hexdigest()[:8]
    assert stat_fingerprint([file]) == expected


@pytest.mark.parametrize("case", cases("scopes.json"))
def test_a_scope_leads_to_this_directory(case: dict[str, Any]) -> None:
    project = Project(Disk(), case["root"], Ledger(Disk(), "", lambda: 0))
    if case["directory"] is None:
        with pytest.raises(ScopeError):
            project.locate(case["scope"])
    else:
        assert project.locate(case["scope"]) == case["directory"]


def plant(tree: dict[str, Any], root: Path) -> None:
    """Make the files of `tree` below `root`, holes in the place of content."""
    root.mkdir(exist_ok=True)
    for name, what in tree.items():
        if isinstance(what, dict):
            plant(what, root / name)
        elif what == "symlink":
            (root / name).symlink_to(".")
        else:
            with (root / name).open("wb") as file:
                file.truncate(what)


@pytest.mark.parametrize("case", cases("counting.json"))
def test_these_directories_count(case: dict[str, Any], tmp_path: Path) -> None:
    plant(case["tree"], tmp_path / "project")
    config = Config(**case["config"])
    census = count([*walk(Disk(), str(tmp_path / "project"), config)], config)
    assert sorted(directory.scope for directory in census.kept) == case["kept"]
    assert census.skipped == case["skipped"]
