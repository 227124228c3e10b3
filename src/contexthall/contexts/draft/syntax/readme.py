"""The sentence of a README that says what its subject is, and the title of a page.

Pure.
"""

import html
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from contexthall.contexts.draft.syntax.blocks import ProseBlock, blocks, until, without_comments
from contexthall.contexts.draft.syntax.markup import plain
from contexthall.contexts.draft.syntax.sentences import WORD, first_sentence, is_boilerplate, is_out_of_context
from contexthall.core import limits
from contexthall.core.text import known

_MARKDOWN = (".md", ".markdown", ".mdown", ".mkd", ".mdx")
_PLAIN = (".rst", ".rest", ".txt", ".text")


_FEWEST_WORDS = 3
"""Words beside its links that make a paragraph of a README prose."""
_FRONT_MATTER = ("---", "+++")
_DEEPEST = 2
"""The level of the titles below which no paragraph is about the whole."""

# Beginnings of titles of sections that do not say what the project is.
_OFF_TOPIC = re.compile(
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
# The title of a README itself may be any of those: that of a directory of examples, say.
_OFF_TOPIC_ALONE = re.compile(
    r"[\W\d_]*+(?:contents|table of contents|contributing|donations?|installation|license|sponsors)$", re.IGNORECASE
)
_ABOUT = re.compile(
    r"[\W\d_]*+(?:about|background|descri|introduc|motivat|overview|purpose|summary|what (?:is|are)|why)",
    re.IGNORECASE,
)
_BESIDE_THE_POINT = re.compile(
    r"[⚠❗🚨📢]|[\W_]*+(?:note\b|warning|important\b|tip\b|caution|attention|disclaimer|deprecat|update\b|news\b|new[:!]|announc"
    r"|(?:table of )?contents|toc\b|languages?\b|translations?\b|read (?:this|more|the)|click (?:here|on|the|to)"
    r"|see (?:the|also|our|http|`)|view the|visit|check (?:out|the)"
    r"|(?:full |the |complete |online |latest ){0,3}(?:docs|documentation|manual)\b(?: for| of)?(?: \S+)? ?"
    r"(?::|is|are|can|may|at|lives?|available|has)"
    r"|(?:to )?install\b|pip install|npm install|download\b|you can (?:install|find|download|read|use)"
    r"|for (?:more|further|full|detailed?|the latest|usage|documentation|installation)|if you|please|thanks?\b"
    r"|use of \w+ [\d.]+|(?:requires|needs) "
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

_LABEL = re.compile(r"^[ \t]{0,3}\[([^\[\]\n]{1,200})\]:", re.MULTILINE)
_LABELLED = re.compile(r"(?<![\w\]])(!?)\[([^\[\]]++)\](?![\[(:])")
_TARGET = re.compile(r"^\.\. _`?([^:`\n]{1,80})`?:", re.MULTILINE)
_TARGETED = re.compile(r"(?<![\w`])([^\W_][\w.+-]{0,80}?)_(?![\w`])")
_SUBSTITUTION = re.compile(r"^\.\. \|([^|\n]{1,80})\|[ \t]+(\w{1,20})::(.*)", re.MULTILINE)
_SUBSTITUTED = re.compile(r"\|([^|\s](?:[^|]{0,78}[^|\s])?)\|(?:__?(?!\w))?")


def _resolver(text: str) -> Callable[[str], str]:
    """Return a function that resolves references: to links, or to the text that a substitution stands for."""
    labels = {label.lower() for label in _LABEL.findall(text)}
    targets = {target.lower() for target in _TARGET.findall(text)}
    replacements = {name: text.strip() if kind == "replace" else "" for name, kind, text in _SUBSTITUTION.findall(text)}

    def resolve(text: str) -> str:
        text = _LABELLED.sub(lambda use: f"{use[0]}[]" if use[2].lower() in labels else use[0], text)
        text = _TARGETED.sub(lambda use: f"`{use[1]}`_" if use[1].lower() in targets else use[0], text)
        return _SUBSTITUTED.sub(lambda use: replacements.get(use[1], use[0]), text)

    return resolve


def readme_sentence(data: bytes, name: str) -> str:
    """Return the first sentence of prose of the README `data`, whose file is called `name`; empty if there is none."""
    suffix = name[name.rfind(".") :].lower() if "." in name else ""
    if (suffix and suffix not in _MARKDOWN + _PLAIN) or b"\0" in data[: limits.PROSE_CHARACTERS]:
        return ""
    text = without_comments(known(data[: limits.PROSE_CHARACTERS].decode("utf-8-sig", "replace")))
    resolve, lines, markdown = _resolver(text), text.splitlines(), suffix in _MARKDOWN
    if markdown and lines and (mark := lines[0].rstrip()) in _FRONT_MATTER:
        lines = lines[until(lines, 1, lambda line: line.rstrip() == mark) + 1 :]
    found = list(islice(blocks(lines, markdown=markdown), _README_BLOCKS))
    title = next((plain(block.text) for block in found if block.level == 1), "")
    sentences = [each for block in _about_the_whole(found) if (each := _usable(resolve(block.text), title))]
    # A sentence that defines the project by its name is better than one that leads up to it.
    defining = (each for each in sentences[:_README_PARAGRAPHS] if title and _defines(each, title))
    return next(defining, sentences[0] if sentences else "")


_README_BLOCKS, _README_PARAGRAPHS = 200, 4


def _usable(paragraph: str, title: str) -> str:
    """Return the first sentence of a paragraph, if it is informative on its own."""
    sentence = first_sentence(paragraph, limits.SUMMARY_CHARACTERS) if _is_prose(paragraph) else ""
    if _DEFINES.search(sentence):  # and leads to a list
        sentence = sentence.rstrip(": ")
    if not sentence or not _is_informative(sentence) or is_out_of_context(sentence):
        return ""
    is_in_the_middle = (
        sentence[0].islower()
        and sentence.split(" ")[0].islower()
        and not _NAMED_FIRST.match(sentence)
        and not title.lower().startswith(sentence.split(" ")[0].lower())
    )
    return "" if is_in_the_middle else sentence


_NAMED_FIRST = re.compile(r"[\w.-]+ (?:is|are) ")


def _defines(sentence: str, title: str) -> bool:
    name, text = title.split(" ", maxsplit=1)[0].strip("`").lower(), sentence.lstrip("`").lower()
    return text.startswith(name) and _PREDICATE.match(text, len(name)) is not None


_PREDICATE = re.compile(r"(?!\w)`?[^.]{0,60}? (?:is|are|provides|lets|makes|offers) ")


def page_title(data: bytes, name: str) -> str:
    """Return the title of a page, by its front matter or its first heading; empty if it has no usable one."""
    text = known(data[:_TOP_BYTES].decode("utf-8-sig", "replace"))
    if name.lower().endswith((".html", ".htm")):
        found = _HTML_TITLE.search(text)
        return _as_title(html.unescape(found[1])) if found else ""
    lines = without_comments(text).lstrip().splitlines()
    if lines and (mark := lines[0].rstrip()) in _FRONT_MATTER:
        end = until(lines, 1, lambda line: line.rstrip() == mark)
        titles = (found[1] for line in lines[1:end] if (found := _TITLE_KEY.match(line)))
        if title := next(titles, ""):
            return _as_title(title)
        lines = lines[end + 1 :]
    is_asciidoc = name.lower().endswith((".adoc", ".asciidoc"))
    lines = [_EQUALS.sub("# ", line) if is_asciidoc else line for line in lines]
    markdown = not name.lower().endswith(_PLAIN)
    first = next(blocks(lines, markdown=markdown), ProseBlock(""))
    return _as_title(first.text) if first.level in {1, 2} else ""


_TOP_BYTES = 1 << 13
_HTML_TITLE = re.compile(r"<title>([^<{]{1,200})</title>", re.IGNORECASE)
_TITLE_KEY = re.compile(r"title\s*[:=]\s*[\"']?(.*?)[\"']?\s*$")
_EQUALS = re.compile(r"^=\s+")
_NO_TITLE = re.compile(r"^readme\b|[{}]|\bsponsor", re.IGNORECASE)


def is_off_topic(title: str) -> bool:
    """Return whether the section of a title does not say what the whole is."""
    return _OFF_TOPIC.match(title) is not None


def _as_title(text: str) -> str:
    title = plain(text).strip(' #:.“”"')
    is_usable = 2 < len(title) <= limits.TITLE_CHARACTERS and any(mark.isalpha() for mark in title)  # noqa: PLR2004
    return title if is_usable and not _NO_TITLE.search(title) else ""


def _about_the_whole(found: Iterable[ProseBlock]) -> Iterator[ProseBlock]:
    """Yield paragraphs that may be about the whole: before any section that is off topic, or in one such as "About"."""
    level, is_skipped, is_over, is_about = 0, False, False, False
    for index, block in enumerate(found):
        if not block.level:
            if not (block.is_list or is_skipped or (level > _DEEPEST and not is_about)):
                yield block
        elif not is_skipped or block.level <= level:
            is_own_title = not index and block.level == 1
            is_skipped = bool((_OFF_TOPIC_ALONE if is_own_title else _OFF_TOPIC).match(block.text))
            is_about = _ABOUT.match(block.text) is not None
            is_over = is_over or is_skipped
            is_skipped = is_skipped or (is_over and not _ABOUT.match(block.text))
            level = block.level


def _is_prose(paragraph: str) -> bool:
    """Return whether a paragraph is prose: unlike badges, menus and addresses, it has words of its own."""
    own = _LINKED.sub(" ", _IMAGE.sub("", paragraph))
    return len(WORD.findall(own)) >= _FEWEST_WORDS and not paragraph.lstrip().startswith(("[!", "#"))


def _is_informative(sentence: str) -> bool:
    is_motto = sentence[0] in "\"“'‘" and sentence[-1] in "\"”'’"
    return not (is_motto or sentence.endswith(":") or _BESIDE_THE_POINT.match(sentence) or is_boilerplate(sentence))
