"""Reports on caches for who asks all the time."""

from contexthall.caches.library import CacheEntry
from contexthall.caches.report import CacheReport, PacedReports
from contexthall.core.errors import DiskError


class Looks:
    """Counts the looks at caches, each of which takes so many seconds of a clock that nothing else moves."""

    def __init__(self, seconds: float) -> None:
        self.now = 0.0
        self.names: list[str] = []
        self._seconds = seconds

    def look(self, name: str) -> CacheReport:
        self.now += self._seconds
        self.names.append(name)
        return CacheReport(documents=len(self.names))


DOCS = CacheEntry("docs", has_manifest=True)


def test_a_cache_is_looked_at_once_a_second_at_most() -> None:
    looks = Looks(0.0)
    reports = PacedReports(lambda: looks.now)
    assert [reports.update([DOCS], looks.look)["docs"].documents for _ in range(3)] == [1, 1, 1]
    looks.now += 1
    assert reports.update([DOCS], looks.look)["docs"].documents == 2


def test_a_look_that_takes_long_is_repeated_later() -> None:
    looks = Looks(2.0)
    reports = PacedReports(lambda: looks.now)
    reports.update([DOCS], looks.look)
    looks.now += 19
    reports.update([DOCS], looks.look)
    assert looks.names == ["docs"]
    looks.now += 1
    reports.update([DOCS], looks.look)
    assert looks.names == ["docs", "docs"]


def test_a_cache_that_cannot_be_looked_at_hides_no_other_and_one_that_is_gone_is_forgotten() -> None:
    looks = Looks(0.0)

    def look(name: str) -> CacheReport:
        if name == "bad":
            raise DiskError("cannot read bad")
        return looks.look(name)

    reports = PacedReports(lambda: looks.now)
    found = reports.update([CacheEntry("bad", has_manifest=True), CacheEntry("no", has_manifest=False), DOCS], look)
    assert [found[name].reason for name in found] == ["cannot read bad", "no cache: it has no manifest", ""]
    assert list(reports.update([], look)) == []
    reports.update([DOCS], look)
    assert looks.names == ["docs", "docs"]
