"""An empty guild, and a memory of its own."""

from pathlib import Path

import pytest

from contexthall.guild.lists.memory import Memory
from contexthall.system.disk import Disk


@pytest.fixture
def guild(tmp_path: Path) -> Path:
    directory = tmp_path / "guild-members"
    directory.mkdir()
    return directory


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory(Disk(), str(tmp_path / "state"))
