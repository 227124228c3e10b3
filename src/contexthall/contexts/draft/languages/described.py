"""Manifests that are programs or build files: only their description is read, if it is a plain string.

Pure.
"""

import html
import re

from contexthall.contexts.draft.languages.project_manifest import Dependencies, ManifestFile, ProjectManifest

_STRING = r"(?:%q)?[\"'{]([^\"'{}\n$#]{8,500})[\"'}]"
_PATTERNS = {
    "*.gemspec": (rf"^[ \t]*\w+\.summary[ \t]*=[ \t]*{_STRING}", rf"^[ \t]*\w+\.description[ \t]*=[ \t]*{_STRING}"),
    "*.podspec": (rf"^[ \t]*\w+\.summary[ \t]*=[ \t]*{_STRING}",),
    "*.csproj": (r"<(?:Package)?Description>\s*([^<>$]{8,500})</",),
    "build.gradle": (rf"^(?:project\.)?description[ \t]*=?[ \t]*{_STRING}",),
    "build.gradle.kts": (rf"^(?:project\.)?description[ \t]*=[ \t]*{_STRING}",),
    "build.sbt": (rf"^[ \t]*description[ \t]*:=[ \t]*{_STRING}",),
    "setup.py": (rf"^[ \t]*description[ \t]*=[ \t]*{_STRING}",),
    "CMakeLists.txt": (rf"\bDESCRIPTION[ \t]+{_STRING}",),
}


def described(name: str, rank: int = 7) -> ManifestFile:
    """Return the kind of manifest with this name; `*` stands for any."""
    patterns = [re.compile(each, re.MULTILINE) for each in _PATTERNS[name]]

    def read(data: bytes, _root: bytes) -> ProjectManifest:
        text = data.decode("utf-8-sig")
        found = next(filter(None, (each.search(text) for each in patterns)), None)
        return Dependencies().manifest(description=html.unescape(found[1]) if found else "")

    return ManifestFile(name, rank, read)
