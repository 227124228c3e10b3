"""What is measured on? Material made from a seed: the same seed gives the same bytes everywhere."""

import hashlib
import json
import math
import random
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path

from contexthall.caches.index.terms import STOP_WORDS

_CONSONANTS = "bcdfghjklmnprstvwz"
_VOWELS = "aeiou"
_HANDFUL = 5
_CODE = {
    "py": """from {0} import {1}


def {2}({3}: int = 1, *{4}: str) -> str:
    # Does what {5} does.
    return {1}.{5}({3})
""",
    "ts": """import {{ {0} }} from './{1}.js';

export function {2}({3}: {{ {4}: string }}): number {{
  return {0}({3}.{4});
}}
""",
    "go": """package {0}

// X{1} does {2}.
func X{1}({3} int, {4} string) error {{
    return {5}({3})
}}
""",
    "md": """# {0}

The {1} of {2} is the {3} of {4}, and {5}.
""",
}
_CONTEXT = """version: 1
last_updated: "2026-02-14T15:56:34Z"
fingerprint: "{fingerprint}"
scope: {scope}
summary: {summary}.
maintenance: |-
  Update this file when you change the directory,
  then type `context rehash`.
files:
{files}decisions:
  - what: {decision}
    why: it is faster
exports:
  - "function run(x: string): Promise<string>"
  - type State
dependencies:
  internal:
    - ../other/index.js
derived_fields:
  - files
  - exports
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """Documents on disk, and the two questions to ask of them."""

    sources: str
    documents: int
    text_bytes: int
    common_query: str
    rare_query: str
    recipe: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PageCorpus:
    """Pages with headings on disk, and questions to ask of them."""

    sources: str
    documents: int
    text_bytes: int
    questions: list[str]
    recipe: str


def words(count: int, *, seed: int) -> list[str]:
    """Make `count` different words, the commonest first."""
    dice = random.Random(seed)
    made: dict[str, None] = {}
    while len(made) < count:
        syllables = dice.randint(1, 4)
        made["".join(dice.choice(_CONSONANTS) + dice.choice(_VOWELS) for _ in range(syllables))] = None
    return list(made)


def documents(count: int, *, seed: int, mean_words: int = 600, sigma: float = 0.8) -> Iterator[tuple[str, str]]:
    """Make `count` documents as path and text.

    Lengths are log-normal, because those of real documents are: most are short, a few are very long. Words are as
    unevenly common as in a language (Zipf's law), and a larger corpus knows more of them (Heaps' law).
    """
    dice = random.Random(seed)
    vocabulary = max(1000, int(500 * math.sqrt(count)))
    known = words(vocabulary, seed=seed)
    commonness = list(accumulate(1 / rank for rank in range(1, vocabulary + 1)))
    middle = math.log(mean_words) - sigma**2 / 2
    for number in range(count):
        length = max(1, round(dice.lognormvariate(middle, sigma)))
        chosen = dice.choices(known, cum_weights=commonness, k=length)
        lines = (" ".join(chosen[start : start + 12]) for start in range(0, length, 12))
        yield f"{number % 100:02d}/{number:06d}.md", "\n".join(lines) + "\n"


def write_corpus(directory: Path, count: int, *, seed: int) -> Corpus:
    """Write documents below `directory`, or take those that the same lines of code left there earlier."""
    description, sources = directory / "corpus.json", directory / "sources"
    recipe = f"{count} documents, seed {seed}, by {hashlib.sha256(Path(__file__).read_bytes()).hexdigest()}"
    if description.exists():
        corpus = Corpus(**json.loads(description.read_bytes()))
        if (corpus.recipe, corpus.sources) == (recipe, str(sources)):
            return corpus
        description.unlink()
    shutil.rmtree(sources, ignore_errors=True)
    text_bytes, document_counts = _write_documents(sources, count, seed=seed)
    corpus = Corpus(
        sources=str(sources),
        documents=count,
        text_bytes=text_bytes,
        common_query=_three(document_counts, near=count),
        rare_query=_three(document_counts, near=_HANDFUL),
        recipe=recipe,
    )
    # Written last: a corpus without its description is half a corpus.
    description.write_text(json.dumps(asdict(corpus)))
    return corpus


def pages(count: int, *, seed: int, mean_words: int = 600, sigma: float = 0.8) -> Iterator[tuple[str, str]]:
    """Make `count` pages as path and Markdown: as `documents`, with English stop words and headings.

    A section has about a hundred words, a page about six sections.
    """
    dice, (known, commonness) = random.Random(seed), _language(count, seed)
    middle = math.log(mean_words) - sigma**2 / 2
    for number in range(count):
        left, level, lines = max(20, round(dice.lognormvariate(middle, sigma))), 1, list[str]()
        while left > 0:
            heading = dice.choices(known, cum_weights=commonness, k=dice.randint(2, 5))
            body = dice.choices(
                known, cum_weights=commonness, k=min(left, max(10, round(dice.lognormvariate(4.4, 0.7))))
            )
            lines += [f"{'#' * level} {' '.join(heading).capitalize()}", ""]
            lines += [" ".join(body[start : start + 12]) for start in range(0, len(body), 12)] + [""]
            left, level = left - len(heading) - len(body), dice.choice((2, 2, 3))
        yield f"{number % 100:02d}/{number:06d}.md", "\n".join(lines)


def questions(count: int, *, pages: int, seed: int) -> list[str]:
    """Make `count` different questions of eight words, which are as common as in the pages."""
    dice, (known, commonness) = random.Random(seed + 1), _language(pages, seed)
    made: dict[str, None] = {}
    while len(made) < count:
        made[" ".join(dice.choices(known, cum_weights=commonness, k=8)).capitalize() + "?"] = None
    return list(made)


def _language(pages: int, seed: int) -> tuple[list[str], list[float]]:
    """Return words, stop words first, and how common each is, all before it included: as Zipf and Mandelbrot say."""
    made = words(max(1000, int(500 * math.sqrt(pages))), seed=seed)
    known = list(dict.fromkeys([*sorted(STOP_WORDS), *made]))
    return known, list(accumulate(1 / (rank + 2.7) for rank in range(1, len(known) + 1)))


def write_page_corpus(directory: Path, count: int, *, seed: int) -> PageCorpus:
    """Write pages below `directory`, or take those that the same lines of code left there earlier."""
    description, sources = directory / "pages.json", directory / "sources"
    recipe = f"{count} pages, seed {seed}, by {hashlib.sha256(Path(__file__).read_bytes()).hexdigest()}"
    if description.exists():
        corpus = PageCorpus(**json.loads(description.read_bytes()))
        if (corpus.recipe, corpus.sources) == (recipe, str(sources)):
            return corpus
        description.unlink()
    shutil.rmtree(sources, ignore_errors=True)
    text_bytes = 0
    for path, text in pages(count, seed=seed):
        file = sources / path
        file.parent.mkdir(parents=True, exist_ok=True)
        text_bytes += file.write_bytes(text.encode())
    corpus = PageCorpus(
        sources=str(sources),
        documents=count,
        text_bytes=text_bytes,
        questions=questions(1000, pages=count, seed=seed),
        recipe=recipe,
    )
    description.write_text(json.dumps(asdict(corpus)))
    return corpus


def write_cache_root(directory: Path, count: int, *, seed: int) -> None:
    """Write `count` directories with a manifest each, as a cache root."""
    dice = random.Random(seed)
    for name in words(count, seed=seed):
        (directory / name).mkdir(parents=True)
        manifest = f'{{"cache_version":"sha256:{dice.randbytes(32).hex()}","document_count":{dice.randint(0, 9999)}}}'
        (directory / name / "manifest.json").write_text(manifest)


def write_project(root: Path, count: int, *, seed: int) -> list[str]:
    """Write a project of `count` directories with ten files each, nine in ten with a context; name those that have one.

    The contexts hold what a drafted one holds: a list of files, a decision, exports, dependencies.
    """
    dice = random.Random(seed)
    known = words(400, seed=seed)
    scopes = ["."]
    while len(scopes) < count:
        parent = dice.choice(scopes[: max(1, count // 3)])
        if parent.count("/") < 8:
            scopes.append(f"{'' if parent == '.' else parent + '/'}{dice.choice(known)}{len(scopes)}")
    with_context = [scope for scope in scopes if dice.random() < 0.9]
    chosen = set(with_context)
    for scope in scopes:
        files = _write_code(root / scope, dice, known)
        if scope in chosen:
            (root / scope / ".context.yaml").write_text(_context(scope, files, dice, known))
    (root / ".gitignore").write_text("*.log\n/out/\nnode_modules/\n")
    (root / ".context.config.yaml").write_text("min_tokens: 0\n")
    return with_context


def _write_code(directory: Path, dice: random.Random, known: list[str]) -> dict[str, str]:
    """Write ten files; give the digest of each."""
    directory.mkdir(parents=True, exist_ok=True)
    digests = {}
    for number in range(10):
        extension = dice.choice([*_CODE])
        name = f"{dice.choice(known)}{number}.{extension}"
        functions = (_CODE[extension].format(*dice.choices(known, k=6)) for _ in range(dice.randint(1, 20)))
        content = "\n".join(functions).encode()
        (directory / name).write_bytes(content)
        digests[name] = hashlib.sha256(content).hexdigest()
    return digests


def _context(scope: str, files: dict[str, str], dice: random.Random, known: list[str]) -> str:
    lines = "\n".join(f"{name}:{files[name]}" for name in sorted(files))
    listed = "".join(f"  - name: {name}\n    purpose: {' '.join(dice.choices(known, k=5))}\n" for name in files)
    return _CONTEXT.format(
        scope=scope,
        fingerprint=hashlib.sha256(lines.encode()).hexdigest()[:8],
        summary=" ".join(dice.choices(known, k=8)),
        files=listed,
        decision=dice.choice(known),
    )


def _write_documents(sources: Path, count: int, *, seed: int) -> tuple[int, Counter[str]]:
    """Write the documents; say how many bytes they are, and how many of them have each word."""
    text_bytes, document_counts = 0, Counter[str]()
    for path, text in documents(count, seed=seed):
        file = sources / path
        file.parent.mkdir(parents=True, exist_ok=True)
        text_bytes += file.write_bytes(text.encode())
        document_counts.update(set(text.split()))
    return text_bytes, document_counts


def _three(document_counts: Counter[str], *, near: int) -> str:
    """Choose the three words whose number of documents is nearest to `near`."""
    return " ".join(sorted(document_counts, key=lambda word: (abs(document_counts[word] - near), word))[:3])
