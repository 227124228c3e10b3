"""Is a text a secret? By what it is called, by how it begins, or because it seems drawn by lot.

Pure. In doubt it is: what is left out of a draft can be asked for, what is in it cannot be taken back.
"""

import math
import re
from collections import Counter

_SECRET_NAME = re.compile(
    r"passw|passphrase|pwd|\bpw\b|bearer|salt\b|secret|token|credential|key(?!word|board)|auth(?!or(?!i[sz]))",
    re.IGNORECASE,
)
_KEY_PREFIX = re.compile(
    r"sk-\w.{5}|[spr]k_(?:live|test)_|gh[opsur]_\w|github_pat_|glpat-|A[KS]IA[A-Z0-9]{4}|xox[a-z]-|eyJ\w|AIza\w|"
    r"ya29\.|npm_\w{8}|hf_\w{8}|pypi-\w{8}|-----BEGIN|[?&]\w*(?:key|token|secret)\w*=|\w+://[^/@\s:]*:[^/@\s]+@"
)
_WORD = re.compile(r"[\w+/=-]{20,}", re.ASCII)
_HEX = re.compile(r"[0-9a-fA-F-]+")
_RANDOM_BITS = 3.0
"""Per character: text that was drawn by lot has more, words that are repeated or filled up have less."""


def is_secret_name(name: str) -> bool:
    """Say whether what has this name may be a credential, or whether a text speaks of one."""
    return _SECRET_NAME.search(name) is not None


def looks_like_a_key(literal: str) -> bool:
    """Say whether a string may be a credential: by a well-known beginning, or because it seems drawn by lot."""
    return bool(_KEY_PREFIX.search(literal)) or any(_is_random(word) for word in _WORD.findall(literal[:4096]))


def _is_random(word: str) -> bool:
    has_digits = any(character.isdigit() for character in word)
    has_both_cases = word.lower() != word != word.upper()
    is_solid = word.isalnum() and sum(map(str.isdigit, word)) * 8 >= len(word)
    if not has_digits or word.isdigit() or not (has_both_cases or is_solid or _HEX.fullmatch(word)):
        return False
    counts = Counter(word).values()
    return -sum(count / len(word) * math.log2(count / len(word)) for count in counts) >= _RANDOM_BITS
