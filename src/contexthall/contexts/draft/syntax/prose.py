"""The first sentence of a text, and of a README in Markdown or reStructuredText.

Pure, and linear however hostile the text: only its first 64 KiB are looked at, by expressions that never go back, and
what cannot be said in a sentence is not said.
"""

import html
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from contexthall.core import limits
from contexthall.core.parsing import words
from contexthall.core.text import known

_MARKDOWN = (".md", ".markdown", ".mdown", ".mkd", ".mdx")
_PLAIN = (".rst", ".rest", ".txt", ".text")


_FEWEST_WORDS = 3
"""Words beside its links that make a paragraph of a README prose."""

_ABBREVIATIONS = words(
    "e.g i.e eg ie vs etc mr mrs ms dr prof cf al approx inc ltd corp co jr sr fig resp incl esp viz ca a.k.a aka "
    "w.r.t wrt ed eds vol pp"
)

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


def _reduced(text: str) -> str:
    """Return what is left of `text` once its markup is gone; code keeps its ticks, for what they hold is no markup."""
    for _ in range(limits.MARKUP_LEVELS):
        before, text = text, _MARKUP.sub(_text_of, text)
        if text == before:
            break
    return one_line(text).lstrip("|:;,.—–-•· ") if text.lstrip()[:1] in "|:;,—–-•·" else one_line(text)


def _text_of(markup: re.Match[str]) -> str:
    """Return what a piece of markup says: what it holds, unless its kind says it otherwise."""
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

_STOP = re.compile(r"`[^`]*+`|(?P<stop>[.!?]++)[\"')\]”’»]*+(?=\s|$)|(?P<wide_stop>[。！？]++)")


def _sentence(line: str) -> str:
    for stop in _STOP.finditer(line):
        if stop["wide_stop"] or (stop["stop"] and _ends(line, stop)):
            return line[: stop.end()]
    return line


def _ends(line: str, stop: re.Match[str]) -> bool:
    after = line[stop.end() + 1 : stop.end() + 2]
    if not after:
        return True
    if after.islower() or after.isdigit():
        return False
    word = line[max(0, stop.start() - 40) : stop.start()].rpartition(" ")[2].lstrip("([{\"'“‘")
    letter = word.rpartition(".")[2]
    is_initial = len(letter) == 1 and letter.isupper()
    is_number_of_a_list = word.isdigit() and stop.start() == len(word)
    return stop["stop"] != "." or not (word.lower() in _ABBREVIATIONS or is_initial or is_number_of_a_list)


def first_sentence(text: str, most: int = 200) -> str:
    """Return the first sentence of `text` as one line of at most `most` characters; empty if it says nothing.

    A paragraph is preferred to a title. Markup inside markup comes off layer by layer, so the answer answers itself.
    """
    text = known(text[: limits.PROSE_CHARACTERS])
    while (said := _first_sentence(text, most)) != text:
        text = said
    return said


def _first_sentence(text: str, most: int) -> str:
    lines = _TOLD.sub("", _without_margin(_without_comments(text))).splitlines()
    titles = []
    for block in _blocks(lines, markdown=False):
        if block.level:
            titles.append(block.text)
        elif said := shorten(_sentence(_reduced(block.text)), most):
            return said
    return next((said for title in titles if (said := shorten(_sentence(_reduced(title)), most))), "")


def _without_margin(text: str) -> str:
    """Take away what all lines but the first are indented by; `inspect.cleandoc` is not the same in every Python."""
    first, *others = text.expandtabs().split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in others if line.strip()), default=0)
    return "\n".join([first.lstrip(), *(line[margin:] for line in others)]).strip("\n")


_TOLD = re.compile(r"^[@\\](?:file|fileoverview|overview|brief|description|desc|summary)[ \t]", re.MULTILINE)


class _ProseBlock(NamedTuple):
    """A stretch of text: a title if it has a level."""

    text: str
    level: int = 0
    is_list: bool = False


_ADORNMENTS = frozenset("=-~^\"'*+#:.<>_`")
_SECTIONS = "Args|Arguments|Parameters|Params|Returns?|Raises|Throws|Yields|Examples?|Usage|Notes?|Attributes"
_HEADING = re.compile(r"\s{0,3}(#{1,6})(?:\s+|$)(.*)")
_FENCE = re.compile(r"\s*(`{3,}+|~{3,}+)(?!.*`)")
_ITEM = re.compile(r"\s{0,3}(?:[-*+•–]|\d{1,3}[.)]|\(?[a-z0-9]\))\s+(?=\S)")
_FIELD = re.compile(rf"\s*(?::[A-Za-z][\w .*-]{{0,60}}:(?=\s|$)|[@\\][a-z]\w*+(?=\s|$|\{{)|(?:{_SECTIONS}):\s*$)")
_EXAMPLE = re.compile(r"\s*(?:>>>|\$|%)\s")
_CODE = re.compile(rf" {{4}}|\t|{_EXAMPLE.pattern}")
_DEFINITION = re.compile(r"\s{0,3}\*?\[[^\[\]]{1,200}\]:\s*\S")
_MARKER = re.compile(r"^\s*>+\s?")
_OPENING = re.compile(r"\s*<([/!?]?[A-Za-z][A-Za-z0-9-]{0,20})?")
_ANY_TAG = re.compile(r"<[^<>]*+>")
_BLOCK_TAGS = words(
    "address article aside blockquote center dd details div dl dt figure footer form h1 h2 h3 h4 h5 h6 header hr "
    "iframe li main nav ol p picture pre script section style summary svg table tbody td th thead tr ul video"
)
_SEALED_TAGS = words("details picture pre script style svg table video")
_VOID_TAGS = words("br hr img input link meta source")


def _without_comments(text: str) -> str:
    kept, at = [], 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start)) >= 0:
        kept.append(text[at:start])
        at = end + len("-->")
    return "".join([*kept, text[at:]])


def _is_adornment(line: str, *, markdown: bool = False) -> bool:
    marks = line.strip()
    return len(marks) > 1 and marks[0] in ("=-" if markdown else _ADORNMENTS) and marks == marks[0] * len(marks)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _line(lines: Sequence[str], at: int) -> str:
    return lines[at].strip() if at < len(lines) else ""


def _until(lines: Sequence[str], at: int, is_end: Callable[[str], bool]) -> int:
    """Return where the first line from `at` on stands that `is_end`, or the end."""
    while at < len(lines) and not is_end(lines[at]):
        at += 1
    return at


def _is_blank(line: str) -> bool:
    return not line.strip()


def _after_skipped(lines: Sequence[str], at: int) -> int:
    """Return where something ends that is not for reading aloud, if it begins at `at`; else `at`."""
    line = lines[at].strip()
    if fence := _FENCE.match(lines[at]):
        marks = fence[1]
        return _until(lines, at + 1, lambda line: line.strip().startswith(marks) and not line.strip().strip(marks)) + 1
    if line == ".." or line.startswith((".. ", "__ ")):
        edge = _indent(lines[at])
        return _until(lines, at + 1, lambda line: not _is_blank(line) and _indent(line) <= edge)
    if _is_table(line, _line(lines, at + 1)):
        return _until(lines, at, _is_blank)
    if not any(mark.isalnum() for mark in line):
        return at + 1
    if _FIELD.match(lines[at]) or _DEFINITION.match(lines[at]):
        return _until(lines, at + 1, lambda line: _is_blank(line) or not line[:1].isspace())
    end = _after_html(lines, at)
    return _until(lines, at, _is_blank) if end == at and _CODE.match(lines[at]) else end


def _is_table(line: str, below: str) -> bool:
    is_grid = line.startswith(("|", "+-", "+=")) and line.endswith(("|", "+")) and len(line) > 1
    is_simple = line.startswith("==") and " " in line and set(line) <= {"=", " "}
    return is_grid or is_simple or ("|" in line and "|" in below and "-" in below and set(below) <= set("|:- \t"))


def _after_html(lines: Sequence[str], at: int) -> int:
    opening = _OPENING.match(lines[at])
    tag = ((opening and opening[1]) or "").lower()
    if not tag or (tag.strip("/!?") not in _BLOCK_TAGS and not _is_blank(_without_tags(lines[at]))):
        return at
    end = _until(lines, at, lambda line: ">" in line or _is_blank(line)) + 1
    if tag[0] in "/!?" or tag in _VOID_TAGS:
        return end
    closing = f"</{tag}"
    if tag in _SEALED_TAGS:
        return _until(lines, at, lambda line: closing in line.lower()) + 1
    return max(end, _until(lines, at, lambda line: _is_blank(line) or closing in line.lower()) + 1)


def _without_tags(line: str) -> str:
    """Return what a line says beside its tags, one that goes on in the next line among them."""
    line = _ANY_TAG.sub("", line)
    return line.partition("<")[0] if ">" not in line else line


def _title(lines: Sequence[str], at: int, *, markdown: bool) -> tuple[str, str, int]:
    """Return a title, the marks that make it one and where it ends."""
    if heading := _HEADING.match(lines[at]):
        return heading[2].strip(" #"), heading[1], at + 1
    line, below, further = _line(lines, at), _line(lines, at + 1), _line(lines, at + 2)
    if not markdown and below and line == further and _is_adornment(line):
        return below, line[0] * 2, at + 3
    if not _is_adornment(line) and _is_adornment(below, markdown=markdown) and not _ITEM.match(line):
        return line, below[0], at + 2
    return "", "", at


def _after_text(lines: Sequence[str], at: int) -> int:
    """Return where the list, the quotation or the paragraph ends that begins at `at`."""
    if _ITEM.match(lines[at]):
        return _until(lines, at + 1, lambda line: not (_is_blank(line) or line[0].isspace() or _ITEM.match(line)))
    if _MARKER.match(lines[at]):
        return _until(lines, at, lambda line: not _MARKER.match(line))
    return _until(lines, at + 1, _interrupts)


def _interrupts(line: str) -> bool:
    if _is_blank(line) or _is_adornment(line):
        return True
    if (tag := _OPENING.match(line)) and (tag[1] or "").strip("/").lower() in _BLOCK_TAGS:
        return True
    return any(known.match(line) for known in (_ITEM, _HEADING, _FENCE, _FIELD, _EXAMPLE, _MARKER, _DEFINITION))


def _blocks(lines: Sequence[str], *, markdown: bool) -> Iterator[_ProseBlock]:
    """Yield titles, paragraphs, quotations and lists; the rest is not for reading aloud."""
    at, adornments = 0, list[str]()
    while (at := _until(lines, at, lambda line: not _is_blank(line))) < len(lines):
        text, marks, end = _title(lines, at, markdown=markdown)
        if end > at:
            adornments += [] if marks in adornments or marks[0] == "#" else [marks]
            yield _ProseBlock(text, level=len(marks) if marks[0] == "#" else adornments.index(marks) + 1)
        elif (end := _after_skipped(lines, at)) == at:
            end = _after_text(lines, at)
            yield _block(lines[at:end])
        at = end


def _block(lines: Sequence[str]) -> _ProseBlock:
    """Return a paragraph, or what the first item of a list or the first paragraph of a quotation says."""
    opening = _ITEM.match(lines[0]) or _MARKER.match(lines[0])
    rest = [_MARKER.sub("", line, count=1) for line in lines[1:]]
    said = [lines[0][opening.end() :] if opening else lines[0], *rest[: _until(rest, 0, _interrupts)]]
    return _ProseBlock(" ".join(line.rstrip("\\") for line in said), is_list=bool(_ITEM.match(lines[0])))


_FRONT_MATTER = ("---", "+++")
_DEEPEST = 2
"""The level of the titles below which no paragraph speaks of the whole."""

# How titles begin that are about something else than what the project is.
_ASIDE = re.compile(
    r"[\W\d_]*+(?:"
    r"acknowledg|api\b|author|backer|badge|bugs?\b|build|change|citation|citing|cli\b|code of|command|commun"
    r"|compatib|config|contact|contents|contribut|copyright|credit|demo\b|depend|deploy|develop|disclaimer"
    r"|docs\b|document|donat|download|example|faq\b|feedback|frequently|fund|further|getting|hacking|help"
    r"|history|how\b|important|install|issue|learn|licen[cs]e|links?\b|maintain|migrat|more\b|news\b|notes?\b"
    r"|option|other\b|prerequisite|question|quick|related|release|require|resource|road ?map|run\b|running"
    r"|sample|secur|see also|set ?up|sponsor|stars?\b|start|status|support|table of|team\b|test|thank|toc\b"
    r"|todo|translat|tutorial|updat|upgrad|usage|use\b|using|version|warning|what'?s new|who\b)",
    re.IGNORECASE,
)
# The title of a README itself may be any of those: one of examples is about them.
_ASIDE_AT_ONCE = re.compile(
    r"[\W\d_]*+(?:contents|table of contents|contributing|donations?|installation|license|sponsors)$", re.IGNORECASE
)
_ABOUT = re.compile(
    r"[\W\d_]*+(?:about|background|descri|introduc|motivat|overview|purpose|summary|what (?:is|are)|why)",
    re.IGNORECASE,
)
_BESIDE_THE_POINT = re.compile(
    r"[\W_]*+(?:note\b|warning|important\b|tip\b|caution|attention|disclaimer|deprecat|update\b|news\b|new[:!]|announc"
    r"|(?:table of )?contents|toc\b|languages?\b|translations?\b|read (?:this|more|the)|click (?:here|on|the|to)"
    r"|see (?:the|also|our|http|`)|view the|visit|check (?:out|the)"
    r"|(?:full |the |complete |online |latest ){0,3}(?:docs|documentation|manual)\b(?: for| of)?(?: \S+)? ?"
    r"(?::|is|are|can|may|at|lives?|available|has)"
    r"|(?:to )?install\b|pip install|npm install|download\b|you can (?:install|find|download|read|use)"
    r"|for (?:more|further|full|detailed?|the latest|usage|documentation|installation)|if you|please|thanks?\b"
    r"|star (?:us|this)|sponsor|support(?:ed)? by|this (?:readme|document|page) |looking for|made with"
    r"|(?:source(?: code)?|version|author|licen[cs]e|website|home ?page|statu|repository|code|issue|maintainer|contact"
    r"|changelog|release|requirement|python|date|url|web|bug report|tracker|package|demo|try it)s? ?:)",
    re.IGNORECASE,
)
_DEFINES = re.compile(r"\b(?:is|are) (?:an?|the)\b(?!.{0,200}\bfollow)")
_IMAGE = re.compile(r"!\[[^\[\]]*+\](?:\((?:[^()]++|\([^()]*+\))*+\)|\[[^\[\]]*+\])|<img\b[^<>]*+>")
_LINKED = re.compile(
    r"\[[^\[\]]*+\](?:\((?:[^()]++|\([^()]*+\))*+\)|\[[^\[\]]*+\])|`[^`]++`__?(?!\w)|<a\b[^<>]*+>[^<>]*+</a>|https?://\S++"
)
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\d_]\S*+")

_LABEL = re.compile(r"^[ \t]{0,3}\[([^\[\]\n]{1,200})\]:", re.MULTILINE)
_LABELLED = re.compile(r"(?<![\w\]])(!?)\[([^\[\]]++)\](?![\[(:])")
_TARGET = re.compile(r"^\.\. _`?([^:`\n]{1,80})`?:", re.MULTILINE)
_TARGETED = re.compile(r"(?<![\w`])([^\W_][\w.+-]{0,80}?)_(?![\w`])")
_SUBSTITUTION = re.compile(r"^\.\. \|([^|\n]{1,80})\|[ \t]+(\w{1,20})::(.*)", re.MULTILINE)
_SUBSTITUTED = re.compile(r"\|([^|\s](?:[^|]{0,78}[^|\s])?)\|(?:__?(?!\w))?")


def _resolver(text: str) -> Callable[[str], str]:
    """Return what marks each use of what a README names elsewhere: as a link, or as the text it stands for."""
    labels = {label.lower() for label in _LABEL.findall(text)}
    targets = {target.lower() for target in _TARGET.findall(text)}
    told = {name: said.strip() if kind == "replace" else "" for name, kind, said in _SUBSTITUTION.findall(text)}

    def resolve(text: str) -> str:
        text = _LABELLED.sub(lambda use: f"{use[0]}[]" if use[2].lower() in labels else use[0], text)
        text = _TARGETED.sub(lambda use: f"`{use[1]}`_" if use[1].lower() in targets else use[0], text)
        return _SUBSTITUTED.sub(lambda use: told.get(use[1], use[0]), text)

    return resolve


def readme_sentence(data: bytes, name: str) -> str:
    """Return the first sentence of prose of the README `data`, whose file is called `name`; empty if there is none."""
    suffix = name[name.rfind(".") :].lower() if "." in name else ""
    if (suffix and suffix not in _MARKDOWN + _PLAIN) or b"\0" in data[: limits.PROSE_CHARACTERS]:
        return ""
    text = _without_comments(known(data[: limits.PROSE_CHARACTERS].decode("utf-8-sig", "replace")))
    resolve, lines, markdown = _resolver(text), text.splitlines(), suffix in _MARKDOWN
    if markdown and lines and (mark := lines[0].rstrip()) in _FRONT_MATTER:
        lines = lines[_until(lines, 1, lambda line: line.rstrip() == mark) + 1 :]
    blocks = list(islice(_blocks(lines, markdown=markdown), _README_BLOCKS))
    title = next((_reduced(block.text) for block in blocks if block.level == 1), "")
    said = [each for block in _of_the_whole(blocks) if (each := _told_of(resolve(block.text), title))]
    # A sentence that says what something is, by its name, is better than one that leads up to it.
    defining = (each for each in said[:_README_PARAGRAPHS] if title and _defines(each, title))
    return next(defining, said[0] if said else "")


_README_BLOCKS, _README_PARAGRAPHS = 200, 4


def _told_of(paragraph: str, title: str) -> str:
    """Return the first sentence of a paragraph, if it says something."""
    sentence = first_sentence(paragraph, limits.SUMMARY_CHARACTERS) if _is_prose(paragraph) else ""
    if _DEFINES.search(sentence):  # and leads to a list
        sentence = sentence.rstrip(": ")
    if not sentence or not _is_telling(sentence) or is_out_of_context(sentence):
        return ""
    is_in_the_middle = (
        sentence[0].islower()
        and not _NAMED_FIRST.match(sentence)
        and not title.lower().startswith(sentence.split(" ")[0].lower())
    )
    return "" if is_in_the_middle else sentence


_NAMED_FIRST = re.compile(r"[\w.-]+ (?:is|are) ")


def _defines(sentence: str, title: str) -> bool:
    name = re.escape(title.split(" ", maxsplit=1)[0].strip("`"))
    return (
        re.match(rf"`?{name}\b`?[^.]{{0,60}}? (?:is|are|provides|lets|makes|offers) ", sentence, re.IGNORECASE)
        is not None
    )


def page_title(data: bytes, name: str) -> str:
    """Return the title of a page, by its front matter or its first heading; empty if it has none worth telling."""
    text = known(data[: limits.PROSE_CHARACTERS].decode("utf-8-sig", "replace"))
    if name.lower().endswith((".html", ".htm")):
        found = _HTML_TITLE.search(text)
        return _as_title(html.unescape(found[1])) if found else ""
    lines = text.splitlines()
    if lines and (mark := lines[0].rstrip()) in _FRONT_MATTER:
        end = _until(lines, 1, lambda line: line.rstrip() == mark)
        titles = (found[1] for line in lines[1:end] if (found := _TITLE_KEY.match(line)))
        if title := next(titles, ""):
            return _as_title(title)
        lines = lines[end + 1 :]
    is_asciidoc = name.lower().endswith((".adoc", ".asciidoc"))
    lines = [_EQUALS.sub("# ", line) if is_asciidoc else line for line in lines]
    markdown = not name.lower().endswith(_PLAIN)
    first = next(_blocks(lines, markdown=markdown), _ProseBlock(""))
    return _as_title(first.text) if first.level in {1, 2} else ""


_HTML_TITLE = re.compile(r"<title>([^<{]{1,200})</title>", re.IGNORECASE)
_TITLE_KEY = re.compile(r"title\s*[:=]\s*[\"']?(.*?)[\"']?\s*$")
_EQUALS = re.compile(r"^=\s+")
_NO_TITLE = re.compile(r"^readme\b|[{}]|\bsponsor", re.IGNORECASE)


def is_aside(title: str) -> bool:
    """Return whether a title is about something else than what the whole is."""
    return _ASIDE.match(title) is not None


def _as_title(text: str) -> str:
    title = _reduced(text).strip(' #:.“”"')
    is_telling = 2 < len(title) <= limits.TITLE_CHARACTERS and any(mark.isalpha() for mark in title)  # noqa: PLR2004
    return title if is_telling and not _NO_TITLE.search(title) else ""


_OUT_OF_CONTEXT = re.compile(
    r"(?:it|they|he|she|however|but|so|and|or|also|then|therefore|thus|otherwise|instead|additionally|furthermore"
    r"|moreover|likewise|similarly|finally|first|second|next|here|there|that|those|these (?:are|were)|in addition"
    r"|for example|e\.g|i\.e|such|as (?:above|such|you|described|mentioned|noted|of)|same as|like (?:this|the above)"
    r"|yes|no|hi|hello|welcome|we|i|my|you|your|our|if|when|once|after|before|because|since|don'?t|do not|make sure|run"
    r"|use (?:this|the|it)|for use|using|execute|open|readme|the \w+ file"
    r"|to (?:run|build|use|start|install|get|generate|test|update|regenerate|compile|view)"
    r"|returns?|throws?|sets?|gets?|see|refer|note|todo|fixme|xxx|hack|deprecated|copyright|licensed|@|#|\$|>|<|\||\W*$)\b",
    re.IGNORECASE,
)
_UNFINISHED = re.compile(
    r"\b(?:such as|including|includes?|like|as follows|following|follows|is|are|by|to|for|with|of|and|or|the|an?|in|on"
    r"|at|from|via|namely|for (?:instance|example))[\s,:;…-]*$|\b(?:e\.g|i\.e)\W*$",
    re.IGNORECASE,
)


def is_out_of_context(sentence: str) -> bool:
    """Return whether a sentence leans on what is before or after it, or speaks to the reader."""
    return bool(_OUT_OF_CONTEXT.match(sentence) or _UNFINISHED.search(sentence))


def _of_the_whole(blocks: Iterable[_ProseBlock]) -> Iterator[_ProseBlock]:
    """Yield paragraphs that may speak of the whole: those before the sections that do not, and those that say so."""
    level, is_aside, is_over, is_about = 0, False, False, False
    for index, block in enumerate(blocks):
        if not block.level:
            if not (block.is_list or is_aside or (level > _DEEPEST and not is_about)):
                yield block
        elif not is_aside or block.level <= level:
            is_own_title = not index and block.level == 1
            is_aside = bool((_ASIDE_AT_ONCE if is_own_title else _ASIDE).match(block.text))
            is_about = _ABOUT.match(block.text) is not None
            is_over = is_over or is_aside
            is_aside = is_aside or (is_over and not _ABOUT.match(block.text))
            level = block.level


def _is_prose(paragraph: str) -> bool:
    """Return whether a paragraph is prose: unlike badges, menus and addresses, it has words of its own."""
    own = _LINKED.sub(" ", _IMAGE.sub("", paragraph))
    return len(_WORD.findall(own)) >= _FEWEST_WORDS and not paragraph.lstrip().startswith("[!")


def _is_telling(sentence: str) -> bool:
    is_motto = sentence[0] in "\"“'‘" and sentence[-1] in "\"”'’"
    return not (is_motto or sentence.endswith(":") or _BESIDE_THE_POINT.match(sentence) or is_boilerplate(sentence))


_FEWEST_WORDS_OF_A_SENTENCE = 2
_KINDS = "package|module|crate|namespace|class|file|library|init file"
_BOILERPLATE = re.compile(
    r"\(c\)|©|@ts-|#!|[\W_]*+(?:copyright\b|spdx-|all rights reserved|licen[cs]ed? (?:under|to|for|:|agreement)"
    r"|distributed under|(?:the )?(?:mit|apache|bsd|isc|gnu)\b.{0,40}\blicen[cs]e\b|permission (?:is hereby|to use)"
    r"|redistribution and use"
    r"|(?:use of )?this (?:file|program|software|source|code|library|project|module|work)(?: code)? (?:is|may|has|was) "
    r"(?:free software|(?:a )?part of|licen[cs]ed|released under|distributed|made available|subject to|governed|covered"
    r"|published under|auto|machine|generated|bootstrapped|scaffolded|initiali[sz]ed|created (?:with|by|using))"
    r"|see (?:the )?(?:licen[cs]e|copying|copyright|authors)|for license information|unless required by"
    r"|auto(?:matically)?[ -]?(?:generated|created)|(?:code |file )?generated (?:by|with|from|using)"
    r"|do not (?:edit|modify)|(?:todo|fixme|xxx|hack)\b"
    r"|(?:vim|pylint|flake8|mypy|ruff|noqa|isort|eslint|tslint|jshint|prettier|istanbul|emacs)\b ?[-:]"
    r"|type: ?ignore|use strict|coding[:=]|usr/bin|bin/|created (?:on|by|at)\b|author\b ?:|date ?:"
    r"|(?:please )?(?:add|insert|write|put|enter) (?:your|a|the|some)? ?(?:\w+ )?(?:description|summary|docstring)"
    r"|(?:your|my|a|the|short|project|package|module|some|brief|no) (?:\w+ )?(?:description|summary)\b(?: here)?\W*$"
    r"|description of\W*$|lorem ipsum|this template should help|top[- ]level package"
    r"|main (?:module|package|file|script)\W*$|(?:package|module) init"
    r"|init(?:iali[sz]e[sd]?|iali[sz]ation)? (?:file|module|package|the (?:package|module))\b"
    r"|__init__|module dependencies|table of contents)",
    re.IGNORECASE,
)
_ONLY_NAMED = re.compile(
    rf"(?:the |this )?+(?:(?:{_KINDS})(?: (?:for|of|called|named))?+ \S++|\S++ (?:{_KINDS}))[^\w]*+$", re.IGNORECASE
)


def is_boilerplate(sentence: str) -> bool:
    """Return whether `sentence` says nothing of what it stands for."""
    said = known(sentence[: limits.PROSE_CHARACTERS])
    if len(_WORD.findall(said)) < _FEWEST_WORDS_OF_A_SENTENCE:
        return True
    return bool(_BOILERPLATE.match(said) or _ONLY_NAMED.match(said))
