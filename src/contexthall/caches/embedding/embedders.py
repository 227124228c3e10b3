"""Embedders: models of others that turn texts into vectors, found by their entry point, never by a path.

An embedder is one object: `id`, `dim`, `embed(texts, kind)`, and `sha256`, that of its weights, if it has any. It is
foreign code in this process. Whatever it returns is quantised here, and whatever it raises is an EmbedderError.
"""

import hashlib
import math
import re
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from typing import Literal, Protocol, TypeAlias

from contexthall.core import limits
from contexthall.core.errors import EmbedderError

GROUP = "contexthall.embedders"
LARGEST = 127
"""Of the numbers in a quantised vector."""

Kind: TypeAlias = Literal["document", "query"]

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_NO_WEIGHTS = hashlib.sha256().hexdigest()


class Embedder(Protocol):
    """A model that turns texts into vectors of `dim` numbers; several threads may call it."""

    @property
    def id(self) -> str: ...

    @property
    def dim(self) -> int: ...

    def embed(self, texts: Sequence[str], kind: Kind) -> Sequence[Sequence[float]]: ...


def find_embedder(name: str) -> Embedder:
    """Return the installed embedder of that name."""
    with _understood(name):
        found = {each.value: each for each in metadata.entry_points(group=GROUP, name=name)}
        if len(found) != 1:
            what = "registered by several packages" if found else "not installed"
            raise EmbedderError(f"{name} is {what}", hint=_installed())
        loaded = next(iter(found.values())).load()
        embedder: Embedder = loaded() if isinstance(loaded, type) else loaded
        _check(embedder, name)
        return embedder


def model_of(embedder: Embedder) -> str:
    """Return what a cache says of the model that made its vectors: `ID@sha256:HEX`."""
    return f"{embedder.id}@sha256:{getattr(embedder, 'sha256', _NO_WEIGHTS)}"


def find_model(model: str) -> Embedder:
    """Return the installed embedder that is this very model."""
    name = model.partition("@")[0]
    embedder = find_embedder(name)
    if model_of(embedder) != model:
        raise EmbedderError(
            f"{name} has other weights than those that the cache was built with",
            hint="install that release of it, or build the cache anew",
        )
    return embedder


def embed(embedder: Embedder, texts: Sequence[str], kind: Kind) -> list[bytes]:
    """Return the vectors of texts, quantised."""
    if not texts:
        return []
    with _understood(embedder.id):
        vectors = [quantised(vector) for vector in embedder.embed(texts, kind)]
        if len(vectors) != len(texts) or {len(vector) for vector in vectors} != {embedder.dim}:
            raise ValueError(f"not {len(texts)} vectors of {embedder.dim} numbers")
        return vectors


def quantised(vector: Sequence[float]) -> bytes:
    """Return a vector as whole numbers of one byte: divided by its length, times 127, rounded, ties to even."""
    numbers = [float(number) for number in vector]
    length = math.sqrt(math.fsum(number * number for number in numbers))
    if not math.isfinite(length):
        raise ValueError("a vector that is not finite")
    if not length:
        return bytes(len(numbers))
    return array("b", [round(LARGEST * (number / length)) for number in numbers]).tobytes()


def _check(embedder: Embedder, name: str) -> None:
    weights = getattr(embedder, "sha256", _NO_WEIGHTS)
    if embedder.id != name or not _NAME.fullmatch(name):
        raise ValueError(f"its id is {embedder.id!r}")
    if type(embedder.dim) is not int or embedder.dim < 1:
        raise ValueError(f"its dim is {embedder.dim!r}")
    if not isinstance(weights, str) or not _SHA256.fullmatch(weights):
        raise ValueError("its sha256 is not 64 hexadecimal digits")


def _installed() -> str:
    names = ", ".join(sorted({each.name for each in metadata.entry_points(group=GROUP)}))
    return f"those that are here: {names}" if names else "pip install 'contexthall[embeddings]' brings one"


@contextmanager
def _understood(name: str) -> Iterator[None]:
    """Turn whatever foreign code raises into an EmbedderError."""
    try:
        yield
    except EmbedderError:
        raise
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}"[: limits.COMPLAINT_CHARACTERS]
        raise EmbedderError(f"{name} failed: {reason}") from error
