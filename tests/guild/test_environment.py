"""What a member's server knows of the hall's environment: a few variables, what its manifest names, and its mark."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.guild.making import make_http_member, make_member, tool, write_cache
from tests.processes import RawServer

from contexthall.guild.servers.process import clean_environment

OURS = {
    "PATH": os.environ["PATH"],
    "HOME": "/home/of/somebody",
    "LANG": "C.UTF-8",
    "LANGUAGE": "en:de",
    "LC_ALL": "C.UTF-8",
    "LC_TIME": "C",
    "LC_OF_THEIR_OWN": "kept",
}
SECRETS = {
    "AWS_SECRET_ACCESS_KEY": "k",
    "CONTEXT_HTTP_TOKEN": "t",
    "CONTEXTHALL_MARK": "of the hall that started this one",
    "DISPLAY": ":0",
    "EMPTY": "",
    "HOMEDRIVE": "h",
    "LANGUAGES": "l",
    "LC": "c",
    "LCX": "x",
    "LD_LIBRARY_PATH": "/nowhere",
    "LOGNAME": "u",
    "MANPATH": "m",
    "NODE_OPTIONS": "n",
    "PATHEXT": "p",
    "PYTHONPATH": "/nowhere",
    "SHELL": "/s",
    "SSH_AUTH_SOCK": "/s",
    "TERM": "t",
    "THEIR_TOKEN": "abc",
    "TMPDIR": "/tmp",
    "TZ": "UTC",
    "USER": "u",
    "VIRTUAL_ENV": "/nowhere",
    "XDG_RUNTIME_DIR": "/nowhere",
    "XDG_STATE_HOME": "/proc/nowhere",
    "X_LC_TIME": "C",
    "lc_time": "C",
    "path": "p",
}
"""Not for members, though some have almost the name of one that is."""
MARK = re.compile("[0-9a-f]{32}")


def hall_with(tmp_path: Path, environment: dict[str, str]) -> RawServer:
    """A hall that has exactly this environment, and what it takes to find its code."""
    code = {"PYTHONPATH": os.environ["PYTHONPATH"]} if "PYTHONPATH" in os.environ else {}
    variables = [f"{name}={value}" for name, value in {**environment, **code}.items()]
    hall = (sys.executable, "-m", "contexthall", "serve", "--guild", "guild", "--guild-refresh", "never")
    return RawServer(cwd=tmp_path, command=("/usr/bin/env", "-i", *variables, *hall))


def call(server: RawServer, name: str) -> str:
    server.initialize()
    answer = server.request(1, "tools/call", {"name": name, "arguments": {}})
    return str(answer["result"]["content"][0]["text"])


def of_the_shell(directory: Path) -> dict[str, str]:
    """What /bin/sh adds to the environment of what it becomes."""
    report = "import json, os; print(json.dumps(dict(os.environ)))"
    command = ["/bin/sh", "-c", 'exec "$@"', "sh", sys.executable, "-c", report]
    ran = subprocess.run(command, cwd=directory, env={"LC_ALL": "C.UTF-8"}, capture_output=True, check=True)
    seen: dict[str, str] = json.loads(ran.stdout)
    return {name: value for name, value in seen.items() if name != "LC_ALL"}


@pytest.mark.parametrize(
    ("named", "known"),
    [
        ({}, {}),
        ({"TOKEN": "${THEIR_TOKEN}", "EMPTY": ""}, {"TOKEN": "abc", "EMPTY": ""}),
        (
            {"HOME": "/their/own", "LC_TIME": "de_DE", "LANG": "C", "CONTEXTHALL_MARK": "forged"},
            {"HOME": "/their/own", "LC_TIME": "de_DE", "LANG": "C"},
        ),
    ],
    ids=["nothing named", "something added", "something replaced"],
)
def test_the_environment_of_a_server_is_exactly_this(
    tmp_path: Path, named: dict[str, str], known: dict[str, str]
) -> None:
    directory = make_member(tmp_path / "guild", "zoo", "--print-env", env=named)
    write_cache(directory, tool("env"))
    with hall_with(tmp_path, {**OURS, **SECRETS}) as server:
        seen = json.loads(call(server, "zoo__env"))
    assert MARK.fullmatch(seen.pop("CONTEXTHALL_MARK"))
    assert seen == {**OURS, **known, **of_the_shell(directory)}


def test_the_environment_of_a_server_over_http_is_exactly_this(tmp_path: Path) -> None:
    record = tmp_path / "record"
    directory = make_http_member(tmp_path / "guild", "zoo", "--record", str(record), env={"TOKEN": "${THEIR_TOKEN}"})
    write_cache(directory, tool("echo"))
    with hall_with(tmp_path, {**OURS, **SECRETS}) as server:
        call(server, "zoo__echo")
        started = record.read_text().split()[1]
        block = Path(f"/proc/{started}/environ").read_text()
    seen = dict(each.split("=", 1) for each in block.split("\0") if each)
    assert MARK.fullmatch(seen.pop("CONTEXTHALL_MARK"))
    assert seen == {**OURS, "TOKEN": "abc", **of_the_shell(directory)}


@pytest.mark.parametrize("name", ["PATH", "HOME", "LANG", "LANGUAGE", "LC_ALL"])
def test_a_server_gets_nothing_that_the_hall_does_not_have(name: str) -> None:
    ours = {"PATH": "p", "HOME": "h", "LANG": "l", "LANGUAGE": "g", "LC_ALL": "a"}
    without = {each: value for each, value in ours.items() if each != name}
    assert clean_environment({**ours, **SECRETS}, {}) == ours
    assert clean_environment({**without, **SECRETS}, {}) == without
    assert clean_environment({**ours, **SECRETS}, {name: "theirs"}) == {**ours, name: "theirs"}
