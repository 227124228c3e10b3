"""Detection of credentials: by the name of a value, by a well-known prefix, by entropy.

Pure. `is_secret_name` judges names, `holds_key` finds keys in words that mostly are none (command lines), `may_be_key`
is for text that others will read and flags whatever could be one.
"""

import math
import re
from collections import Counter
from typing import Final

NAME_PATTERN: Final = (
    r"passw|passphrase|pwd|bearer|salt\b|secret|token|credential|cookie|jwt|(?<!mon)key(?!word|board)|auth(?!or(?!i[sz]))"
    r"|(?<![a-z])(?:pass|pat|pw|sig)(?![a-z])"
)
"""Source of an expression (ignoring case) for names of credentials, for those who embed it in a larger one."""
_SECRET_NAME = re.compile(NAME_PATTERN, re.IGNORECASE)
_KEY = re.compile(
    r"(?<![A-Za-z0-9])(?:sk[-_]|[pr]k_|gh[opsur]_|github_pat_|glpat-|xox[a-z]-|A[KS]IA|AIza|eyJ|ya29\.|hf_|npm_|pypi-)"
    r"(?=[-_A-Za-z]{0,40}[0-9])[-_A-Za-z0-9]{12,}"
)
_KEY_PREFIX = re.compile(
    r"sk-\w.{5}|[spr]k_(?:live|test)_|gh[opsur]_\w|github_pat_|glpat-|A[KS]IA[A-Z0-9]{4}|xox[a-z]-|eyJ\w|AIza\w|"
    r"ya29\.|npm_\w{8}|hf_\w{8}|pypi-\w{8}|-----BEGIN|[?&](?=\w*(?:key|token|secret))\w*+=|\w://[^/@\s:]*:[^/@\s]+@"
)
_WORD = re.compile(r"[\w+/=-]{20,}", re.ASCII)
_HEX = re.compile(r"[0-9a-fA-F-]+")
_RANDOM_BITS = 3.0
"""Entropy per character: random text has more, repeated or padded words have less."""


def is_secret_name(name: str) -> bool:
    """Return whether a value of this name may be a credential, or whether a text speaks of one."""
    return _SECRET_NAME.search(name) is not None


def holds_key(text: str) -> bool:
    """Return whether a text holds a word that begins like a well-known kind of key and goes on like one."""
    return _KEY.search(text) is not None


def may_be_key(text: str) -> bool:
    """Return whether a text may hold a credential: a well-known prefix anywhere, or a word that seems random."""
    return bool(_KEY_PREFIX.search(text)) or holds_key(text) or any(map(_is_random, _WORD.findall(text[:4096])))


def _is_random(word: str) -> bool:
    has_digits = any(character.isdigit() for character in word)
    has_both_cases = word.lower() != word != word.upper()
    is_solid = word.isalnum() and sum(map(str.isdigit, word)) * 8 >= len(word)
    if not has_digits or word.isdigit() or not (has_both_cases or is_solid or _HEX.fullmatch(word)):
        return False
    counts = Counter(word).values()
    return -sum(count / len(word) * math.log2(count / len(word)) for count in counts) >= _RANDOM_BITS
