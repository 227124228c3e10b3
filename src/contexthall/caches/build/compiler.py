"""Turns source files into document files and postings: one share of a build, with bounded memory.

Postings are collected in memory up to a limit and then written as a *run*: terms in 64 parts by their hash, documents
in ascending order. `merge` puts the runs together, part by part.
"""

import marshal
import sys
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from contexthall.caches.build.sources import SourceFile
from contexthall.caches.build.staging import NEW, RUN_PREFIX
from contexthall.caches.index.postings import PARTS, Postings, bucket_of
from contexthall.caches.model.document import Document, file_stem, to_json, version_of
from contexthall.caches.model.format import DOCUMENTS
from contexthall.caches.model.shards import shard_path
from contexthall.caches.query.scorers import CacheFormat, Scorer
from contexthall.core import limits
from contexthall.core.errors import SourcesError
from contexthall.core.tokens import tokens
from contexthall.system.disk import Directory, Disk
from contexthall.system.processes import Report

_REPORT_EVERY = 64


class WrittenDocument(NamedTuple):
    """A document that has its file; `file` is the name it got, which another with the same content may have taken."""

    version: str
    file: str


class Run(NamedTuple):
    """A file of postings: where each part begins, and how many terms it has."""

    name: str
    edges: tuple[int, ...]
    terms: int


class BuildTask(NamedTuple):
    """What all shares of a build have in common: where to read, where to write, and how documents are scored."""

    disk: Disk
    staging: Directory
    scorer: CacheFormat
    is_strict: bool = False
    """Whether a file that cannot be converted fails the build."""
    shards: int = 1
    """In how many shards the pages of a cache of format 2 are."""

    def folders(self) -> list[str]:
        """Return where pages and segments are in the cache: in its shards, or in itself."""
        return [shard_path(number) for number in range(self.shards)] if self.shards > 1 else [""]


class Share(NamedTuple):
    """What came of a share: the documents in order, and the runs."""

    documents: list[WrittenDocument]
    costs: list[tuple[int, int]]
    """Tokens and words of each."""
    runs: list[Run]


def compile_share(task: BuildTask, scorer: Scorer, sources: Sequence[SourceFile], first: int, report: Report) -> Share:
    """Compile `sources`, the first of which is document number `first`, into the documents of the staging directory."""
    staging, files = task.staging, task.staging.enter(NEW).enter(DOCUMENTS)
    share = Share([], [], [])
    postings = _PostingsBuffer()
    for number, source in enumerate(sources, first):
        content = _read_text(task, source)
        written = write_document(source, content, number, files)
        found = scorer.terms(content)
        postings.add(number, Counter(found))
        share.documents.append(written)
        share.costs.append((tokens(content.encode()), len(found)))
        if postings.is_full():
            share.runs.append(postings.write(staging, f"{RUN_PREFIX}{first}-{len(share.runs)}"))
            postings = _PostingsBuffer()
        if len(share.documents) % _REPORT_EVERY == 0:
            report(_REPORT_EVERY)
    share.runs.append(postings.write(staging, f"{RUN_PREFIX}{first}-{len(share.runs)}"))
    report(len(share.documents) % _REPORT_EVERY)
    return share


def count_terms(staging: Directory, runs: Sequence[Run]) -> int:
    """Count the different terms of all runs."""
    if len(runs) == 1:
        return runs[0].terms
    return sum(len(set().union(*(_read_part(staging, run, part) for run in runs))) for part in range(PARTS))


def merge(staging: Directory, runs: Sequence[Run], part: int) -> dict[bytes, Postings]:
    """Return one part of all runs together: the documents and counts of every term."""
    merged: defaultdict[bytes, list[bytes]] = defaultdict(list)
    for run in runs:
        for term, pairs in _read_part(staging, run, part).items():
            merged[term].append(pairs)
    return {term: _unpack(b"".join(pieces)) for term, pieces in merged.items()}


def _read_part(staging: Directory, run: Run, part: int) -> dict[bytes, bytes]:
    with staging.open(run.name) as file:
        data = file.read_at(run.edges[part], run.edges[part + 1] - run.edges[part])
    terms: dict[bytes, bytes] = marshal.loads(data)  # noqa: S302 - written by this very build
    return terms


def _read_text(task: BuildTask, source: SourceFile) -> str:
    """Read a document of format 1, which is UTF-8."""
    try:
        return task.disk.read(source.path, follow=True).decode("utf-8")
    except UnicodeDecodeError as error:
        raise SourcesError(
            f"{source.source} is not UTF-8: {error.reason} at byte {error.start}",
            hint="save it as UTF-8, or name what shall be taken with --include GLOB",
        ) from None


def write_document(source: SourceFile, content: str, number: int, files: Directory) -> WrittenDocument:
    """Write the file of a document."""
    version = version_of(content.encode())
    name = f"{file_stem(version)}.json"
    file = files.create(name)
    if file is None:
        name = f"{file_stem(version)}.{number}"
        file = files.create(name)
    assert file is not None
    with file:
        file.write_all(to_json(Document(source.id, version, source.source, content)))
    return WrittenDocument(version, name)


def document_names(versions: Sequence[str]) -> list[str]:
    """Return the names of the files of documents, by ascending id; equal contents differ by a number."""
    sharing: Counter[str] = Counter()
    names = []
    for version in versions:
        stem = file_stem(version)
        sharing[stem] += 1
        names.append(f"{stem}.json" if sharing[stem] == 1 else f"{stem}-{sharing[stem]}.json")
    return names


def rename_documents(files: Directory, names: Iterable[tuple[str, str]]) -> None:
    """Give the files of documents other names, among which may be names that others of them have."""
    moving = [(name, new_name) for name, new_name in names if name != new_name]
    for number, (name, _) in enumerate(moving):
        files.rename(name, f"{number}.moving")
    for number, (_, new_name) in enumerate(moving):
        files.rename(f"{number}.moving", new_name)


class _PostingsBuffer:
    """Where terms were found so far: per term, document and count as one number each."""

    def __init__(self) -> None:
        self._terms: defaultdict[str, array[int]] = defaultdict(lambda: array("Q"))
        self._size = 0

    def add(self, number: int, counts: "Counter[str]") -> None:
        terms, base = self._terms, number << 32
        for term, count in counts.items():
            terms[term].append(base | count)
        self._size += len(counts)

    def is_full(self) -> bool:
        return self._size > limits.BUILD_POSTINGS or len(self._terms) > limits.BUILD_TERMS

    def write(self, staging: Directory, name: str) -> Run:
        """Write everything to a file, in parts."""
        parts: list[dict[bytes, bytes]] = [{} for _ in range(PARTS)]
        for term, pairs in self._terms.items():
            encoded = term.encode()
            parts[bucket_of(encoded, PARTS)][encoded] = pairs.tobytes()
        data = [marshal.dumps(part) for part in parts]
        staging.write(name, b"".join(data))
        return Run(name, tuple(accumulate(map(len, data), initial=0)), len(self._terms))


def _unpack(pairs: bytes) -> Postings:
    numbers: array[int] = array("I")
    numbers.frombytes(pairs)
    low, high = numbers[::2], numbers[1::2]
    return Postings(high, low) if sys.byteorder == "little" else Postings(low, high)
