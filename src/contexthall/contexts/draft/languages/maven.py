"""The manifest of Maven, pom.xml.

Pure. The entities of a document type can expand a small file without end, so a pom that has one is not read.
"""

from xml.etree import ElementTree as ET

from contexthall.contexts.draft.languages.project_manifest import Dependencies, ProjectManifest

_NOT_AT_RUN_TIME = {"test", "provided", "system", "import"}


def read_pom(data: bytes, _root: bytes) -> ProjectManifest:
    """Return name, description and dependencies, without those that only tests need."""
    if b"<!" in data.replace(b"<!--", b"").replace(b"<![CDATA[", b""):
        return ProjectManifest()
    try:
        project = ET.fromstring(data)  # noqa: S314 - without a document type there is nothing to expand
    except ET.ParseError as error:
        raise ValueError(error) from error
    found = Dependencies(own=_text(project, "artifactId"))
    for each in project.findall("{*}dependencies/{*}dependency"):
        version = _text(each, "version")
        if _text(each, "scope") not in _NOT_AT_RUN_TIME and _text(each, "optional") != "true":
            found.add(_text(each, "artifactId"), "" if "$" in version else version)
    artifact, title = _text(project, "artifactId"), _text(project, "name")
    # A title that repeats the artifact's name, or has placeholders, is no description.
    is_title = " " in title and "$" not in title and _letters(title) != _letters(artifact)
    return found.manifest(artifact, _text(project, "description") or (title if is_title else ""))


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name)).lower()


def _text(element: ET.Element, name: str) -> str:
    return (element.findtext(f"{{*}}{name}") or "").strip()
