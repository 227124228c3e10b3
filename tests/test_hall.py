import asyncio
from pathlib import Path

import pytest

from contexthall import open_hall
from contexthall.core.errors import CacheMissingError, DiskError, SettingsError, UsageError


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one cache, as the working directory."""
    (tmp_path / ".context" / "caches" / "handbook").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_hall_of_the_working_directory_opens_without_arguments(project: Path) -> None:
    hall = open_hall()
    assert hall.settings.project_root == str(project)
    assert [cache.path for cache in hall.caches.list_caches()] == ["handbook"]


def test_a_room_is_opened_once(project: Path) -> None:
    hall = open_hall(str(project))
    assert hall.caches is hall.caches
    assert hall.catalog is hall.catalog


def test_the_projects_file_and_the_users_file_are_found(
    project: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    configuration = tmp_path_factory.mktemp("config")
    (configuration / "contexthall").mkdir()
    (configuration / "contexthall" / "contexthall.toml").write_text("confine = true\ntool_timeout_secs = 5\n")
    (project / "contexthall.toml").write_text('cache_root = "docs"\ntool_timeout_secs = 7\n')
    monkeypatch.setenv("XDG_CONFIG_HOME", str(configuration))
    settings = open_hall(str(project)).settings
    assert settings.confine
    assert settings.cache_root == str(project / "docs")
    assert settings.tool_timeout_seconds == 7


def test_without_xdg_the_users_file_is_below_the_home(
    project: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path_factory.mktemp("somebody")
    (home / ".config" / "contexthall").mkdir(parents=True)
    (home / ".config" / "contexthall" / "contexthall.toml").write_text("confine = true")
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative/is/ignored")
    monkeypatch.setenv("HOME", str(home))
    assert open_hall(str(project)).settings.confine
    monkeypatch.delenv("HOME")
    assert not open_hall(str(project)).settings.confine


@pytest.mark.parametrize("content", [b"cache_root = ", b"\xff", b"a = 1\na = 2"])
def test_a_settings_file_that_is_no_toml_is_named(project: Path, content: bytes) -> None:
    (project / "contexthall.toml").write_bytes(content)
    with pytest.raises(SettingsError, match=r"contexthall\.toml"):
        open_hall()


def test_a_settings_file_that_is_no_file_is_an_error(project: Path) -> None:
    (project / "contexthall.toml").mkdir()
    with pytest.raises(DiskError, match=r"contexthall\.toml"):
        open_hall()


def test_a_project_root_must_be_a_directory(project: Path) -> None:
    (project / "file").write_text("x")
    for path in ("missing", "file"):
        with pytest.raises(UsageError, match=path):
            open_hall(path)


def test_toolsets_choose_the_tools(project: Path) -> None:
    names = [tool.name for tool in open_hall(str(project), toolsets="caches").catalog.tools]
    caches = ["context.list_caches", "context.inspect_cache"]
    assert names == ["context.resolve", "context.read", "context.outline", *caches]
    assert open_hall(str(project), toolsets=["guild"]).catalog.tools == ()


def test_confinement_binds_callers_to_the_root_and_what_is_allowed(project: Path) -> None:
    inside, outside = str(project / ".context" / "caches" / "handbook"), str(project)
    free = open_hall()
    assert free.caller.may_read(outside, free.caches.root)
    confined = open_hall(confine=True)
    assert confined.caller.may_read(inside, confined.caches.root)
    assert not confined.caller.may_read(outside, confined.caches.root)
    with pytest.raises(CacheMissingError):
        confined.caches.list_caches(outside, may_read=confined.caller.may_read)
    widened = open_hall(confine=True, allow_root=[outside])
    assert widened.caller.may_read(outside, widened.caches.root)


def test_the_users_file_may_be_a_symlink_and_a_projects_may_not(
    project: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path_factory.mktemp("dotfiles")
    (elsewhere / "mine.toml").write_text("confine = true")
    (elsewhere / "contexthall").mkdir()
    (elsewhere / "contexthall" / "contexthall.toml").symlink_to(elsewhere / "mine.toml")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(elsewhere))
    assert open_hall().settings.confine
    (project / "contexthall.toml").symlink_to(elsewhere / "nothing.toml")
    with pytest.raises(SettingsError, match="symlink"):
        open_hall()


@pytest.mark.parametrize("how", ["default", "project file"])
def test_a_project_cannot_widen_confinement_with_a_symlink(project: Path, how: str) -> None:
    (project / "out").symlink_to("/")
    if how == "default":
        (project / ".context" / "caches" / "handbook").rmdir()
        (project / ".context" / "caches").rmdir()
        (project / ".context" / "caches").symlink_to("/")
    else:
        (project / "contexthall.toml").write_text('cache_root = "out"')
    assert open_hall().settings.project_root == str(project)
    with pytest.raises(SettingsError, match="leads out of the project"):
        open_hall(confine=True)
    assert open_hall(confine=True, cache_root="out").settings.confine


@pytest.mark.usefixtures("project")
def test_an_empty_path_is_no_project() -> None:
    with pytest.raises(UsageError):
        open_hall("")


def test_a_settings_file_that_is_nested_too_deeply_is_named(project: Path) -> None:
    (project / "contexthall.toml").write_text("a = " + "[" * 5000)
    with pytest.raises(SettingsError, match=r"contexthall\.toml"):
        open_hall()


def test_toolsets_can_be_any_sequence(project: Path) -> None:
    assert open_hall(str(project), toolsets=("caches",)).settings.toolsets == ("caches",)


@pytest.mark.parametrize("confine", [True, False])
def test_the_name_of_a_cache_may_be_as_long_as_it_likes_and_is_missing(project: Path, confine: bool) -> None:
    hall = open_hall(str(project), confine=confine)
    for name in ("x" * (2 << 20), "/x" * (1 << 20)):
        for tool, arguments in (
            ("context.inspect_cache", {"cache": name}),
            ("context.list_caches", {"root": name}),
            ("context.resolve", {"cache": name, "query": "a", "budget": 1}),
        ):
            result = asyncio.run(hall.catalog.call(tool, arguments, hall.caller))
            told = '{"error":{"code":"cache_missing","message":"Cache does not exist"}}'
            assert (result.is_error, result.text.rstrip("\n")) == (True, told)


@pytest.mark.parametrize("link", ["docs", "docs/b.md"])
def test_what_the_hall_refreshes_by_itself_stays_in_the_project(link: str, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "docs").mkdir(parents=True)
    (project / "docs" / "a.md").write_text("# A")
    hall = open_hall(project)
    hall.build_cache(str(project / "docs"), str(project / ".context" / "caches" / "handbook"))
    outside = tmp_path / "outside" / link
    outside.parent.mkdir(parents=True)
    if (project / link).exists():
        (project / link).rename(outside)
    else:
        outside.write_text("# B")
    (project / link).symlink_to(outside)
    cache = hall.caches.locate("handbook")
    with pytest.raises(UsageError):
        hall.refresh_cache(cache, only_project=True)
    hall.refresh_cache(cache)
