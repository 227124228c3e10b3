"""Inline markup as plain text: Markdown, reStructuredText, HTML and JSDoc.

Pure, and linear however hostile the text: the expressions never backtrack.
"""

import html
import re
from collections.abc import Callable

from contexthall.core import limits
from contexthall.core.parsing import words
from contexthall.core.text import known

_TAGS = words(
    "a abbr b big blockquote br center cite code del details dd div dl dt em font g-emoji h1 h2 h3 h4 h5 h6 hr i "
    "img ins kbd li mark ol p picture pre q s samp small source span strike strong sub summary sup svg table tbody "
    "td tfoot th thead tr tt u ul var video"
)
_SPACING_TAGS = words("br dd div dt h1 h2 h3 h4 h5 h6 hr li p td th tr")
_NAMED_ROLES = {"pep": "PEP ", "rfc": "RFC "}
_PROSE_ROLES = words("ref doc term abbr emphasis strong title guilabel numref any sub sup index")

# Every repetition stops at the character that would start it again, so no text is read twice.
_MARKUP = re.compile(
    r"""
      :(?P<role>(?:[A-Za-z]\w{0,20}:){1,2})`(?P<role_text>[^`]*+)`_{0,2}+
    | ``(?P<literal>[^`]++)``
    | `(?P<hyperlink>[^`<>]++)(?:<[^`<>]*+>)?+`__?(?!\w)
    | (?P<code>`[^`]++`)
    | !\[[^\[\]]*+\](?:\((?:[^()]++|\([^()]*+\))*+\)|\[[^\[\]]*+\])
    | (?<![A-Za-z0-9_])\[(?P<link>[^\[\]]*+)\](?:\((?:[^()]++|\([^()]*+\))*+\)|\[[^\[\]]*+\])
    | \[(?P<linked_code>`[^`\[\]]++`)\](?![\[(:])
    | \s?\[\^[^\[\]\s]{1,40}+\]
    | \s?\[[^\[\]\s]{1,40}+\]_(?!\w)
    | <(?P<address>https?://[^<>\s]++)>
    | </?(?P<tag>[A-Za-z][A-Za-z0-9-]{0,20})(?:\s[^<>]*+)?/?>
    | (?P<entity>&(?:\#\d{1,7}|\#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});)
    | \{@(?:link|linkcode|linkplain|code|see)\s(?P<jsdoc>[^{}]*+)\}
    | (?<![\w*])(?P<stars>\*{1,3})(?=[^\s*])(?P<starred>[^*]++)(?<=\S)(?P=stars)(?![\w*])
    | (?<!\w)(?P<bars>_{1,3})(?=[^\s_])(?P<barred>[^_]++)(?<=\S)(?P=bars)(?!\w)
    | \\(?P<escaped>[*_`\[\]<>\#|])
    | \\\s
    | (?<!\S):[a-z0-9_+-]{1,30}:(?!\S)
    """,
    re.VERBOSE,
)


def one_line(text: str) -> str:
    """Return `text` on one line: white space collapsed, control characters and lone surrogates dropped."""
    text = known(text)
    if not text.isprintable():
        text = "".join(mark for mark in text if mark.isprintable() or mark.isspace())
    return " ".join(text.split())


def shorten(text: str, most: int) -> str:
    """Cut `text` at a word, so that it has at most `most` characters, the `…` among them."""
    if len(text) <= most:
        return text
    kept = text[: max(most, 0)]
    whole_words = kept.rpartition(" ")[0] or kept[:-1]
    return f"{whole_words.rstrip(' ,;:.-–—(')}…" if most > 0 else ""


def plain(text: str) -> str:
    """Return `text` without its markup; code keeps its ticks, because what they hold is not markup."""
    for _ in range(limits.MARKUP_LEVELS):
        before, text = text, _MARKUP.sub(_text_of, text)
        if text == before:
            break
    return one_line(text).lstrip("|:;,.—–-•· ") if text.lstrip()[:1] in "|:;,—–-•·" else one_line(text)


def _text_of(markup: re.Match[str]) -> str:
    """Return the text of a piece of markup: what it holds, unless its kind has a rule of its own."""
    kind = markup.lastgroup or ""
    return _TEXTS[kind](markup) if kind in _TEXTS else markup[kind] if kind else ""


def _role(markup: re.Match[str]) -> str:
    name = markup["role"].rstrip(":").rpartition(":")[2]
    shown, target, _ = (markup["role_text"] + " ").partition(" <")
    shown = shown.strip().lstrip("!")
    if shown.startswith("~"):
        shown = shown.rpartition(".")[2].lstrip("~")
    if name in _NAMED_ROLES:
        return _NAMED_ROLES[name] + shown
    return shown if target or name in _PROSE_ROLES or not shown else f"`{shown}`"


def _tag(markup: re.Match[str]) -> str:
    name = markup["tag"]
    # `<T>` after a type is what it is generic over.
    if name.lower() not in _TAGS or (len(name) == 1 and name.isupper()):
        return markup[0]
    return " " if name.lower() in _SPACING_TAGS else ""


def _barred(markup: re.Match[str]) -> str:
    is_a_name = len(markup["bars"]) > 1 and not any(mark.isspace() for mark in markup["barred"])
    return markup[0] if is_a_name else markup["barred"]


def _jsdoc(markup: re.Match[str]) -> str:
    target, _, shown = markup["jsdoc"].strip().replace("|", " ").partition(" ")
    return shown or (f"`{target}`" if target and "`" not in target else target)


_TEXTS: dict[str, Callable[[re.Match[str]], str]] = {
    "role_text": _role,
    "literal": lambda markup: f"`{markup['literal'].strip()}`",
    "hyperlink": lambda markup: markup["hyperlink"].strip(),
    "tag": _tag,
    "entity": lambda markup: html.unescape(markup["entity"]),
    "jsdoc": _jsdoc,
    "barred": _barred,
}
