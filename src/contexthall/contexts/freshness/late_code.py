"""A code reader that loads the parsers when first needed: that takes longer than answering most questions."""

from typing import Final

from contexthall.contexts.scan.directories import ScannedDirectory
from contexthall.system.disk import Disk


class LateCodeReader:
    """Reads code; the parsers are loaded with the first file."""

    def interface_of(self, disk: Disk, directory: "ScannedDirectory") -> str:
        from contexthall.contexts.draft.interface import interface_of

        return interface_of(disk, directory)

    def find_definition(self, name: str, data: bytes, symbol: str) -> str | None:
        from contexthall.contexts.draft.definitions import find_definition

        return find_definition(name, data, symbol)


CODE: Final = LateCodeReader()
