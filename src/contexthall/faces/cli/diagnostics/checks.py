"""Checks of a hall, one section after another: roots and settings, caches, contexts, members and clients.

Nothing is written: what is seen is not remembered, and what a member says when it is tried changes no list. A room is
opened when its section is, so that one that cannot be opened hides no other.
"""

import os
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from contexthall.clients.register import NAME, KnownClient
from contexthall.config.settings import SETTINGS_FILE
from contexthall.config.settings_files import Source
from contexthall.core import limits
from contexthall.core.errors import HallError
from contexthall.core.paths import absolute
from contexthall.faces.cli.building import left_out
from contexthall.faces.cli.cache_report import what_changed
from contexthall.faces.cli.diagnostics.environment import check_command, check_installation, check_port, requirements
from contexthall.faces.cli.diagnostics.findings import DoctorFinding, command, editing, run_check
from contexthall.faces.cli.diagnostics.guild_checks import check_guild
from contexthall.faces.cli.options import HallChoice
from contexthall.faces.cli.ourselves import SCRIPTS, installed_from, is_in_cache_of_uv
from contexthall.faces.cli.output import ProgressBar, counted, first_few
from contexthall.faces.web.address import LOOPBACK, Address
from contexthall.hall import Hall, open_despite_faults

if TYPE_CHECKING:
    from contexthall.caches.library import CacheEntry, CacheReport, Library

_DIGITS = 12
_STEP = 100
_ALL = ("path", "cache_root", "guild")


class Checks(NamedTuple):
    """The checks of one hall, and how far they go."""

    hall: Hall
    sources: Sequence[Source]
    choice: HallChoice
    port: int
    starts_members: bool

    @classmethod
    def of(cls, choice: HallChoice, *, port: int, starts_members: bool) -> "Checks":
        """Open the hall that is meant, without the settings that cannot be used."""
        flags = {name: value for name, value in choice._asdict().items() if name != "path" and value is not None}
        hall, sources = open_despite_faults(choice.path, flags)
        return cls(hall, sources, choice, port, starts_members)

    def sections(self) -> Iterator[tuple[str, Sequence[DoctorFinding]]]:
        """Run the checks in the order in which people need them."""
        parts: Mapping[str, tuple[Callable[[], Iterator[DoctorFinding]], str]] = {
            "hall": (self._installation, ""),
            "roots": (self._roots, ""),
            "caches": (self._caches, self.command_hint("caches", about=("path", "cache_root"))),
            "contexts": (self._contexts, self.command_hint("status")),
            "guild": (self._guild, self.command_hint("guild", "list", about=("path", "guild"))),
            "clients": (self._clients, ""),
            "port": (self._port, ""),
        }
        for name, (check, remedy) in parts.items():
            yield name, run_check(name, check, remedy, again=self.command_hint("doctor", about=_ALL))

    def command_hint(self, *words: str, about: Sequence[str] = ("path",)) -> str:
        """Return a command about this hall, with the options that name it."""
        named = ((f"--{name.replace('_', '-')}", getattr(self.choice, name)) for name in about)
        return command("context", *words, *(part for flag, value in named if value for part in (flag, value)))

    def _installation(self) -> Iterator[DoctorFinding]:
        yield from check_installation(requirements())
        machine, program = self.hall.machine, absolute(sys.argv[0], self.hall.settings.working_directory)
        places = (program, os.path.join(sysconfig.get_path("scripts"), "context"))
        ours = [place for place in places if os.path.basename(place) in SCRIPTS and machine.is_command(place)]
        found = machine.find_command("context")
        if is_in_cache_of_uv(found):
            remedy = command("uv", "tool", "install", installed_from() or "contexthall")
            yield DoctorFinding("note", "context", "on the PATH only while `uvx` runs it", remedy, {"command": found})
        else:
            yield check_command(found, ours, machine.real)

    def _port(self) -> Iterator[DoctorFinding]:
        found = check_port(self.port, self.command_hint("serve", "--http", "0", about=_ALL))
        url = f"{Address(LOOPBACK, self.port).url}mcp"
        asking = [known.title for known in self.hall.clients.known(port=self.port) if known.url == url]
        if asking and found.facts["state"] == "free":
            text = f"nobody listens, and {first_few(asking)} would ask there"
            serving = self.command_hint("serve", "--http", str(self.port), about=_ALL)
            found = DoctorFinding("note", found.subject, text, serving, found.facts)
        yield found

    def _roots(self) -> Iterator[DoctorFinding]:
        settings = self.hall.settings
        yield self._root("project", settings.project_root)
        yield self._cache_root(settings.cache_root)
        yield from map(_source, self.sources)
        for subject, path in (("user cache", settings.user_cache), ("user state", settings.user_state)):
            yield from self._memory(subject, path)

    def _root(self, subject: str, path: str) -> DoctorFinding:
        place, facts = self.hall.machine.look_at(path), {"path": path}
        if place.is_writable and not place.fault:
            return DoctorFinding("ok", subject, path, facts=facts)
        text = f"{path}: {place.fault or 'not yours to write'}"
        return DoctorFinding("wrong" if place.fault else "note", subject, text, command("ls", "-ld", path), facts)

    def _cache_root(self, path: str) -> DoctorFinding:
        """Check the cache root, which the first build makes; one that somebody named should be there."""
        if self.hall.machine.look_at(path).is_there:
            return self._root("cache root", path)
        if self.hall.settings.cache_root_is_named:
            text = f"{path}: named, but not there"
            return DoctorFinding("wrong", "cache root", text, self._building("NAME"), {"path": path})
        return DoctorFinding("ok", "cache root", f"{path}: not there yet", facts={"path": path})

    def _memory(self, subject: str, path: str) -> Iterator[DoctorFinding]:
        """Check a directory for state; one that is not there yet is made when it is needed."""
        if not path:
            yield DoctorFinding("note", subject, "there is no home, so nothing is remembered", "export HOME=DIR")
            return
        place = self.hall.machine.look_at(path)
        if place.fault or not place.is_writable:
            text = f"{path}: {place.fault or 'not yours to write'}, so nothing is remembered"
            yield DoctorFinding("note", subject, text, command("ls", "-ld", path), {"path": path})

    def _caches(self) -> Iterator[DoctorFinding]:
        place = self.hall.machine.look_at(self.hall.settings.cache_root)
        if place.fault:
            yield DoctorFinding("note", "caches", "not examined, because of the cache root")
            return
        library = self.hall.caches
        entries = library.list_caches() if place.is_there else ()
        if not entries:
            yield DoctorFinding("note", "caches", "none yet", self._building("NAME"))
        with ProgressBar("verifying") as bar:
            total, done = sum(_document_count(library, entry) for entry in entries), count(1)

            def on_document() -> None:
                if not (number := next(done)) % _STEP:
                    bar.show(number, total)

            for entry in entries:
                check = partial(self._cache, library, entry, on_document)
                verifying = self.command_hint("verify", "--cache", entry.path, about=("path", "cache_root"))
                yield from run_check(entry.path, check, verifying)
        for name in library.leftovers():
            text = "a build is under way, or was killed: the next one clears what that left"
            yield DoctorFinding("note", name, text, self._building(name, "--force"))

    def _cache(
        self, library: "Library", entry: "CacheEntry", on_document: Callable[[], None]
    ) -> Iterator[DoctorFinding]:
        name, directory = entry.path, library.locate(entry.path)
        said = library.inspect(directory)  # which fails if it cannot even be listed
        if not entry.has_manifest:
            yield DoctorFinding("note", name, "a directory without a manifest: no cache")
            return
        violations = library.verify(directory, on_document)
        doubts = "" if violations else library.doubts(directory)
        if not violations:
            library.embedder_of(directory)
        facts = {"documents": said.document_count, "version": said.cache_version, "violations": len(violations)}
        text = f"{counted(said.document_count, 'document')}, version {said.cache_version.rpartition(':')[2][:_DIGITS]}"
        building = self._building(name, "--force")
        if violations:
            yield DoctorFinding("wrong", name, f"{violations[0]}{_more(violations)}", building, facts)
        elif doubts:
            text += f"; no index is used ({doubts}), so each query reads every document"
            yield DoctorFinding("note", name, text, building, {**facts, "index": doubts})
        else:
            yield self._sources(library.report(directory), DoctorFinding("ok", name, text, building, facts))

    def _sources(self, report: "CacheReport", sound: DoctorFinding) -> DoctorFinding:
        """Return the finding about a sound cache: a note if its sources changed, are gone, or not all are in it."""
        facts = {**sound.facts, "index": "used", "state": report.freshness.state, "changed": report.freshness.changed}
        refreshing = self.command_hint("refresh", sound.subject, about=("path", "cache_root"))
        if changed := what_changed(report):
            return sound._replace(mark="note", found=f"{sound.found}; {changed}", remedy=refreshing, facts=facts)
        if report.reason and report.sources:
            are_there = all(self.hall.machine.look_at(path).is_there for _, path in report.sources)
            remedy = refreshing if are_there else sound.remedy
            return sound._replace(mark="note", found=f"{sound.found}; {report.reason}", remedy=remedy, facts=facts)
        if report.left_out:
            places = ", ".join(path for _, path in report.sources)
            named = first_few([f"{first_few(names)} ({reason})" for reason, names in left_out(report.left_out).items()])
            text = f"{sound.found}; left out of {places}: {named}"
            return sound._replace(mark="note", found=text, remedy="", facts=facts)
        return sound._replace(remedy="", facts=facts)

    def _building(self, name: str, *more: str) -> str:
        settings = self.hall.settings
        path = os.path.join(settings.cache_root, name)
        near = os.path.relpath(path, settings.working_directory)
        target = path if near.startswith("..") else near
        return command("context", "build", "--sources", "DIR", "--cache", target, *more)

    def _missing(self, scopes: Sequence[str], *, is_new: bool) -> Iterator[DoctorFinding]:
        """Tell apart what can be drafted and what only people can write, unless that takes long in a new project."""
        drafts, words = scopes, list[str]()
        if scopes and not (is_new and len(scopes) > limits.DOCTOR_TRIED_DIRECTORIES):
            with suppress(HallError), ProgressBar("drafting") as bar:
                tried = self.hall.init_contexts(full=False, dry_run=True, agents=False, progress=bar.show)
                words = [scope for scope in scopes if scope in tried.missing]
                drafts = [scope for scope in scopes if scope in {*tried.written, *dict(tried.failed)}]
        if drafts:
            yield DoctorFinding("note", "missing", first_few(drafts), self.command_hint("init"))
        if words:
            hint = self.command_hint("note", words[0], "--constraint", "TEXT")
            verb = "is" if len(words) == 1 else "are"
            yield DoctorFinding("note", "for people", f"only people can say what {first_few(words)} {verb} for", hint)

    def _contexts(self) -> Iterator[DoctorFinding]:
        if self.hall.machine.look_at(self.hall.settings.project_root).fault:
            yield DoctorFinding("note", "contexts", "not examined, because of the project")
            return
        entries, report = self.hall.survey_contexts()
        invalid = {finding.scope for finding in report.findings}
        states: dict[str, list[str]] = {"fresh": [], "stale": [], "missing": [], "invalid": sorted(invalid)}
        for entry in entries:
            if entry.scope not in invalid:
                states[entry.state].append(entry.scope)
        counts = {state: len(scopes) for state, scopes in states.items()}
        text = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
        yield DoctorFinding("ok", "directories", f"{len(entries)}: {text}", facts=counts)
        if states["stale"]:
            yield DoctorFinding("note", "stale", first_few(states["stale"]), self.command_hint("regen"))
        yield from self._missing(states["missing"], is_new=len(states["missing"]) == len(entries))
        if report.findings:
            scope, _, field, message = report.findings[0]
            text = ": ".join(filter(None, (scope, field, message)))
            yield DoctorFinding("wrong", "invalid", f"{text}{_more(report.findings)}", self.command_hint("validate"))

    def _guild(self) -> Iterator[DoctorFinding]:
        command_hint = partial(self.command_hint, "guild", about=("path", "guild"))
        return check_guild(self.hall, command_hint, starts_members=self.starts_members)

    def _clients(self) -> Iterator[DoctorFinding]:
        known = self.hall.clients.known(port=self.port)
        yield from (self._client(each) for each in known if each.state != "absent")
        absent = [each for each in known if each.state == "absent"]
        facts = {"absent": [each.client for each in absent]}
        if not any(each.state in {"this", "gone"} for each in known):
            yield DoctorFinding("note", "clients", "none knows this hall", self._connecting("CLIENT"), facts)
        elif absent:
            yield DoctorFinding("ok", "others", f"not told: {', '.join(each.title for each in absent)}", facts=facts)

    def _client(self, known: KnownClient) -> DoctorFinding:
        facts = {"client": known.client, "file": known.file, "state": known.state}
        if known.state == "broken":
            return DoctorFinding("wrong", known.title, known.detail, editing(known.file), facts)
        connecting = self._connecting(known.client, known.name)
        if known.state == "gone":
            text = f"cannot start this hall: {known.detail} ({known.file})"
            return DoctorFinding("wrong", known.title, text, connecting, facts)
        if known.state == "other":
            text = f"knows another hall: {known.detail} ({known.file})"
            return DoctorFinding("note", known.title, text, connecting, facts)
        text = ", ".join(filter(None, ("knows this hall", known.detail)))
        return DoctorFinding("ok", known.title, f"{text} ({known.file})", facts=facts)

    def _connecting(self, client: str, name: str = NAME) -> str:
        named = () if name == NAME else ("--name", name)
        return self.command_hint("connect", client, "--write", *named, about=_ALL)


def _source(source: Source) -> DoctorFinding:
    """Check a source of settings: a file, a variable, or their sum."""
    facts = {"source": source.name, "there": source.is_there}
    if source.fault is None:
        return DoctorFinding("ok", "settings", source.name if source.is_there else f"no {source.name}", facts=facts)
    if os.path.basename(source.name) == SETTINGS_FILE:
        remedy = editing(source.name)
    else:
        remedy = command("unset", source.name) if "/" not in source.name else command("ls", "-ld", source.name)
    return DoctorFinding("wrong", "settings", f"{source.fault.detail}; the rest goes on without", remedy, facts)


def _document_count(library: "Library", entry: "CacheEntry") -> int:
    """Return how many documents verifying will read; 0 if that fails, which verifying will tell."""
    try:
        return library.inspect(library.locate(entry.path)).document_count if entry.has_manifest else 0
    except HallError:
        return 0


def _more(found: Sequence[object]) -> str:
    return f" (and {len(found) - 1} more)" if len(found) > 1 else ""
