"""The pages of one installed package, of whichever kind it is."""

from collections import Counter
from collections.abc import Iterable, Iterator

from contexthall.caches.packages.environment import InstalledPackage
from contexthall.caches.packages.node_package import node_pages
from contexthall.caches.packages.python_package import python_pages
from contexthall.caches.packages.rendering import PackagePage
from contexthall.core.text import is_printable, lower
from contexthall.system.disk import Disk


def package_pages(disk: Disk, package: InstalledPackage, warnings: list[str]) -> Iterator[PackagePage]:
    """Yield the pages of a package, by path; what cannot be read is named in `warnings`.

    No two have paths that are equal in lower case, since they would have the same id.
    """
    pages = (python_pages if package.is_python else node_pages)(disk, package, warnings)
    yield from _distinct(page for page in sorted(pages) if is_printable(page.path))


def _distinct(pages: Iterable[PackagePage]) -> Iterator[PackagePage]:
    """Yield pages, with a number in the path of one whose path is taken."""
    taken: set[str] = set()
    numbers: Counter[str] = Counter()
    for page in pages:
        path, (stem, _, suffix) = page.path, page.path.rpartition(".")
        while lower(path) in taken:
            numbers[lower(page.path)] += 1
            path = f"{stem}~{numbers[lower(page.path)] + 1}.{suffix}"
        taken.add(lower(path))
        yield PackagePage(path, page.text)
