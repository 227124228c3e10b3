"""What a pom.xml says of a project.

Pure. A document type would let a small file grow without end, so a pom that has one says nothing.
"""

from xml.etree import ElementTree as ET

from contexthall.contexts.draft.languages.project_manifest import Dependencies, ProjectManifest

_NOT_AT_RUN_TIME = {"test", "provided", "system", "import"}


def read_pom(data: bytes, _root: bytes) -> ProjectManifest:
    """Return name, description and dependencies; what only tests need is left out."""
    if b"<!" in data.replace(b"<!--", b"").replace(b"<![CDATA[", b""):
        return ProjectManifest()
    try:
        project = ET.fromstring(data)  # noqa: S314 - without a document type there is nothing to expand
    except ET.ParseError as error:
        raise ValueError(error) from error
    found = Dependencies(own=_said(project, "artifactId"))
    for each in project.findall("{*}dependencies/{*}dependency"):
        version = _said(each, "version")
        if _said(each, "scope") not in _NOT_AT_RUN_TIME and _said(each, "optional") != "true":
            found.add(_said(each, "artifactId"), "" if "$" in version else version)
    artifact, title = _said(project, "artifactId"), _said(project, "name")
    # A title that is the artifact's name again, or is put together elsewhere, says nothing.
    is_title = " " in title and "$" not in title and _letters(title) != _letters(artifact)
    return found.manifest(artifact, _said(project, "description") or (title if is_title else ""))


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name)).lower()


def _said(element: ET.Element, name: str) -> str:
    return (element.findtext(f"{{*}}{name}") or "").strip()
