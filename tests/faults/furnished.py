"""What would be answered differently, if anything were? Documents, a project and a guild made of what others trip over.

Letters whose case depends on a language, names that no two orders agree on, characters that newer Pythons know and
older ones do not, files with the same content, faults in every kind of file.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

LATER: Final = "\U0001fa77 \U00031350\U0002ebf0 \U0001e030 \U00011f50 \U00010d50 \ua7da"
"""Unicode has had these since 15.0, 15.1 or 16.0: a heart, letters, a modifier, a digit and capitals."""

DOCUMENTS: Final[Mapping[str, str]] = {
    "Istanbul.md": "ISTANBUL İSTANBUL ıstanbul Istanbul istanbul\n",
    "straße/STRASSE.md": "STRASSE straße Straße ẞ ŉ ǰ\r\n",
    "odos.md": "ΟΔΟΣ οδος ΟΔΟΣ. ΟΔΟΣ\u0301 Σ ΑΣ\U0001e030 ΑΣ\U0001e030Β ΑΣ\u0ece ΑΣ\U00013440Α",
    "later.md": f"rotate {LATER} keys\n",
    "_under.md": "keys keys Keys",
    "z.md": "rotate keys every month\n",
    "a/z.md": "rotate keys every month\n",
    "a-b.md": "rotate keys every month\n",
    "a.b.md": "rotate\u2028keys\x1fevery\u00a0month\x85now\u180ehere",
    "é.md": "café cafe\u0301 CAFÉ\n",
    "e\u0301t\u00e9.md": "cafe\u0301\n",
    "𝒳.md": "astral \U0001d4b3 \uffee\n",
    "\uffee.md": "below the astral ones in UTF-8, above them in UTF-16\n",
    "empty.md": "",
    "blank.md": " \t\n\u3000",
    "long.md": "keys " * 700 + "rotate",
    "quotes.md": '"keys" \\ \x00\x01\x7f \ufeff \u2029 </script>',
}
INVALID: Final[Mapping[str, bytes]] = {
    "a.md": b"Who reads this is the slower one.\n" * 20_000,
    "b.md": b"not \xff UTF-8",
    "c.md": b"nor is \xfe this",
    "d.md": b"but this is",
}
"""Of two who share them, each finds something to complain of."""
COLLIDING: Final = {"B.md": "", "b.md": "", "İ.md": "", "i\u0307.md": "", "A.md": "", "a.md": ""}
QUERIES: Final = (
    "",
    "rotate keys",
    "KEYS keys",
    "istanbul",
    "İSTANBUL",
    "I",
    "ΟΔΟΣ",
    "ας\U0001e030",
    "ασ\U0001e030",
    "straße",
    "CAFÉ cafe\u0301",
    LATER,
    '"keys"',
    "absent",
    "\u3000rotate\u2028",
)
BUDGETS: Final = (0, 30, 4000)

_PYTHON = f'''"""Prices of İ and ı{LATER} things. And more.

Second paragraph.
"""

import os
from shop.orders import Order

VAT: float = 0.2
ÉTÉ = {{"b": 1, "a": 2}}


def price(order: Order, *, at: str = "now") -> float:
    """Say what an order costs, {LATER} too."""
    return VAT


class Straße(Order):
    """A street."""
'''
_SCRIPT = f"""/** Pages that people see {LATER}. */
import {{ z }} from "zod";
export const ア・イ = 1;
export const ア\U00031350イ = 2;
export function show(a: string, b?: number): void {{}}
export default class Page {{}}
"""
_GO = "// Package store keeps things.\npackage store\n\n// Élan is exported.\nfunc Élan(n int) error { return nil }\n"
_RUST = "//! Reads things.\n\n/// A reader.\npub struct Reader;\npub fn read(i: &str) -> Reader { Reader }\n"
_MANIFEST = (
    f'[project]\nname = "shop {LATER}"\ndescription = "A shop."\ndependencies = ["zeta>=1", "Alpha", "mid_dle"]\n'
)
_PACKAGE = {
    "name": "pages",
    "description": f"Pages that {LATER} people like to see",
    "dependencies": {"zod": "^3", "Ava": "1", "ünd": "2"},
}
_STALE = (
    'version: 1\nlast_updated: "2026-01-01T00:00:00Z"\nfingerprint: "00000000"\nscope: stale\n'
    f'summary: "What a person wrote {LATER} ü"\nmaintenance: Keep it.\nodd: {{z: 1, a: [2, 0x10, .5, 1e3]}}\n'
)

PROJECT: Final[Mapping[str, str]] = {
    "README.md": f"# Shop\n\nShop sells İ, ı and ß {LATER} to everybody. It has more to say.\n",
    "pyproject.toml": _MANIFEST,
    ".gitignore": "*.log\n!keep.log\n/secret/\n[[:upper:]]*.tmp\n",
    "shop/__init__.py": f'"""The shop itself, {LATER} and all."""\n',
    "shop/prices.py": _PYTHON,
    "shop/orders.py": '"""Orders."""\n\n\nclass Order:\n    """What somebody wants."""\n',
    "shop/B.py": "b = 1\n",
    "shop/a.py": "a = 1\n",
    "shop/_c.py": "c = 1\n",
    "shop/ü.py": "u = 1\n",
    "shop/keep.log": "kept",
    "shop/left.log": "left out",
    "shop/İ.tmp": "not upper case to git",
    "shop/A.tmp": "upper case to git",
    "secret/x.py": "x = 1\n",
    "pages/package.json": json.dumps(_PACKAGE),
    "pages/src/page.ts": _SCRIPT,
    "pages/src/other.js": "module.exports = { zed: 1, alpha() {} };\n",
    "store/go.mod": "module example.org/store\n\nrequire (\n\tz.org/z v1.0.0\n\ta.org/a v2.0.0\n)\n",
    "store/store.go": _GO,
    "reader/Cargo.toml": '[package]\nname = "reader"\n[dependencies]\nserde = "1"\nanyhow = "1"\n',
    "reader/src/lib.rs": _RUST,
    "docs/GUIDE.MD": "# Guide\n\nGuides people through the shop.\n",
    "Äpfel/äpfel.py": '"""Apples."""\n',
    "Zebra/zebra.py": '"""Zebras."""\n',
    f"later{LATER.replace(' ', '')}/x{LATER[0]}.py": f'"""Later {LATER}."""\n',
    os.fsdecode(b"na\xefve/\xff.py"): '"""Not UTF-8."""\n',
    "twice/one/package.json": '{"name": "twin"}',
    "twice/two/package.json": '{"name": "twin"}',
    "twice/user/user.ts": 'import { x } from "twin";\nexport const y = x;\n',
    "stale/code.py": "code = 1\n",
    "stale/.context.yaml": _STALE,
    "corrupt/code.py": "code = 1\n",
    "corrupt/.context.yaml": f'version: 1\n"{LATER}": 1\n"{LATER}": 2\n',
    "future/code.py": "code = 1\n",
    "future/.context.yaml": "version: 2\n",
}

SETTINGS: Final = {"type": "object", "properties": {"path": {"type": "string"}, "İd": {"type": "integer"}}}


def definition(name: str, description: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": SETTINGS, **more}


TOOLS: Final[Mapping[str, list[dict[str, Any]]]] = {
    "files": [
        definition("read_file", "Read a file, quickly"),
        definition("readFiles", "Read many files"),
        definition("write", f"Write a file {LATER}", annotations={"title": "Writing", "readOnlyHint": False}),
    ],
    "Files": [definition("read_file", "Read a FİLE of another kind")],
    "same": [definition(name, f"Same as {name}") for name in ("a/b", "a.b", "a b", "a-b", "a_b", "ab" * 40, "ab" * 41)],
    "größe": [definition("ölçmek", "Measure files"), definition("x" * 80, "Long"), definition(LATER, "Later files")],
    "git": [definition("status", "Show the status of files"), definition("log", "Show what was done to files")],
}
FAULTY: Final[Mapping[str, str]] = {
    "comma": '{"name": "comma", "version": "1",}',
    "list": '["name",\n ]',
    "half": '{"name": "half"',
    "deep": '{"name": ' + "[" * 3000 + "]" * 3000 + "}",
    "nobody": '{"version": "1"}',
    "later": json.dumps({"name": LATER, "version": 1}),
}


def furnish(place: Path) -> Path:
    """Lay it all out below `place`: `sources` of all kinds, `project`, `guild` and, in `caches`, what is broken."""
    _write_all(place / "sources", DOCUMENTS)
    _write_all(place / "invalid", INVALID)
    _write_all(place / "colliding", COLLIDING)
    _write_all(place / "project", PROJECT)
    _furnish_guild(place / "guild")
    for name, manifest in FAULTY.items():
        (place / "caches" / name).mkdir(parents=True)
        (place / "caches" / name / "manifest.json").write_text(manifest, encoding="utf-8")
    (place / "caches" / "ünlü").mkdir()
    (place / "caches" / "Boş").mkdir()
    (place / "caches" / os.fsdecode(b"caf\xe9")).mkdir()
    return place


def _write_all(folder: Path, files: Mapping[str, str] | Mapping[str, bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def _furnish_guild(guild: Path) -> None:
    for name, tools in TOOLS.items():
        launch = {"command": "/nowhere/to/be/found", "args": [name]}
        _write(guild / name / "plugin.json", {"name": name, "version": "1.0.0", "mcp": launch})
        cache = {"version": "1.0.0", "tools": tools, "cachedAt": "2026-01-02T03:04:05.678Z"}
        _write(guild / name / "tools-cache.json", cache)
    for name, manifest in FAULTY.items():
        (guild / f"faulty {name}").mkdir()
        (guild / f"faulty {name}" / "plugin.json").write_text(manifest, encoding="utf-8")
    (guild / "git" / "tools-cache.json").write_text('{"version": "1.0.0", "tools": [],}')


def _write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
