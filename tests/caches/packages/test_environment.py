"""Which packages are found: by what a project asks for, in which environment, and what is said if there are none."""

import shutil
from pathlib import Path

import pytest
from tests.caches.packages.installing import environment, install, write

from contexthall.caches.packages.environment import Environment, environment_stamp, find_packages, find_python
from contexthall.core import limits
from contexthall.core.errors import UsageError
from contexthall.system.disk import Disk

DISK = Disk()


def found(project: Path, *, everything: bool = False) -> Environment:
    place = find_python(DISK, str(project), None, {})
    return find_packages(DISK, str(project), place, everything=everything)


def keys(project: Path, *, everything: bool = False) -> list[str]:
    return [package.key for package in found(project, everything=everything).packages]


def installed(project: Path, *names: str) -> Path:
    site = environment(project)
    for name in names:
        install(site, name, "1.0", {f"{name}.py": f"def {name}(): ..."})
    return site


def test_what_the_project_asks_for_is_taken_and_the_rest_on_request(tmp_path: Path) -> None:
    installed(tmp_path, "alpha", "beta_two", "gamma", "delta", "other")
    manifests = {
        "pyproject.toml": '[project]\ndependencies = ["Alpha[x]; python_version>\'3\'", "gone", "old;extra == \'x\'"]\n'
        '[tool.poetry.dependencies]\npython = "^3"\nbeta-two = "*"',
        "requirements-dev.txt": "# words\n-r other.txt\n--hash=x\ngamma==1.0 \\\n  --hash=y\n",
        "requirements.txt": "delta @ file:///wheels/delta.whl\nhttps://example.org/nothing.whl\n",
    }
    write(tmp_path, manifests)
    assert keys(tmp_path) == ["alpha@1.0", "beta-two@1.0", "delta@1.0", "gamma@1.0"]
    assert found(tmp_path).warnings == ("not installed: gone",)
    assert keys(tmp_path, everything=True) == ["alpha@1.0", "beta-two@1.0", "delta@1.0", "gamma@1.0", "other@1.0"]


def test_an_environment_is_known_by_its_folder_its_interpreter_or_its_packages(tmp_path: Path) -> None:
    site = installed(tmp_path, "alpha")
    interpreter = tmp_path / ".venv" / "bin" / "python"
    interpreter.parent.mkdir()
    interpreter.symlink_to("/bin/sh")
    (tmp_path / ".venv" / "lib64").symlink_to("lib")
    for place in (tmp_path / ".venv", interpreter, site, "relative/../.venv"):
        python = find_python(DISK, str(tmp_path), str(place), {})
        packages = find_packages(DISK, str(tmp_path), python, everything=True).packages
        assert [package.key for package in packages] == ["alpha@1.0"]
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert find_python(DISK, str(elsewhere), None, {"VIRTUAL_ENV": str(tmp_path / ".venv")}) == str(tmp_path / ".venv")


@pytest.mark.parametrize("place", ["nowhere", "file", "folder"])
def test_what_is_no_environment_is_named(tmp_path: Path, place: str) -> None:
    write(tmp_path, {"file": "", "folder/lib/python3.11/x": ""})
    with pytest.raises(UsageError, match=f"not a Python environment: {place}") as error:
        find_python(DISK, str(tmp_path), place, {})
    assert "--python takes a virtual environment" in str(error.value.hint)


def test_no_environment_and_no_dependencies_say_what_to_type(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as nothing:
        found(tmp_path)
    assert "--python PATH" in str(nothing.value.hint)
    installed(tmp_path, "alpha")
    with pytest.raises(UsageError) as no_manifest:
        found(tmp_path)
    assert "--all-packages takes all that is installed (1 of Python)" in str(no_manifest.value.hint)
    write(tmp_path, {"requirements.txt": "beta"})
    with pytest.raises(UsageError, match="none of the project's dependencies is installed"):
        found(tmp_path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("pyproject.toml", b"\xff = ["),
        ("pyproject.toml", b"[project]\ndependencies = 7"),
        ("pyproject.toml", b"a." * 5000 + b"b = 1"),
        ("package.json", b"[[" * 5000),
        ("package.json", b'{"dependencies": ["x"]}'),
        ("requirements.txt", b"\x00\xff\n;;;\n@\n==\n"),
    ],
)
def test_a_manifest_that_is_none_names_nothing(tmp_path: Path, name: str, content: bytes) -> None:
    installed(tmp_path, "alpha")
    write(tmp_path, {name: content})
    assert keys(tmp_path, everything=True) == ["alpha@1.0"]
    with pytest.raises(UsageError, match="no dependencies"):
        found(tmp_path)


def test_folders_that_are_no_packages_are_passed_over(tmp_path: Path) -> None:
    site = installed(tmp_path, "alpha")
    for name in ("~lpha-1.0.dist-info", "nameless.dist-info", "b-1;2.dist-info", "-.dist-info"):
        (site / name).mkdir()
    assert keys(tmp_path, everything=True) == ["alpha@1.0"]
    assert found(tmp_path, everything=True).warnings == (
        "neither a name nor a version: -.dist-info, b-1;2.dist-info, nameless.dist-info",
    )


def test_of_very_many_packages_some_are_counted_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PACKAGES", 2)
    monkeypatch.setattr(limits, "PACKAGES_NAMED", 1)
    installed(tmp_path, "a", "b", "c", "d")
    assert keys(tmp_path, everything=True) == ["a@1.0", "b@1.0"]
    assert found(tmp_path, everything=True).warnings == ("too many packages, left out: c@1.0 and 1 more",)


def test_the_stamp_of_an_environment_changes_with_its_packages_alone(tmp_path: Path) -> None:
    site = installed(tmp_path, "alpha")

    def stamp() -> str:
        return environment_stamp(DISK, found(tmp_path, everything=True).packages)

    first = stamp()
    (site / "unrecorded.py").touch()
    assert stamp() == first
    install(site, "beta", "1.0", {})
    second = stamp()
    assert second != first
    shutil.rmtree(site / "beta-1.0.dist-info")
    assert stamp() == first
    with (site / "alpha-1.0.dist-info" / "RECORD").open("a") as record:
        record.write("more.py,sha256=y,2\n")
    assert stamp() not in {first, second}
