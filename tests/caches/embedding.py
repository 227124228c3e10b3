"""An embedder for tests, tiny and exact: it counts words in sixteen boxes. It is installed as anybody's would be."""

import sys
from hashlib import sha256
from pathlib import Path

import pytest
from tests.caches.making import CREATED_AT, write_sources

from contexthall.caches.build.builder import CacheBuilder
from contexthall.caches.build.embedding import SectionEmbedder
from contexthall.caches.build.selection import Choice
from contexthall.caches.embedding.embedders import find_embedder
from contexthall.system.disk import Disk

ID = "hashed-words"
WEIGHTS = sha256(b"hashed-words").hexdigest()
MODEL = f"{ID}@sha256:{WEIGHTS}"

_SOURCE = """
import re
from hashlib import sha256

class HashedWords:
    id = {id!r}
    dim = 16
    sha256 = {weights!r}
    asked = []

    def embed(self, texts, kind):
        self.asked += [(kind, text) for text in texts]
        return [self.vector(text) for text in texts]

    def vector(self, text):
        boxes = [0] * self.dim
        for word in re.findall(r"\\w+", text.lower()):
            first, second = sha256(word.encode()).digest()[:2]
            boxes[first % self.dim] += -1 if second % 2 else 1
        return boxes
"""


def install(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, name: str = ID, weights: str = WEIGHTS, source: str = _SOURCE
) -> None:
    """Install an embedder into a folder, which this process then looks into."""
    module = f"embedder_{sha256(str(folder).encode()).hexdigest()[:12]}"
    folder.mkdir(exist_ok=True)
    (folder / f"{module}.py").write_text(source.format(id=name, weights=weights), encoding="utf-8")
    told = folder / f"{module}-1.0.dist-info"
    told.mkdir(exist_ok=True)
    (told / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n", encoding="utf-8")
    (told / "entry_points.txt").write_text(
        f"[contexthall.embedders]\n{name} = {module}:HashedWords\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, module, raising=False)


def build_embedded(directory: Path, pages: dict[str, str], *, name: str = "cache", embedder: str = ID) -> Path:
    """Build a cache of format 2 with an embedder that is installed."""
    sources = write_sources(directory / f"{name} sources", pages)
    embedding = SectionEmbedder(find_embedder(embedder))
    builder = CacheBuilder(Disk(), CREATED_AT, scorer=embedding.scorer, embedding=embedding)
    builder.build(str(sources), str(directory / name), choice=Choice(("*",)))
    return directory / name
