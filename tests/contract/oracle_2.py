"""What the contract says a cache of format 2 answers, read aloud.

Slow and literal on purpose, and sharing nothing with the package: section 8 of the contracts, sentence by sentence.
Where the contract is silent, a comment that begins with `silent:` gives the choice made here.

`sections` splits a page, `rank` orders the sections of a cache, `resolve_json`, `resolve_text`, `read_json` and
`outline_json` give replies. `pages` is always {source path as found: text}.
"""

import math
import os.path
import re
import string
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from hashlib import sha256
from itertools import pairwise, takewhile

import snowballstemmer  # type: ignore[import-untyped, unused-ignore]
import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

BUILD_CONFIG = '{"version":"2","hash_algorithm":"sha256","split":"headings-1","scorer":"bm25f-1"}'
BYTE_ORDER_MARK = "\ufeff"
PART_BYTES = 6000
POOL = 400
PAIRED = 100
SKIPPED = 5
DECAYS = 8
DEFAULT_BUDGET = 4000
LONGEST_CHANGED = 2147483647
NEAREST = 400

# silent: the case of a suffix. It does not count: README.MD is Markdown.
# silent: which page texts a converter made. Who calls with such a page names the source as if it were `.md`.
KINDS = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".mdx": "markdown",
    ".rst": "rst",
    ".txt": "txt",
    ".adoc": "asciidoc",
    ".asciidoc": "asciidoc",
}
STOP_WORDS = re.findall(
    r"\w+",
    "a an and are as at be but by can do does for from how i if in into is it its of on or that the their then there "
    "these they this to was what when where which who why will with you your",
)
UNSPACED = "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
WORD_PARTS = r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+"
CONTROLS = "\u0000-\u001f\u007f-\u009f"
SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
ERRORS = {"document_missing": "Document does not exist", "invalid_budget": "Budget is invalid"}
PORTER = snowballstemmer.stemmer("porter")


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A heading on the page's lines `first` to `end` (from 0, `end` not included)."""

    first: int
    end: int
    level: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A line of a page with its end, or what a cut at a character left of one."""

    text: str
    number: int
    in_heading: bool
    in_fence: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A section, or a part of one that was too long."""

    page: str
    id: str
    title: str
    stem: str
    heading: str
    level: int
    crumbs: tuple[str, ...]
    content: str
    body: str
    first: int = 1
    last: int = 1
    body_line: int = 1

    @property
    def version(self) -> str:
        return "sha256:" + sha256(self.content.encode()).hexdigest()

    @property
    def full_title(self) -> str:
        heading = [] if self.heading in {"", self.title} else [self.heading]
        return " > ".join([self.title, *self.crumbs, *heading])


# Lines


def lines_of(text: str) -> list[str]:
    r"""Split at `\n`, `\r\n` and `\r` and nowhere else (no form feed, no U+2028), line ends kept."""
    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", text)


def bare(line: str) -> str:
    """Give the line without its end."""
    return line.rstrip("\r\n")


def seen(lines: list[str]) -> list[str]:
    """Give the lines as the rules see them: no line ends, no byte order mark."""
    # silent: a second byte order mark. It is a character like any other.
    return [bare(line.removeprefix(BYTE_ORDER_MARK) if at == 0 else line) for at, line in enumerate(lines)]


def is_blank(line: str) -> bool:
    return bare(line).strip(" \t\f\v") == ""


def is_indented(line: str) -> bool:
    return line.startswith((" ", "\t"))


# Front matter and title


def front_matter_end(source: str, lines: list[str]) -> int:
    """Count the lines of front matter, both fences included; 0 for none."""
    # silent: front matter in formats other than Markdown. There is none.
    if kind_of(source) != "markdown" or len(lines) < 2 or is_blank(lines[1]):
        return 0
    # silent: blanks after the closing line. They are ignored, as after the opening one.
    # silent: whether `...` closes `+++`. It does not; it belongs to YAML.
    closing = {"---": ("---", "..."), "+++": ("+++",)}.get(lines[0].rstrip(" \t"), ())
    for at in range(1, len(lines)):
        if lines[at].rstrip(" \t") in closing:
            return at + 1
    return 0


class CoreLoader(yaml.BaseLoader):  # type: ignore[misc]
    """YAML with the scalars of 1.2's core schema."""


for _tag, _pattern in {
    "null": r"(?:null|Null|NULL|~|)$",
    "bool": r"(?:true|True|TRUE|false|False|FALSE)$",
    "int": r"(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$",
    "float": r"(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$",
}.items():
    CoreLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), None)


def yaml_title(text: str) -> str | None:
    """Give the root mapping's `title` if it is a string."""
    try:
        root = yaml.compose(text, Loader=CoreLoader)
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError):
        return None  # silent: front matter that does not parse. It is still front matter, and has no title.
    if not isinstance(root, yaml.MappingNode):
        return None
    keys = [key.value for key, _ in root.value if isinstance(key, yaml.ScalarNode)]
    if len(set(keys)) < len(keys):
        return None  # silent: duplicate keys. They are an error in YAML 1.2, as in section 5.
    for key, value in root.value:
        if isinstance(key, yaml.ScalarNode) and key.value == "title" and value.tag == "tag:yaml.org,2002:str":
            return str(value.value) if isinstance(value, yaml.ScalarNode) else None
    return None


def toml_title(text: str) -> str | None:
    try:
        title = tomllib.loads(text).get("title")
    except (tomllib.TOMLDecodeError, ValueError, RecursionError):
        return None
    return title if isinstance(title, str) else None


def front_matter_title(front: list[str]) -> str:
    """Give the title in front matter, `""` for none."""
    if not front:
        return ""
    # silent: line ends inside front matter. Every kind is read as `\n`, which TOML would not do with `\r`.
    inside = "\n".join(front[1:-1]) + "\n"
    found = (toml_title if front[0].startswith("+++") else yaml_title)(inside) or ""
    # silent: lone surrogates, which YAML can escape and UTF-8 cannot hold. Such a title is none.
    if any("\ud800" <= character <= "\udfff" for character in found):
        return ""
    # silent: blanks at its ends. They go, and a title of blanks only is empty.
    return re.sub(f"[ {CONTROLS}]+", " ", found).strip(" ")


def stem_of(source: str) -> str:
    # silent: several leading dots, and a dot at the end. As `os.path.splitext`: `..a` is its own stem, `a.` has `a`.
    return os.path.splitext(source.rsplit("/", maxsplit=1)[-1])[0]


def title_of(source: str, text: str) -> str:
    lines = seen(lines_of(text))
    title = front_matter_title(lines[: front_matter_end(source, lines)])
    headings = [heading.text for heading in headings_of(source, lines) if heading.text]
    return title or next(iter(headings), "") or stem_of(source)


# Headings


def kind_of(source: str) -> str:
    return KINDS.get(os.path.splitext(source)[1].lower(), "other")


def headings_of(source: str, lines: list[str]) -> list[Heading]:
    match kind_of(source):
        case "markdown":
            return markdown_headings(source, lines)
        case "rst":
            return adorned_headings(lines, plain=False)
        case "txt":
            return adorned_headings(lines, plain=True)
        case "asciidoc":
            return asciidoc_headings(lines)
    return []


def heading_text(text: str, *, atx: bool = False) -> str:
    """Reduce what stands between the markers."""
    # silent: which formats this is for. Closing `#` only where CommonMark has them (ATX), the rest for every format.
    # silent: the order. Closing `#`, one `{…}`, closing `#` once more: `# A {#a} #` and `# A # {#a}` are both A.
    # silent: what may stand in braces. `{#id}` with blanks around the id alone (`{ #id }` is how MkDocs has it, and
    # `{#each x}` stays), `{:…}` anything but braces; a blank before them is not required.
    # silent: blanks include the line ends in a Setext heading of several lines.
    text = _without_closing(text) if atx else text
    without = re.sub(r"[ \t]*\{(?:[ \t]*#[^{}\s]+[ \t]*|:[^{}]*)\}[ \t]*$", "", text)
    if atx and without != text:
        without = _without_closing(without)
    return re.sub(r"[ \t\n]+", " ", _without_links(without)).strip(" ")


def _without_closing(text: str) -> str:
    return re.sub(r"(?:^|[ \t]+)#+[ \t]*$", "", text)


def _without_links(text: str) -> str:
    """Reduce links from the inside out, until there are none."""
    # silent: nested brackets and parentheses. Inside out; a target may hold one level of parentheses.
    # silent: images, code spans, escapes. No exception is made: `![a](b)` gives `!a`.
    reduced = re.sub(r"\[([^\[\]]*)\]\((?:[^()]|\([^()]*\))*\)", r"\1", text)
    return text if reduced == text else _without_links(reduced)


def is_jsx_tag(line: str) -> bool:
    """Tell whether the line is one opening, closing, self-closing or fragment tag and nothing else."""
    # silent: what a JSX tag is. Quoted attributes may hold anything, braces may nest; two tags are not one.
    attributes = r"""(?:"[^"]*"|'[^']*'|\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}|[^<>"'{}])*"""
    return re.fullmatch(rf"</?(?:[A-Za-z_$][\w$.:-]*(?:[\s/]{attributes})?)?>", line.strip(" \t")) is not None


def commonmark_text(source: str, lines: list[str]) -> tuple[int, str]:
    """Give the number of lines taken off, and what CommonMark sees."""
    front = front_matter_end(source, lines)
    # silent: how far "counts as blank" goes. Only for finding headings and fences; elsewhere a tag is text.
    is_mdx = source.lower().endswith(".mdx")
    return front, "".join(("" if is_mdx and is_jsx_tag(line) else line) + "\n" for line in lines[front:])


@lru_cache(maxsize=64)
def commonmark(text: str) -> list[Token]:
    # silent: depth. CommonMark has no limit; the preset's 20 loses every heading after ten nested lists.
    return MarkdownIt("commonmark", {"maxNesting": 100}).parse(text)


def markdown_headings(source: str, lines: list[str]) -> list[Heading]:
    front, text = commonmark_text(source, lines)
    found = []
    for token in commonmark(text):
        if token.type == "heading_open" and token.level == 0 and token.map:
            first, end = token.map[0] + front, token.map[1] + front
            atx = re.match(r" {0,3}#{1,6}(?=[ \t]|$)", lines[first]) if token.markup.startswith("#") else None
            inside = lines[first][atx.end() :] if atx else "\n".join(lines[first : end - 1])
            found.append(
                Heading(first=first, end=end, level=int(token.tag[1]), text=heading_text(inside, atx=atx is not None))
            )
    return found


def adornment(line: str) -> str:
    """Give the adornment that the line is, `""` if it is none."""
    line = line.rstrip(" \t")
    return line if line and line[0] in string.punctuation and line == line[0] * len(line) else ""


def adorned_headings(lines: list[str], *, plain: bool) -> list[Heading]:
    """Find the headings of reStructuredText, or of plain text."""
    found: list[Heading] = []
    used: list[tuple[str, bool]] = []
    at = 0
    while at < len(lines):
        free = at == 0 or is_blank(lines[at - 1]) or lines[at - 1].startswith(".. ")
        free = free or (bool(found) and found[-1].end == at)
        overlined = is_adorned(lines[at : at + 3], overlined=True, plain=plain)
        if not free or not (overlined or is_adorned(lines[at : at + 2], overlined=False, plain=plain)):
            at += 1
            continue
        end = at + (3 if overlined else 2)
        style = (lines[end - 1][0], overlined)
        if style not in used:
            used.append(style)
        title = lines[end - 2]
        found.append(Heading(first=at, end=end, level=used.index(style) + 1, text=heading_text(title)))
        at = end
    return found


def is_adorned(lines: list[str], *, overlined: bool, plain: bool) -> bool:
    """Tell whether two lines are title and underline, or three are overline, title and underline."""
    if len(lines) != (3 if overlined else 2):
        return False
    title, under = lines[-2].rstrip(" \t"), adornment(lines[-1])
    if is_blank(title) or adornment(title) or title.startswith(".. ") or not under:
        return False
    # silent: whether the indent of an overlined title counts in its length. It does, as in docutils.
    if len(under) < len(title) and len(under) < 4:
        return False
    # silent: two blanks in a row at the ends of a .txt title. The indent and trailing blanks do not count.
    if plain and (len(under) < 3 or re.search(r"[ \t]{2}", title.strip(" \t"))):
        return False
    if overlined:
        return adornment(lines[0]) == under and len(under) >= len(title)
    return not is_indented(title)


def asciidoc_blocks(lines: list[str]) -> list[bool]:
    """Tell of every line whether it belongs to a delimited block."""
    # silent: what a delimited block is. As Asciidoctor: four or more of one of - . = * _ + /, `--`, a table's
    # `|===` (also , : !), or three backticks and a language; to the next line that is the same (backticks: bare), else
    # to the end of the page. What stands inside opens nothing.
    found, closing = [], ""
    for line in lines:
        stripped = line.rstrip(" \t")
        if closing:
            found.append(True)
            closing = "" if stripped == closing else closing
        elif re.fullmatch(r"(-|\.|=|\*|_|\+|/)\1{3,}|--|[|,:!]={3,}", stripped):
            found.append(True)
            closing = stripped
        elif re.match(r"```(?!`)", stripped):
            found.append(True)
            closing = "```"
        else:
            found.append(False)
    return found


def asciidoc_headings(lines: list[str]) -> list[Heading]:
    found = []
    for at, (line, inside) in enumerate(zip(lines, asciidoc_blocks(lines), strict=True)):
        # silent: `== ` with nothing after it. A heading, and empty. A tab is not a space.
        if match := re.match(r"(={1,6}) ", line):
            marker, text = match[1], line[match.end() :].rstrip(" \t")
            # silent: `== Title ==`. The second marker is one too, if it is the same.
            text = text.removesuffix(" " + marker)
            if not inside:
                found.append(Heading(first=at, end=at + 1, level=len(marker), text=heading_text(text)))
    return found


def fenced_lines(source: str, lines: list[str]) -> set[int]:
    """Give the lines that belong to a fence, its first and last line included."""
    # silent: what a fence is. CommonMark's at any depth; in AsciiDoc a delimited block; in other formats nothing.
    if kind_of(source) == "asciidoc":
        return {at for at, inside in enumerate(asciidoc_blocks(lines)) if inside}
    if kind_of(source) != "markdown":
        return set()
    front, text = commonmark_text(source, lines)
    maps = [token.map for token in commonmark(text) if token.type == "fence" and token.map]
    return {front + at for first, end in maps for at in range(first, end)}


# Sections


def sections(path: str, source_name: str, text: str) -> list[Section]:
    """Split a page. `path` is its id, `source_name` its path as found."""
    raw = lines_of(text)
    lines = seen(raw)
    if all(is_blank(line) for line in lines):
        return []
    headings = headings_of(source_name, lines)
    title = title_of(source_name, text)
    fenced = fenced_lines(source_name, lines)
    in_heading = {at for heading in headings for at in range(heading.first, heading.end)}
    pieces = [
        Piece(text=line, number=at + 1, in_heading=at in in_heading, in_fence=at in fenced)
        for at, line in enumerate(raw)
    ]
    found: list[Section] = []
    for start, end, heading in spans(source_name, lines, headings):
        slug = slug_of(heading.text if heading else "")
        for part in cut(pieces[start:end]):
            found.append(
                Section(
                    page=path,
                    id=free_id(path, slug, [section.id for section in found]),
                    title=title,
                    stem=stem_of(source_name),
                    heading=heading.text if heading else "",
                    level=heading.level if heading else 0,
                    crumbs=crumbs_of(heading, headings, title) if heading else (),
                    content="".join(piece.text for piece in part),
                    body="".join(piece.text for piece in part if not piece.in_heading),
                    first=part[0].number,
                    last=part[-1].number,
                    # silent: a part that holds only some of the heading's lines: the line after the last of them.
                    body_line=max([piece.number + 1 for piece in part if piece.in_heading], default=part[0].number),
                )
            )
    return found


def spans(source: str, lines: list[str], headings: list[Heading]) -> Iterator[tuple[int, int, Heading | None]]:
    """Give first line, end and heading of every section before cutting."""
    starts = [heading.first for heading in headings]
    ends = [*starts[1:], len(lines)]
    front = front_matter_end(source, lines)
    if not headings:
        yield 0, len(lines), None
        return
    if all(is_blank(line) for line in lines[front : starts[0]]):
        starts[0] = 0
    else:
        yield 0, starts[0], None
    yield from zip(starts, ends, headings, strict=True)


def crumbs_of(heading: Heading, headings: list[Heading], title: str) -> tuple[str, ...]:
    """Walk up from the heading: each one of a lower level than all below it is above it."""
    # silent: an empty heading. It is left out of the crumbs and still ends what was above it, as a level does.
    level, found = heading.level, []
    for above in reversed(headings[: headings.index(heading)]):
        if above.level < level:
            level = above.level
            found.append(above.text)
    return tuple(text for text in reversed(found) if text not in {"", title})


def slug_of(heading: str) -> str:
    # silent: "stripped" is Python's: all white space at the ends.
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") or "top"


def free_id(path: str, slug: str, taken: list[str]) -> str:
    """Give the id, with the smallest number that makes it free. Parts count as sections of their own."""
    wanted, number = f"{path}#{slug}", 2
    if wanted not in taken:
        return wanted
    while f"{wanted}-{number}" in taken:
        number += 1
    return f"{wanted}-{number}"


# Cutting


def size_of(pieces: list[Piece]) -> int:
    return sum(len(piece.text.encode()) for piece in pieces)


def is_blank_piece(piece: Piece) -> bool:
    # silent: what a cut at a character leaves of a line. It is a line for the rules here, blank if it is only blanks.
    return is_blank(piece.text.removeprefix(BYTE_ORDER_MARK) if piece.number == 1 else piece.text)


def has_body(pieces: list[Piece]) -> bool:
    return any(not piece.in_heading and not is_blank_piece(piece) for piece in pieces)


def is_fair(part: list[Piece], rest: list[Piece]) -> bool:
    """Tell whether both have a non-blank line besides the heading's (a blank rest will stay with the part)."""
    return has_body(part) and (has_body(rest) or all(map(is_blank_piece, rest)))


def cut(pieces: list[Piece]) -> list[list[Piece]]:
    """Cut from the front until the rest is small enough."""
    parts: list[list[Piece]] = []
    rest = pieces
    while size_of(rest) > PART_BYTES:
        part, rest = first_part(rest)
        blank = list(takewhile(is_blank_piece, rest))
        # silent: blank lines that would be a part alone and do not fit the part before. They make it longer than 6,000.
        if blank == rest or size_of(blank) >= PART_BYTES:
            part, rest = part + blank, rest[len(blank) :]
        parts.append(part)
    return [*parts, rest] if rest else parts


def first_part(rest: list[Piece]) -> tuple[list[Piece], list[Piece]]:
    # silent: no cut leaves both sides a line besides the heading's (a heading of 6,000 bytes). The same rules without
    # that one.
    return first_part_where(rest, is_fair) or first_part_where(rest, lambda _part, _rest: True) or (rest, [])


def first_part_where(
    rest: list[Piece], allowed: Callable[[list[Piece], list[Piece]], bool]
) -> tuple[list[Piece], list[Piece]] | None:
    small = list(takewhile(lambda end: size_of(rest[:end]) <= PART_BYTES, range(1, len(rest))))
    for rule in (after_blank_before_unindented, after_blank, after_line):
        ends = [end for end in small if rule(rest, end) and allowed(rest[:end], rest[end:])]
        if ends:
            return rest[: ends[-1]], rest[ends[-1] :]
    before, line, after = rest[: len(small)], rest[len(small)], rest[len(small) + 1 :]
    for at in reversed(range(1, len(line.text))):
        left, right = [*before, replace(line, text=line.text[:at])], [replace(line, text=line.text[at:]), *after]
        between = line.text[at - 1 : at + 1] == "\r\n"
        if size_of(left) <= PART_BYTES and not between and allowed(left, right):
            return left, right
    return None


def after_blank(rest: list[Piece], end: int) -> bool:
    return is_blank_piece(rest[end - 1]) and not rest[end - 1].in_fence


def after_blank_before_unindented(rest: list[Piece], end: int) -> bool:
    # silent: a blank line that follows. It is not indented unless it begins with a blank.
    return after_blank(rest, end) and not is_indented(rest[end].text)


def after_line(rest: list[Piece], end: int) -> bool:
    # silent: whether a cut at a line's end may fall into a fence. It may.
    return rest[end - 1].text.endswith(("\n", "\r"))


# Tokens


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def tokens(text: str) -> list[str]:
    return [token for word in words(text) for token in word_tokens(word)]


@cache
def word_tokens(word: str) -> list[str]:
    found = []
    for run in re.findall(f"{UNSPACED}|(?:(?!{UNSPACED}).)+", word, re.DOTALL):
        if re.fullmatch(UNSPACED, run):
            found += [run] if len(run) == 1 else [first + second for first, second in pairwise(run)]
        else:
            found += spaced_tokens(run)
    return found


def spaced_tokens(word: str) -> list[str]:
    lower = word.lower()
    found = [lower]
    if "_" in word or any(character.isdigit() for character in word) or word[1:] != lower[1:]:
        parts = re.findall(WORD_PARTS, word)
        found += [part.lower() for part in parts] if len(parts) >= 2 else []
    # silent: whether a stop word is tested before stemming. It is.
    return [stem(token) for token in found if token not in STOP_WORDS]


def stem(token: str) -> str:
    return str(PORTER.stemWord(token)) if re.fullmatch("[a-z]{3,}", token) else token


# Ranking


def log2_16(x: int) -> int:
    n = x.bit_length() - 1
    y, r = (x << 31) >> n, n << 16
    for i in reversed(range(16)):
        y = (y * y) >> 31
        if y >= 2**32:
            y >>= 1
            r |= 1 << i
    return r


@cache
def section_fields(section: Section) -> dict[str, list[str]]:
    return {
        "t": tokens(section.title) + tokens(section.stem),
        "h": [] if section.heading == section.title else tokens(section.heading),
        "c": [token for crumb in section.crumbs for token in tokens(crumb)],
        "b": tokens(section.body),
    }


def page_fields(of_sections: list[dict[str, list[str]]]) -> dict[str, list[str]]:
    # Whether a page's title has the stem with it, the contract's known answers tell: it does.
    # silent: the heading of a section in several parts. It counts once a part, as the parts are sections.
    joined = {name: [token for fields in of_sections for token in fields[name]] for name in "hcb"}
    return {"t": of_sections[0]["t"], **joined}


class Statistics:
    """Idf and weights over units, be they sections or pages."""

    def __init__(self, units: list[dict[str, list[str]]]) -> None:
        self.count = len(units)
        self.df = Counter(token for unit in units for token in {token for field in unit.values() for token in field})
        self.total = {name: sum(len(unit[name]) for unit in units) for name in "thcb"}

    def idf(self, token: str) -> int:
        return log2_16(2 * self.count + 2) - log2_16(2 * self.df[token] + 1)

    def w(self, k: int, token: str, unit: dict[str, list[str]], name: str) -> int:
        average = max(1, 16 * self.total[name] // self.count)
        return 2048 * k * unit[name].count(token) * average // (average + 16 * len(unit[name]))

    def own(self, token: str, unit: dict[str, list[str]]) -> int:
        idf = self.idf(token)
        whole = sum(self.w(k, token, unit, name) for name, k in {"t": 4, "h": 4, "c": 1, "b": 1}.items())
        title, heading = self.w(1, token, unit, "t"), self.w(1, token, unit, "h")
        return s(idf, whole) + s(idf, title) + s(idf, heading) * 8 // 16

    def page(self, token: str, unit: dict[str, list[str]]) -> int:
        whole = sum(self.w(k, token, unit, name) for name, k in {"t": 4, "h": 4, "b": 1}.items())
        return s(self.idf(token), whole) * 8 // 16


def s(idf: int, weight: int) -> int:
    return idf * weight // (weight + 1228)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A section and the score that is served."""

    section: Section
    score: int


def rank_sections(every: list[Section], query: str) -> list[Ranked]:
    """Give the order, at most 400 sections."""
    fields = {section.id: section_fields(section) for section in every}
    by_section = Statistics(list(fields.values()))
    page_names = sorted({section.page for section in every})
    pages = {
        name: page_fields([fields[section.id] for section in every if section.page == name]) for name in page_names
    }
    by_page = Statistics(list(pages.values()))
    asked = tokens(query)
    known = sorted({token for token in asked if by_section.df[token]})
    scores: dict[str, int] = {}
    for section in every:
        own = sum(by_section.own(token, fields[section.id]) for token in known)
        if own > 0:
            scores[section.id] = own + sum(by_page.page(token, pages[section.page]) for token in known)
    pool = sorted(scores, key=lambda id_: (-scores[id_], id_))[:POOL]
    by_id = {section.id: section for section in every}
    # silent: which idf pairs have. That over sections.
    # silent: stop words between two words of a query. Neighbours are neighbours among the tokens, stop words gone.
    pairs = {(x, y) for x, y in pairwise(asked) if x != y and x in known and y in known}
    for id_ in pool[:PAIRED]:
        for x, y in pairs:
            if stands_before(x, y, by_id[id_]):
                scores[id_] += min(by_section.idf(x), by_section.idf(y))
    return decayed([Ranked(section=by_id[id_], score=scores[id_]) for id_ in pool])


def stands_before(x: str, y: str, section: Section) -> bool:
    """Tell whether x stands directly before y in body, heading or title."""
    return any((x, y) in pairwise(tokens(text)) for text in (section.body, section.heading, section.title))


def decayed(pool: list[Ranked]) -> list[Ranked]:
    taken: list[Ranked] = []
    left = list(pool)
    while left:
        valued = [Ranked(section=one.section, score=decay(one, taken)) for one in left]
        best = min(valued, key=lambda one: (-one.score, one.section.id))
        taken.append(best)
        left = [one for one in left if one.section.id != best.section.id]
    return taken


def decay(one: Ranked, taken: list[Ranked]) -> int:
    score = one.score
    for _ in range(min(DECAYS, sum(other.section.page == one.section.page for other in taken))):
        score = score * 14 // 16
    return score


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """An embedder: what build_config says of it, and what it makes of a text."""

    name: str
    embed: Callable[[str], list[float]]


def int8(vector: list[float]) -> list[int]:
    """Divide by the length, times 127, round to even."""
    length = math.sqrt(math.fsum(x * x for x in vector))
    return [round(x / length * 127) if length else 0 for x in vector]


def ordered(every: list[Section], query: str, model: Model | None) -> list[Ranked]:
    """Give the order by words, or by words and meaning."""
    by_words = rank_sections(every, query)
    if model is None:
        return by_words
    # silent: what a query without tokens finds by meaning. Nothing, as by words.
    if not tokens(query):
        return []
    asked = int8(model.embed(query))
    texts = {one.id: f"{one.full_title}\n{one.body.removeprefix(BYTE_ORDER_MARK)}" for one in every}
    rows = {id_: int8(model.embed(text)) for id_, text in texts.items()}
    dots = {id_: sum(x * y for x, y in zip(asked, row, strict=True)) for id_, row in rows.items()}
    near = sorted((id_ for id_ in dots if dots[id_] > 0), key=lambda id_: (-dots[id_], id_))[:NEAREST]
    words = [one.section.id for one in by_words]
    valued = []
    for section in every:
        value = 2**24 // (60 + words.index(section.id) + 1) if section.id in words else 0
        value += 2**24 // (60 + near.index(section.id) + 1) // 4 if section.id in near else 0
        if section.id in words or section.id in near:
            valued.append(Ranked(section=section, score=value))
    return sorted(valued, key=lambda one: (-one.score, one.section.id))[:POOL]


def by_path(pages: dict[str, str]) -> dict[str, tuple[str, str]]:
    """Key (source, text) by page id, in id order."""
    found = {source.removeprefix("./").lower(): (source, text) for source, text in pages.items()}
    if len(found) != len(pages):
        raise ValueError("duplicate ids")
    return dict(sorted(found.items()))


def all_sections(pages: dict[str, str]) -> list[Section]:
    return [section for path, (source, text) in by_path(pages).items() for section in sections(path, source, text)]


def rank(pages: dict[str, str], query: str, model: Model | None = None) -> list[tuple[str, int]]:
    return [(one.section.id, one.score) for one in ordered(all_sections(pages), query, model)]


def cache_version(pages: dict[str, str], model: Model | None = None) -> str:
    config = BUILD_CONFIG if model is None else BUILD_CONFIG.replace("}", f',"embedder":"{model.name}"}}')
    listed = "".join(f"{path}:sha256:{sha256(text.encode()).hexdigest()}" for path, (_, text) in by_path(pages).items())
    return "sha256:" + sha256((config + listed).encode()).hexdigest()


# Words of the query


def query_words(query: str) -> dict[str, set[str]]:
    """Give the distinct words in lower case, in order, each with its tokens."""
    # silent: a word that is spelt in two cases (tokenBudget, tokenbudget). One word, with the tokens of both.
    found: dict[str, set[str]] = {}
    for word in words(query):
        found.setdefault(word.lower(), set()).update(word_tokens(word))
    return found


def section_tokens(section: Section) -> set[str]:
    return {token for field in section_fields(section).values() for token in field}


def matched(section: Section, query: str) -> list[str]:
    return [word for word, found in query_words(query).items() if found & section_tokens(section)]


def unmatched_terms(every: list[Section], query: str) -> list[str]:
    anywhere = {token for section in every for token in section_tokens(section)}
    return [word for word, found in query_words(query).items() if found and not found & anywhere]


# Replies

Freshness = tuple[str, int]
LONGEST_FRESHNESS_JSON: Freshness = ("unknown", LONGEST_CHANGED)
LONGEST_FRESHNESS_TEXT: Freshness = ("stale", LONGEST_CHANGED)


def quarter(size: int) -> int:
    """Count a token for every four bytes begun."""
    return -(-size // 4)


def size(text: str) -> int:
    return len(text.encode())


def content_tokens(section: Section) -> int:
    return quarter(size(section.content))


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """What of the order a reply holds."""

    taken: list[Ranked]
    skipped: list[Ranked]
    tokens_used: int


def pack(
    order: list[Ranked],
    budget: int,
    empty: int,
    item_cost: Callable[[Ranked, int], int],
    skipped_cost: Callable[[Ranked, bool], int],
) -> Packed:
    """Walk the order once; `empty` is R. Costs are asked with the item's place, and for skipped ones whether first."""
    limit = 4 * budget
    if empty > limit:
        return Packed(taken=[], skipped=[], tokens_used=quarter(empty))
    used, taken, missed, skipped = empty, list[Ranked](), list[Ranked](), list[Ranked]()
    for one in order:
        cost = item_cost(one, len(taken) + 1)
        if used + cost <= limit:
            used += cost
            taken.append(one)
        else:
            missed.append(one)
    for one in missed[:SKIPPED]:
        cost = skipped_cost(one, not skipped)
        if used + cost <= limit:
            used += cost
            skipped.append(one)
    return Packed(taken=taken, skipped=skipped, tokens_used=quarter(used))


def resolve_json(
    pages: dict[str, str],
    query: str,
    budget: int = DEFAULT_BUDGET,
    freshness: Freshness | None = None,
    model: Model | None = None,
) -> str:
    """Give the whole reply with its newline; without `freshness` that key is left out, though its room is counted."""
    every = all_sections(pages)
    order = ordered(every, query, model)
    terms = unmatched_terms(every, query)

    def reply(used: int, selected: int, excluded: int, parts: tuple[list[str], list[str]], state: Freshness) -> str:
        documents, skipped = parts
        selection = _object(
            query=_string(query),
            budget=str(budget),
            tokens_used=str(used),
            documents_considered=str(len(order)),
            documents_selected=str(selected),
            documents_excluded_by_budget=str(excluded),
            unmatched_terms=_array(map(_string, terms)),
            skipped=_array(skipped),
            **({"scorer": _string("bm25f-1"), "embedder": _string(model.name)} if model else {}),
            **({"freshness": _object(state=_string(state[0]), changed=str(state[1]))} if state[0] else {}),
        )
        return _object(documents=_array(documents), selection=selection) + "\n"

    empty = reply(budget, len(order), len(order), ([], []), LONGEST_FRESHNESS_JSON)
    packed = pack(
        order,
        budget,
        size(empty),
        lambda one, _place: size(_document(one, query)) + 1,
        lambda one, _first: size(_skipped(one)) + 1,
    )
    parts = ([_document(one, query) for one in packed.taken], [_skipped(one) for one in packed.skipped])
    selected = len(packed.taken)
    return reply(packed.tokens_used, selected, len(order) - selected, parts, freshness or ("", 0))


def _document(one: Ranked, query: str) -> str:
    section = one.section
    return _object(
        id=_string(section.id),
        version=_string(section.version),
        title=_string(section.full_title),
        lines=f"[{section.first},{section.last}]",
        content=_string(section.content),
        score=str(one.score),
        tokens=str(content_tokens(section)),
        why=_object(matched=_array(map(_string, matched(section, query)))),
    )


def _skipped(one: Ranked) -> str:
    return _object(id=_string(one.section.id), tokens=str(content_tokens(one.section)))


def resolve_text(
    pages: dict[str, str],
    name: str,
    version: str,
    query: str,
    budget: int = DEFAULT_BUDGET,
    freshness: Freshness | None = None,
    model: Model | None = None,
) -> str:
    """Give the whole reply; `version` is the cache's, with `sha256:`; without `freshness` the state is left out."""
    every = all_sections(pages)
    order = ordered(every, query, model)
    terms = unmatched_terms(every, query)

    def reply(used: int, selected: int, items: list[str], skipped: list[str], state: Freshness) -> str:
        # silent: VERSION12. The first twelve hex digits, without `sha256:`.
        header = [
            f"context {_cleaned(name)}@{version.removeprefix('sha256:')[:12]}",
            f"query: {_cleaned(query)}",
            f"{selected} of {len(order)} sections",
            f"{used} of {budget} tokens",
            *(["bm25f-1 + {}@{:.12}".format(*model.name.split("@sha256:"))] if model else []),
            *([f"stale ({state[1]} changed)" if state[0] == "stale" else state[0]] if state[0] else []),
        ]
        # silent: whether `no section has` is in R and in the empty reply. It is, as unmatched_terms are.
        return (
            " | ".join(header)
            + "\n\n"
            + "".join(items)
            + (f"no section has: {', '.join(terms)}\n" if terms else "")
            + (f"did not fit: {', '.join(skipped)}\n" if skipped else "")
        )

    empty = reply(budget, len(order), [], [], LONGEST_FRESHNESS_TEXT)
    packed = pack(
        order,
        budget,
        size(empty),
        lambda one, place: size(text_item(one.section, place, "0" * 8)),
        lambda one, first: size(_did_not_fit(one)) + (14 if first else 2),
    )
    mark = mark_of([one.section.content for one in packed.taken])
    items = [text_item(one.section, place, mark) for place, one in enumerate(packed.taken, 1)]
    skipped = [_did_not_fit(one) for one in packed.skipped]
    return reply(packed.tokens_used, len(items), items, skipped, freshness or ("", 0))


def text_item(section: Section, place: int, mark: str) -> str:
    version = section.version.removeprefix("sha256:")[:12]
    ending = "" if section.content.endswith(("\n", "\r")) else "\n"
    return (
        f"=== {mark} {place} {_cleaned(section.id)} lines {section.first}-{section.last} sha256:{version}\n"
        f"{_cleaned(section.full_title)}\n"
        "\n"
        f"{section.content}{ending}"
        "\n"
    )


def _did_not_fit(one: Ranked) -> str:
    return f"{_cleaned(one.section.id)} ({content_tokens(one.section)})"


def mark_of(contents: list[str]) -> str:
    """Give the first eight hex digits that no line of the contents could be mistaken for."""
    digest = sha256("".join(contents).encode())
    while True:
        for at in range(0, 64, 8):
            mark = digest.hexdigest()[at : at + 8]
            if not any(line.startswith(f"=== {mark}") for content in contents for line in lines_of(content)):
                return mark
        digest = sha256(digest.digest())  # silent: which form of the digest is hashed again. Its 32 bytes.


def _cleaned(text: str) -> str:
    return re.sub(f"[{CONTROLS}]", " ", text)


# Reading and outline


def error(code: str) -> str:
    return _object(error=_object(code=_string(code), message=_string(ERRORS[code]))) + "\n"


def longest(values: Iterable[str | None]) -> str:
    """Give the longest of these as JSON, null among them."""
    return max(["null", *(_string(value) for value in values if value is not None)], key=size)


def read_json(
    pages: dict[str, str],
    id_: str,
    neighbours: int = 0,
    from_: str | None = None,
    budget: int = DEFAULT_BUDGET,
) -> str:
    """Give a section with its neighbours, or a page from a section on."""
    every = all_sections(pages)
    for section in every:
        if section.id == id_:
            of_page = [one for one in every if one.page == section.page]
            return _reading(id_, budget, _nearest(section, of_page, neighbours), of_page)
    of_page = [one for one in every if one.page == id_]
    ids = [one.id for one in of_page]
    # silent: a page without sections. It exists: no documents, and next is null.
    # silent: a `from` that is no section of that page. document_missing.
    if id_ not in by_path(pages) or (from_ is not None and from_ not in ids):
        return error("document_missing")
    return _reading(id_, budget, of_page if from_ is None else of_page[ids.index(from_) :], of_page)


def _nearest(section: Section, of_page: list[Section], neighbours: int) -> list[Section]:
    """Give the section, then its neighbours by distance, earlier first."""
    # silent: what `neighbours` counts. Sections on each side, none by default. It says nothing for a page, and `from`
    # nothing for a section.
    at, found = of_page.index(section), [section]
    for far in range(1, neighbours + 1):
        found += of_page[at - far : at - far + 1] if at >= far else []
        found += of_page[at + far : at + far + 1]
    return found


def _reading(id_: str, budget: int, wanted: list[Section], of_page: list[Section]) -> str:
    """Take what fits from the front of `wanted`, and show it in page order."""

    def reply(used: int, documents: list[str], following: str) -> str:
        selection = _object(id=_string(id_), budget=str(budget), tokens_used=str(used), next=following)
        return _object(documents=_array(documents), selection=selection) + "\n"

    # silent: `next` in R. At its longest: null, or the longest id on the page.
    # silent: "as far as the budget goes". It ends at the first that does not fit.
    used = size(reply(budget, [], longest(one.id for one in of_page)))
    given: list[Section] = []
    for section in wanted:
        used += size(_read_document(section)) + 1
        if used > 4 * budget:
            used -= size(_read_document(section)) + 1
            break
        given.append(section)
    if used > 4 * budget or (wanted and not given):
        return error("invalid_budget")
    shown = [one for one in of_page if one in given]
    after = of_page[of_page.index(shown[-1]) + 1 :] if shown else []
    return reply(quarter(used), list(map(_read_document, shown)), _string(after[0].id) if after else "null")


def _read_document(section: Section) -> str:
    return _object(
        id=_string(section.id),
        version=_string(section.version),
        title=_string(section.full_title),
        lines=f"[{section.first},{section.last}]",
        content=_string(section.content),
        tokens=str(content_tokens(section)),
    )


def outline_json(
    pages: dict[str, str],
    under: str | None = None,
    depth: int | None = None,
    from_: str | None = None,
    budget: int = DEFAULT_BUDGET,
) -> str:
    """Give the headings of pages, whole pages at a time."""
    # silent: a folder's spelling. With or without a trailing slash; `""` is everything.
    # silent: `under` or `from` that name nothing. document_missing, but an empty cache has an empty outline.
    folder = (under or "").rstrip("/")
    paths = [path for path in by_path(pages) if not folder or path == folder or path.startswith(folder + "/")]
    if (folder and not paths) or (from_ is not None and from_ not in paths):
        return error("document_missing")
    wanted = paths[paths.index(from_) if from_ else 0 :]

    def reply(used: int, given: list[str], following: str) -> str:
        selection = _object(
            under="null" if under is None else _string(under),
            depth="null" if depth is None else str(depth),
            budget=str(budget),
            tokens_used=str(used),
            next=following,
        )
        return _object(pages=_array(given), selection=selection) + "\n"

    # silent: `next` in R. At its longest: null, or the longest path under `under`.
    used, given = size(reply(budget, [], longest(paths))), list[str]()
    for path in wanted:
        item = _outlined(path, *by_path(pages)[path], depth)
        if used + size(item) + 1 > 4 * budget:
            break
        used += size(item) + 1
        given.append(item)
    if used > 4 * budget or (wanted and not given):
        return error("invalid_budget")
    return reply(quarter(used), given, _string(wanted[len(given)]) if len(given) < len(wanted) else "null")


def _outlined(path: str, source: str, text: str, depth: int | None) -> str:
    # silent: a page without sections (or none that shallow). It is listed, with none.
    shown = [one for one in sections(path, source, text) if depth is None or one.level <= depth]
    return _object(
        page=_string(path),
        title=_string(title_of(source, text)),
        tokens=str(quarter(size(text))),
        sections=_array(
            _object(
                id=_string(one.id),
                heading=_string(one.heading),
                level=str(one.level),
                lines=f"[{one.first},{one.last}]",
                body_line=str(one.body_line),
                tokens=str(content_tokens(one)),
            )
            for one in shown
        ),
    )


# JSON


def _object(**fields: str) -> str:
    return "{" + ",".join(f'"{name}":{text}' for name, text in fields.items()) + "}"


def _array(items: Iterable[str]) -> str:
    return "[" + ",".join(items) + "]"


def _string(value: str) -> str:
    return '"' + "".join(_character(character) for character in value) + '"'


def _character(character: str) -> str:
    if character in SHORT_ESCAPES:
        return SHORT_ESCAPES[character]
    return f"\\u{ord(character):04x}" if character < "\u0020" else character
