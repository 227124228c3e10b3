"""The search among tools once more, slowly, from `vectors/tool-search/README.md` alone; it also writes the vectors.

Run it as `python -m tests.contract.tool_search_oracle` after a rule there changed, and read the difference.
"""

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.contract.oracle_2 import log2_16

VECTORS = Path(__file__).parents[2] / "vectors" / "tool-search"
FIELDS = {"name": 6, "member": 3, "description": 2, "parameters": 1}
SECTION_8 = """
a an and are as at be but by can do does for from how i if in into is it its of on or that the their then there these
they this to was what when where which who why will with you your
"""
BESIDES = """
about also am any could had has have he her his just let m me my need our please s she should so some t them us want we
whether would
"""
STOP = {*SECTION_8.split(), *BESIDES.split()}
UNSPACED = (
    (0x3040, 0x30FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xAC00, 0xD7AF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)

Tool = Mapping[str, str]


def is_unspaced(character: str) -> bool:
    return any(first <= ord(character) <= last for first, last in UNSPACED)


def runs(text: str) -> list[str]:
    text = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return re.findall(r"[^\W_]+", text)


def parts(run: str) -> list[str]:
    found, start = [], 0
    for at in range(1, len(run)):
        before, here, after = run[at - 1], run[at], run[at + 1 : at + 2]
        is_capital = here.isascii() and here.isupper()
        small = after.isascii() and after.islower()
        ends_in_s = after == "s" and not re.match("[a-z]", run[at + 2 : at + 3])
        after_small = re.fullmatch("[a-z0-9]", before) is not None
        last_of_several = re.fullmatch("[A-Z]", before) is not None and small and not ends_in_s
        if is_capital and (after_small or last_of_several):
            found.append(run[start:at])
            start = at
    return [*found, run[start:]]


def words(run: str) -> list[str]:
    spaced, pairs, piece = [], [], ""
    for at, character in enumerate(run):
        if not is_unspaced(character):
            piece += character
            continue
        spaced.append(piece)
        piece = ""
        follows, precedes = run[at + 1 : at + 2], run[at - 1 : at] if at else ""
        if follows and is_unspaced(follows):
            pairs.append(character + follows)
        elif not (precedes and is_unspaced(precedes)):
            pairs.append(character)
    found = []
    for each in filter(None, [*spaced, piece]):
        several = parts(each)
        found += [part.casefold() for part in ([*several, each] if len(several) > 1 else several)]
    return [word for word in found if word not in STOP] + pairs


def stem(word: str) -> str:
    if len(word) >= 3 and word[-1] == "s" and word[-2:] not in ("ss", "us", "is"):
        word = word[:-1]
    for ending in ("ing", "ed", "e"):
        left = word[: -len(ending)]
        if word.endswith(ending) and len(left) >= 2 and any(vowel in left for vowel in "aeiouy"):
            word = left
            break
    if word[-1:] == "y":
        word = word[:-1] + "i"
    return word[:-1] if len(word) > 1 and word[-1] == word[-2] and word.isalpha() else word


def stems(text: str) -> list[str]:
    return [stem(word) for run in runs(text) for word in words(run)]


def search(tools: Sequence[Tool], query: str) -> tuple[list[list[int]], list[str]]:
    """Return number and score of every tool that is found, and the words that none has."""
    counted = [{field: stems(tool[field]) for field in FIELDS} for tool in tools]
    every = {each for tool in counted for field in tool.values() for each in field}
    average = {f: max(1, 16 * sum(len(tool[f]) for tool in counted) // len(tools)) for f in FIELDS} if tools else {}

    def weight(number: int, term: str) -> int:
        tool = counted[number]
        return sum(
            2048 * k * tool[f].count(term) * average[f] // (average[f] + 48 * len(tool[f])) for f, k in FIELDS.items()
        )

    def worth(word: str) -> dict[int, int]:
        exact = stem(word) in every
        terms = [stem(word)] if exact else [each for each in every if len(word) >= 3 and each.startswith(word)]
        weights = {n: max((weight(n, each) for each in terms), default=0) for n in range(len(tools))}
        weights = {n: each for n, each in weights.items() if each}
        rarity = log2_16(2 * len(tools) + 2) - log2_16(2 * len(weights) + 1)
        return {n: rarity * each // (each + 1228) // (1 if exact else 2) for n, each in weights.items()}

    asked = list(dict.fromkeys(runs(query)))[:256]
    by_stem = {stem(word): worth(word) for run in asked for word in words(run)}
    scores: dict[int, int] = {}
    for added in by_stem.values():
        for number, points in added.items():
            scores[number] = scores.get(number, 0) + points
    unmatched = [run.casefold() for run in asked if words(run) and not any(by_stem[stem(word)] for word in words(run))]
    order = sorted(([number, score] for number, score in scores.items()), key=lambda each: (-each[1], each[0]))
    return order, list(dict.fromkeys(unmatched))


TEXTS = (
    "Show me the issues that I have created",
    "running runs ran; adding adds added; uses using used",
    "statuses status processes process branches queries query copied copy",
    "getURLs parseHTTPBody GitHubSearch readFile READ_FILE s3-bucket v2Api",
    "r\u00e9sum\u00e9 \uff52\uff45\uff41\uff44 stra\u00dfe \u0130stanbul \ufb01sh",
    "\u641c\u7d22\u6587\u4ef6 \u6587 read\u30d5\u30a1\u30a4\u30ebNow",
    "folder's don't I'm",
    "",
)


def tool(name: str, member: str, description: str, parameters: str = "") -> dict[str, str]:
    return {"name": name, "member": member, "description": description, "parameters": parameters}


TOOLS = [
    tool("create_issue", "github", "Open a new issue in a repository", "owner repo title body The text of the issue"),
    tool("list_issues", "github", "List what is open in a repository", "owner state"),
    tool("read_file", "files", "Read a text file", "path"),
    tool("write_file Write a file", "files", "Write a text file; makes an entry in the issue log", "path content"),
    tool("directory_tree", "files", "A recursive view of files and directories", "path Where the tree begins"),
    tool("take_screenshot", "browser", "Capture what the browser shows", "fullPage"),
    tool("getCurrentTime", "clock", "The time in a time zone", "timezone IANA name, e.g. Europe/Paris"),
    tool("convert", "clock", "Converts a time from one time zone into another", "source target"),
    tool("search", "\u6587\u4ef6", "\u641c\u7d22\u672c\u5730\u6587\u4ef6\u7cfb\u7edf", "query"),
    tool("empty", "", "", ""),
]
QUERIES = (
    "issue",
    "open an issue in the repository",
    "write files",
    "what time is it in Paris",
    "repos",
    "screenshots of the full page",
    "browse directories",
    "unicorn issue unicorn",
    "\u6587\u4ef6",
    "currentTime",
    "what can you do",
    "re",
    "",
)


def files() -> dict[str, list[dict[str, Any]]]:
    """Return the vectors by file."""
    ranking: list[dict[str, Any]] = []
    for tools, query in [*((TOOLS, query) for query in QUERIES), (TOOLS[:1], "issue"), ([], "issue")]:
        order, unmatched = search(tools, query)
        ranking.append({"tools": list(tools), "query": query, "order": order, "unmatched": unmatched})
    return {"stems.json": [{"text": text, "stems": stems(text)} for text in TEXTS], "ranking.json": ranking}


def to_json(cases: list[dict[str, Any]]) -> str:
    return "[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n"


if __name__ == "__main__":
    for name, cases in files().items():
        (VECTORS / name).write_text(to_json(cases), encoding="ascii")
