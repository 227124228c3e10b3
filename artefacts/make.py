"""What do the places where people find servers want to be given? Writes the bundle and the registry's entry.

    python -m artefacts.make dist/artefacts

Both say the version, which the package alone knows. The bundle has the package's sources: whoever opens it needs uv,
which fetches what they depend on. Made twice, they are the same bytes.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any, Final
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from contexthall import __version__, open_hall

REPOSITORY: Final = Path(__file__).parents[1]
NAME: Final = "io.github.contexthall/contexthall"
"""In the registry; the README says it too, in a comment, by which the registry knows that both have one owner."""
SUMMARY: Final = "What the documents say, what each directory is for, which tools are within reach: one local hall."
SCHEMA: Final = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
BUNDLED: Final = ("LICENSE", "README.md", "constraints.txt", "pyproject.toml", "src")
_EARLIEST: Final = (1980, 1, 1, 0, 0, 0)
"""The earliest date that a zip can say: every file has it."""


def bundle_manifest() -> dict[str, Any]:
    tools = [{"name": tool.name, "description": tool.title} for tool in open_hall(REPOSITORY).catalog.tools]
    return {
        "manifest_version": "0.4",
        "name": "context-hall",
        "display_name": "Context Hall",
        "version": __version__,
        "description": SUMMARY,
        "author": {"name": "The authors of Context Hall"},
        "license": "Apache-2.0",
        "server": {
            "type": "uv",
            "entry_point": "src/contexthall/__main__.py",
            "mcp_config": {
                "command": "uv",
                "args": [
                    *("run", "--directory", "${__dirname}", "contexthall", "serve"),
                    *("--path", "${user_config.project}", "--reply", "text"),
                ],
            },
        },
        "tools": tools,
        "compatibility": {"platforms": ["darwin", "linux"], "runtimes": {"python": ">=3.11"}},
        "user_config": {
            "project": {
                "type": "directory",
                "title": "Project",
                "description": "The folder whose documents and code are served.",
                "required": True,
            }
        },
    }


def registry_entry() -> dict[str, Any]:
    return {
        "$schema": SCHEMA,
        "name": NAME,
        "title": "Context Hall",
        "description": SUMMARY,
        "version": __version__,
        "packages": [
            {
                "registryType": "pypi",
                "identifier": "contexthall",
                "version": __version__,
                "runtimeHint": "uvx",
                "transport": {"type": "stdio"},
                "packageArguments": [
                    {"type": "positional", "value": "serve"},
                    {"type": "named", "name": "--reply", "value": "text"},
                    {
                        "type": "named",
                        "name": "--path",
                        "description": "The project; the working directory if it is left out.",
                        "format": "filepath",
                    },
                ],
            }
        ],
    }


def written(folder: Path) -> None:
    """Write both, and the bundle's files unpacked as well, for a validator that wants them so."""
    unpacked = folder / "bundle"
    unpacked.mkdir(parents=True, exist_ok=True)
    (folder / "server.json").write_text(as_text(registry_entry()))
    (unpacked / "manifest.json").write_text(as_text(bundle_manifest()))
    with ZipFile(folder / f"context-hall-{__version__}.mcpb", "w", ZIP_DEFLATED) as bundle:
        bundle.writestr(_entry("manifest.json"), as_text(bundle_manifest()))
        for path in bundled_files():
            bundle.writestr(_entry(path.relative_to(REPOSITORY).as_posix()), path.read_bytes())


def bundled_files() -> list[Path]:
    found = [path for name in BUNDLED for path in [REPOSITORY / name, *(REPOSITORY / name).rglob("*")]]
    return sorted(path for path in found if path.is_file() and path.suffix not in {".pyc", ".so"})


def as_text(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _entry(name: str) -> ZipInfo:
    entry = ZipInfo(name, _EARLIEST)
    entry.compress_type, entry.external_attr = ZIP_DEFLATED, 0o644 << 16
    return entry


if __name__ == "__main__":
    os.environ.pop("CONTEXT_GUILD", None)
    written(Path(sys.argv[1]))
