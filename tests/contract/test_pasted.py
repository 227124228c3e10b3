"""Every command of every document works when it is pasted into a fresh clone, and prints what the document shows."""

import re
from pathlib import Path

import pytest
from tests.contract.markdown import documents, text_of
from tests.contract.pasting import Outcome, Terminal, Typed, agrees, copy_clone, typed_in, unending

ELSEWHERE = {
    "make bench": "takes minutes and installs the peers that it measures",
    "make torture": "takes twenty minutes",
    "make mutants": "takes five minutes",
    "make (quick|test)": "runs a part of what `make test CI=1` runs",
    "npm install": "needs a registry; `make members` installs the same servers, and tests talk to them",
    "python3 -m venv": "for what is then installed",
    r"\S+/pip install": "needs a package index; tests/release installs the wheel, `make members` the servers of others",
    "sha256sum dist/|/tmp/hall/": "looks at what `make dist` has built, as tests/release do",
    "git (commit|tag|push)|python3 -m (pip install twine|twine)": "publishes",
    r"pip install 'contexthall\[store\]'|context \w+ .*s3://": "needs a store; tests/caches/test_stores.py has one",
    r"pip install 'contexthall\[cluster\]'|context .*cluster": "starts a cluster, as tests/caches/test_cluster.py does",
    "uvx |uv tool |pipx ": "needs a package index; tests/release runs and installs the hall with them",
    "docker": "needs a daemon; tests/release take the steps of the Containerfile",
}
"""Commands that are not run here, by how they begin, and why."""

DOCUMENTS = {document: list(typed_in(text_of(document))) for document in documents()}


def run_by_ci() -> set[str]:
    return set(re.findall(r"^make .*$", text_of(".ci/run"), flags=re.MULTILINE))


def is_run_here(typed: Typed) -> bool:
    return typed.bare not in run_by_ci() and not any(re.match(beginning, typed.bare) for beginning in ELSEWHERE)


def fault(typed: Typed, outcome: Outcome) -> str | None:
    """Say what a reader would stumble over, if anything."""
    ends = unending(typed.command)
    if ends is not None and typed.following is not None:
        return "what follows it in the same block is never typed"
    if outcome.code != (ends.code if ends else 0) and not tells_of_failure(typed):
        return f"it ended with {outcome.code}"
    if typed.shown is not None and not agrees(typed.shown, outcome.printed):
        return f"the document shows:\n{typed.shown}"
    return None


def tells_of_failure(typed: Typed) -> bool:
    return typed.following == "echo $?" or (typed.shown or "").startswith("error")


def first_fault(commands: list[Typed], directory: Path) -> str | None:
    """Type one command after the other, in one terminal, until a reader would stumble."""
    with Terminal(directory, directory.parent / "home") as terminal:
        for typed in commands:
            outcome = terminal.type(typed.command)
            found = fault(typed, outcome)
            if found is not None:
                return f"line {typed.line}: $ {typed.command}\n{found}\nprinted:\n{outcome.printed}"
    return None


@pytest.mark.long
@pytest.mark.timeout(240)  # A document may have twenty commands, of which ten start a server.
@pytest.mark.parametrize("document", [name for name, commands in DOCUMENTS.items() if any(map(is_run_here, commands))])
def test_every_command_of_a_document_does_what_it_shows(document: str, tmp_path: Path) -> None:
    copy_clone(tmp_path / "contexthall")
    found = first_fault(list(filter(is_run_here, DOCUMENTS[document])), tmp_path / "contexthall")
    assert found is None, f"{document}, {found}"


@pytest.mark.parametrize("beginning", ELSEWHERE)
def test_nothing_is_left_out_that_no_document_tells(beginning: str) -> None:
    assert any(re.match(beginning, typed.bare) for commands in DOCUMENTS.values() for typed in commands)


STUMBLES = {
    "$ false": "it ended with 1",
    "$ context --versoin\n…": "it ended with 1",
    "$ echo one\ntwo": "the document shows:\ntwo",
    "$ echo one; echo two\none": "the document shows:\none",
    "$ context serve --http 8321\n$ echo hello": "what follows it in the same block is never typed",
    "$ context serve --path nowhere": "it ended with 1",
}


@pytest.mark.parametrize("block", STUMBLES)
def test_what_a_reader_would_stumble_over_is_found(block: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    found = first_fault(list(typed_in(f"```console\n{block}\n```\n")), tmp_path / "empty")
    assert found is not None
    assert f"\n{STUMBLES[block]}\nprinted:" in found


def test_a_session_goes_on_where_the_last_command_left_it(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    typed = r"""
```console
$ mkdir there && cd there && left=right
$ echo "$left" \
    again > file  # a comment
$ cat file
right again
$ printf '%s\n' 'one
> two' three
one
…
$ (exit 3)
$ echo $?
3
$ echo "1.5 s, $(basename "$PWD")"
… s, there
```
"""
    assert first_fault(list(typed_in(typed)), tmp_path / "empty") is None
