"""Every tool has a name that fits, that is its own, and that stays."""

import re
from hashlib import sha256
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from contexthall.guild.lists import naming
from contexthall.guild.lists.naming import may_name, tool_names

FITS = re.compile(r"[A-Za-z0-9_-]{1,64}")
HASH = re.compile(r"_[0-9a-f]{12}$")
# Names that nearly collide are likelier to be found with few letters; members have no control characters.
members = st.text("ab_-", max_size=6) | st.text(st.characters(exclude_categories=["Cc"]), max_size=100)
tools = st.text("ab_-", max_size=6) | st.text(st.characters(), max_size=100)
pairs = st.lists(st.tuples(members, tools), max_size=8)


def name_of(member: str, tool: str) -> str:
    return tool_names([(member, tool)])[member, tool]


def digest(member: str, tool: str) -> str:
    return sha256(f"{member}\0{tool}".encode()).hexdigest()[:12]


@pytest.mark.parametrize(
    ("member", "tool", "name"),
    [
        ("echo", "say", "echo__say"),
        ("brave-search", "web_search", "brave-search__web_search"),
        ("a_b", "_c__d", "a_b___c__d"),
        ("m" * 31, "t" * 31, "m" * 31 + "__" + "t" * 31),
        ("git", "show_" + "0" * 11, "git__show_" + "0" * 11),
        ("git", "show_" + "0" * 13, "git__show_" + "0" * 13),
        ("git", "show_" + "A" * 12, "git__show_" + "A" * 12),
    ],
)
def test_a_name_that_fits_is_member_and_tool(member: str, tool: str, name: str) -> None:
    assert name_of(member, tool) == name


def test_half_of_a_surrogate_pair_in_a_name_is_no_obstacle() -> None:
    assert FITS.fullmatch(name_of("echo", "\ud800"))
    assert name_of("echo", "\ud800") != name_of("echo", "\ud801")


@pytest.mark.parametrize(
    ("member", "tool", "start"),
    [
        ("My Files", "read.file", "My_Files__read_file"),
        ("a__b", "c", "a__b__c"),
        ("a_", "b", "a___b"),
        ("git", "show_0123456789ab", "git__show_0123456789ab"),
        ("é", "😀", "___" + "_"),
        ("echo", "say\n", "echo__say_"),
        ("m" * 32, "t" * 31, "m" * 20 + "__" + "t" * 29),
        ("m" * 100, "say", "m" * 46 + "__say"),
        ("echo", "t" * 100, "echo__" + "t" * 45),
        ("m" * 100, "t" * 100, "m" * 20 + "__" + "t" * 29),
    ],
)
def test_a_name_that_does_not_fit_stays_readable_and_ends_in_a_hash(member: str, tool: str, start: str) -> None:
    assert name_of(member, tool) == start + "_" + digest(member, tool)


def test_names_stay_what_they_were_in_earlier_versions() -> None:
    assert name_of("My Files", "read.file") == "My_Files__read_file_2925a59d15a0"


def test_a_tool_that_poses_as_the_shortened_name_of_another_does_not_get_it() -> None:
    shortened = name_of("echo", "say it")
    posing = shortened.removeprefix("echo__")
    assert name_of("echo", posing) != shortened


@given(pairs)
def test_every_name_fits(given_pairs: list[tuple[str, str]]) -> None:
    names = tool_names(given_pairs)
    assert names.keys() == set(given_pairs)
    assert [name for name in names.values() if not FITS.fullmatch(name)] == []


@given(pairs)
@example([("a", "_b"), ("a_", "b"), ("a__", "b"), ("a", "__b"), ("a___b", ""), ("", "a__b")])
@example([("a b", "c"), ("a_b", "c"), ("a.b", "c"), ("a", "b__c"), ("a__b", "c")])
def test_no_two_tools_share_a_name(given_pairs: list[tuple[str, str]]) -> None:
    assert len(set(tool_names(given_pairs).values())) == len(set(given_pairs))


@given(pairs, st.randoms(use_true_random=False))
def test_a_name_depends_on_nothing_but_its_own_member_and_tool(
    given_pairs: list[tuple[str, str]], random: Random
) -> None:
    names = tool_names(given_pairs)
    shuffled = random.sample(given_pairs, len(given_pairs))
    assert list(tool_names(shuffled).items()) == list(names.items())
    assert {pair: name_of(*pair) for pair in given_pairs} == names


@given(members, tools)
def test_the_first_two_underscores_of_a_plain_name_end_the_member(member: str, tool: str) -> None:
    name = name_of(member, tool)
    assert HASH.search(name) or tuple(name.split("__", 1)) == (member, tool)


def test_even_a_collision_of_hashes_gives_two_names(monkeypatch: pytest.MonkeyPatch) -> None:
    class Colliding:
        def __init__(self, _: bytes) -> None: ...

        def hexdigest(self) -> str:
            return "0123456789ab" * 5

    monkeypatch.setattr(naming, "sha256", Colliding)
    names = tool_names([("a", "b.c"), ("a", "b c"), ("a", "b_c_0123456789ab0")])
    assert names == {
        ("a", "b_c_0123456789ab0"): "a__b_c_0123456789ab0",
        ("a", "b c"): "a__b_c_0123456789ab",
        ("a", "b.c"): "a__b_c_0123456789ab01",
    }


@given(pairs)
@example([("m" * 100, "t")])
@example([("a__b", "c"), ("a", "b__c")])
def test_a_name_tells_whose_tool_it_may_be(named: list[tuple[str, str]]) -> None:
    for (member, _), name in tool_names(pair for pair in named if pair[1]).items():
        assert may_name(name, member)


@pytest.mark.parametrize("name", ["echo", "echo_", "echo__", "ech__o", "echoo__say", "", "__", "__echo", "Echo__say"])
def test_a_name_that_no_tool_of_a_member_can_have(name: str) -> None:
    assert not may_name(name, "echo")


def test_a_shortened_name_tells_of_its_member_no_less_than_twenty_characters() -> None:
    name = name_of("m" * 20 + "o" * 80, "t" * 90)
    assert may_name(name, "m" * 20 + "p" * 10)
    assert not may_name(name, "m" * 19 + "p" * 10)
    assert not may_name(name, "m" * 19)
