"""Whatever Python runs this, it knows the characters of Unicode 14 and no others."""

import sys
import unicodedata

import hypothesis
from hypothesis import strategies as st

from contexthall.core import text as characters
from contexthall.core.text import UNICODE, escaped, is_name, is_printable, known, lower, quoted

PINK_HEART = "\U0001fa77"
"""Of Unicode 15.0, and so one of Python 3.12."""
MODIFIER = "\U0001e030"
"""A small letter above the line, of Unicode 15.0, which nobody looks at who looks for the end of a word."""
GARAY_CAPITAL = "\U00010d50"
"""Of Unicode 16.0, which gave it a small letter as well."""

texts = st.text(st.one_of(st.characters(), st.sampled_from(["Σ", "Α", "İ", MODIFIER, GARAY_CAPITAL, "\u0301", " "])))


def test_the_case_of_a_character_that_came_later_does_not_matter() -> None:
    assert lower(f"ΑΣ{MODIFIER}Β") == f"ας{MODIFIER}β"
    assert lower(f"Α{MODIFIER}Σ") == f"α{MODIFIER}σ"
    assert lower(GARAY_CAPITAL) == GARAY_CAPITAL
    assert lower(f"İSTANBUL ΟΔΟΣ {PINK_HEART}") == f"i̇stanbul οδος {PINK_HEART}"


@hypothesis.given(texts)
def test_what_came_later_parts_a_text_as_a_space_does(text: str) -> None:
    later = characters._later(text)
    parted = "".join(" " if each in later else each for each in text)
    assert "".join(" " if each in later else each for each in lower(text)) == parted.lower()


def test_a_terminal_is_shown_escapes_of_what_came_later() -> None:
    assert not is_printable(PINK_HEART)
    assert is_printable("ü 𝒳 漢 a")
    assert not any(map(is_printable, ["\x1b", "\u202e", "\n", "\ud800", "\uffff"]))
    assert quoted([f"ü{PINK_HEART}"]) == "['ü\\U0001fa77']"
    assert escaped(f"ü{PINK_HEART}\n") == "ü\\U0001fa77\n"


def test_what_shows_nothing_is_not_printable_whatever_unicode_calls_it() -> None:
    unseen = "\u034f\u115f\u3164\u2800\ufe0f\U000e0101"
    assert not any(map(is_printable, unseen))
    assert not is_printable("ok\ufe0f")


def test_what_came_later_is_no_letter() -> None:
    assert known(f"ab{MODIFIER}ü") == "ab\uffffü"
    assert [is_name(each) for each in ("straße", "ア", "ア・イ", f"a{MODIFIER}", "a\u200d", "1a")] == [
        True,
        True,
        *[False] * 4,
    ]


def test_what_is_absent_is_what_unicode_14_does_not_have() -> None:
    """A Python with Unicode 14 can tell exactly; a newer one can tell that nothing is missing."""
    every = [chr(code) for code in range(sys.maxunicode + 1)]
    absent = {each for each in every if unicodedata.category(each) == "Cn"}
    later = characters._later("".join(every))
    assert absent <= later
    assert (absent == later) == (unicodedata.unidata_version == UNICODE)
