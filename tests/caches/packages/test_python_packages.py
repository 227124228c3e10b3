"""Pages of installed Python packages: what they show, where, and what a package that lies can do."""

import os
from pathlib import Path

import pytest
from tests.caches.packages.installing import environment, install, pages_of, write

from contexthall.core import limits

SOURCE = '''
"""Routers.

Heading
=======
"""
from typing import Annotated, overload
from typing_extensions import Doc

TIMEOUT: float = 30.0
"""Seconds."""
API_KEY = "sk-live-9f8a7b6c5d4e3f2a1b0c"
_hidden = 1

class Router(Base, metaclass=Meta):
    """Groups routes."""

    prefix: str = ""

    def __init__(self, prefix: Annotated[str, Doc("Comes first.")] = "", *, tags: list[str] | None = None) -> None:
        """Make one."""

    @property
    def routes(self) -> "list[Route]":
        """All of them."""

    @routes.setter
    def routes(self, value): ...

    def _private(self): ...

    def add(
        self,
        path: str,  # where
        endpoint: Callable[..., Any],
        *methods: str,
        name: str = "a, (b",
        include_in_schema: bool = True,
    ) -> None:
        """Add a route.

        # Not a heading
        """

    class Options:
        strict: bool

@overload
def get(key: str) -> str: ...
@overload
def get(key: int) -> int: ...
def get(key):
    """Get it."""

async def run(*, forever: bool = False): "Run."

def _helper(): ...
'''


def test_a_page_has_a_heading_signature_and_docstring_for_all_that_is_public(tmp_path: Path) -> None:
    site = environment(tmp_path)
    install(site, "web_kit", "1.2.3", {"webkit/sub/routing.py": SOURCE, "webkit/__init__.py": ""}, readme="# Web kit")
    pages, warnings = pages_of(tmp_path)
    assert not warnings
    assert pages["web-kit@1.2.3/README.md"] == "# Web kit\n"
    page = pages["web-kit@1.2.3/api/webkit/sub/routing.md"]
    assert [line for line in page.split("\n") if line.startswith("#")] == [
        "# webkit.sub.routing",
        "## Router",
        "### Router.routes",
        "### Router.add",
        "### Router.Options",
        "## get",
        "## run",
    ]
    assert "web-kit 1.2.3, Python module `webkit.sub.routing`." in page
    assert "TIMEOUT: float = 30.0\nAPI_KEY = …\n" in page
    assert "- `TIMEOUT`: Seconds." in page
    assert "**Heading**" in page
    assert "**Not a heading**" in page
    assert (
        "class Router(Base, metaclass=Meta):\n"
        '    prefix: str = ""\n'
        '    def __init__(self, prefix: str = "", *, tags: list[str] | None = None) -> None\n'
        "```\n\nGroups routes.\n\nMake one.\n\n- `prefix`: Comes first.\n"
    ) in page
    assert '@property\ndef routes(self) -> "list[Route]"' in page
    assert (
        "def add(\n    self,\n    path: str,\n    endpoint: Callable[..., Any],\n    *methods: str,\n"
        '    name: str = "a, (b",\n    include_in_schema: bool = True,\n) -> None\n'
    ) in page
    assert "def get(key: str) -> str\ndef get(key: int) -> int\n```\n\nGet it." in page
    assert "async def run(*, forever: bool = False)" in page


def test_what_a_private_module_defines_is_shown_where_it_is_exported(tmp_path: Path) -> None:
    files = {
        "box/__init__.py": "from ._impl import *\nfrom .tools import saw\nimport os\n__all__ = ['Box', '_lid', 'saw']",
        "box/_impl.py": "from box._deep import Box, _lid\n__all__ = ['Box', '_lid']\ndef unused(): ...",
        "box/_deep.py": "class Box:\n  'A box.'\n  def open(self, wide: bool = False): ...\ndef _lid(): 'Its lid.'",
        "box/_never.py": "def never(): ...",
        "box/tools.py": "def saw(depth: int) -> None: '''Cut.'''",
    }
    install(environment(tmp_path), "box", "2", files)
    pages, _ = pages_of(tmp_path)
    assert sorted(pages) == ["box@2/api/box.md", "box@2/api/box/tools.md"]
    box = pages["box@2/api/box.md"]
    assert "## Box\n\n```python\nclass Box:\n```\n\nA box.\n\n### Box.open" in box
    assert "## _lid" in box
    assert "Also here: `saw` (box.tools.saw)." in box
    assert "Also `box.saw`." in pages["box@2/api/box/tools.md"]


def test_a_stub_gives_the_signature_and_the_source_the_docstring(tmp_path: Path) -> None:
    files = {
        "fast/__init__.pyi": "class C:\n  def m(self, x: int) -> str: ...\ndef only(a: bytes) -> int: ...",
        "fast/__init__.py": "class C:\n  'A class.'\n  def m(self, x): 'A method.'\nadd_newdoc('', 'only', 'In C.')",
    }
    install(environment(tmp_path), "fast", "1", files)
    page = pages_of(tmp_path)[0]["fast@1/api/fast.md"]
    assert "def m(self, x: int) -> str\n```\n\nA method." in page
    assert "A class." in page
    assert "def only(a: bytes) -> int\n```\n\nIn C." in page


def test_stubs_of_another_package_are_known_by_its_name(tmp_path: Path) -> None:
    install(
        environment(tmp_path), "types_requests", "2", {"requests-stubs/api.pyi": "def get(url: str) -> Response: ..."}
    )
    assert "# requests.api\n" in pages_of(tmp_path)[0]["types-requests@2/api/requests/api.md"]


def test_syntax_errors_cost_their_own_lines(tmp_path: Path) -> None:
    source = "def before(): ...\n\ndef broken(:\n  x = (\n\nclass After:\n  def m(self, x): ...\n"
    install(environment(tmp_path), "torn", "1", {"torn.py": source})
    page = pages_of(tmp_path)[0]["torn@1/api/torn.md"]
    assert "## before" in page
    assert "def m(self, x)" in page


def test_documents_that_a_package_ships_are_taken_and_tests_are_not(tmp_path: Path) -> None:
    files = {
        "p/docs/guide.md": "# Guide",
        "p/data.txt": "no",
        "p/tests/test_p.py": "def test_p(): ...",
        "p/_vendor/q.py": "def q(): ...",
        "p/.hidden/docs/x.md": "no",
        "p/test_y.py": "def y(): ...",
        "p/Docs/GUIDE.md": "# Other",
    }
    install(environment(tmp_path), "p", "1", files)
    assert sorted(pages_of(tmp_path)[0]) == ["p@1/p/Docs/GUIDE.md", "p@1/p/docs/guide~2.md"]


def test_metadata_that_speaks_of_another_package_is_named(tmp_path: Path) -> None:
    site = environment(tmp_path)
    install(site, "a", "1", {"a.py": "def a(): ..."}, metadata=b"Name: \xff\x00b\nVersion: 2\n\nLies.")
    pages, warnings = pages_of(tmp_path)
    assert list(pages) == ["a@1/api/a.md"]
    assert warnings == ["a@1: METADATA speaks of '\ufffd\\x00b' '2'"]


def test_a_record_leads_nowhere_else(tmp_path: Path) -> None:
    site = environment(tmp_path)
    secret = tmp_path / "secret.py"
    secret.write_text("def secret(): ...")
    install(site, "a", "1", {"a.py": "def a(): ..."})
    (site / "docs").symlink_to(tmp_path)
    (site / "b.py").symlink_to(secret)
    os.mkfifo(site / "c.py")
    paths = (secret, "../../../../secret.py", "docs/secret.py", "b.py", "c.py", '"\x00.py"', "gone.py", "a.py", '"open')
    record = "".join(f"{path},,\n" for path in paths)
    (site / "a-1.dist-info" / "RECORD").write_text(record)
    pages, warnings = pages_of(tmp_path)
    assert list(pages) == ["a@1/api/a.md"]
    assert warnings == ["a@1: unreadable, or too large: b.py, c.py, docs/secret.py, gone.py"]


def test_large_files_are_named_and_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PACKAGE_SOURCE_BYTES", 100)
    monkeypatch.setattr(limits, "PACKAGE_TOTAL_BYTES", 150)
    monkeypatch.setattr(limits, "PACKAGE_METADATA_BYTES", 300)
    site = environment(tmp_path)
    files = {
        "a/__init__.py": "def a(): ...",
        "a/b.py": "x = 1 #" + "b" * 100,
        "a/c.py": "c = 1  #" + "c" * 80,
        "a/d.py": "d=1#" + "d" * 80,
    }
    install(site, "a", "1", files, metadata=b"Name: a\nVersion: 1\n\n" + b"x" * 300)
    pages, warnings = pages_of(tmp_path)
    assert sorted(pages) == ["a@1/api/a.md", "a@1/api/a/c.md"]
    assert warnings == [
        "a@1: METADATA is missing, no file, or too large",
        "a@1: unreadable, or too large: a/b.py, a/d.py",
    ]


@pytest.mark.parametrize(
    "source",
    [
        b"\xff\xfe\x00",
        b"(" * 50_000,
        b"class A:\n" + b"".join(b" " * n + b"class B:\n" for n in range(1, 300)),
        b"from . import *\nfrom .a import *\n__all__ = __all__ + a.__all__",
        b"def f(" + b"x," * 5000 + b"): ...",
        b"# coding: rot13\ndef f(): ...",
        b"__all__ = " + b" + ".join([b"['a']"] * 20_000),
        b'"""# a' + b" " * 60_000 + b'b"""',
        b"def f(x=[\n" + b"# " * 400_000 + b"']): ...",
        b"@" + b"a." * 100_000 + b"b\ndef f(): ...",
        "# coding: latin-1\ndef f(): '''caf\xe9'''".encode("latin-1"),
        b'"""' + b"\\ud800 \\N{BELL} \\x00" + b'"""\n',
        b"def \xc3\xa9t\xc3\xa9(): ...\n",
    ],
)
def test_no_source_is_fatal(tmp_path: Path, source: bytes) -> None:
    install(environment(tmp_path), "a", "1", {"a/__init__.py": source, "a/a.py": source})
    for page in pages_of(tmp_path)[0].values():
        assert page.encode()
        assert "\0" not in page


def test_modules_that_import_each_other_without_end_are_not_followed_for_ever(tmp_path: Path) -> None:
    files = {f"a/m{n}.py": f"from .m{n + 1} import *\ndef f{n}(): ..." for n in range(1500)}
    install(environment(tmp_path), "a", "1", {"a/__init__.py": "from .m0 import *", **files})
    pages, _ = pages_of(tmp_path)
    assert "`f3` (a.m3.f3)" in pages["a@1/api/a.md"]


def test_documents_are_taken_up_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PACKAGE_TOTAL_BYTES", 10)
    install(environment(tmp_path), "a", "1", {"a/docs/b.md": "12345678", "a/docs/c.md": "123", "a/docs/d.md": "12"})
    pages, warnings = pages_of(tmp_path)
    assert sorted(pages) == ["a@1/a/docs/b.md", "a@1/a/docs/d.md"]
    assert warnings == ["a@1: unreadable, or too large: a/docs/c.md"]


def test_pages_do_not_depend_on_the_order_of_a_listing(tmp_path: Path) -> None:
    one, other = environment(tmp_path / "one"), environment(tmp_path / "other")
    files = {f"m{n}.py": f"def f{n}(): ..." for n in range(9)}
    for site, order in ((one, list(files)), (other, list(reversed(files)))):
        for name in ("a", "b"):
            install(site, name, "1", {f"{name}/{file}": files[file] for file in order})
    write(one, {"unrecorded.py": "x = 1"})
    assert list(pages_of(tmp_path / "one")[0].items()) == list(pages_of(tmp_path / "other")[0].items())
