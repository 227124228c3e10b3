import subprocess
import sys

import pytest

import contexthall


def test_the_public_names_are_these() -> None:
    assert contexthall.__all__ == ["Hall", "HallError", "Settings", "__version__", "open_hall"]


def test_every_public_name_is_there() -> None:
    for name in contexthall.__all__:
        assert getattr(contexthall, name) is not None


def test_any_other_name_is_not() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        _ = contexthall.nope


def test_importing_the_package_loads_nothing_else() -> None:
    script = "import sys; import contexthall; print(*(name for name in sys.modules if name.startswith('contexthall')))"
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    assert answer.stdout.split() == ["contexthall"]
