"""How near a vector is to each of many: dot products of whole numbers, with numpy. Pure."""

import numpy as np

_CHUNK_ROWS = 4096
_EXACT_DIMENSIONS = 1 << 10
"""Below, no sum of products reaches 2^24, up to which four-byte floats hold every integer; 2^53 is out of reach."""


def products(rows: bytes, vector: bytes) -> list[int]:
    """Return the dot product of each row with a vector, all of them of signed bytes."""
    # Only floats are multiplied quickly.
    exact = np.dtype("f4" if len(vector) < _EXACT_DIMENSIONS else "f8")
    matrix = np.frombuffer(rows, np.int8).reshape(-1, len(vector))
    wanted = np.frombuffer(vector, np.int8).astype(exact)
    found: list[int] = []
    for at in range(0, len(matrix), _CHUNK_ROWS):
        found += np.dot(matrix[at : at + _CHUNK_ROWS].astype(exact), wanted).astype(np.int64).tolist()
    return found
