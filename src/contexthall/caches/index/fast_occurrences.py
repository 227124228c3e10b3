"""Counts occurrences with numpy: the same as `occurrences.py`, many times as fast. Pure."""

from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contexthall.caches.index.occurrences import CountedField

_UNIT_BITS = 32


def ranked(fields: Sequence["array[int]"], terms: int) -> "array[int]":
    """Return the rank of every term by how often it occurs in all fields, ties by number."""
    times = sum(np.bincount(np.frombuffer(field, np.uint32), minlength=terms) for field in fields if field)
    ranks = np.empty(terms, np.uint32)
    ranks[np.argsort(-np.asarray(times), kind="stable")] = np.arange(terms, dtype=np.uint32)
    return _array(ranks)


def renumbered(found: "array[int]", ranks: "array[int]") -> "array[int]":
    """Return the ranks of terms instead of their numbers."""
    return _array(np.frombuffer(ranks, np.uint32)[np.frombuffer(found, np.uint32)])


def counted(found: "array[int]", lengths: "array[int]", terms: int) -> CountedField:
    """Count the numbers of terms, of which each unit has as many as its length says."""
    keys = np.frombuffer(found, np.uint32).astype(np.uint64)
    keys <<= _UNIT_BITS  # in place, as all that follows: there are millions
    keys |= np.repeat(np.arange(len(lengths), dtype=np.uint32), np.frombuffer(lengths, np.uint32))
    keys.sort()
    is_first = np.ones(len(keys), np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
    total, keys = len(keys), keys[is_first]  # of what is large, one at a time
    times = np.diff(np.arange(total, dtype=np.uint32)[is_first], append=np.uint32(total))
    edges = np.searchsorted(keys, np.arange(terms + 1, dtype=np.uint64) << _UNIT_BITS)
    return CountedField(_array(edges), _array(keys), _array(times))


def _array(values: NDArray[Any]) -> "array[int]":
    return array("I", values.astype(np.uint32).tobytes())  # of a key, the unit
