"""A neighbour whose name begins like ours is outside: `/x/caches-evil` beside `/x/caches`, wherever that is judged."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.caches.making import build_cache, compile_folder, library_of, write_sources
from tests.clients.making import of, reach_in, register_in
from tests.contexts.making import make_project, write_context, write_files
from tests.faces.web.serving import HttpHall, RawSession
from tests.faults.traversal import SECRET, Ground, plant_secret
from tests.processes import RawServer

from contexthall.caches.library import CacheRef
from contexthall.core.errors import CacheMissingError, ScopeError, SettingsError, UsageError
from contexthall.hall import open_hall
from contexthall.system.disk import Disk

MISSING = '{"error":{"code":"cache_missing","message":"Cache does not exist"}}'


class Street(Ground):
    """A project and a shelf that callers may read, and beside each of them and the cache root an evil neighbour."""

    @property
    def shelf(self) -> Path:
        return self.home / "shelf"


def evil(path: Path) -> Path:
    return path.with_name(f"{path.name}-evil")


@pytest.fixture
def street(tmp_path: Path) -> Street:
    street = Street(tmp_path)
    street.caches.mkdir(parents=True)
    build_cache(street.caches, {"keys.md": "rotate keys"}, name="handbook")
    make_project(street.hall, {"a.md": "all", "src/a.py": "a = 1\n", "src-evil/b.py": "b = 1\n"})
    street.shelf.mkdir()
    build_cache(street.shelf, {"keys.md": "rotate keys"}, name="handbook")
    for place in (street.caches, street.hall, street.shelf):
        plant_secret(evil(place))
        plant_secret(evil(place) / "vault")
    (street.caches / "beside").symlink_to("../caches-evil")
    (street.hall / "beside").symlink_to("../hall-evil")
    return street


def cache_calls(street: Street) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every question that leads to a neighbour's caches."""
    neighbours = [evil(place) for place in (street.caches, street.hall, street.shelf)]
    roots = [*map(str, neighbours), str(street.caches / ".." / "caches-evil"), str(street.caches / "beside")]
    caches = [*roots, *(f"{root}/vault" for root in roots), "beside", "beside/vault", "../caches-evil"]
    for cache in caches:
        yield "context.resolve", {"cache": cache, "query": "rotate keys", "budget": 4000}
        yield "context.inspect_cache", {"cache": cache}
    for root in roots:
        yield "context.list_caches", {"root": root}


def context_calls(street: Street) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every question that leads to a neighbour's contexts."""
    scopes = [
        "../hall-evil",
        "../hall-evil/core",
        str(evil(street.hall)),
        "beside",
        "beside/core",
        "src/../../hall-evil",
    ]
    for scope in scopes:
        yield "query_context", {"scope": scope}
        yield "check_freshness", {"scope": scope}
    for path in (
        str(evil(street.hall)),
        str(evil(street.shelf)),
        "../hall-evil",
        "beside",
        str(street.hall / "beside"),
    ):
        yield "list_contexts", {"path": path}
        yield "query_context", {"path": path, "scope": "."}
        yield "check_freshness", {"path": path, "scope": "core"}


def nothing_is_told(street: Street, ask: Callable[[str, dict[str, Any]], dict[str, Any]]) -> None:
    for name, arguments in cache_calls(street):
        result = ask(name, arguments)
        assert result["isError"] is True, (name, arguments, result)
        assert result["content"][0]["text"].rstrip("\n") == MISSING, (name, arguments)
    for name, arguments in context_calls(street):
        result = ask(name, arguments)
        assert result["isError"] is True, (name, arguments, result)
        assert SECRET not in json.dumps(result), (name, arguments)


def the_rest_is_told(street: Street, ask: Callable[[str, dict[str, Any]], dict[str, Any]]) -> None:
    """Without this, a hall that refuses everything would do."""
    for cache in ("handbook", str(street.caches / "handbook"), str(street.shelf / "handbook")):
        assert not ask("context.inspect_cache", {"cache": cache})["isError"]
    assert not ask("context.list_caches", {"root": str(street.shelf)})["isError"]
    assert not ask("query_context", {"scope": "src"})["isError"]
    assert not ask("query_context", {"scope": ".", "path": str(street.hall)})["isError"]


def test_a_confined_agent_over_pipes_learns_nothing_of_a_neighbour(street: Street) -> None:
    with RawServer("--confine", "--allow-root", str(street.shelf), cwd=street.hall) as server:
        server.initialize()

        def ask(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
            answer = server.request(name, "tools/call", {"name": name, "arguments": arguments})
            return {"isError": False, **answer["result"]}

        nothing_is_told(street, ask)
        the_rest_is_told(street, ask)


def test_an_agent_over_http_learns_nothing_of_a_neighbour(street: Street) -> None:
    with HttpHall("--allow-root", str(street.shelf), cwd=street.hall) as hall:
        session = RawSession(hall)
        session.initialize()

        def ask(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
            return {"isError": False, **session.request("tools/call", {"name": name, "arguments": arguments})}

        nothing_is_told(street, ask)
        the_rest_is_told(street, ask)


def test_the_page_shows_nothing_of_a_neighbour(street: Street) -> None:
    with HttpHall(cwd=street.hall) as hall:
        for cache in ("beside", "beside/vault", str(evil(street.caches)), str(street.caches / "beside")):
            for path, more in (
                ("/api/caches/ranking", {"query": "rotate", "budget": 99}),
                ("/api/caches/document", {"id": "secret.md"}),
                ("/api/caches/why", {"id": "secret.md", "query": "rotate", "budget": 99}),
            ):
                assert hall.fails(path, cache=cache, **more)[:2] == (404, "cache_missing")
        for scope in ("../hall-evil", "beside", "beside/core", str(evil(street.hall))):
            assert hall.get("/api/contexts/show", scope=scope)["found"] is False
        assert hall.get("/api/caches/document", cache="handbook", id="keys.md")


def test_callers_may_not_read_a_neighbour_of_any_root(street: Street) -> None:
    hall = open_hall(street.hall, confine=True, allow_root=street.shelf)
    for caller in (hall.caller, hall.confined_caller):
        for root, home in ((street.caches, street.caches), (street.hall, street.hall), (street.shelf, street.caches)):
            assert caller.may_read(str(root), str(home))
            assert caller.may_read(str(root / "below"), str(home))
            assert not caller.may_read(str(evil(root)), str(home))
            assert not caller.may_read(str(evil(root) / "vault"), str(home))


@pytest.mark.parametrize("confine", [True, False])
def test_the_name_of_a_cache_does_not_lead_to_a_neighbour(street: Street, confine: bool) -> None:
    library = open_hall(street.hall, confine=confine).caches
    for name in ("beside", "beside/vault"):
        with pytest.raises(CacheMissingError):
            library.inspect(library.locate(name))
    assert library.inspect(library.locate("handbook")).valid


def test_a_scope_does_not_lead_to_a_neighbour(street: Street) -> None:
    project = open_hall(street.hall).project
    for scope in ("../hall-evil", str(evil(street.hall)), "beside", "beside/core"):
        with pytest.raises(ScopeError):
            project.locate(scope)
    with pytest.raises(ScopeError):
        project.look("beside")
    with pytest.raises(ScopeError):
        project.read("beside")
    assert project.locate("src-evil") == "src-evil"


def test_a_project_cannot_put_its_cache_root_beside_itself(street: Street) -> None:
    for cache_root in ("../hall-evil", str(evil(street.hall)), "../hall-evil/vault"):
        (street.hall / "contexthall.toml").write_text(f"cache_root = {json.dumps(cache_root)}\n")
        with pytest.raises(SettingsError, match="may not leave the project"):
            open_hall(street.hall)


def test_a_symlink_cannot_put_the_cache_root_of_a_confined_hall_beside_its_project(street: Street) -> None:
    (street.hall / "contexthall.toml").write_text('cache_root = "shown"\n')
    (street.hall / "shown").mkdir()
    hall = open_hall(street.hall, confine=True)
    (street.hall / "shown").rmdir()
    (street.hall / "shown").symlink_to("../hall-evil")
    with pytest.raises(SettingsError, match="leads out of the project"):
        open_hall(street.hall, confine=True)
    assert not hall.caller.may_read(str(evil(street.hall) / "vault"), hall.caches.root)
    with pytest.raises(CacheMissingError):
        hall.caches.inspect(hall.caches.locate("vault", may_read=hall.caller.may_read))


def test_the_file_of_a_client_is_not_followed_to_a_neighbour_of_the_project(tmp_path: Path) -> None:
    register = register_in(tmp_path)
    file = Path(register.place(of("cursor")))
    file.parent.mkdir(parents=True)
    (tmp_path / "shop-evil").mkdir()
    (tmp_path / "shop-evil" / "mcp.json").write_text("{}")
    file.symlink_to(tmp_path / "shop-evil" / "mcp.json")
    with pytest.raises(UsageError, match="leads out of the project"):
        register.connect(of("cursor"), reach_in(tmp_path))
    assert (tmp_path / "shop-evil" / "mcp.json").read_text() == "{}"


def test_sources_and_cache_may_be_neighbours(tmp_path: Path) -> None:
    docs = write_sources(tmp_path / "docs", {"a.md": "one"})
    compile_folder(docs, tmp_path / "docs-cache")
    compile_folder(write_sources(tmp_path / "docs-cache-sources", {"a.md": "one"}), tmp_path / "docs-cach")
    assert library_of(tmp_path).inspect(CacheRef(str(tmp_path / "docs-cache"))).valid
    with pytest.raises(UsageError, match="--sources and --cache overlap"):
        compile_folder(docs, docs / "cache")


def test_a_context_that_names_a_file_of_a_neighbour_is_found_out(tmp_path: Path) -> None:
    hall = tmp_path / "hall"
    write_files(hall, {"src/a.py": "a = 1\n", "src-evil/b.py": "b = 1\n"})
    write_files(tmp_path / "hall-evil", {"c.py": "c = 1\n"})
    beside = "structure:\n  - path: ../hall-evil/c.py\n    summary: x\n"
    write_context(hall / "src", "src", more="files:\n  - name: ../src-evil/b.py\n    purpose: x\n")
    write_context(hall, ".", more=beside)
    told = [(each.scope, each.field, each.message) for each in open_hall(hall).validate_contexts(strict=True).findings]
    assert (".", "structure", "../hall-evil/c.py is not there") in told
    assert ("src", "files", "../src-evil/b.py is not there") in told


def test_a_listing_under_a_directory_has_none_of_its_neighbours(street: Street) -> None:
    hall = open_hall(street.hall)
    entries = hall.contexts.at(str(street.hall)).list_contexts().to_json()["entries"]
    assert {"src", "src-evil"} <= {entry["scope"] for entry in entries}
    with RawServer(cwd=street.hall) as server:
        server.initialize()
        call = {"name": "list_contexts", "arguments": {"under": "src"}}
        told = json.loads(server.request(1, "tools/call", call)["result"]["content"][0]["text"])
    assert [entry["scope"] for entry in told["entries"]] == ["src"]


def test_a_file_whose_name_begins_like_a_documents_belongs_to_no_document(tmp_path: Path) -> None:
    cache = build_cache(tmp_path, {"a.md": "one"})
    document = next((cache / "documents").iterdir())
    (cache / "documents" / document.stem[:6]).write_text("x")
    assert library_of(tmp_path).verify(CacheRef(str(cache))) == (
        f"no document has the file documents/{document.stem[:6]}",
    )


def test_containment_is_by_names_and_not_by_characters(tmp_path: Path) -> None:
    disk = Disk()
    for root, neighbour in (("root", "root-evil"), ("root", "roots"), ("root", "root.evil"), ("root ", "root  x")):
        assert not disk.is_within(str(tmp_path / neighbour), str(tmp_path / root))
        assert not disk.is_within(str(tmp_path / neighbour / "below"), f"{tmp_path / root}/")
        assert not disk.is_within(str(tmp_path / root), str(tmp_path / neighbour))
        assert disk.is_within(str(tmp_path / root / "below"), f"{tmp_path / root}/")
