"""Where does the documentation come from? Source packages from PyPI, packages of Debian: downloaded, never installed.

    python -m benchmarks.quality.fetch .bench-quality

A source package must have the sha256 that is pinned. Debian keeps only the newest build of a package: where the pinned
one is gone the newest is taken, and its name is printed.
"""

import hashlib
import subprocess
import sys
import tarfile
from pathlib import Path

from benchmarks.quality.check_questions import Project, load

CHERCHE = Project(
    name="cherche",
    version="2.2.1",
    docs="",
    sha256="7984a88f0bf9349cd08907baefc2527deaacea95d3acf5f4a1692896c507fe34",
)
DEBIAN = {"postgresql-doc-15": "15.20-0+deb12u1", "python3.11-doc": "3.11.2-6+deb12u9"}


def fetch(folder: Path) -> None:
    """Download what is not in `folder` yet, and unpack it there."""
    folder.mkdir(parents=True, exist_ok=True)
    for project in (*load()[0], CHERCHE):
        _fetch_sdist(project, folder)
    for package, version in DEBIAN.items():
        if not (folder / package).exists():
            _fetch_debian(package, version, folder)


def _fetch_sdist(project: Project, folder: Path) -> None:
    file = folder / project.file_name
    if not file.exists():
        wanted = f"{project.name}=={project.version}"
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet")
        _run(*pip, "--no-deps", "--no-binary", project.name, wanted, folder=folder)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    if digest != project.sha256:
        raise SystemExit(f"{file}: its sha256 is {digest}, not {project.sha256}")
    if not (folder / project.folder_name).exists():
        with tarfile.open(file) as archive:
            archive.extractall(folder / "part", filter="data")
        (folder / "part" / project.folder_name).rename(folder / project.folder_name)
        (folder / "part").rmdir()


def _fetch_debian(package: str, version: str, folder: Path) -> None:
    """Download a package into `folder`, and unpack it below, atomically."""
    try:
        _run("apt-get", "download", "--quiet", f"{package}={version}", folder=folder)
    except subprocess.CalledProcessError:
        _run("apt-get", "download", "--quiet", package, folder=folder)
    archive = max(folder.glob(f"{package}_*.deb"), key=lambda file: file.stat().st_mtime)
    print(archive.name)
    _run("dpkg-deb", "--extract", archive.name, f"{package}.part", folder=folder)
    (folder / f"{package}.part").rename(folder / package)


def _run(*command: str, folder: Path) -> None:
    subprocess.run(command, cwd=folder, check=True)


if __name__ == "__main__":
    fetch(Path(sys.argv[1]))
