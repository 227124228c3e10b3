"""Fixtures that are about the machine rather than about a subject."""

import codecs
import os
import signal
import tempfile
import threading
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import hypothesis
import pytest
from tests.processes import NOBODY

from contexthall.core import limits

# How long an example takes says something about the machine, not about the code.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

# A shell ignores the interrupt for what it runs in the background, and what a test starts there would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


# What starts real processes, or is about the whole, takes its time: `make quick` leaves it out.
SLOW_FOLDERS = {"faults", "browser", "release", "contract"}
STARTERS = {"subprocess", "tests.processes", "tests.faces.web.serving", "tests.guild.making", "tests.faces.cli.shells"}


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Run three tests on two cores: a good part of its time a test waits for a process."""
    return (os.cpu_count() or 1) * 3 // 2


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that are not quick."""
    for item in items:
        used = list(vars(item.module).values()) if isinstance(item, pytest.Function) else []
        homes = {getattr(each, "__module__", "") for each in used} | {getattr(each, "__name__", "") for each in used}
        if SLOW_FOLDERS.intersection(item.path.parts) or STARTERS & homes:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(autouse=True)
def _no_configuration_of_the_developer(monkeypatch: pytest.MonkeyPatch, homes: Path) -> None:
    """Keep the developer's own settings out of every test, in subprocesses too."""
    monkeypatch.setenv("HOME", tempfile.mkdtemp(dir=homes))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    # Without buffers, what is flushed too late would not be noticed.
    for name in [name for name in os.environ if name.startswith("CONTEXT_") or name == "PYTHONUNBUFFERED"]:
        monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _verdicts_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for whether sources are fresh as long as it takes: that a busy machine does not know is another subject."""
    monkeypatch.setattr(limits, "JUDGING_SECONDS", 20.0)


@pytest.fixture
def _may_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a test fork though another one left a thread behind that waits for nothing."""
    monkeypatch.setattr(threading, "active_count", lambda: 1)


@pytest.fixture
def anyio_backend() -> str:
    """Run coroutines of tests that are marked `anyio` as the hall does."""
    return "asyncio"


@pytest.fixture
def bound_by_permissions(tmp_path: Path) -> Iterator[None]:
    """Run the test as somebody whom file permissions bind; root is not."""
    if os.geteuid() != 0:
        yield
        return
    for directory in tmp_path.parents:
        if not directory.stat().st_mode & 0o001:
            directory.chmod(0o711)
    # Which somebody else might not be allowed to load, and nobody could use from then on.
    for encoding in ("utf-8-sig", "utf-32-le"):
        codecs.lookup(encoding)
    for module in ("concurrent.futures.thread", "ctypes"):
        import_module(module)
    os.chown(tmp_path, NOBODY, NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
