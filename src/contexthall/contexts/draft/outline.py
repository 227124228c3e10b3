"""The draft of a context: what can be said of a directory without asking anybody.

Pure. What cannot be said truthfully is left out.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from contexthall.contexts.draft.languages.language import ROOT, Export, Layout, SourceOutline
from contexthall.contexts.draft.languages.table import FRONT_FILES, language_of
from contexthall.contexts.draft.material import Material
from contexthall.contexts.draft.project_facts import framework
from contexthall.contexts.draft.syntax.prose import first_sentence, is_boilerplate
from contexthall.contexts.files.yaml_text import Value
from contexthall.core import limits
from contexthall.core.secrets import may_be_key
from contexthall.core.text import is_name

MAINTENANCE = (
    "Correct what is no longer true here when you change this directory, then type `context regen` with its path. "
    "That drafts the fields anew that derived_fields names: take the name of a field out when you write it yourself. "
    "No secrets, please."
)
_TEST = re.compile(r"(?:^|[._-])(?:tests?|spec|conftest)(?:[._-]|$)", re.IGNORECASE)
_TEST_DIRECTORIES = frozenset(["test", "tests", "spec", "specs", "e2e"])


def draft(
    material: Material, layout: Layout, below: Sequence[str], *, is_full: bool, name: str = "", language: str = ""
) -> dict[str, Value]:
    """Draft the fields of a context, but for those about the directories below, and when it was written for what.

    `below` are the names of the directories in it that count; of a root with code, `name` and `language` are those of
    the project, unless a manifest says otherwise.
    """
    told_by_people = _words_about(material)
    fields: dict[str, Value] = {
        "summary": told_by_people or _inventory(material, below),
        "maintenance": MAINTENANCE,
        "files": _files(material) if is_full else [],
        "interfaces": _interfaces(material) if is_full else [],
        "dependencies": _dependencies(material, layout),
        "exports": _signatures([] if is_test_directory(material.scope) else _exports(material)),
        "project": _project(material, name, language, told_by_people) if language and told_by_people else {},
    }
    return {name: value for name, value in fields.items() if value}


def with_below(fields: Mapping[str, Value], scope: str, below: Mapping[str, str]) -> dict[str, Value]:
    """Add what is said of the directories below, name → summary, to a draft."""
    told = {name: summary for name, summary in below.items() if summary}
    if not told:
        return {**fields}
    listed = {"subdirectories": [{"name": f"{name}/", "summary": summary} for name, summary in told.items()]}
    if scope == ROOT:
        listed["structure"] = [{"path": name, "summary": summary} for name, summary in told.items()]
    return {**fields, **listed}


def _words_about(material: Material) -> str:
    """Return in a sentence what a directory is for, in the words of those who wrote it; empty if they did not."""
    fronts = [material.sources[name].doc for name in FRONT_FILES if name in material.sources]
    docs = [source.doc for name, source in material.sources.items() if not is_test(name) and source.doc]
    languages = [language for name in material.sources if (language := language_of(name))]
    # One file speaks for its directory, as does any file of a package whose comment may stand in any of them.
    others = docs if len(languages) == 1 or all(language.has_package_doc for language in languages) else []
    described = [manifest.description for manifest in material.manifests]
    return next(filter(None, map(_sentence, (*described, *fronts, material.readme, *others))), "")


def _sentence(text: str) -> str:
    """Return the first sentence of what somebody wrote, unless it says nothing or may hold a secret."""
    sentence = first_sentence(text)
    return "" if is_boilerplate(sentence) or may_be_key(sentence) else sentence


def is_test(name: str) -> bool:
    """Return whether a file holds tests, by its name."""
    return _TEST.search(name) is not None


def is_test_directory(scope: str) -> bool:
    """Return whether a directory is one of tests, by its path."""
    return any(part.lower().strip("_") in _TEST_DIRECTORIES for part in scope.split("/"))


def _inventory(material: Material, below: Sequence[str]) -> str:
    """Return a sentence that lists what is in a directory."""
    if not material.names:
        return f"Holds {_listed([f'{name}/' for name in below])}." if below else "Holds no source files."
    kinds = {language.title if (language := language_of(name)) else "" for name in material.names}
    kind = kinds.pop() if len(kinds) == 1 else ""
    noun = "tests" if all(is_test(name) for name in material.names) else "files"
    noun = noun[:-1] if len(material.names) == 1 else noun
    label = f"{len(material.names)} {kind} {noun}" if kind else f"{len(material.names)} {noun}"
    return f"{label}: {_listed(sorted(material.names, key=lambda name: (name.startswith('_'), name)))}."


def _listed(names: Sequence[str]) -> str:
    """List names as one would in a sentence, and say how many more there are."""
    if len(names) > limits.DRAFT_NAMES:
        return f"{', '.join(names[: limits.DRAFT_NAMES - 1])} and {len(names) - limits.DRAFT_NAMES + 1} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def _sources(material: Material) -> Iterable[SourceOutline]:
    """Return the files that others may use: what stands at the front first, what is meant to be private last.

    Where a stub says what a module offers, the module itself need not.
    """
    suffixes = {name: language.stub_suffix for name in material.sources if (language := language_of(name))}
    stubbed = {name for name, suffix in suffixes.items() if suffix and name + suffix in material.sources}
    names = [name for name in material.sources if not is_test(name) and name not in stubbed]
    names.sort(key=lambda name: (name not in FRONT_FILES, name.startswith("_"), name))
    return (material.sources[name] for name in names)


def _signatures(exports: Sequence[Export]) -> list[str]:
    """Return the signatures, and how many more there are than are told."""
    told = [export.signature for export in exports[: limits.DRAFT_EXPORTS]]
    return [*told, f"… and {len(exports) - limits.DRAFT_EXPORTS} more"] if len(exports) > limits.DRAFT_EXPORTS else told


def _exports(material: Material) -> list[Export]:
    every = [export for source in _sources(material) for export in source.exports]
    defined = {export.name for export in every if export.signature != export.name}
    # A name that is passed on from the file that defines it would say less than its definition, which is here as well.
    told = [export for export in every if export.signature != export.name or export.name not in defined]
    return [*{export.signature: export for export in told}.values()]


def _files(material: Material) -> list[Value]:
    """Return the purpose of each file, where it says so itself or by what it defines."""
    entries = []
    for name in material.names:
        source = material.sources.get(name, SourceOutline())
        purpose, names = _sentence(source.doc), [each.name for each in source.exports if is_name(each.name)]
        if not purpose and names:
            purpose = f"Defines {_listed(names)}."
        if purpose:
            tests = [{"test_file": each} for each in _tests_of(name) if each in material.names]
            entries.append({"name": name, "purpose": purpose} | (tests[0] if tests else {}))
    return entries


def _tests_of(name: str) -> list[str]:
    stem, _, extension = name.rpartition(".")
    return [f"test_{name}", f"{stem}_test.{extension}", f"{stem}.test.{extension}", f"{stem}.spec.{extension}"]


def _interfaces(material: Material) -> list[Value]:
    told = [(export.signature, _sentence(export.doc)) for export in _exports(material)]
    return [{"name": name, "description": text} for name, text in told if text][: limits.DRAFT_INTERFACES]


def _dependencies(material: Material, layout: Layout) -> Value:
    internal = {
        place
        for name, source in material.sources.items()
        if (language := language_of(name)) is not None
        for place in layout.internal(language.resolver, source.imports, material.scope)
    }
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
