import subprocess
import sys

import pytest

from contexthall.core.paths import absolute, native, shown


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("caches", "/here/caches"),
        ("./caches/", "/here/caches"),
        ("a//b/../c", "/here/a/c"),
        ("/abs/./x/", "/abs/x"),
        ("//abs", "/abs"),
        ("/", "/"),
        ("..", "/"),
    ],
)
def test_paths_become_absolute_and_normal(path: str, expected: str) -> None:
    assert absolute(path, "/here") == expected


def test_bytes_that_are_not_utf8_are_shown_as_replacement_characters() -> None:
    assert shown("é \udcff") == "é \ufffd"


def test_text_from_the_wire_names_the_same_file_in_every_locale() -> None:
    assert native("é") == "é"
    assert native("\ud800") == "\ud800"
    script = "import os; from contexthall.core.paths import native, shown; e = native('\\xe9')\n"
    script += "print(os.fsencode(e), ascii(shown(e)))"
    environment = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    answer = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, check=True, text=True)
    assert answer.stdout == "b'\\xc3\\xa9' '\\xe9'\n"
