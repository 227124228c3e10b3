"""The reader of the system whose format this is accepts every context that is written here, where it can be had.

It is no package of npm: `DOTCONTEXT` names a checkout of it, compiled, such as after `npm install && npx tsc`.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.contexts.making import write_files

from contexthall.faces.cli.table import run

READER = Path(os.environ.get("DOTCONTEXT") or "nowhere") / "dist" / "core" / "writer.js"
PROGRAM = """
import { readContext } from %s;
const told = {};
for (const directory of process.argv.slice(1)) told[directory] = (await readContext(directory))?.scope ?? null;
console.log(JSON.stringify(told));
"""
FILES = {
    "README.md": "# Shop\n\nSells things to people.\n",
    "pyproject.toml": '[project]\nname = "shop"\ndescription = "A shop."\ndependencies = ["anyio>=4"]\n',
    "src/keys.py": '"""Keeps the keys of the shop."""\n\n\ndef rotate(key: str) -> str:\n    return key\n',
    "web/index.ts": "/** Shows the shop. */\nexport function show(): void {}\n",
}


def accepted(root: Path) -> dict[str, str | None]:
    directories = sorted(str(path.parent) for path in root.rglob(".context.yaml"))
    program = PROGRAM % json.dumps(READER.as_uri())
    command = ["node", "--input-type=module", "--eval", program, "--", *directories]
    told = json.loads(subprocess.run(command, check=True, capture_output=True, timeout=60).stdout)
    return {os.path.relpath(directory, root): scope for directory, scope in told.items()}


@pytest.mark.skipif(not (READER.exists() and shutil.which("node")), reason="the other system's reader is not here")
def test_the_other_reader_accepts_what_init_note_regen_and_rehash_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path, FILES)
    monkeypatch.chdir(tmp_path)
    expected = {".": ".", "src": "src", "web": "web"}
    for command in (
        ["init", "--full"],
        ["note", "src", "--constraint", "Never log: a key.", "--cite", "src/keys.py#rotate"],
        ["note", "src", "--decision", "One file", "--why", "# simple"],
        ["regen", "--all"],
        ["rehash"],
    ):
        assert run(command) == 0
        assert accepted(tmp_path) == expected, command
        write_files(tmp_path, {"src/more.py": f'"""After {command[0]}."""\n'})
