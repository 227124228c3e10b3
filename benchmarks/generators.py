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

_CONSONANTS = "bcdfghjklmnprstvwz"
_VOWELS = "aeiou"
_HANDFUL = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """Documents on disk, and the two questions to ask of them."""

    sources: str
    documents: int
    text_bytes: int
    common_query: str
    rare_query: str
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


def write_cache_root(directory: Path, count: int, *, seed: int) -> None:
    """Write `count` directories with a manifest each, as a cache root."""
    dice = random.Random(seed)
    for name in words(count, seed=seed):
        (directory / name).mkdir(parents=True)
        manifest = f'{{"cache_version":"sha256:{dice.randbytes(32).hex()}","document_count":{dice.randint(0, 9999)}}}'
        (directory / name / "manifest.json").write_text(manifest)


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
