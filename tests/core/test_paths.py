import pytest

from contexthall.core.paths import absolute, shown


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("caches", "/work/caches"),
        ("./caches/", "/work/caches"),
        ("a//b/../c", "/work/a/c"),
        ("/abs/./x/", "/abs/x"),
        ("//abs", "/abs"),
        ("/", "/"),
        ("..", "/"),
    ],
)
def test_paths_become_absolute_and_normal(path: str, expected: str) -> None:
    assert absolute(path, "/work") == expected


def test_bytes_that_are_not_utf8_are_shown_as_replacement_characters() -> None:
    assert shown("é \udcff") == "é \ufffd"
