"""What does a manifest say of a project?

Pure, and it never raises: what cannot be read says nothing. Addresses, and the passwords in them, are never repeated.
"""

import re
import tomllib
from codecs import BOM_UTF8
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from contexthall.contexts.draft.prose import is_boilerplate, one_line, shorten
from contexthall.core import wire

LARGEST = 1024 * 1024
"""How many bytes a manifest may have; a larger one is not read."""

_LONGEST_NAME = 214
_LONGEST_DESCRIPTION = 500


class ProjectManifest(NamedTuple):
    """What a project says of itself."""

    name: str = ""
    description: str = ""
    dependencies: tuple[str, ...] = ()
    """What it needs to run and is not part of the same repository: `click >=8.2`, in the order of the file."""
    module: str = ""
    """The path by which Go imports it."""


def read_manifest(name: str, data: bytes, workspace: bytes = b"") -> ProjectManifest:
    """Give what the manifest `data`, whose file is called `name`, says; nothing if it cannot be read.

    `workspace` is the Cargo.toml at the root, from which members may inherit.
    """
    read = _READERS.get(name)
    if not read or max(len(data), len(workspace)) > LARGEST:
        return ProjectManifest()
    try:
        return read(data, workspace)
    # A deep nesting ends the reader of TOML, not us.
    except (ValueError, RecursionError):
        return ProjectManifest()


_NAME = re.compile(r"@?[A-Za-z0-9_][\w.~/-]*+", re.ASCII)
_SPEC = re.compile(r"[\w.,<>=!~^*|&+ -]{1,80}", re.ASCII)


class _Dependencies:
    """Dependencies as they are found: each name once, the first time."""

    def __init__(self, own: str = "") -> None:
        self._own = _normal(own)
        self._found: dict[str, str] = {}

    def add(self, name: str, spec: object = "") -> None:
        """Add a name and, if it is a plain one, which versions of it will do."""
        name = name.strip()
        known = _normal(name)
        if len(name) > _LONGEST_NAME or not _NAME.fullmatch(name) or known == self._own or known in self._found:
            return
        versions = " ".join(spec.split()) if isinstance(spec, str) else ""
        is_plain = versions not in ("", "*") and _SPEC.fullmatch(versions)
        self._found[known] = f"{name} {versions}" if is_plain else name

    def all(self) -> tuple[str, ...]:
        return tuple(self._found.values())


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _table(value: object, *path: str) -> Mapping[str, object]:
    """Give the table at `path` inside `value`; an empty one if there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _name(value: object) -> str:
    line = one_line(value) if isinstance(value, str) else ""
    return line if len(line) <= _LONGEST_NAME else ""


def _description(value: object) -> str:
    line = one_line(value) if isinstance(value, str) else ""
    return "" if is_boilerplate(line) else shorten(line, _LONGEST_DESCRIPTION)


# The time that tomllib takes grows with the square of the parts of a key.
_LONG_KEY = re.compile(r"(?<![\w\"'-])(?:[\w\"'-]++[ \t]*+\.[ \t]*+){32}")


def _toml(data: bytes) -> dict[str, object]:
    text = data.decode("utf-8-sig")
    return {} if _LONG_KEY.search(text) else tomllib.loads(text)


# Python

_REQUIREMENT = re.compile(
    r"\s*(?P<name>[A-Za-z0-9][\w.-]*+)\s*+(?:\[[^\[\]]*+\])?+\s*+(?P<rest>[^;]*+)(?:;(?P<marker>.*))?", re.ASCII
)
_EGG = re.compile(r"[#&]egg=([A-Za-z0-9][\w.-]*+)", re.ASCII)
_COMPARISONS = ("", *"<>=!~(")
_ARCHIVES = (".whl", ".zip", ".gz")
_OPTION_OF_A_LINE = re.compile(r"\s(?:--\w|#)")


def _add_requirement(found: _Dependencies, line: str, inside: Collection[str] = ()) -> None:
    """Add what a line of PEP 508 asks for, unless it is for an extra or found `inside` the repository."""
    requirement = _REQUIREMENT.fullmatch(line.partition(" #")[0])
    if not requirement or _normal(requirement["name"]) in inside or "extra" in (requirement["marker"] or ""):
        return
    name, rest = requirement["name"], requirement["rest"].strip()
    is_elsewhere = rest.startswith("@") and "://" in rest and not rest.lstrip("@ ").startswith("file:")
    if is_elsewhere or (rest[:1] in _COMPARISONS and not name.endswith(_ARCHIVES)):
        found.add(name, "".join(rest.strip("() ").split()))


def _pyproject(data: bytes, _workspace: bytes) -> ProjectManifest:
    tables = _toml(data)
    project, poetry = _table(tables, "project"), _table(tables, "tool", "poetry")
    name = _name(project.get("name") or poetry.get("name"))
    found = _Dependencies(own=name)
    listed = project.get("dependencies")
    if isinstance(listed, list):
        inside = frozenset(_inside(_table(tables, "tool", "uv", "sources")) | _inside(_table(poetry, "dependencies")))
        for line in listed:
            _add_requirement(found, str(line), inside)
    else:
        _add_poetry(found, _table(poetry, "dependencies"))
    return ProjectManifest(name, _description(project.get("description") or poetry.get("description")), found.all())


def _inside(sources: Mapping[str, object]) -> set[str]:
    """Give the names that a table of sources finds in the same repository."""
    return {_normal(name) for name, source in sources.items() if _table(source).keys() & {"path", "workspace"}}


def _add_poetry(found: _Dependencies, wanted: Mapping[str, object]) -> None:
    for name, value in wanted.items():
        choice = value[0] if isinstance(value, list) and value else value
        table = _table(choice)
        if name.lower() != "python" and not (table.keys() & {"path"} or table.get("optional") is True):
            found.add(name, table.get("version") if table else choice)


def _setup_cfg(data: bytes, _workspace: bytes) -> ProjectManifest:
    values = _ini(data.decode("utf-8-sig").splitlines())
    name = _literal(values.get("metadata.name", []))
    found = _Dependencies(own=name)
    for line in values.get("options.install_requires", []):
        _add_requirement(found, line)
    return ProjectManifest(_name(name), _description(_literal(values.get("metadata.description", []))), found.all())


def _literal(lines: Sequence[str]) -> str:
    text = " ".join(lines)
    return "" if text.startswith(("attr:", "file:")) else text


def _ini(lines: Iterable[str]) -> dict[str, list[str]]:
    """Give the lines of every value by `section.key`. (The reader of the standard library can take quadratic time.)"""
    values: dict[str, list[str]] = {}
    section, current = "", list[str]()
    for line in lines:
        text = line.strip()
        if not text or text[0] in "#;":
            continue
        if line[0].isspace():
            current.append(text)
        elif text[0] == "[":
            section, current = text.strip("[] "), []
        else:
            key, _, value = text.partition("=") if "=" in text else text.partition(":")
            current = values.setdefault(f"{section}.{key.strip().lower().replace('-', '_')}", [])
            current += [value.strip()] if value.strip() else []
    return values


def _requirements(data: bytes, _workspace: bytes) -> ProjectManifest:
    found = _Dependencies()
    for line in data.decode("utf-8-sig").replace("\\\r\n", " ").replace("\\\n", " ").splitlines():
        wanted = _OPTION_OF_A_LINE.split(f" {line}", maxsplit=1)[0].strip()
        if egg := _EGG.search(wanted):
            found.add(egg[1])
        else:
            _add_requirement(found, wanted)
    return ProjectManifest(dependencies=found.all())


# JavaScript

_NOT_A_RANGE = ("file:", "link:", "portal:", "workspace:", ".", "/", "~/")


def _package_json(data: bytes, _workspace: bytes) -> ProjectManifest:
    package = _table(wire.parse(data.removeprefix(BOM_UTF8), halves=True))
    name = _name(package.get("name"))
    found = _Dependencies(own=name)
    for wanted, spec in _table(package, "dependencies").items():
        _add_npm(found, wanted, spec)
    for wanted, spec in _table(package, "peerDependencies").items():
        if not _table(package, "peerDependenciesMeta", wanted).get("optional"):
            _add_npm(found, wanted, spec)
    return ProjectManifest(name, _description(package.get("description")), found.all())


def _add_npm(found: _Dependencies, name: str, spec: object) -> None:
    if not isinstance(spec, str) or spec.startswith(_NOT_A_RANGE):
        return
    if spec.startswith("npm:"):
        name, _, spec = spec.removeprefix("npm:").rpartition("@") if "@" in spec[5:] else (spec[4:], "", "")
    found.add(name, spec)


# Rust


def _cargo(data: bytes, workspace: bytes) -> ProjectManifest:
    tables = _toml(data)
    root = _table(_toml(workspace) if workspace else tables, "workspace")
    package, shared = _table(tables, "package"), _table(root, "dependencies")
    found = _Dependencies()
    for wanted in _crates(tables, shared):
        for name, value in wanted.items():
            if _table(value).get("workspace") is not True:
                _add_crate(found, name, value)
            elif name in shared:
                _add_crate(found, name, shared[name])
    return ProjectManifest(
        _name(package.get("name")), _description(_inherited(package, "description", root)), found.all()
    )


def _crates(tables: Mapping[str, object], shared: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    if "package" not in tables:
        yield shared
    yield _table(tables, "dependencies")
    for platform in _table(tables, "target").values():
        yield _table(platform, "dependencies")


def _add_crate(found: _Dependencies, name: str, value: object) -> None:
    table = _table(value)
    real = table.get("package", name)
    if "path" not in table and isinstance(real, str):
        found.add(real, table.get("version") if table else value)


def _inherited(package: Mapping[str, object], key: str, root: Mapping[str, object]) -> object:
    value = package.get(key)
    return _table(root, "package").get(key) if _table(value).get("workspace") is True else value


# Go

_MAJOR = re.compile(r"/v\d{1,4}$")


def _go_mod(data: bytes, _workspace: bytes) -> ProjectManifest:
    found, module, local = _Dependencies(), "", set[str]()
    required = list[tuple[str, str]]()
    for verb, words, comment in _directives(data.decode("utf-8-sig").splitlines()):
        if verb == "module" and words:
            module = _name(words[0])
        elif verb == "require" and len(words) > 1 and not comment.startswith("indirect"):
            required.append((words[0], words[1]))
        elif verb == "replace" and words[-1:] and words[-1].startswith((".", "/")):
            local.add(words[0])
    for path, version in required:
        if path not in local:
            found.add(path, version)
    return ProjectManifest(_MAJOR.sub("", module).rpartition("/")[2], "", found.all(), module)


def _directives(lines: Iterable[str]) -> Iterator[tuple[str, list[str], str]]:
    """Give the verb, the words and the comment of every line, whether it stands in a block or alone."""
    block = ""
    for line in lines:
        text, _, comment = line.partition("//")
        words = [word.strip('"`') for word in text.split()]
        if words[:1] == [")"]:
            block = ""
        elif words[1:] == ["("]:
            block = words[0]
        elif words:
            yield (block, words, comment.strip()) if block else (words[0], words[1:], comment.strip())


_READERS: dict[str, Callable[[bytes, bytes], ProjectManifest]] = {
    "pyproject.toml": _pyproject,
    "setup.cfg": _setup_cfg,
    "package.json": _package_json,
    "Cargo.toml": _cargo,
    "go.mod": _go_mod,
    "requirements.txt": _requirements,
}

MANIFESTS: tuple[str, ...] = tuple(_READERS)
"""The names of the files that can be read, the most telling first."""

PACKAGE_MANAGERS: dict[str, str] = {
    "uv.lock": "uv",
    "poetry.lock": "poetry",
    "pdm.lock": "pdm",
    "pixi.lock": "pixi",
    "Pipfile.lock": "pipenv",
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun",
    "bun.lockb": "bun",
    "deno.lock": "deno",
    "package-lock.json": "npm",
    "npm-shrinkwrap.json": "npm",
    "Cargo.lock": "cargo",
    "go.sum": "go",
    "Gemfile.lock": "bundler",
    "composer.lock": "composer",
    "mix.lock": "mix",
    "pubspec.lock": "pub",
    "Podfile.lock": "cocoapods",
    "Package.resolved": "swiftpm",
    "packages.lock.json": "nuget",
    "gradle.lockfile": "gradle",
}
"""The package manager that writes a lock file, the first found speaking for the project."""


def package_manager(names: Collection[str]) -> str:
    """Give the package manager whose lock file is among `names`; pip if only requirements.txt is; else nothing."""
    found = (manager for lock, manager in PACKAGE_MANAGERS.items() if lock in names)
    return next(found, "pip" if "requirements.txt" in names else "")


FRAMEWORKS: dict[str, tuple[str, str]] = {
    "django": ("django", ""),
    "flask": ("flask", ""),
    "fastapi": ("fastapi", "starlette"),
    "litestar": ("litestar", "starlette"),
    "starlette": ("starlette", ""),
    "quart": ("quart", "flask"),
    "sanic": ("sanic", ""),
    "tornado": ("tornado", ""),
    "pyramid": ("pyramid", ""),
    "bottle": ("bottle", ""),
    "falcon": ("falcon", ""),
    "streamlit": ("streamlit", "tornado"),
    "dash": ("dash", "flask"),
    "next": ("next", "react express"),
    "gatsby": ("gatsby", "react"),
    "@remix-run/react": ("remix", "react express"),
    "expo": ("expo", "react react-native"),
    "react-native": ("react-native", "react"),
    "nuxt": ("nuxt", "vue express"),
    "@sveltejs/kit": ("sveltekit", "svelte"),
    "astro": ("astro", "react vue svelte preact solid"),
    "@angular/core": ("angular", "express"),
    "@nestjs/core": ("nestjs", "express fastify"),
    "react": ("react", ""),
    "vue": ("vue", ""),
    "svelte": ("svelte", ""),
    "preact": ("preact", ""),
    "solid-js": ("solid", ""),
    "ember-source": ("ember", ""),
    "lit": ("lit", ""),
    "electron": ("electron", "react vue svelte angular"),
    "express": ("express", ""),
    "fastify": ("fastify", ""),
    "koa": ("koa", ""),
    "hono": ("hono", ""),
    "@hapi/hapi": ("hapi", ""),
    "github.com/gin-gonic/gin": ("gin", ""),
    "github.com/labstack/echo": ("echo", ""),
    "github.com/gofiber/fiber": ("fiber", ""),
    "github.com/go-chi/chi": ("chi", ""),
    "github.com/beego/beego": ("beego", ""),
    "axum": ("axum", ""),
    "actix-web": ("actix-web", ""),
    "rocket": ("rocket", ""),
    "warp": ("warp", ""),
    "poem": ("poem", ""),
    "leptos": ("leptos", "axum actix-web"),
    "yew": ("yew", ""),
    "dioxus": ("dioxus", "axum"),
    "tauri": ("tauri", ""),
    "bevy": ("bevy", ""),
}
"""What the dependency on a framework is called, what the framework is, and the frameworks that it is built on."""


def framework(dependencies: Sequence[str]) -> str:
    """Give the one framework among `dependencies`, as `read_manifest` names them; nothing if there is none, or two.

    A framework that another one is built on does not count beside it.
    """
    names = {_MAJOR.sub("", dependency.partition(" ")[0]).lower() for dependency in dependencies}
    found = [FRAMEWORKS[name] for name in FRAMEWORKS if name in names]
    beneath = {name for _, built_on in found for name in built_on.split()}
    above = [name for name, _ in found if name not in beneath]
    return above[0] if len(above) == 1 else ""
