"""Environments for tests: packages are installed by writing what an installer would."""

from collections.abc import Mapping
from pathlib import Path

from contexthall.caches.packages.environment import find_packages, find_python
from contexthall.caches.packages.pages import package_pages
from contexthall.system.disk import Disk


def environment(project: Path) -> Path:
    """Make a virtual environment without packages, and return where they go."""
    site = project / ".venv" / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    return site


def install(
    site: Path, name: str, version: str, files: Mapping[str, str | bytes], *, readme: str = "", metadata: bytes = b""
) -> None:
    """Install a package of Python."""
    info = site / f"{name}-{version}.dist-info"
    write(site, files)
    info.mkdir()
    head = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nDescription-Content-Type: text/markdown\n\n"
    (info / "METADATA").write_bytes(metadata or f"{head}{readme}".encode())
    (info / "RECORD").write_text("".join(f"{path},sha256=x,1\n" for path in files))


def write(folder: Path, files: Mapping[str, str | bytes]) -> None:
    for path, content in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content.encode())


def pages_of(project: Path, *, python: str | None = None) -> tuple[dict[str, str], list[str]]:
    """Return the pages of all packages, by path, and the warnings."""
    disk = Disk()
    place = find_python(disk, str(project), python, {})
    found = find_packages(disk, str(project), place, everything=True)
    warnings = list(found.warnings)
    pages = [page for package in found.packages for page in package_pages(disk, package, warnings)]
    assert len({page.path.lower() for page in pages}) == len(pages)
    return {page.path: page.text for page in pages}, warnings
