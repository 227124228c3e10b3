"""A repository of somebody else's makes no command write outside it, run anything, or read what is not there.

Everything that it could prepare is prepared; then contexts are drafted, drafted again, hashed, judged and listed.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from tests.contexts.making import quietly, write_context, write_files
from tests.faults.scale import IS_LONG, record, scaled
from tests.faults.traversal import SECRET
from tests.processes import CONTEXT, run_context
from tests.waiting import wait_until

from contexthall.core.errors import HallError
from contexthall.hall import Hall, open_hall

RUN = "it was run"


class Trap:
    """A repository, and what lies outside it."""

    def __init__(self, home: Path) -> None:
        self.repository, self.outside = home / "repository", home / "outside"
        write_files(self.repository, {"a.py": "a = 1\n", "src/b.py": "b = 1\n", "src/core/c.py": "c = 1\n"})
        write_files(self.outside, {"secret.txt": SECRET, "folder/secret.py": f'"""{SECRET}."""\n', "AGENTS.md": SECRET})
        write_context(self.outside / "folder", "src", more=f"decisions:\n  - what: {SECRET}\n    why: x\n")
        (self.outside / "tools").mkdir()

    def link(self, name: str, target: str) -> None:
        path = self.repository / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(self.outside / target)


def _by_link(name: str, target: str) -> Callable[[Trap], None]:
    return lambda trap: trap.link(name, target)


def _by_hard_link(name: str, target: str) -> Callable[[Trap], None]:
    return lambda trap: os.link(trap.outside / target, trap.repository / name)


def _by_fifo(name: str) -> Callable[[Trap], None]:
    return lambda trap: os.mkfifo(trap.repository / name)


def _by_folder(name: str) -> Callable[[Trap], None]:
    return lambda trap: (trap.repository / name).mkdir(parents=True)


def _by_socket(name: str) -> Callable[[Trap], None]:
    def lay(trap: Trap) -> None:
        folder = os.open(trap.repository, os.O_RDONLY)
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(f"/proc/self/fd/{folder}/{name}")
        os.close(folder)

    return lay


def _by_files(**files: str) -> Callable[[Trap], None]:
    def lay(trap: Trap) -> None:
        written = {name.replace("__", "/"): text for name, text in files.items()}
        write_files(
            trap.repository, {name: text.replace("OUTSIDE", str(trap.outside)) for name, text in written.items()}
        )

    return lay


def _files(files: dict[str, str]) -> Callable[[Trap], None]:
    return _by_files(**files)


def _many(*traps: Callable[[Trap], None]) -> Callable[[Trap], None]:
    def lay(trap: Trap) -> None:
        for each in traps:
            each(trap)

    return lay


_TOUCH = "touch OUTSIDE/run"
_OBJECT = "!!python/object/apply:os.system ['touch OUTSIDE/run']"
TRAPS: dict[str, Callable[[Trap], None]] = {
    **{
        f"{name} is {what}": lay
        for name in (
            ".context.yaml",
            "src/.context.yaml",
            "AGENTS.md",
            ".gitignore",
            ".context.config.yaml",
            "README.md",
        )
        for what, lay in {
            "a symlink": _by_link(name, "secret.txt"),
            "a symlink to a context": _by_link(name, "folder/.context.yaml"),
            "a symlink to nothing": _by_link(name, "new.txt"),
            "a symlink to a folder": _by_link(name, "folder"),
            "a hard link": _by_hard_link(name, "secret.txt"),
            "a hard link to a context": _by_hard_link(name, "folder/.context.yaml"),
            "a FIFO": _by_fifo(name),
            "a folder": _by_folder(name),
        }.items()
    },
    "sockets": _many(*(_by_socket(name) for name in (".context.yaml", "AGENTS.md", "x.py"))),
    "a folder is a symlink": _by_link("lib", "folder"),
    "a folder is a symlink to all": _by_link("lib", ".."),
    "a folder is a symlink to its own": lambda trap: (trap.repository / "src" / "again").symlink_to(trap.repository),
    "a folder deep down is a symlink": _by_link("src/core/deep", "folder"),
    "a source is a symlink": _by_link("src/secret.py", "folder/secret.py"),
    "names of temporary files are symlinks": _many(
        *(_by_link(f".contexthall-{pid}-{'0' * 8}", "secret.txt") for pid in (0, 1, os.getpid(), 2**31, 10**30)),
        _by_link(f".contexthall-{os.getpid() + 1}-{'a' * 8}", "folder"),
        _by_folder(f".contexthall-999999-{'b' * 8}/kept"),
    ),
    "a git file that leads out": _files({".git": "gitdir: OUTSIDE/tools\n"}),
    "git that would run something": _files(
        {
            ".git__config": f"[core]\n fsmonitor = {_TOUCH}\n hooksPath = hooks\n sshCommand = {_TOUCH}\n"
            f'[filter "x"]\n clean = {_TOUCH}\n process = {_TOUCH}\n[diff]\n external = {_TOUCH}\n',
            ".git__HEAD": "ref: refs/heads/main\n",
            ".git__hooks__post-checkout": f"#!/bin/sh\n{_TOUCH}\n",
            "hooks__pre-commit": f"#!/bin/sh\n{_TOUCH}\n",
            ".gitattributes": "* filter=x diff=x\n",
            ".gitmodules": '[submodule "x"]\n path = ../outside/tools\n url = ext::sh -c touch\n',
        }
    ),
    "a repository in it": _files({"src__.git__config": f"[core]\n fsmonitor = {_TOUCH}\n", "src__.git__HEAD": "x"}),
    "manifests that run something": _files(
        {
            "package.json": json.dumps(
                {"name": "x", "scripts": {"preinstall": _TOUCH}, "main": "../outside/secret.txt"}
            ),
            "pyproject.toml": '[build-system]\nrequires = ["x"]\nbuild-backend = "evil"\nbackend-path = ["."]\n',
            "evil.py": "import pathlib; pathlib.Path('OUTSIDE/run').touch()\n",
            "setup.py": "import pathlib; pathlib.Path('OUTSIDE/run').touch()\n",
            "conftest.py": "import pathlib; pathlib.Path('OUTSIDE/run').touch()\n",
            "build.rs": 'fn main() { std::fs::write("OUTSIDE/run", "").unwrap() }\n',
            "Cargo.toml": '[package]\nname = "x"\nbuild = "build.rs"\n[workspace]\nmembers = ["../outside/*"]\n',
            "go.mod": "module x\nreplace y => ../outside\n",
            "gen.go": f"package x\n//go:generate {_TOUCH}\n",
            "Makefile": f"$(shell {_TOUCH})\n",
            ".envrc": _TOUCH,
            ".env": "CONTEXT_GUILD=guild\nPATH=.\n",
            "package-lock.json": "{}",
        }
    ),
    "YAML that makes objects": _files(
        {
            ".context.yaml": f"version: 1\nscope: .\nfingerprint: x\nlast_updated: x\nsummary: {_OBJECT}\n",
            ".context.config.yaml": f"ignore: {_OBJECT}\n",
        }
    ),
    "a context that names files elsewhere": _files(
        {
            ".context.yaml": "version: 1\nscope: ../outside\nfingerprint: x\nlast_updated: x\nsummary: x\n"
            "maintenance: x\nderived_fields: [subdirectories, files, ../outside]\nsubdirectories:\n"
            "  - name: ../outside/\n    summary: x\nfiles:\n  - name: ../outside/secret.txt\n    purpose: x\n"
        }
    ),
    "a guild of its own": _files(
        {
            f"{name}__plugin.json": json.dumps(
                {"name": "evil", "version": "1", "mcp": {"command": "/bin/sh", "args": ["-c", "touch OUTSIDE/run"]}}
            )
            for name in ("guild-members__evil", "guild__evil", ".context__guild__evil", "evil", ".contexthall__evil")
        }
    ),
    "names that look like options": _files({"--help__a.py": "a = 1\n", "-rf__.context.yaml": "x", "$(id)__a.py": "a"}),
    "a name with a line end": _files({"a\nb__c\nd.py": "a = 1\n"}),
    "names that are not text": lambda trap: os.makedirs(os.fsencode(trap.repository) + b"/\xff\xfe/\x80"),
    "folders without end": lambda trap: (trap.repository / "/".join(["d"] * 200)).mkdir(parents=True),
}


def test_there_are_traps_of_all_kinds() -> None:
    assert len(TRAPS) >= 60
    record("hostile input", "traps in repositories", len(TRAPS))


@pytest.mark.parametrize("name", TRAPS)
def test_no_trap_makes_a_command_write_outside_or_run_anything(name: str, tmp_path: Path) -> None:
    trap = Trap(tmp_path)
    TRAPS[name](trap)
    before = everything(trap.outside)
    hall = open_hall(str(trap.repository))
    for _ in range(scaled(1, 1, 2)):
        for deed in DEEDS:
            try:
                told = deed(hall)
            except HallError as error:
                told = f"{error} {error.hint}"
            assert SECRET not in repr(told) or "hard link" in name, (deed, told)
    assert everything(trap.outside) == before
    assert not (trap.outside / "run").exists()
    if "hard link" not in name:  # which is the file itself, as far as anybody can tell
        assert SECRET not in repr(everything(trap.repository))


DEEDS: tuple[Callable[[Hall], object], ...] = (
    lambda hall: hall.init_contexts(full=True, dry_run=False, agents=True, progress=quietly),
    lambda hall: hall.regen_contexts(hall.project.places(), full=True, dry_run=False, agents=True, progress=quietly),
    lambda hall: hall.rehash_contexts(),
    lambda hall: hall.rehash_contexts(["lib", "src/again", "src/core/deep", "lib/outside"]),
    lambda hall: hall.validate_contexts(strict=True),
    lambda hall: hall.project.list_contexts().to_json(),
    lambda hall: [
        hall.project.query_context(scope).to_json() for scope in (".", "src", "lib", "lib/folder", "src/core/deep")
    ],
)


def everything(root: Path) -> dict[str, object]:
    """What is below a directory: kinds, contents and times; symlinks are not followed."""
    found: dict[str, object] = {}
    for folder, folders, names in os.walk(root):
        for name in [*folders, *names]:
            path = Path(folder, name)
            status = path.lstat()
            if path.is_symlink() or not path.is_file():
                found[str(path)] = (status.st_mode, status.st_ino)
            else:
                found[str(path)] = (status.st_mode, status.st_ino, path.read_bytes())
    return found


def number_of_watches(pid: int) -> int:
    """How many files and directories a process has the kernel watch."""
    watches = 0
    for opened in Path(f"/proc/{pid}/fdinfo").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            watches += opened.read_text().count("inotify wd")
    return watches


def test_a_watch_stays_in_the_repository(tmp_path: Path) -> None:
    trap = Trap(tmp_path)
    trap.link("lib", "..")
    trap.link("src/lib", "folder")
    watching = subprocess.Popen(
        [*CONTEXT, "watch"], cwd=trap.repository, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert watching.stdout is not None
    try:
        assert [next(watching.stdout) for _ in range(3)] == ["missing  .\n", "missing  src\n", "missing  src/core\n"]
        (trap.repository / "new").mkdir()  # which is told once the watch stands
        (trap.repository / "new" / "a.py").write_text("a = 1\n")
        assert next(watching.stdout) == "missing  new\n"
        (trap.repository / "new" / "newer").mkdir()
        (trap.repository / "new" / "newer" / "a.py").write_text("a = 1\n")
        assert next(watching.stdout) == "missing  new/newer\n"
        # For a moment after a new directory the watch of before stands beside the new one.
        wait_until(lambda: 1 <= number_of_watches(watching.pid) <= 5)
    finally:
        watching.kill()
        watching.communicate()


# Nothing that lies in the working directory becomes a part of the program:

MODULES = (
    "click", "yaml", "json5", "tomllib", "typing_extensions", "anyio", "mcp", "pydantic", "starlette", "uvicorn", "h11",
    "tree_sitter", "tree_sitter_python", "watchfiles", "jsonschema", "re2", "sitecustomize", "usercustomize",
    "traceback", "asyncio", "shlex", "ctypes", "hmac", "secrets",
)  # fmt: skip
PROGRAMS = ("python", "python3", "git", "sh", "bash", "node", "cargo", "go", "npm", "env", "uname", "ldconfig", "gcc")


def lay_modules(directory: Path, sentinel: Path) -> None:
    """Put a module and a program of every name there that somebody might load or run."""
    for name in MODULES:
        (directory / f"{name}.py").write_text(f"open({str(sentinel)!r}, 'a').write('{name} {RUN}\\n')\n")
    for name in PROGRAMS:
        (directory / name).write_text(f"#!/bin/sh\necho {name} {RUN} >>{sentinel}\nexit 1\n")
        (directory / name).chmod(0o755)
    (directory / "x.pth").write_text(f"import os; open({str(sentinel)!r}, 'a')\n")
    (directory / "pyvenv.cfg").write_text("home = .\n")
    (directory / ".env").write_text("CONTEXT_DEBUG=1\nPYTHONPATH=.\n")
    (directory / "setup.cfg").write_text("[options]\n")


COMMANDS = (
    ("--version",),
    ("init", "--full"),
    ("regen", "--all"),
    ("rehash",),
    ("validate", "--strict"),
    ("status",),
    ("tools",),
    ("call", "list_contexts"),
    ("build", "--sources", ".", "--cache", "../built", "--force"),
    ("connect", "claude-code", "--write"),
    ("guild", "import", ".mcp.json", "--guild", "guild"),
    ("guild", "refresh", "--guild", "guild"),
    ("doctor", "--guild", "guild", "--port", "9"),
)


@pytest.mark.parametrize(
    "program",
    [CONTEXT, (str(Path(sys.executable).parent / "context"),), (sys.executable, "-P", "-m", "contexthall")],
    ids=["python -m", "context", "python -P -m"],
)
def test_no_module_and_no_program_of_the_working_directory_is_run(program: tuple[str, ...], tmp_path: Path) -> None:
    repository, sentinel = tmp_path / "repository", tmp_path / "sentinel"
    write_files(repository, {"src/b.py": "b = 1\n", "a.md": "a"})
    (repository / "guild").mkdir()
    lay_modules(repository, sentinel)
    for command in scaled(COMMANDS[:1] + COMMANDS[-1:], COMMANDS[:3] + COMMANDS[-2:], COMMANDS):
        ran = subprocess.run([*program, *command], cwd=repository, capture_output=True, timeout=30, check=False)
        assert ran.returncode in {0, 8}, (command, ran.stderr)
        assert not sentinel.exists(), (command, sentinel.read_text())


def test_no_program_of_the_working_directory_is_run_by_a_path_that_begins_there(tmp_path: Path) -> None:
    repository, sentinel = tmp_path / "repository", tmp_path / "sentinel"
    write_files(repository, {"src/b.py": "b = 1\n"})
    lay_modules(repository, sentinel)
    environment = {"PATH": f".:{os.environ['PATH']}"}
    for command in (("init",), ("status",), ("validate", "--strict")):
        assert run_context(*command, cwd=repository, env=environment).returncode in {0, 8}
    assert not sentinel.exists()


_WATCHED = """
import json, os, sys
events = []
RUNS = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.startfile", "pty.spawn"}
CONNECTS = {"socket.connect", "socket.getaddrinfo", "urllib.Request"}
def heed(event, arguments):
    if event in RUNS or event in CONNECTS:
        events.append([event, repr(arguments)])
    elif event == "exec" and getattr(arguments[0], "co_filename", "").startswith(os.getcwd()):
        events.append([event, repr(arguments)])
from contexthall.faces.cli.table import run
sys.addaudithook(heed)
for command in json.loads(sys.argv[1]):
    run(command)
sys.stdout.flush()
print()
print(json.dumps([events, [str(getattr(each, "__file__", "")) for each in sys.modules.values()]]))
"""


def test_nothing_is_executed_and_nobody_is_called_by_the_commands_of_a_repository(tmp_path: Path) -> None:
    trap = Trap(tmp_path)
    for name in ("git that would run something", "manifests that run something", "a guild of its own"):
        TRAPS[name](trap)
    commands = [["init", "--full"], ["regen", "--all"], ["rehash"], ["validate", "--strict"], ["status"], ["tools"]]
    ran = subprocess.run(
        [sys.executable, "-P", "-c", _WATCHED, json.dumps(commands)],
        cwd=trap.repository,
        capture_output=True,
        timeout=60,
        check=True,
    )
    events, files = json.loads(ran.stdout.splitlines()[-1])
    assert events == []
    if IS_LONG and shutil.which("strace"):
        for command in commands:
            assert programs_run_by(command, trap.repository) == 1
    assert not [file for file in files if file.startswith(str(trap.repository))]
    assert not (trap.outside / "run").exists()


def programs_run_by(command: list[str], cwd: Path) -> int:
    """Count the programs that a command starts, as the kernel sees it; itself is one."""
    traced = ["strace", "-f", "-qq", "-e", "trace=execve,execveat", "-o", "/dev/stderr", sys.executable, "-P", "-m"]
    ran = subprocess.run([*traced, "contexthall", *command], cwd=cwd, capture_output=True, timeout=60, check=False)
    return ran.stderr.count(b"execve")


@pytest.mark.parametrize(
    "setting",
    [
        'guild = "guild-members"', 'allow_root = ["/"]', "confine = false", 'guild_trust = "warn"', 'http_token = "x"',
        'guild_refresh = "all"', 'guild_pin = ["x"]', "guild_budget = 1", 'cache_root = "/"', 'cache_root = ".."',
        'cache_root = "../outside"', 'cache_root = "a/../../outside"', "tool_timeout_secs = inf",
        "tool_timeout_secs = nan",
        "tool_timeout_secs = -1", 'command = "sh"', "[mcp]", '"guild" = "x"', 'toolsets = ["shell"]',
    ],
)  # fmt: skip
def test_a_project_may_not_choose_for_its_reader(setting: str, tmp_path: Path) -> None:
    trap = Trap(tmp_path)
    TRAPS["a guild of its own"](trap)
    (trap.repository / "contexthall.toml").write_text(f"{setting}\n")
    with pytest.raises(HallError) as refused:
        open_hall(str(trap.repository))
    assert "contexthall.toml" in str(refused.value)
    assert not (trap.outside / "run").exists()
