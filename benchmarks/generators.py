"""What is measured on? Material made from a seed: the same seed gives the same bytes everywhere."""

import random
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

_CONSONANTS = "bcdfghjklmnprstvwz"
_VOWELS = "aeiou"


def words(count: int, *, seed: int) -> list[str]:
    """Make `count` different words, the commonest first."""
    dice = random.Random(seed)
    made: dict[str, None] = {}
    while len(made) < count:
        syllables = dice.randint(1, 4)
        made["".join(dice.choice(_CONSONANTS) + dice.choice(_VOWELS) for _ in range(syllables))] = None
    return list(made)


def documents(count: int, *, seed: int, mean_words: int = 600, vocabulary: int = 50_000) -> Iterator[tuple[str, str]]:
    """Make `count` documents as path and text, with words as unevenly common as in a language (Zipf's law)."""
    dice = random.Random(seed)
    known = words(vocabulary, seed=seed)
    commonness = list(accumulate(1 / rank for rank in range(1, vocabulary + 1)))
    for number in range(count):
        length = max(1, int(dice.expovariate(1 / mean_words)))
        chosen = dice.choices(known, cum_weights=commonness, k=length)
        lines = (" ".join(chosen[start : start + 12]) for start in range(0, length, 12))
        yield f"{number % 100:02d}/{number:06d}.md", "\n".join(lines) + "\n"


def write_documents(directory: Path, count: int, *, seed: int) -> int:
    """Write documents below `directory` and say how many bytes they are."""
    size = 0
    for path, text in documents(count, seed=seed):
        file = directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        size += file.write_bytes(text.encode())
    return size


def write_cache_root(directory: Path, count: int, *, seed: int) -> None:
    """Write `count` directories with a manifest each, as a cache root."""
    dice = random.Random(seed)
    for name in words(count, seed=seed):
        (directory / name).mkdir(parents=True)
        manifest = f'{{"cache_version":"sha256:{dice.randbytes(32).hex()}","document_count":{dice.randint(0, 9999)}}}'
        (directory / name / "manifest.json").write_text(manifest)
