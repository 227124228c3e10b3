"""`context setup`: find what is here, say what would be done, ask once, do it; and undo all of it.

What it does are the steps that `build`, `init`, `guild import` and `connect` do. Before each of them, what is there is
recorded in the user's journal.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from itertools import chain
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

import click

from contexthall.clients.register import CLIENTS, NAME, Client, ImportedServer, Reach
from contexthall.config.settings import user_directory
from contexthall.core import limits
from contexthall.core.errors import HallError, UsageError
from contexthall.faces.cli.building import what_was_odd
from contexthall.faces.cli.connect import hook_command, serving_command
from contexthall.faces.cli.importing import written
from contexthall.faces.cli.options import HallChoice, setup_options
from contexthall.faces.cli.ourselves import typed_command
from contexthall.faces.cli.output import ProgressBar, counted, first_few, on_one_line, print_error, print_lines, say
from contexthall.faces.web.address import DEFAULT_PORT
from contexthall.hall import Hall

if TYPE_CHECKING:
    from contexthall.caches.library import DocumentFolder

PARTS = ("caches", "contexts", "guild", "clients")
_USUAL = frozenset({"caches", "contexts", "clients"})
"""Members of a guild are executed, so there is one only if it is asked for."""
_CONTEXT_FILE, _AGENTS_FILE, _LOCK_FILE = ".context.yaml", "AGENTS.md", ".context.lock"
_HOME = ".context"
_NO_AGENT = "no agent was found on this machine: `context connect CLIENT --write` connects one"


class SetupPlan(NamedTuple):
    """What would be done."""

    folders: "Sequence[DocumentFolder]" = ()
    built_already: Sequence[str] = ()
    left_out: "Sequence[DocumentFolder]" = ()
    """Folders beyond the largest ones."""
    contexts: int = 0
    updated: Sequence[str] = ()
    """Scopes of contexts that are there and would be changed: of directories that were moved, or got new ones."""
    members: Sequence[ImportedServer] = ()
    others: int = 0
    """Servers that could become members, if a guild were asked for."""
    clients: Sequence[Client] = ()
    knowing: Sequence[str] = ()
    """Clients that know this hall already, or another one by its name, each with the reason why it is left alone."""
    above: str = ""
    """The repository in which this directory is, if it is none itself."""

    def is_empty(self) -> bool:
        return not (self.folders or self.contexts or self.members or self.clients)


@click.command(
    epilog="""\b
Examples:
  context setup                      in a project: look, ask, do it
  context setup --dry-run            only say what would be done
  context setup --yes --only caches,contexts
  context setup --undo               take all of it back"""
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@click.option("--only", metavar="PARTS", help="Some of caches,contexts,guild,clients.  [default: all but guild]")
@click.option("--undo", is_flag=True, help="Take back what was done before.")
@setup_options
def setup(yes: bool, dry_run: bool, only: str | None, undo: bool, hall: HallChoice) -> None:
    """Set the hall up for this project, in one go; or undo that.

    Finds folders of documents, the agents of this machine and the servers they have; says what it would do: build
    caches, draft contexts, connect the agents; asks once; and does it. A guild is made only with --only guild, because
    its members are executed. Whatever is there already stays, but for what is said. It can be run again, and undone.
    """
    if undo:
        _undo(hall.open(), dry_run=dry_run)
        return
    parts = _parts(only)
    if "guild" in parts and hall.guild is None:
        hall = hall._replace(guild=_usual_guild())
    opened = hall.open()
    _check_is_project(opened)
    plan = _plan(opened, parts)
    print_lines(_plan_lines(opened, plan))
    if plan.is_empty():
        say(f"\n{_nothing(opened, plan)}")
        return
    if dry_run:
        say("\nnothing was done\n\nhint: the same command without --dry-run does it")
        return
    if not yes and not _is_agreed():
        say("nothing was done")
        return
    _do(hall, opened, plan)


def _check_is_project(hall: Hall) -> None:
    """Refuse a directory that has all of a user's projects in it: looking through it takes minutes."""
    root, home = (hall.machine.real(each) for each in (hall.settings.project_root, os.environ.get("HOME") or os.sep))
    is_repository = root != os.sep and hall.project.kind(".git") is not None  # as in containers, whose HOME it may be
    if os.path.commonpath([root, home]) == root and not is_repository:
        whose = "the root of all directories" if root == os.sep else "your home directory, or above it"
        raise UsageError(
            f"{root} is no project: it is {whose}",
            hint="type `context setup --path PROJECT`; here, `context connect CLIENT --write` connects an agent",
        )


def _nothing(hall: Hall, plan: SetupPlan) -> str:
    if plan.built_already or set(plan.knowing) - {_NO_AGENT} or hall.project.places():
        return "nothing is left to do\n\nhint: `context doctor` says how all is"
    return (
        "nothing is here yet: no folder of documents, and no code that says what it is for\n\n"
        "hint: `context build --sources DIR --cache .context/caches/NAME` takes documents from anywhere"
    )


def _parts(only: str | None) -> frozenset[str]:
    if only is None:
        return _USUAL
    parts = frozenset(part.strip() for part in only.split(","))
    for unknown in sorted(parts - set(PARTS)):
        raise UsageError(f"{unknown!r} is no part of a setup", hint=f"such as --only {','.join(PARTS)}").about(
            unknown, PARTS
        )
    return parts


def _usual_guild() -> str:
    own = user_directory(os.environ, "XDG_CONFIG_HOME", ".config")
    if not own:
        raise UsageError("there is no home directory for a guild", hint="name one with --guild DIR")
    return os.path.join(own, "guild")


def _is_agreed() -> bool:
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError("nobody can be asked here, so nothing was done", hint="the same command with --yes does it")
    return click.confirm("\nShall I?", default=True, err=True)


def _plan(hall: Hall, parts: frozenset[str]) -> SetupPlan:
    folders = hall.document_folders() if "caches" in parts else []
    chosen = sorted(folders[: limits.SETUP_CACHES], key=lambda each: (each.is_top, each))
    built = {os.path.basename(each.path) for each in hall.caches.list_caches()} if folders else set()
    clients, knowing = _clients(hall) if "clients" in parts else ([], [])
    contexts, updated = _contexts(hall) if "contexts" in parts else (0, [])
    members = [each for each in _members(hall) if not each.reason] if "guild" in parts else []
    return SetupPlan(
        [each for each in chosen if each.cache not in built],
        [each.cache for each in chosen if each.cache in built],
        [each for each in folders[limits.SETUP_CACHES :] if each.cache not in built],
        contexts,
        updated,
        members,
        hall.clients.count_servers() if "guild" not in parts and "clients" in parts else 0,
        clients,
        knowing,
        hall.project.repository_above(),
    )


def _contexts(hall: Hall) -> tuple[int, list[str]]:
    """Return how many contexts `context init` would write, and the scopes of those it would change."""
    try:
        with ProgressBar("looking") as bar:
            outcome = hall.init_contexts(full=False, dry_run=True, agents=True, progress=bar.show)
    except HallError as error:  # a folder of several repositories has no contexts of its own
        say(on_one_line(f"left out: contexts: {error.detail}; {error.hint}"))
        return 0, []
    return len(outcome.written), outcome.updated if outcome.written else []


def _clients(hall: Hall) -> tuple[list[Client], list[str]]:
    """Return the clients to connect, and why the others that are here are left alone."""
    here = hall.clients.found(hall.machine.find_command)
    if not here:
        return [], [_NO_AGENT]
    known = [each for each in hall.clients.known(port=DEFAULT_PORT) if each.client in here]
    reasons = {
        "this": "knows this hall already",
        "other": "has {0.detail}: `context connect {0.client} --write --name {0.name}` adds this one",
        "broken": "cannot be read: {0.detail}",
    }
    connectable = [CLIENTS[each.client] for each in known if each.state in {"absent", "gone"}]
    left = [f"{each.title} {reasons[each.state].format(each)}" for each in known if each.state in reasons]
    return connectable, left


def _members(hall: Hall) -> list[ImportedServer]:
    """Return the servers of all clients' files; of two with one name the first."""
    found: dict[str, ImportedServer] = {}
    for file in hall.clients.files():
        try:
            found = {each.name: each for each in hall.members_in(file)} | found
        except HallError as error:  # a file of others that cannot be read hides no other
            say(on_one_line(f"left out: {error.detail}"))
    return list(found.values())


def _plan_lines(hall: Hall, plan: SetupPlan) -> Iterator[str]:
    yield f"The hall of {hall.settings.project_root}"
    yield from _cache_lines(plan)
    if plan.contexts:
        yield f"  draft    {counted(plan.contexts, 'context')} ({_CONTEXT_FILE}), and {_AGENTS_FILE}"
    for scope in plan.updated:
        yield f"  update   {os.path.normpath(os.path.join(scope, _CONTEXT_FILE))}"
    for member in plan.members:
        yield f"  enrol    {member.name} in {hall.settings.guild}"
    for client in plan.clients:
        place, hooks = hall.clients.place(client), hall.clients.missing_hooks_place(client)
        where = f" in {hooks}" if hooks != place else ""
        yield f"  connect  {client.title}, in {place}{f', with hooks{where}' if hooks else ''}"
    for reason in plan.knowing:
        yield f"  -        {reason}"
    if plan.above:
        yield f"  -        this is inside of {plan.above}: `context setup --path {quote(plan.above)}` is for all of it"
    if plan.others:
        servers = counted(plan.others, "other server")
        yield f"  -        {servers} of your agents could join a guild: `context setup --only guild`"


def _cache_lines(plan: SetupPlan) -> Iterator[str]:
    for folder in plan.folders:
        yield f"  build    {_sources(folder)}, as the cache {folder.cache}"
    for name in plan.built_already:
        yield f"  -        the cache {name} is there already"
    if plan.left_out:
        names = first_few([each.scope for each in plan.left_out])
        yield f"  -        left out: {names}; `context build --sources DIR --cache .context/caches/NAME` adds one"


def _sources(folder: "DocumentFolder") -> str:
    documents = counted(folder.documents, "document")
    if folder.is_top:
        return f"{documents} at the top"
    return f"{'the whole project' if folder.scope == os.curdir else folder.scope}, {documents}"


def _do(choice: HallChoice, hall: Hall, plan: SetupPlan) -> None:
    """Do what was planned; what fails hides nothing else, and the first failure is the end's."""
    failures: list[HallError] = []
    files = list(_files_in_project(hall, plan))
    root, directory = hall.settings.project_root, hall.settings.working_directory
    command = typed_command(hall.machine.find_command("context"), directory)
    here = "" if root == directory else f" --path {quote(root)}"
    for step in _steps(choice, hall, plan):
        if isinstance(step, HallError):
            failures.append(step)
            print_error(step)
        else:
            say(on_one_line(step))
    say("")
    if files:
        say(on_one_line(f"files with paths of this machine, keep them out of git: {', '.join(files)}"))
    if question := _question(hall, plan):
        say(on_one_line(f"try it: `{command} ask {question}{here}`, or ask your agent the same"))
    say(on_one_line(f"undo all of it: `{command} setup --undo{here}`"))
    _end(failures)


def _end(failures: Sequence[HallError]) -> None:
    """Leave with the exit code of the first failure, all of which have been told."""
    if failures:
        click.get_current_context().exit(failures[0].exit_code)


def _files_in_project(hall: Hall, plan: SetupPlan) -> Iterator[str]:
    """Yield the agents' files in the project that would be written, by their paths in it."""
    root = hall.settings.project_root
    for client in plan.clients:
        for file in dict.fromkeys((hall.clients.place(client), hall.clients.missing_hooks_place(client))):
            if file and file.startswith(f"{root}/"):
                yield os.path.relpath(file, root)


def _steps(choice: HallChoice, hall: Hall, plan: SetupPlan) -> Iterator[str | HallError]:
    """Yield what is said of each step once it is done. Contexts come last: a client's file may be one of the root's."""
    yield from chain(_build(hall, plan), _enrol(hall, plan), _connect(choice, hall, plan), _draft(hall, plan))


def _build(hall: Hall, plan: SetupPlan) -> Iterator[str | HallError]:
    root, caches = hall.settings.project_root, hall.settings.cache_root
    for folder in plan.folders:
        cache = os.path.join(caches, folder.cache)
        _hide_caches(hall)
        hall.setup_journal.before_folder(cache, whole=True)
        try:
            with ProgressBar(f"building {folder.cache}") as bar:
                built = hall.build_cache(
                    os.path.normpath(os.path.join(root, folder.scope)),
                    cache,
                    include=folder.choice.include,
                    exclude=folder.choice.exclude,
                    progress=bar.show,
                )
            yield f"built {folder.cache}: {counted(built.document_count, 'document')}"
            yield from what_was_odd({}, built.encodings, built.failures)
        except HallError as error:
            yield error


def _hide_caches(hall: Hall) -> None:
    """Keep what can be built again out of git, unless somebody has seen to that."""
    home = os.path.join(hall.settings.project_root, _HOME)
    if os.path.dirname(hall.settings.cache_root) == home:
        hall.setup_journal.write_new(os.path.join(home, ".gitignore"), b"*\n")


def _draft(hall: Hall, plan: SetupPlan) -> Iterator[str | HallError]:
    if not plan.contexts:
        return
    files = [os.path.join(each.path, _CONTEXT_FILE) for each in hall.project.look_around()]
    files += [os.path.join(hall.project.base, name) for name in (_AGENTS_FILE, _LOCK_FILE)]
    hall.setup_journal.before_files(files)
    try:
        with ProgressBar("drafting") as bar:
            outcome = hall.init_contexts(full=False, dry_run=False, agents=True, progress=bar.show)
        failed = f", {len(outcome.failed)} failed: `context init` says why" if outcome.failed else ""
        yield f"drafted {counted(len(outcome.written), 'context')}{failed}"
    except HallError as error:
        yield error
    finally:
        hall.setup_journal.after_files(files)


def _enrol(hall: Hall, plan: SetupPlan) -> Iterator[str | HallError]:
    for member in plan.members:
        manifest = hall.manifest_place(member.name)
        hall.setup_journal.before_folder(os.path.dirname(manifest), whole=False)
        hall.setup_journal.before_files([manifest])
        done = written(hall, member)
        if not done.reason:
            hall.setup_journal.after_files([manifest])
        needs = f"; it needs {', '.join(done.needs)} in the environment" if done.needs else ""
        yield UsageError(f"{done.name}: {done.reason}") if done.reason else f"enrolled {done.name}{needs}"


def _connect(choice: HallChoice, hall: Hall, plan: SetupPlan) -> Iterator[str | HallError]:
    command, *arguments = serving_command(choice, hall.settings)
    for client in plan.clients:
        hooks = hall.clients.missing_hooks_place(client)
        files = [file for file in (hall.clients.place(client), hooks) if file]
        for file in files:
            hall.setup_journal.before_folder(os.path.dirname(file), whole=False)
        backups = hall.clients.new_backups(client)
        hall.setup_journal.before_files(backups)
        hall.setup_journal.record([{"client": client.name, "hooks": bool(hooks)}])
        try:
            change = hall.clients.connect(client, Reach(command, tuple(arguments)))
            if hooks:
                hall.clients.connect_hooks(client, hook_command(hall, client))
            yield f"connected {client.title}: {change.file}; {client.next_step}"
        except HallError as error:
            yield error
        finally:
            hall.setup_journal.after_files(backups)


def _question(hall: Hall, plan: SetupPlan) -> str:
    """Return what can be asked of the largest cache: the heading of a long section, as an argument of a command."""
    for folder in sorted(plan.folders, key=lambda each: -each.documents):
        try:
            pages = hall.caches.outline(hall.caches.locate(folder.cache), budget=limits.SETUP_OUTLINE_TOKENS).pages
        except HallError:
            continue
        sections = [each for page in pages for each in page.sections if each.level > 1]
        sections.sort(key=lambda each: (not each.heading.startswith("How "), -each.tokens))
        headings = [each.heading.partition(" {")[0] for each in sections]  # without attributes, as MkDocs has them
        questions = [*(each for each in headings if " " in each), *(page.title for page in pages)]
        plain = (each for each in questions if each.isprintable() and not set('"`$\\!{}<>') & set(each))
        if question := next(plain, ""):
            return f'"{question}"'
    return ""


def _undo(hall: Hall, *, dry_run: bool) -> None:
    journal = hall.setup_journal
    records = journal.records()
    if not records:
        say("there is nothing to undo: `context setup` has written nothing for this project")
        return
    clients = list(dict.fromkeys(str(each["client"]) for each in records if each.get("client") in CLIENTS))
    with_hooks = {str(each["client"]) for each in records if each.get("hooks")}
    if dry_run:
        named = (each.get("file") or each.get("folder") or each.get("client") for each in records)
        print_lines(dict.fromkeys(str(name) for name in named if name))
        return
    failures: list[HallError] = []
    for name in clients:
        try:
            if name in with_hooks:
                hall.clients.disconnect_hooks(CLIENTS[name])
            change = hall.clients.disconnect(CLIENTS[name])
            hall.clients.restore_layout(CLIENTS[name])
            say(on_one_line(f"took {NAME} out of {change.file}"))
        except HallError as error:
            failures.append(error)
            print_error(error)
    undone = journal.undo_files_and_folders()
    for each in undone:
        if each.kept:
            say(on_one_line(f"kept {each.path}: {each.kept}"))
    for refused in filter(None, (each.error for each in undone)):
        failures.append(refused)
        print_error(refused)
    say(f"took back {counted(sum(not each.kept for each in undone), 'change')}")
    _end(failures)  # the journal stays, so that the same command can try again
    journal.forget()
