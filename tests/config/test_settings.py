from collections.abc import Mapping
from typing import Any

import pytest

from contexthall.config.profiles import TOOLSETS
from contexthall.config.settings import Settings, SettingsFile, resolve
from contexthall.core.errors import SettingsError
from contexthall.core.profile import Profile


def resolved(
    flags: Mapping[str, object] | None = None,
    environment: Mapping[str, str] | None = None,
    project: Mapping[str, object] | None = None,
    user: Mapping[str, object] | None = None,
) -> Settings:
    files = [
        SettingsFile("/project/contexthall.toml", "/project", project or {}, trusted=False),
        SettingsFile("/home/contexthall.toml", "/home", user or {}, trusted=True),
    ]
    return resolve(
        flags=flags or {},
        environment=environment or {},
        files=files,
        working_directory="/here",
        project_root="/project",
    )


def test_the_defaults() -> None:
    assert resolved() == Settings(
        working_directory="/here",
        project_root="/project",
        cache_root="/project/.context/caches",
        cache_root_is_named=False,
        cache_root_is_trusted=False,
        toolsets=TOOLSETS,
        confine=False,
        allow_roots=(),
        tool_timeout_seconds=30.0,
    )


def test_flags_beat_the_environment_beats_the_project_beats_the_user() -> None:
    sources: dict[str, Any] = {
        "flags": {"cache_root": "flag"},
        "environment": {"CONTEXT_CACHE_ROOT": "environment"},
        "project": {"cache_root": "project"},
        "user": {"cache_root": "user"},
    }
    for expected in ("/here/flag", "/here/environment", "/project/project", "/home/user"):
        settings = resolved(**sources)
        assert (settings.cache_root, settings.cache_root_is_named) == (expected, True)
        assert settings.cache_root_is_trusted == (expected != "/project/project")
        del sources[next(iter(sources))]


def test_whether_caches_are_refreshed_is_up_to_the_user() -> None:
    assert resolved(user={"refresh_caches": "never"}).refresh_caches == "never"
    assert resolved({"refresh_caches": "auto"}, {"CONTEXT_REFRESH_CACHES": "never"}).refresh_caches == "auto"
    assert resolved(environment={"CONTEXT_REFRESH_CACHES": "never"}).refresh_caches == "never"
    with pytest.raises(SettingsError, match="may not be set by a project"):
        resolved(project={"refresh_caches": "auto"})
    with pytest.raises(SettingsError, match="must be one of auto, never"):
        resolved(environment={"CONTEXT_REFRESH_CACHES": "always"})


def test_every_key_reaches_its_field() -> None:
    settings = resolved(
        user={
            "cache_root": "/c",
            "toolsets": ["guild", "caches"],
            "confine": True,
            "allow_root": ["x", "/y/"],
            "tool_timeout_secs": 2,
        }
    )
    assert settings.cache_root == "/c"
    assert settings.toolsets == ("caches", "guild")
    assert settings.confine
    assert settings.allow_roots == ("/home/x", "/y")
    assert settings.tool_timeout_seconds == 2.0


def test_the_environment_is_text_and_an_empty_variable_is_not_set() -> None:
    assert resolved(environment={"CONTEXT_TOOL_TIMEOUT_SECS": "0.5"}).tool_timeout_seconds == 0.5
    assert not resolved(environment={"CONTEXT_CACHE_ROOT": ""}).cache_root_is_named
    default = resolved().cache_root
    assert not resolved(flags={"cache_root": default}).cache_root_is_named  # as `context connect` writes it


def test_toolsets_can_be_typed_with_commas() -> None:
    assert resolved(flags={"toolsets": "contexts, caches"}).toolsets == ("caches", "contexts")


@pytest.mark.parametrize(
    ("source", "values", "complaint"),
    [
        ("project", {"cache_rot": "x"}, "/project/contexthall.toml: `cache_rot` is not a setting"),
        ("user", {"cache_root": 5}, "/home/contexthall.toml: `cache_root` must be the path of a directory, not 5"),
        ("user", {"cache_root": ""}, "`cache_root` must be the path of a directory, not ''"),
        ("project", {"toolsets": ["cache"]}, "`toolsets` must name some of caches, contexts, guild"),
        ("project", {"toolsets": []}, "`toolsets` must name some of"),
        ("project", {"toolsets": [["caches"]]}, "`toolsets` must name some of"),
        ("user", {"confine": "yes"}, "`confine` must be true or false, not 'yes'"),
        ("user", {"allow_root": "/x"}, "`allow_root` must be a list of directories, not '/x'"),
        ("user", {"allow_root": [1]}, "`allow_root` must be the path of a directory"),
        ("user", {"tool_timeout_secs": 0}, "`tool_timeout_secs` must be a number of seconds above 0, not 0"),
        ("user", {"tool_timeout_secs": True}, "`tool_timeout_secs` must be a number"),
        ("user", {"tool_timeout_secs": float("inf")}, "`tool_timeout_secs` must be a number"),
        ("user", {"tool_timeout_secs": 10**400}, "`tool_timeout_secs` must be a number"),
        ("environment", {"CONTEXT_TOOL_TIMEOUT_SECS": "soon"}, "CONTEXT_TOOL_TIMEOUT_SECS must be a number of seconds"),
        ("environment", {"CONTEXT_CACHE_ROOT": "a\0b"}, "CONTEXT_CACHE_ROOT must be the path of a directory"),
        ("flags", {"toolsets": "everything"}, "--toolsets must name some of caches, contexts, guild, not 'everything'"),
        ("flags", {"allow_root": ("",)}, "--allow-root must be the path of a directory"),
    ],
)
def test_an_unknown_key_or_a_bad_value_is_named(source: str, values: dict[str, Any], complaint: str) -> None:
    with pytest.raises(SettingsError) as caught:
        resolved(**{source: values})
    assert complaint in caught.value.detail


def test_a_bad_value_is_an_error_even_where_it_is_overridden() -> None:
    with pytest.raises(SettingsError):
        resolved(flags={"cache_root": "/fine"}, user={"cache_root": 5})


@pytest.mark.parametrize("values", [{"allow_root": ["/"]}, {"confine": False}])
def test_a_project_may_not_widen_what_callers_may_read(values: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match="may not be set by a project"):
        resolved(project=values)


@pytest.mark.parametrize("cache_root", ["/", "..", "../project-like", "/elsewhere", "a/../../x"])
def test_a_project_may_not_move_the_cache_root_out_of_itself(cache_root: str) -> None:
    with pytest.raises(SettingsError, match="may not leave the project"):
        resolved(project={"cache_root": cache_root})


# Profiles:


def test_profiles_are_read_from_the_users_settings() -> None:
    tables = {"a": {"toolsets": ["caches"], "members": ["git*"], "tools": ["x"]}, "b": {"tools": {"deny": ["*_all"]}}}
    assert resolved(user={"profiles": tables}).profiles == {
        "a": Profile("a", ("caches",), ("git*",), ("x",)),
        "b": Profile("b", denied_tools=("*_all",)),
    }


def test_a_project_may_not_have_profiles() -> None:
    with pytest.raises(SettingsError, match="`profiles` may not be set by a project"):
        resolved(project={"profiles": {"a": {"tools": ["x"]}}})


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        (5, "must be tables such as [profiles.review], not 5"),
        ({"a": 5}, "in [profiles.a], a table must stand, not 5"),
        ({"a": {}}, "in [profiles.a], nothing is named"),
        ({"a": {"member": ["x"]}}, "in [profiles.a], `member` is not known"),
        ({"a": {"members": []}}, "in [profiles.a], `members` must be a list of at least one name or pattern, not []"),
        ({"a": {"members": "x"}}, "in [profiles.a], `members` must be a list"),
        ({"a": {"members": [5]}}, "in [profiles.a], `members` must be a list"),
        ({"a": {"toolsets": ["cahces"]}}, "must name some of caches, contexts, guild, not 'cahces'"),
        ({"a": {"tools": {"allowed": ["x"]}}}, "`tools` must be a list, or a table of `allow` and `deny`"),
        ({"a": {"tools": {"deny": []}}}, "`tools.deny` must be a list"),
        ({"a b": {"tools": ["x"]}}, "cannot have the name 'a b'"),
        ({"": {"tools": ["x"]}}, "cannot have the name ''"),
    ],
)
def test_a_table_that_is_no_profile_is_named(tables: object, words: str) -> None:
    with pytest.raises(SettingsError) as caught:
        resolved(user={"profiles": tables})
    assert caught.value.detail.startswith("/home/contexthall.toml: `profiles` ")
    assert words in caught.value.detail
