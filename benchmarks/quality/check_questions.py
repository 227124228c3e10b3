"""Do the questions still fit the documentation they were written over?

`python -m benchmarks.quality.check_questions SDISTS` names every fault of `questions.json`: a source package that is
not the pinned one, a page or heading that does not exist, a question that shares three words in a row with its answer.
The questions were written before any ranking was looked at. An answer is prose: a long list of options or signatures,
one entry of which would answer, does not count.
"""

import hashlib
import json
import re
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

QUESTIONS = Path(__file__).with_name("questions.json")
FORMATS = (".md", ".rst", ".txt")
SHARED_WORDS = 3

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ATX = re.compile(r" {0,3}#{1,6}(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_ADORNMENT = re.compile(r"([!-/:-@[-`{-~])\1*[ \t]*$")
_ATTRIBUTES = re.compile(r"\s*\{[#:][^}]*\}$")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A source package, and the folder in it that holds the documentation."""

    name: str
    version: str
    docs: str
    sha256: str

    @property
    def folder_name(self) -> str:
        return f"{self.name}-{self.version}"

    @property
    def file_name(self) -> str:
        return f"{self.folder_name}.tar.gz"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What somebody asks, and the (page, heading) of every section that answers it."""

    project: str
    text: str
    answers: tuple[tuple[str, str], ...]


def load(path: Path = QUESTIONS) -> tuple[list[Project], list[Question]]:
    data = json.loads(path.read_text(encoding="utf-8"))
    questions = [
        Question(
            project=item["project"],
            text=item["question"],
            answers=tuple((answer["page"], answer["heading"]) for answer in item["answers"]),
        )
        for item in data["questions"]
    ]
    return [Project(**item) for item in data["projects"]], questions


def pages(project: Project, sdists: Path) -> dict[str, str]:
    """Return the documentation pages of `project`, by path below its docs folder."""
    prefix = f"{project.folder_name}/{project.docs}/"
    found = {}
    with tarfile.open(sdists / project.file_name) as archive:
        for member in archive:
            if member.isfile() and member.name.startswith(prefix) and member.name.endswith(FORMATS):
                file = archive.extractfile(member)
                assert file is not None
                found[member.name.removeprefix(prefix)] = file.read().decode()
    return found


def sections(page: str, text: str) -> list[tuple[str, str]]:
    """Return (heading, text with the heading) of each section; what stands before the first heading is under ""."""
    lines = text.splitlines()
    starts = list(_markdown_headings(lines) if page.endswith(".md") else _rst_headings(lines))
    if not starts or starts[0][0] > 0:
        starts.insert(0, (0, ""))
    ends = [line for line, _ in starts[1:]] + [len(lines)]
    return [(heading, "\n".join(lines[first:end])) for (first, heading), end in zip(starts, ends, strict=True)]


def shared_run(question: str, section: str) -> str | None:
    """Return the first three words in a row that `question` has in common with `section`."""
    taken = set(_runs(section))
    return next((" ".join(run) for run in _runs(question) if run in taken), None)


def faults(sdists: Path, path: Path = QUESTIONS) -> list[str]:
    projects, questions = load(path)
    return [
        *(fault for project in projects for fault in _project_faults(project, sdists)),
        *(fault for project in projects for fault in _question_faults(project, questions, sdists)),
        *(f"{item.project}: unknown project" for item in questions if item.project not in {p.name for p in projects}),
    ]


def _project_faults(project: Project, sdists: Path) -> Iterator[str]:
    digest = hashlib.sha256((sdists / project.file_name).read_bytes()).hexdigest()
    if digest != project.sha256:
        yield f"{project.file_name}: is {digest}"


def _question_faults(project: Project, questions: list[Question], sdists: Path) -> Iterator[str]:
    texts = pages(project, sdists)
    for question in (item for item in questions if item.project == project.name):
        for page, heading in question.answers:
            where = f"{question.text!r}: {project.name} {page} {heading!r}"
            found = [text for name, text in sections(page, texts.get(page, "")) if name == heading]
            if len(found) != 1:
                yield f"{where}: {len(found)} sections of that name"
            yield from (f"{where}: shares {run!r}" for text in found if (run := shared_run(question.text, text)))
        if not question.answers:
            yield f"{question.text!r}: no answer"


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return zip(*(words[start:] for start in range(SHARED_WORDS)), strict=False)


def _markdown_headings(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Yield (line, heading) of the ATX headings outside fences; the pinned pages have no others."""
    fence = ""
    for number, line in enumerate(lines):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif mark:
            fence = mark[1]
        elif heading := _ATX.match(line):
            yield number, _plain(heading[1] or "")


def _rst_headings(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Yield (line, heading) of the titles with an underline, the line being the overline's where there is one."""
    after_heading = 0
    for number in range(1, len(lines)):
        title, under = lines[number - 1].rstrip(), lines[number].rstrip()
        if not _is_title(title) or not _ADORNMENT.match(under) or len(under) < min(len(title.strip()), 4):
            continue
        over = number >= 2 and lines[number - 2].rstrip() == under
        first = number - 2 if over else number - 1
        stands = first == after_heading or not lines[first - 1].strip() or lines[first - 1].startswith(".. ")
        if (over or not title[0].isspace()) and stands:
            after_heading = number + 1
            yield first, _plain(title)


def _is_title(line: str) -> bool:
    return bool(line.strip()) and not _ADORNMENT.match(line) and not line.startswith(".. ")


def _plain(heading: str) -> str:
    return " ".join(_LINK.sub(r"\1", _ATTRIBUTES.sub("", heading)).split())


def main() -> int:
    found = faults(Path(sys.argv[1]))
    print("\n".join(found) or f"{len(load()[1])} questions fit")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
