"""Writes `vectors/caches-2` from the oracle of format 2: the inputs are here, what they give is the oracle's.

Run it as `python -m tests.contract.write_vectors_2` after a rule of the contract changed, and read the difference.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from tests.contract import oracle_2 as oracle

VECTORS = Path(__file__).parents[2] / "vectors" / "caches-2"
UNKNOWN = ("unknown", 0)
NAME = "docs"

Case = dict[str, Any]

NUMBERS = [1, 2, 3, 4, 5, 7, 10, 100, 1000, 65535, 65536, 65537, 2**31 + 1, 2**32]

TEXTS = {
    "stop words": "How do I rotate the keys?",
    "stems": "running runs ran upgrading caches generously",
    "punctuation": "CORS? don't e-mail, a.b",
    "camel case": "tokenBudget HTTPServer iPhone parseXMLDocument",
    "underscores and digits": "snake_case_of v2 a1b2 _ __init__ 3.11",
    "one part only": "Install ABC x_",
    "stop words among parts": "isTheKey to_be",
    "no normalisation": "caf\u00e9 cafe\u0301 stra\u00dfe \u0130 \u03a3\u03a3",
    "digits that are no 0 to 9": "x\u00b2 \u0661\u0662a",
    "pairs": "\u65e5\u672c\u8a9e",
    "one character": "\u65e5",
    "pairs inside words": "abc\u6f22\u5b57def \u3072\u3089\u304c\u306a2 \ud55c\uad6d\uc5b4",
    "nothing": "the of and ... ?",
}

PAGES: dict[str, tuple[str, str | list[tuple[str, int]]]] = {
    "Markdown": (
        "Guide/Keys.md",
        "intro\n\n# Keys #\ntext\n\nRotate\n------\nmonthly\n\n### [Lost](l.md) ones {#lost}\n",
    ),
    "not headings": ("a.md", "# A\n```\n# no\n```\n- # no\n> # no\n\n    # no\n#no\n####### no\n"),
    "HTML hides a heading": ("a.md", "<div>\n# no\n</div>\n\n# A\n"),
    "heading text": (
        "a.md",
        "# A # {#a} #\n# B {: .c}\n# D{ #d\t} #\n# Use {#each x}\n# C#\n#  x \t y \n#\n# *e* `c` [a [b](c)](d(e))\n",
    ),
    "Setext of several lines": ("a.md", "One\ntwo\n===\ntext\n"),
    "front matter": ("a.md", "---\ntitle: The  Title\n---\n\n# H\ntext\n"),
    "front matter in TOML": ("a.md", '+++\r\ntitle = "T"\r\n+++\r\n# H\r\n'),
    "front matter closed by dots": ("a.md", "--- \ntitle: '12'\n...\n# H\n"),
    "front matter never closed": ("a.md", "---\ntitle: T\n\n# H\n"),
    "front matter before a blank line": ("a.md", "---\n\ntitle: T\n---\n# H\n"),
    "front matter only": ("a.md", "---\ntitle: T\n---\n"),
    "a title that is no string": ("a.md", "---\ntitle: 12\n---\n# H\n"),
    "a title by the core schema": ("a.md", "---\ntitle: yes\n---\n# H\n"),
    "a title that is tagged": ("a.md", "---\ntitle: !!str 12\n---\n# H\n"),
    "a title twice": ("a.md", "---\ntitle: a\ntitle: b\n---\n# H\n"),
    "a title of several lines": ("a.md", "---\ntitle: |\n  a\n  b\n---\n# H\n"),
    "no heading": ("Docs/Read.Me.md", "text\n"),
    "a name with a leading dot": (".hidden", "text"),
    "byte order mark": ("a.md", "\ufeff# A\ntext\n"),
    "byte order mark before front matter": ("a.md", "\ufeff---\ntitle: T\n---\ntext\n"),
    "blank": ("a.md", "\ufeff \n\t\f\v\r\n"),
    "empty": ("a.md", ""),
    "line ends": ("a.md", "# A\r\none\r## B\ntwo\u2028# no\r\n"),
    "MDX": ("a.mdx", "<Tabs>\n# A\n<Tab a={{b: '>'}} />\n## B\n<b>x</b>\n# no\n"),
    "slugs": ("a.md", "text\n# Top\n# A B!\n# a-b\n# a-b-2\n# \u00bf?\n# \u00dcn\u00ef_1\n"),
    "crumbs": ("a.md", "# T\n## A\n### B\n###\n#### C\n## T\n### D\n# E\n## F\n"),
    "reStructuredText": ("a.rst", "===\n T\n===\n\n.. _a:\nOne\n===\nTwo\n---\ntext\nno\n--\n\nThree\n===\n"),
    "reStructuredText, not headings": ("a.rst", " A\n===\n\nLong\n=\n\n.. x\n====\n\n====\n----\n\n===\n B\n====\n"),
    "reStructuredText, four are enough": ("a.rst", "A long one\n----\n"),
    "a title of white space that is no blank": ("a.rst", "\u00a0\n#\n"),
    "plain text": ("a.txt", "AB\n==\n\nABC\n===\n\na  b\n----\n\nB\n---\n"),
    "ten levels": ("a.rst", "".join(f"L{mark}\n{mark * 4}\n" for mark in "=-~^+*#<>:")),
    "AsciiDoc": ("a.adoc", "= A\n----\n== no\n----\n== B ==\n======= no\n```sh\n= no\n```\n=\tno\n|===\n= no\n"),
    "other text": ("a.py", "# no\n\nno\n==\n"),
    "cut before a line that is not indented": (
        "a.md",
        [("# A\n", 1), ("x", 2900), ("\n\n", 1), ("y", 2900), ("\n\n    code\n    ", 1), ("z", 300), ("\n", 1)],
    ),
    "cut at any blank line": ("a.txt", [("    word\n\n", 1000)]),
    "cut at a line's end": ("a.txt", [("123456789\r\n", 700)]),
    "cut at a character": ("a.txt", [("\u6f22", 4001)]),
    "no heading alone": ("a.md", [("# A\n\n", 1), ("x", 6000)]),
    "no blank lines alone": ("a.txt", [("x", 5999), ("\n", 9)]),
    "no cut at a fence's blank lines": ("a.md", [("# A\nintro\n\n```\n", 1), ("line\n\n", 1200), ("```\n", 1)]),
    "a line end is not cut": ("a.txt", [("x", 5999), ("\r\ny\r\n", 1)]),
    "front matter that is cut": ("a.md", [("---\na: ", 1), ("x", 7000), ("\n---\n# A\n", 1), ("         \n", 900)]),
}

KNOWN = [
    ("a.md#install", "Install", "Install", "Run `pip install hall` to install it.\nThen `context build`."),
    ("a.md#upgrade", "Install", "Upgrade", "Upgrading keeps caches. Run pip again."),
    ("b.md#tokenBudget", "Budgets", "tokenBudget", "The tokenBudget caps a reply; budgets are in tokens."),
    ("b.md#see-also", "Budgets", "See also", "Install, upgrade."),
]
KNOWN_QUERIES = ["upgrade install", "token budget", "the of and", "install", "pip again"]

HANDBOOK = {
    "keys.md": "# Keys\nRotate the keys.\n\n## Rotate\nEvery month.\n\n## Revoke\nAt once, if lost.\n",
    "guides/Deploy.rst": "Deploy\n======\n\nOn Friday.\n\nNever\n-----\n\nRotate keys on Friday.\n",
    "guides/notes.txt": "just notes about keys",
    "blank.md": "\n\n",
}
EQUAL = {"a.md": "same words", "b.md": "same words", "B/c.md": "same words\nand more"}
PAIRED = {"a.md": "# X\nsign in page\n", "b.md": "# Y\nin sign page\n", "c.md": "# Page sign\nother\n"}
ONE_PAGE = {"a.md": "".join(f"## Key {n}\nkey\n" for n in range(11)), "b.md": "## Note\na key\n"}

RANKED: dict[str, tuple[Mapping[str, str], str]] = {
    "fields": (HANDBOOK, "rotate keys"),
    "a word of many parts": ({"a.md": "# tokenBudget\nx\n", "b.md": "token of a budget\n"}, "tokenBudget"),
    "ties by id": (EQUAL, "words"),
    "every section has it": (EQUAL, "same"),
    "pairs": (PAIRED, "sign page"),
    "pairs over stop words": (PAIRED, "sign in page"),
    "decay": (ONE_PAGE, "key"),
    "stop words only": (HANDBOOK, "how do I"),
    "punctuation only": (HANDBOOK, "?!"),
    "unknown words": (HANDBOOK, "rotate nowhere"),
    "no pages": ({}, "keys"),
    "crumbs count": ({"a.md": "# T\n## Rotate\nx\n### Deep\ny\n", "b.md": "# U\nz\n"}, "rotate"),
}

ODD = {'q"\u0001.md': '# A "b"\\\nkey\ttab\u007f\u0085\n', "plain.txt": "key"}
BORDER = {"a.md": "# Keys\nrotate\n"}

RESOLVED: dict[str, tuple[Mapping[str, str], str, int]] = {
    "all fit": (HANDBOOK, "rotate keys", 4000),
    "some fit, others are skipped": (HANDBOOK, "rotate keys friday", 220),
    "none fits": (HANDBOOK, "rotate keys", 95),
    "not even the empty reply fits": (HANDBOOK, "rotate keys", 20),
    "budget 0": (HANDBOOK, "rotate", 0),
    "words that no section has": (HANDBOOK, "Rotate nowhere NOWHERE the", 400),
    "no documents": (HANDBOOK, "how do I?", 400),
    "escapes and control characters": (ODD, 'key\t"\\\u0001', 400),
    "a long section is skipped, a short one taken": (
        {"a.md": "# Key key\n" + "key " * 300, "b.md": "# B\na key\n"}, "key", 200
    ),
    "more than five do not fit": ({f"{n}.md": "key " * (100 + n) for n in range(8)} | {"z.md": "z"}, "key", 150),
}  # fmt: skip

INT8: dict[str, list[float]] = {
    "a unit vector": [0.0, -1.0],
    "any length": [3.0, 4.0],
    "ties to even": [0.5 / 127, -1.5 / 127, 2.5 / 127, (1 - 8.75 / 127**2) ** 0.5],
    "zeros": [0.0, 0.0, 0.0],
    "small numbers": [1e-9, 2e-9],
    "no number is above 127": [1.0, 1e-20],
}

MEANT: dict[str, tuple[Mapping[str, str], str]] = {
    "words and meaning": (HANDBOOK, "rotate keys"),
    "meaning alone": (HANDBOOK, "once month"),
    "unknown words": (HANDBOOK, "nowhere nothing never"),
    "a query without tokens": (HANDBOOK, "how do I?"),
    "ties by id": (EQUAL, "words"),
    "a byte order mark": ({"a.md": "\ufeff# Keys\nrotate\n", "b.md": "\ufeffrotate\n"}, "rotate keys"),
    "no pages": ({}, "keys"),
    "no more than 400": ({"a.md": "".join(f"## Key {n}\nkey {n % 7}\n" for n in range(410))}, "key 3"),
}

READ: dict[str, tuple[Mapping[str, str], str, int, str | None, int]] = {
    "a page": (HANDBOOK, "keys.md", 0, None, 400),
    "a page, as far as it goes": (HANDBOOK, "keys.md", 0, None, 130),
    "a page from a section": (HANDBOOK, "keys.md", 0, "keys.md#revoke", 400),
    "a section": (HANDBOOK, "keys.md#rotate", 0, None, 400),
    "a section with neighbours": (HANDBOOK, "keys.md#rotate", 1, None, 400),
    "neighbours, earlier first": (HANDBOOK, "keys.md#rotate", 1, None, 170),
    "a page without sections": (HANDBOOK, "blank.md", 0, None, 400),
    "no such page": (HANDBOOK, "nowhere.md", 0, None, 400),
    "no such section to begin at": (HANDBOOK, "keys.md", 0, "guides/deploy.rst#never", 400),
    "the first does not fit": (HANDBOOK, "keys.md", 0, None, 30),
    "an id in lower case": (HANDBOOK, "guides/deploy.rst#never", 0, None, 400),
}

OUTLINED: dict[str, tuple[Mapping[str, str], str | None, int | None, str | None, int]] = {
    "everything": (HANDBOOK, None, None, None, 900),
    "a folder": (HANDBOOK, "guides", None, None, 900),
    "a folder with a slash": (HANDBOOK, "guides/", None, None, 900),
    "a page": (HANDBOOK, "keys.md", None, None, 900),
    "depth": (HANDBOOK, None, 1, None, 900),
    "depth 0": (HANDBOOK, None, 0, None, 900),
    "as far as it goes": (HANDBOOK, None, None, None, 150),
    "from a page on": (HANDBOOK, None, None, "guides/notes.txt", 900),
    "no such folder": (HANDBOOK, "guide", None, None, 900),
    "the first does not fit": (HANDBOOK, None, None, None, 30),
    "no pages": ({}, None, None, None, 900),
}


def spelt(text: str | list[tuple[str, int]]) -> str:
    """Give a text that may be spelt as pieces, each so many times."""
    return text if isinstance(text, str) else "".join(piece * times for piece, times in text)


def decayed(score: int, taken: int) -> int:
    given = oracle.Section(page="a", id="a#a", title="", stem="", heading="", level=0, crumbs=(), content="", body="")
    one = oracle.Ranked(section=given, score=score)
    return oracle.decay(one, [one] * taken)


def statistics(count: int, df: int, total: int) -> oracle.Statistics:
    """Give statistics over `count` units, of which `df` have the token x, and `total` tokens in field b."""
    found = oracle.Statistics([])
    found.count, found.df, found.total = count, Counter(x=df), {"b": total}
    return found


def weight(k: int, tf: int, average: int, length: int) -> int:
    unit = {"b": ["x"] * tf + ["y"] * (length - tf)}
    return statistics(16, 1, average).w(k, "x", unit, "b")


FORMULAS: dict[str, tuple[Callable[..., int], list[tuple[int, ...]]]] = {
    "idf": (
        lambda n, df: statistics(n, df, 0).idf("x"),
        [(1, 1), (4, 1), (4, 2), (4, 4), (60_000, 1), (60_000, 59_999)],
    ),
    "W": (weight, [(1, 0, 28, 3), (1, 1, 28, 3), (4, 1, 28, 3), (4, 2, 1, 9), (1, 5, 1600, 100)]),
    "S": (oracle.s, [(65536, 0), (65536, 1228), (65536, 4096), (7, 100), (1, 1)]),
    "decay": (decayed, [(129106, 0), (129106, 1), (129106, 2), (129106, 8), (129106, 9), (15, 3)]),
}


def known_section(section: tuple[str, str, str, str]) -> oracle.Section:
    id_, title, heading, body = section
    path = id_.partition("#")[0]
    return oracle.Section(
        page=path,
        id=id_,
        title=title,
        stem=oracle.stem_of(path),
        heading=heading,
        level=1,
        crumbs=(),
        content=body,
        body=body,
    )


def split_case(name: str, source: str, text: str | list[tuple[str, int]]) -> Case:
    found, at, rows = oracle.sections("p", source, spelt(text)), 0, []
    for each in found:
        size = len(each.content.encode())
        row = {
            "slug": each.id.removeprefix("p#"),
            "heading": each.heading,
            "level": each.level,
            "crumbs": list(each.crumbs),
            "bytes": [at, at + size],
            "lines": [each.first, each.last],
            "body_line": each.body_line,
        }
        rows.append(row if isinstance(text, list) else {**row, "body": each.body})
        at += size
    title = oracle.title_of(source, spelt(text))
    return {"name": name, "source": source, "text": text, "title": title, "sections": rows}


def marks() -> list[Case]:
    contents: list[list[str]] = [[], ["a"], ["a", "b"], ["ab"], ["caf\u00e9\n"]]
    for _ in range(3):  # each imitates the border that the one before would have
        last = contents[-1]
        contents.append([f"{last[0]}=== {oracle.mark_of(last)} 1 x\n"])
    contents.append([f"x\r=== {oracle.mark_of(['x'])}"])
    return [{"contents": each, "mark": oracle.mark_of(each)} for each in contents]


def hashed_words(text: str) -> list[float]:
    """Embed a text as the README of the vectors says."""
    boxes = [0.0] * 16
    for word in re.findall(r"\w+", text.lower()):
        digest = sha256(word.encode()).digest()
        boxes[digest[0] % 16] += -1 if digest[1] % 2 else 1
    return boxes


MODEL = oracle.Model(name=f"hashed-words@sha256:{sha256(b'hashed-words').hexdigest()}", embed=hashed_words)


def resolve_case(
    name: str, pages: Mapping[str, str], query: str, budget: int, model: oracle.Model | None = None
) -> Case:
    version = oracle.cache_version(dict(pages), model)
    asked: Case = {"name": name, "pages": pages, "query": query, "budget": budget, "cache": NAME}
    as_json = oracle.resolve_json(dict(pages), query, budget, UNKNOWN, model)
    as_text = oracle.resolve_text(dict(pages), NAME, version, query, budget, UNKNOWN, model)
    return {**asked, "json": as_json, "text": as_text}


def files() -> dict[str, list[Case]]:
    """Give the cases of every file."""
    known = [known_section(section) for section in KNOWN]
    named = [dict(zip(("id", "title", "heading", "body"), section, strict=True)) for section in KNOWN]
    return {
        "log2_16.json": [{"number": number, "log2_16": oracle.log2_16(number)} for number in NUMBERS],
        "terms.json": [{"name": name, "text": text, "terms": oracle.tokens(text)} for name, text in TEXTS.items()],
        "sections.json": [split_case(name, *page) for name, page in PAGES.items()],
        "formulas.json": [
            {"rule": rule, "input": list(each), "output": formula(*each)}
            for rule, (formula, inputs) in FORMULAS.items()
            for each in inputs
        ],
        "known.json": [
            {
                "sections": named,
                "query": query,
                "order": [[one.section.id, one.score] for one in oracle.rank_sections(known, query)],
            }
            for query in KNOWN_QUERIES
        ],
        "ranking.json": [
            {
                "name": name,
                "pages": pages,
                "query": query,
                "order": [list(one) for one in oracle.rank(dict(pages), query)],
            }
            for name, (pages, query) in RANKED.items()
        ],
        "versions.json": [
            {"name": name, "pages": pages, "cache_version": oracle.cache_version(dict(pages))}
            for name, pages in {"no pages": {}, "handbook": HANDBOOK, "equal contents": EQUAL}.items()
        ],
        "marks.json": marks(),
        "resolve.json": [
            *(resolve_case(name, *each) for name, each in RESOLVED.items()),
            resolve_case("a body that imitates a border", imitating(), "rotate", 400),
        ],
        "int8.json": [{"name": name, "vector": each, "int8": oracle.int8(each)} for name, each in INT8.items()],
        "meaning.json": [
            {
                "name": name,
                "pages": pages,
                "query": query,
                "order": [list(one) for one in oracle.rank(dict(pages), query, MODEL)],
            }
            for name, (pages, query) in MEANT.items()
        ],
        "resolve_meaning.json": [resolve_case(name, *each, MODEL) for name, each in RESOLVED.items()],
        "read.json": [
            {
                "name": name,
                **dict(zip(("pages", "id", "neighbours", "from", "budget"), each, strict=True)),
                "output": oracle.read_json(dict(each[0]), *each[1:]),
            }
            for name, each in READ.items()
        ],
        "outline.json": [
            {
                "name": name,
                **dict(zip(("pages", "under", "depth", "from", "budget"), each, strict=True)),
                "output": oracle.outline_json(dict(each[0]), *each[1:]),
            }
            for name, each in OUTLINED.items()
        ],
    }


def imitating() -> dict[str, str]:
    """A page with a line that looks like the border its reply would have without that line's own mark."""
    text = BORDER["a.md"]
    return {"a.md": f"{text}=== {oracle.mark_of([text])} 2 other.md#x lines 1-1 sha256:000000000000\n"}


def to_json(cases: list[Case]) -> str:
    """Spell cases one a line, in ASCII."""
    return "[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n"


def main() -> None:
    VECTORS.mkdir(exist_ok=True)
    for file, cases in files().items():
        (VECTORS / file).write_text(to_json(cases), encoding="ascii")


if __name__ == "__main__":
    main()
