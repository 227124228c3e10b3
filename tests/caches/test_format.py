import pytest

from contexthall.caches.model.format import ManifestHead, read_head

GOOD = b'{"cache_version": "sha256:ab", "document_count": 3, "documents": []}'
NOTHING = ManifestHead("", 0, complete=False)


def test_a_good_manifest_says_both() -> None:
    assert read_head(GOOD) == ManifestHead("sha256:ab", 3, complete=True)


@pytest.mark.parametrize(
    "manifest",
    [
        b"",
        b"{",
        b"[]",
        b"3",
        b"null",
        b'"text"',
        b"{} {}",
        b"\xff",
        b"\xef\xbb\xbf" + GOOD,
        b'{"a": NaN}',
        b"[" * 99_999,
    ],
)
def test_what_does_not_parse_to_an_object_says_nothing(manifest: bytes) -> None:
    assert read_head(manifest) == NOTHING


@pytest.mark.parametrize(
    "count", [b"true", b"3.0", b'"3"', b"-1", b"null", b"9223372036854775808", b"1e3", b"9" * 9999, b"[]"]
)
def test_a_count_of_another_type_or_size_is_none(count: bytes) -> None:
    manifest = b'{"cache_version": "v", "document_count": ' + count + b"}"
    assert read_head(manifest) == ManifestHead("v", 0, complete=False)


def test_the_largest_count_counts() -> None:
    manifest = b'{"cache_version": "", "document_count": 9223372036854775807}'
    assert read_head(manifest) == ManifestHead("", 2**63 - 1, complete=True)


@pytest.mark.parametrize("version", [b"7", b"null", b"{}"])
def test_a_version_that_is_no_string_is_empty(version: bytes) -> None:
    manifest = b'{"document_count": 3, "cache_version": ' + version + b"}"
    assert read_head(manifest) == ManifestHead("", 3, complete=False)
