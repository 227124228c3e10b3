"""What an agent is told at a moment: the brief of directories, or which claims its edit may have broken."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress

from contexthall.clients.hook_events import HookClient, is_loaded
from contexthall.contexts.brief.brief import DEFAULT_BUDGET, BriefItem, items_text, pack
from contexthall.contexts.brief.gathering import find_target, gather, levels, read_values
from contexthall.contexts.files.claims import JudgedCitation, failing, judge_citations, stands_in
from contexthall.contexts.files.lock import LOCK_FILE, NO_LOCK, Citation, Lock, read_lock
from contexthall.contexts.freshness.evidence import digest_of, read_cited
from contexthall.contexts.freshness.late_code import CODE
from contexthall.core import limits
from contexthall.core.errors import DiskError
from contexthall.faces.hooks.told import Told
from contexthall.system.disk import Disk
from contexthall.system.kernel import open_straight


class Speaker:
    """Speaks to one agent about one project."""

    def __init__(self, disk: Disk, root: str, client: HookClient, told: Told, started: str) -> None:
        self._disk = disk.opened_by(open_straight)
        self._root = root
        self._client = client
        self._told = told
        self._started = started
        """Where the client was started, from the root."""
        self._lock = self._read_lock()

    def brief(self, places: Sequence[str]) -> str:
        """Return what people want known about directories, as far as this agent was not told."""
        if self._told.is_full():
            return ""
        found = dict.fromkeys(item for place in places for item in self._items(place))
        items = [item for item in found if self._told.claim("item", item.kind, item.file, item.text)]
        if not items:
            return ""
        chosen = pack(", ".join(places), DEFAULT_BUDGET, items, "text")
        skipped = ", ".join(each.file for each in chosen.skipped)
        more = f"More, which did not fit: {skipped}; `context brief` has it.\n" if skipped else ""
        where = ", ".join("the project" if place == "." else f"{place}/" for place in places)
        return f"What people want known before you work on {where}:\n\n{items_text(chosen.items)}{more}"

    def failing(self, paths: Sequence[str]) -> str:
        """Return one sentence that names the claims that no longer hold near these files, or that cite them."""
        names = [
            f"{each.claim.field.removesuffix('s')} “{' '.join(each.claim.text.split())}” of "
            f"{'the project' if scope == '.' else scope + '/'} ({each.citation.target} "
            f"{'is gone' if each.verdict == 'gone' else 'changed'})"
            for scope, each in self._failing(paths)
            if self._told.claim("failing", scope, each.claim.name, each.citation.target, each.citation.digest)
        ]
        if not names:
            return ""
        return f"Check whether this still holds, and mend the code or the claim: {'; '.join(names)}."

    def _items(self, place: str) -> Iterator[BriefItem]:
        """Yield the items about a directory; of rule files that the client loads itself, what they name in vain."""
        target = find_target(self._disk, self._root, place)
        for item in gather(self._disk, self._root, target, self._lock, self._look_up):
            if item.kind != "rule" or not self._loads(item):
                yield item._replace(also=())
            elif item.failing:
                text = f"{item.file} names what is not there: {', '.join(item.failing)}"
                yield item._replace(text=text, holds=None, failing=(), also=())

    def _read_lock(self) -> Lock:
        with suppress(DiskError):
            return read_lock(self._disk.read_small(os.path.join(self._root, LOCK_FILE), limits.LOCK_BYTES)[1])
        return NO_LOCK

    def _look_up(self, citation: Citation) -> str | None:
        """Return the digest of what a citation leads to; a parser costs more than all the rest, so only if it must."""
        try:
            cited = read_cited(self._disk, self._root, citation.path)
        except DiskError:
            return None
        if cited is None:
            return None
        if citation.symbol and stands_in(cited[1].decode("utf-8", "replace"), citation):
            return citation.digest
        return digest_of(*cited, citation.symbol, CODE.find_definition)

    def _loads(self, item: BriefItem) -> bool:
        return any(is_loaded(self._client, path, self._started) for path in (item.file, *item.also))

    def _failing(self, paths: Sequence[str]) -> Iterator[tuple[str, JudgedCitation]]:
        near = {scope for path in paths for scope in levels(os.path.dirname(path) or ".")}
        for scope in filter(self._lock.may_cite, self._lock.scopes):
            entry = self._lock.entry(scope)
            citations = entry.citations if entry else ()
            if scope not in near:
                citations = tuple(each for each in citations if os.path.normpath(each.path) in paths)
            if citations:
                values = read_values(self._disk, self._root, scope)
                yield from ((scope, each) for each in failing(judge_citations(values, citations, self._look_up)))
