"""The draft of a context: its fields, from the material of a directory.

Pure. What is not certain is left out.
"""

from collections.abc import Iterable, Mapping

from contexthall.contexts.draft.exports_sentence import listed
from contexthall.contexts.draft.file_roles import is_configuration, is_test, is_test_directory
from contexthall.contexts.draft.importers import FileImports
from contexthall.contexts.draft.languages.language import ROOT, Export, SourceOutline
from contexthall.contexts.draft.languages.table import FRONT_FILES, language_of
from contexthall.contexts.draft.material import Material
from contexthall.contexts.draft.project_facts import framework
from contexthall.contexts.draft.syntax.sentences import usable_sentence
from contexthall.contexts.files.schema import MAINTENANCE
from contexthall.contexts.files.yaml_text import Value
from contexthall.core import limits
from contexthall.core.text import is_name

_METHODS = 30
"""The methods of a type that are named; the others are counted."""


def draft(
    material: Material,
    imports: Iterable[FileImports],
    *,
    is_full: bool,
    name: str = "",
    language: str = "",
    summary: str = "",
) -> dict[str, Value]:
    """Draft the fields of a context, but for its summary and those about the directories below.

    `imports` are those of its files that lead to other directories.
    Of a root with code, `name`, `language` and `summary` are those of the project, unless a manifest says otherwise.
    """
    fields: dict[str, Value] = {
        "maintenance": MAINTENANCE,
        "files": _files(material) if is_full else [],
        "interfaces": _interfaces(material) if is_full else [],
        "dependencies": _dependencies(material, imports),
        "exports": [] if is_test_directory(material.scope) else _export_lines(material),
        "project": _project(material, name, language, summary) if language and summary else {},
    }
    return {name: value for name, value in fields.items() if value}


def with_below(fields: Mapping[str, Value], scope: str, below: Mapping[str, str]) -> dict[str, Value]:
    """Add the summaries of the directories below, by name, to a draft."""
    summaries = {name: summary for name, summary in below.items() if summary}
    if not summaries:
        return {**fields}
    listed = {"subdirectories": [{"name": f"{name}/", "summary": summary} for name, summary in summaries.items()]}
    if scope == ROOT:
        listed["structure"] = [{"path": name, "summary": summary} for name, summary in summaries.items()]
    return {**fields, **listed}


def _sources(material: Material) -> list[tuple[str, SourceOutline]]:
    """Return the files that others may use: front files first, those that are meant to be private last.

    A stub replaces the module that it declares.
    """
    suffixes = {name: language.stub_suffix for name in material.sources if (language := language_of(name))}
    stubbed = {name for name, suffix in suffixes.items() if suffix and name + suffix in material.sources}
    names = [name for name in material.sources if name not in stubbed and not (is_test(name) or is_configuration(name))]
    names.sort(key=lambda name: (name not in FRONT_FILES, name.startswith("_"), name))
    return [(name, material.sources[name]) for name in names]


def _export_lines(material: Material) -> list[str]:
    """Return the exports, each with its file and the methods of a type, and how many more there are."""
    exports = _exports(material)
    lines = [f"{file}: {export.signature}{_methods(export)}" for file, export in exports[: limits.DRAFT_EXPORTS]]
    return [*lines, f"… and {len(exports) - len(lines)} more"] if len(exports) > len(lines) else lines


def _methods(export: Export) -> str:
    if not export.methods:
        return ""
    more = len(export.methods) - _METHODS
    return f" {{ {', '.join(export.methods[:_METHODS])}{f', … and {more} more' if more > 0 else ''} }}"


def _exports(material: Material) -> list[tuple[str, Export]]:
    every = [(file, export) for file, source in _sources(material) for export in source.exports]
    defined = {export.name for _, export in every if export.signature != export.name}
    # A name that is re-exported would say less than its definition, which is here as well.
    best = [each for each in every if each[1].signature != each[1].name or each[1].name not in defined]
    return [*{export.signature: (file, export) for file, export in reversed(best)}.values()][::-1]


def _files(material: Material) -> list[Value]:
    """Return the purpose of each file, by its own comment or by what it defines."""
    entries = []
    for name in material.names:
        source = material.sources.get(name, SourceOutline())
        purpose, names = usable_sentence(source.doc), [each.name for each in source.exports if is_name(each.name)]
        if not purpose and names:
            purpose = f"Defines {listed(names[: limits.DRAFT_NAMES], len(names))}."
        if purpose:
            tests = [{"test_file": each} for each in _tests_of(name) if each in material.names]
            entries.append({"name": name, "purpose": purpose} | (tests[0] if tests else {}))
    return entries


def _tests_of(name: str) -> list[str]:
    stem, _, extension = name.rpartition(".")
    return [f"test_{name}", f"{stem}_test.{extension}", f"{stem}.test.{extension}", f"{stem}.spec.{extension}"]


def _interfaces(material: Material) -> list[Value]:
    described = [(export.signature, usable_sentence(export.doc)) for _, export in _exports(material)]
    return [{"name": name, "description": text} for name, text in described if text][: limits.DRAFT_INTERFACES]


def _dependencies(material: Material, imports: Iterable[FileImports]) -> Value:
    internal = {place for each in imports for place in each.places}
    external = dict.fromkeys(each for manifest in material.manifests for each in manifest.dependencies)
    both = {"internal": sorted(internal), "external": [*external]}
    return {kind: names for kind, names in both.items() if names}


def _project(material: Material, name: str, language: str, summary: str) -> Value:
    manifests = material.manifests
    project = {
        "name": next((manifest.name for manifest in manifests if manifest.name), name),
        "description": next((manifest.description for manifest in manifests if manifest.description), summary),
        "language": language,
        "framework": framework([each for manifest in manifests for each in manifest.dependencies]),
        "package_manager": material.package_manager,
    }
    return {name: value for name, value in project.items() if value}
