"""The outline of a Python module: its docstring, its exports and its imports."""

import pytest

from contexthall.contexts.draft.languages.language import SourceOutline
from contexthall.contexts.draft.languages.python import PYTHON

MODULE = b'''\
"""Runs jobs.

More about it.
"""
from __future__ import annotations

import os
import a.b as c
from . import sibling
from ..x.y import (
    Z,
)

LIMIT = 3
"""How many jobs run at once."""
TIMEOUT: float = 1.5
Handler = Callable[[int], str]
T = TypeVar("T")
_hidden = 1
logger = make()

if sys.version_info >= (3, 12):
    from typing import override
else:
    def fallback(x): ...

try:
    import fast
except ImportError:
    fast = None

@overload
def run(job: int) -> int: ...
@decorated(by="x")
async def run(
    job: int | str,  # what to run
    *args: object,
    mode: str = "a  b",
    **options: dict[str, int],
) -> dict[str, int]:
    """Run a job.

    :param job: it
    """

class Job(Base, metaclass=Meta):
    def method(self): ...

type Pair[K] = tuple[K, K]

if __name__ == "__main__":
    def main(): ...
'''


def source(text: str) -> SourceOutline:
    return PYTHON.read(text.encode())


def signatures(text: str) -> list[str]:
    return [export.signature for export in source(text).exports]


def test_a_module_says_all_of_this() -> None:
    found = PYTHON.read(MODULE)
    assert found.doc == "Runs jobs."
    assert found.imports == ("__future__", "os", "a.b", ".sibling", "..x.y", "typing", "fast")
    assert [(export.signature, export.doc) for export in found.exports] == [
        ("LIMIT", "How many jobs run at once."),
        ("TIMEOUT: float", ""),
        ("Handler = Callable[[int], str]", ""),
        ("def fallback(x)", ""),
        (
            (
                'async def run(job: int | str, *args: object, mode: str = "a  b", **options: dict[str, int])'
                " -> dict[str, int]"
            ),
            "Run a job.",
        ),
        ("class Job(Base, metaclass=Meta)", ""),
        ("type Pair[K] = tuple[K, K]", ""),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("__all__ = ['b', 'c']\ndef a(): ...\ndef b(): ...\nfrom .x import c, d\n", ["def b()", "c"]),
        ("__all__ = ['lazy']\n", ["lazy"]),
        ("__all__ = ('a',)\n__all__ += ['b']\na = 1\nb: int = 2\n", ["a", "b: int"]),
        ("__all__ = other.__all__\ndef a(): ...\n", ["def a()"]),
        ("from .core import Command as Command, Other as Another\n", ["Command"]),
    ],
)
def test_what_a_module_lists_is_what_it_offers(text: str, expected: list[str]) -> None:
    assert signatures(text) == expected


@pytest.mark.parametrize(
    ("parameter", "shown"),
    [
        ("password='hunter2'", "password=…"),
        ('api_key: str = "x"', "api_key: str = …"),
        ("token=''", "token=''"),
        ("token=None", "token=None"),
        ("author='me'", "author='me'"),
        ("authorization='me'", "authorization=…"),
        ("keyword='me'", "keyword='me'"),
        ("x='sk-abcdef123456'", "x=…"),
        ("x='AKIAIOSFODNN7EXAMPLE'", "x=…"),
        ("x='wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'", "x=…"),
        ("x='da39a3ee5e6b4b0d3255bfef95601890afd80709'", "x=…"),
        ("x='postgres://me:pw@host/db'", "x=…"),
        ("x='application/x-www-form-urlencoded'", "x='application/x-www-form-urlencoded'"),
        ("x={'password': 'hunter2'}", "x={'password': …}"),
        ("x='''a\nb'''", "x=…"),
        ("x=(1,)", "x=(1,)"),
        ("x={'a': 1, **b}, *, y: 'A[:]' = z[:1]", "x={'a': 1, **b}, *, y: 'A[:]' = z[:1]"),
    ],
)
def test_defaults_are_shown_unless_they_look_like_secrets(parameter: str, shown: str) -> None:
    assert signatures(f"def f({parameter}): ...") == [f"def f({shown})"]


def test_values_of_constants_are_never_shown() -> None:
    assert signatures("KEY = 'abc'\nPATH = os.environ['X']\nA: Final = 'b'\nB, C = 'x', 'y'\nD = E = 'z'\n") == [
        *("KEY", "PATH", "A: Final", "B", "C", "D", "E"),
    ]


def test_a_signature_nobody_would_read_loses_its_parameters() -> None:
    parameters = ", ".join(f"parameter_{number}: int" for number in range(50))
    assert signatures(f"def f({parameters}) -> int: ...") == ["def f(…) -> int"]
    assert signatures(f"class A({parameters.replace(': int', '')}): ...") == ["class A"]


@pytest.mark.parametrize(
    ("docstring", "prose"),
    [
        ('"""One\n  line."""', "One line."),
        ('r"""One \\d."""', r"One \d."),
        ('"""One \\\ntwo."""', "One two."),
        ('"""package.module\n~~~~~~~~~~~~~~\n\nDoes things."""', "Does things."),
        ('"""Title\n====="""', "Title"),
        ('"""Uses :class:`~a.b.C` and :func:`d`."""', "Uses `C` and `d`."),
        ('"""Does it.\n:param x: y"""', "Does it."),
        ('"""\x1b[31mRed\u202e."""', "[31mRed."),
        ('f"""{x}"""', ""),
        ("x = 1", ""),
    ],
)
def test_a_docstring_becomes_prose(docstring: str, prose: str) -> None:
    assert source(docstring).doc == prose


@pytest.mark.parametrize(
    "broken", ["def broken(:\n    pass\n", "x = (1,\n", "class A(:\n    def method(self): ...\n", 'y = "\n', "}\n"]
)
def test_a_syntax_error_costs_its_own_lines(broken: str) -> None:
    found = source(f"import a\ndef first(x: int): ...\n\n{broken}\ndef last(y): ...\nLIMIT = 1\nimport b\n")
    assert [export.signature for export in found.exports] == ["def first(x: int)", "def last(y)", "LIMIT"]
    assert found.imports == ("a", "b")
