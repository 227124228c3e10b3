"""Which mistakes should the tests notice? One record a mistake: where, which text becomes which, and who notices.

The first ones had survived a review of the tests; the others were chosen since, across all rooms.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A mistake that can be planted."""

    module: str
    """Below src/contexthall."""
    old: str
    """Must occur exactly once there."""
    new: str
    breaks: str
    tests: tuple[str, ...]

    @property
    def path(self) -> str:
        return f"src/contexthall/{self.module}"

    def planted(self, text: str) -> str:
        """Give the text of the module with the mistake in it; ValueError if it is not clear where that belongs."""
        if text.count(self.old) != 1:
            raise ValueError(f"the text to replace occurs {text.count(self.old)} times in {self.path}: {self.old!r}")
        return text.replace(self.old, self.new)


_NEIGHBOURS = ("tests/faults/test_neighbours.py",)
_SYNCING = ("tests/faults/test_syncing.py",)
_PLACES = (
    "tests/faces/mcp/test_places.py",
    "tests/faults/test_load.py::test_over_pipes_pings_are_answered_while_every_place_for_a_call_is_taken",
)
_CONNECTIONS = (
    "tests/faults/test_growth.py::test_the_bound_on_connections_is_exact",
    "tests/faults/test_growth.py::test_so_many_connections_are_served_as_many_more_are_told_and_the_rest_turned_away",
)
_ENVIRONMENT = ("tests/guild/test_environment.py",)
_REQUIREMENTS = ("tests/guild/test_requirements.py",)

SURVIVED_ONCE = (
    # Containment by prefix: /x/caches-evil beside /x/caches.
    Mutant(
        module="system/disk/file_system.py",
        old='real_path.startswith(real_root.rstrip("/") + "/")',
        new="real_path.startswith(real_root)",
        breaks="a path lies in a root if its characters begin with the root's",
        tests=_NEIGHBOURS,
    ),
    Mutant(
        module="authority.py",
        old="return self._disk.is_within(path, real) and",
        new="return path.startswith(real) and",
        breaks="confined callers may read what begins like a root",
        tests=_NEIGHBOURS,
    ),
    Mutant(
        module="authority.py",
        old="return is_trusted or self._disk.is_within(real, self._settings.project_root)",
        new="return is_trusted or real.startswith(self._settings.project_root)",
        breaks="a project's cache root may lead to a neighbour of the project",
        tests=_NEIGHBOURS,
    ),
    Mutant(
        module="config/settings_files.py",
        old="not disk.is_within(settings.cache_root, settings.project_root)",
        new="not disk.real(settings.cache_root).startswith(settings.project_root)",
        breaks="a hall opens though its cache root leads to a neighbour of the project",
        tests=_NEIGHBOURS,
    ),
    Mutant(
        module="config/settings.py",
        old='not f"{cache_root}/".startswith(file.directory.rstrip("/") + "/")',
        new="not cache_root.startswith(file.directory)",
        breaks="a project's settings may name a neighbour as its cache root",
        tests=_NEIGHBOURS,
    ),
    Mutant(
        module="caches/cache_root.py",
        old='f"{real}/".startswith(home.rstrip("/") + "/")',
        new="real.startswith(home)",
        breaks="the name of a cache may lead to a neighbour of the cache root",
        tests=_NEIGHBOURS,
    ),
    Mutant(
        module="caches/build/builder.py",
        old="return os.path.commonpath([one, other]) in {one, other}",
        new="return one.startswith(other) or other.startswith(one)",
        breaks="sources and cache cannot be neighbours",
        tests=_NEIGHBOURS,
    ),
    Mutant(
        module="caches/model/verification.py",
        old='files[nearest].startswith(f"{folder}/")',
        new="files[nearest].startswith(folder)",
        breaks="a file whose name begins like a document's passes for a folder of documents",
        tests=_NEIGHBOURS,
    ),
    Mutant(
        module="contexts/project.py",
        old='not f"{target}/".startswith(base)',
        new="not target.startswith(self.root)",
        breaks="a scope may be spelt as a neighbour of the project",
        tests=_NEIGHBOURS,
    ),
    Mutant(
        module="contexts/project.py",
        old='if not f"{real}/".startswith(base):',
        new="if not real.startswith(self.base):",
        breaks="a symlink may lead to a neighbour of the project",
        tests=_NEIGHBOURS,
    ),
    Mutant(
        module="contexts/answers.py",
        old='scope.startswith(f"{under}/")',
        new="scope.startswith(str(under))",
        breaks="a listing under a directory has its neighbours too",
        tests=_NEIGHBOURS,
    ),
    Mutant(
        module="contexts/files/validation.py",
        old='path.startswith(f"{base}/")',
        new="path.startswith(base)",
        breaks="a context may name files of a neighbour",
        tests=_NEIGHBOURS,
    ),
    Mutant(
        module="contexts/draft/languages/go.py",
        old='if name == module or name.startswith(f"{module}/"):',
        new="if name.startswith(module):",
        breaks="an import of a neighbouring module leads into this one",
        tests=("tests/contexts/draft/test_layout.py",),
    ),
    Mutant(
        module="clients/config_file.py",
        old="not self._disk.is_within(real, self.within)",
        new="not real.startswith(self.within)",
        breaks="a client's file may be a symlink to a neighbour of the project",
        tests=_NEIGHBOURS,
    ),
    # Syncs that are dropped, come too late, or go around the disk's one point.
    Mutant(
        module="system/disk/handles.py",
        old="self._do(os.fsync, self._descriptor)",
        new="self.status()",
        breaks="fsync is dropped",
        tests=_SYNCING,
    ),
    Mutant(
        module="system/disk/handles.py",
        old="self._do(os.fsync, self._descriptor)",
        new="os.fsync(self._descriptor)",
        breaks="fsync goes around the disk's one point",
        tests=_SYNCING,
    ),
    Mutant(
        module="system/disk/handles.py",
        old="self._do(sync, self._descriptor)",
        new="self.status()",
        breaks="syncfs is dropped",
        tests=_SYNCING,
    ),
    Mutant(
        module="system/disk/handles.py",
        old="            if sync:\n                file.sync()\n",
        new="",
        breaks="no file is synced, whoever asks for it",
        tests=_SYNCING,
    ),
    Mutant(
        module="system/disk/handles.py",
        old="            file.write_all(data)\n            if sync:\n                file.sync()\n",
        new="            if sync:\n                file.sync()\n            file.write_all(data)\n",
        breaks="a file is synced before it is written",
        tests=_SYNCING,
    ),
    Mutant(
        module="system/disk/handles.py",
        old="with self._temporary(name, data, sync=sync) as temporary:\n            self.rename(temporary, name)",
        new="with self._temporary(name, data, sync=False) as temporary:\n            self.rename(temporary, name)",
        breaks="what takes the name of another file is not synced",
        tests=_SYNCING,
    ),
    Mutant(
        module="system/disk/handles.py",
        old="with self._temporary(name, data, sync=sync) as temporary:\n            is_put",
        new="with self._temporary(name, data, sync=False) as temporary:\n            is_put",
        breaks="a new file is not synced",
        tests=_SYNCING,
    ),
    Mutant(
        module="system/disk/handles.py",
        old="sync=True, mode=_PRIVATE",
        new="sync=False, mode=_PRIVATE",
        breaks="what is written like another file is not synced",
        tests=_SYNCING,
    ),
    Mutant(
        module="guild/lists/memory.py",
        old='opened.replace(f"{_stem(real)}.json", data, sync=True)',
        new='opened.replace(f"{_stem(real)}.json", data)',
        breaks="approvals are not synced",
        tests=_SYNCING,
    ),
    Mutant(
        module="guild/members/enrolment.py",
        old="opened.put(FILE_NAMES[0], manifest, sync=True)",
        new="opened.put(FILE_NAMES[0], manifest)",
        breaks="a new member's manifest is not synced",
        tests=_SYNCING,
    ),
    Mutant(
        module="clients/config_file.py",
        old="directory.put(name, data, sync=True)",
        new="directory.put(name, data)",
        breaks="a client's new file is not synced",
        tests=_SYNCING,
    ),
    Mutant(
        module="contexts/draft/agents_file.py",
        old="put(project.disk, root, AGENTS_FILE, after, sync=True)",
        new="put(project.disk, root, AGENTS_FILE, after)",
        breaks="a new AGENTS.md is not synced",
        tests=_SYNCING,
    ),
    Mutant(
        module="contexts/files/writing.py",
        old="opened.put(name, data, sync=sync)",
        new="opened.put(name, data)",
        breaks="a new file of a project is not synced, whoever asks for it",
        tests=_SYNCING,
    ),
    Mutant(
        module="caches/build/staging.py",
        old="        self.directory.sync_file_system(kernel.sync_file_system)\n",
        new="",
        breaks="a cache is not synced",
        tests=_SYNCING,
    ),
    Mutant(
        module="caches/build/staging.py",
        old=(
            "        self.directory.sync_file_system(kernel.sync_file_system)\n"
            "        found = replaceable(self._disk, self._target, force=True)\n"
            "        if found is None:\n"
            "            self._disk.rename(self.new, self._target)  # which fails if the name is taken by now\n"
        ),
        new=(
            "        found = replaceable(self._disk, self._target, force=True)\n"
            "        if found is None:\n"
            "            self._disk.rename(self.new, self._target)\n"
            "            self.directory.sync_file_system(kernel.sync_file_system)\n"
        ),
        breaks="a cache is synced only when it has its name",
        tests=_SYNCING,
    ),
    Mutant(
        module="caches/build/staging.py",
        old="            parent.sync()\n",
        new="            parent.status()\n",
        breaks="the parent of a cache is not synced",
        tests=_SYNCING,
    ),
    Mutant(
        module="system/kernel.py",
        old='_check(_library().syncfs(descriptor), "")',
        new='_check(0, "")',
        breaks="the kernel is not asked for syncfs",
        tests=("tests/system/test_kernel.py",),
    ),
    # Places for calls.
    Mutant(
        module="faces/mcp/stdio.py",
        old="if self._waiting and len(self._calls) < limits.REQUESTS_UNDER_WAY and",
        new="if self._waiting and len(self._calls) <= limits.REQUESTS_UNDER_WAY and",
        breaks="one call too many is under way",
        tests=_PLACES,
    ),
    Mutant(
        module="faces/mcp/stdio.py",
        old="self._is_taken() and self._waiting_bytes < limits.WAITING_BYTES",
        new="len(self._calls) < limits.REQUESTS_UNDER_WAY and self._is_taken()",
        breaks="a ping waits for a place behind calls",
        tests=_PLACES,
    ),
    # The bound on connections, off by one.
    Mutant(
        module="faces/web/connections.py",
        old="if others >= most:",
        new="if others > most:",
        breaks="one connection too many is served",
        tests=_CONNECTIONS,
    ),
    Mutant(
        module="faces/web/connections.py",
        old="if others >= 2 * most:",
        new="if others > 2 * most:",
        breaks="one connection too many is told that there are too many",
        tests=_CONNECTIONS,
    ),
    Mutant(
        module="faces/web/connections.py",
        old=(
            "        others, most = len(self.connections), most_connections()\n"
            "        super().connection_made(transport)\n"
        ),
        new=(
            "        super().connection_made(transport)\n"
            "        others, most = len(self.connections), most_connections()\n"
        ),
        breaks="a connection counts itself among the others",
        tests=_CONNECTIONS,
    ),
    # The environment of a member.
    Mutant(
        module="guild/servers/process.py",
        old='if name in _INHERITED or name.startswith("LC_")}',
        new="}",
        breaks="a member gets all of the hall's environment",
        tests=_ENVIRONMENT,
    ),
    Mutant(
        module="guild/servers/process.py",
        old='name.startswith("LC_")',
        new='name.startswith("LC")',
        breaks="a member gets variables that are not about its language",
        tests=_ENVIRONMENT,
    ),
    Mutant(
        module="guild/servers/process.py",
        old="return kept | dict(named)",
        new="return dict(named) | kept",
        breaks="the hall's environment wins over the manifest's",
        tests=_ENVIRONMENT,
    ),
    Mutant(
        module="guild/servers/process.py",
        old='("PATH", "HOME", "LANG", "LANGUAGE")',
        new='("PATH", "HOME", "LANG")',
        breaks="a member does not learn in which languages to speak",
        tests=_ENVIRONMENT,
    ),
    Mutant(
        module="guild/servers/process.py",
        old="env={**environment, _MARK: reaper.watchers_mark},",
        new="env={**os.environ, **environment, _MARK: reaper.watchers_mark},",
        breaks="a member's process inherits the hall's environment",
        tests=_ENVIRONMENT,
    ),
    Mutant(
        module="guild/servers/process.py",
        old="parent_pipe=$1; {_MARK}=$2; output=$3; shift 3",
        new="parent_pipe=$1; output=$3; shift 3",
        breaks="a member carries the mark of its watcher",
        tests=_ENVIRONMENT,
    ),
    # A server that was started for a refresh is stopped.
    Mutant(
        module="guild/servers/supervisor.py",
        old="            self._stop(in_haste=True)  # the next call has to wait for it\n            return\n",
        new="            return\n",
        breaks="a server that was started for a refresh is never stopped",
        tests=_REQUIREMENTS,
    ),
    Mutant(
        module="guild/servers/supervisor.py",
        old="        if for_call:\n            self._last_call = clock()\n",
        new="        self._last_call = clock()\n",
        breaks="a server that was started for a refresh waits until it is idle",
        tests=_REQUIREMENTS,
    ),
    Mutant(
        module="guild/servers/supervisor.py",
        old="        if for_call:\n            self._last_call = clock()\n",
        new="",
        breaks="a server that was called is stopped at once",
        tests=_REQUIREMENTS,
    ),
)

CHOSEN = (
    # core
    Mutant(
        module="core/wire.py",
        old="any(level > most for",
        new="any(level >= most for",
        breaks="JSON may be nested one level less",
        tests=("tests/core/test_wire.py",),
    ),
    Mutant(
        module="core/catalog.py",
        old="return one is not other and one.definition() != other.definition()",
        new="return one is not other",
        breaks="agents are told of a new list though every definition is the same",
        tests=("tests/core/test_catalog.py",),
    ),
    # disk and what stands on it
    Mutant(
        module="system/disk/queries.py",
        old="return modified < seen_at - TOO_RECENT and changed < seen_at - TOO_RECENT",
        new="return modified < seen_at - TOO_RECENT",
        breaks="a file that was just changed, with its old time set back, counts as settled",
        tests=("tests/system/test_disk.py",),
    ),
    Mutant(
        module="system/disk/handles.py",
        old="        if not self.lock():\n            return False\n        for name in self.names():",
        new="        if not self.lock(shared=True):\n            return False\n        for name in self.names():",
        breaks="what another writer is just writing is tidied away",
        tests=("tests/system/test_disk.py",),
    ),
    Mutant(
        module="system/disk/handles.py",
        old="                if self.lock(shared=True):\n                    return\n",
        new="                if self.status():\n                    return\n",
        breaks="whoever writes does not say so to those who tidy up",
        tests=("tests/system/test_disk.py",),
    ),
    Mutant(
        module="system/safe_write.py",
        old="    return opened.read(aside) == before\n",
        new="    return True\n",
        breaks="words that somebody saves in that very moment are lost",
        tests=("tests/contexts/test_rehashing.py",),
    ),
    Mutant(
        module="system/processes.py",
        old="for worker in workers[place:] if key.data.error is not None else [key.data]:",
        new="for worker in workers if key.data.error is not None else [key.data]:",
        breaks="of two errors the faster one is told",
        tests=("tests/faults/test_determinism.py",),
    ),
    Mutant(
        module="config/settings.py",
        old="if environment.get(key.variable)]",
        new="if key.variable in environment]",
        breaks="an empty variable counts as a choice",
        tests=("tests/config/test_settings.py",),
    ),
    # caches
    Mutant(
        module="caches/query/ranking.py",
        old="fits = cost <= self.left and self._takes_any",
        new="fits = cost <= self.left",
        breaks="a budget of nothing still buys empty documents",
        tests=("tests/caches/test_resolving.py",),
    ),
    Mutant(
        module="caches/index/postings.py",
        old="(found and found[-1] >= documents)",
        new="(found and found[-1] > documents)",
        breaks="an index may name one document more than there are",
        tests=("tests/caches/test_verifying.py",),
    ),
    Mutant(
        module="caches/model/format.py",
        old="not re.fullmatch(_MOMENT, created_at)",
        new="not re.match(_MOMENT, created_at)",
        breaks="a time with something behind it passes for one",
        tests=("tests/caches/test_verifying.py",),
    ),
    Mutant(
        module="caches/build/compiler.py",
        old=(
            '        files.rename(name, f"{number}.moving")\n'
            "    for number, (_, new_name) in enumerate(moving):\n"
            '        files.rename(f"{number}.moving", new_name)\n'
        ),
        new="        files.rename(name, moving[number][1])\n",
        breaks="documents that change names with each other overwrite one another",
        tests=("tests/caches/test_building.py",),
    ),
    Mutant(
        module="caches/build/staging.py",
        old="                if self._is_at_its_path(directory):\n",
        new="                if directory.path:\n",
        breaks="a build works in a staging directory that another one has just removed",
        tests=("tests/caches/test_staging.py",),
    ),
    Mutant(
        module="caches/model/verification.py",
        old="            audit.take(None)\n",
        new="",
        breaks="after a document that cannot be read the index is held against the wrong ones",
        tests=("tests/caches/test_building.py",),
    ),
    Mutant(
        module="caches/query/reader.py",
        old="            self._index, self.signature = None, ()\n",
        new="            self._index = None\n",
        breaks="an index that could not be read once is never tried again",
        tests=("tests/caches/test_resolving.py",),
    ),
    Mutant(
        module="caches/query/cache_files.py",
        old="if kept is not None and kept[0] == status:",
        new="if kept is not None:",
        breaks="a document that was replaced is answered as it was",
        tests=("tests/caches/test_resolving.py",),
    ),
    # contexts
    Mutant(
        module="contexts/freshness/fingerprint.py",
        old='    lines.sort(key=lambda line: line.encode("utf-16-be"))\n',
        new="    lines.sort()\n",
        breaks="names beyond the basic plane are in another order than the other tool has them",
        tests=("tests/contexts/test_vectors.py",),
    ),
    Mutant(
        module="core/ignore.py",
        old="for level in reversed(levels):",
        new="for level in levels:",
        breaks="the ignore file of the root decides over that of a directory",
        tests=("tests/contexts/test_ignore.py",),
    ),
    Mutant(
        module="contexts/scan/directories.py",
        old="source_bytes(each) >= least",
        new="source_bytes(each) > least",
        breaks="a directory that holds exactly enough is skipped",
        tests=("tests/contexts/test_vectors.py",),
    ),
    Mutant(
        module="contexts/freshness/verdict.py",
        old="    if contents.are_as_seen:\n        ledger",
        new="    if contents.digests:\n        ledger",
        breaks="what was read is remembered for files that were seen before they changed",
        tests=("tests/contexts/test_freshness.py",),
    ),
    Mutant(
        module="contexts/freshness/verdict.py",
        old="stat_fingerprint(directory.every_file) == stored",
        new="stat_fingerprint(directory.files) == stored",
        breaks="a fingerprint of the other tool is held against fewer files than it counts",
        tests=("tests/contexts/test_freshness.py",),
    ),
    Mutant(
        module="contexts/files/yaml_events.py",
        old="if level + node.levels - 1 > limits.YAML_LEVELS:",
        new="if level > limits.YAML_LEVELS:",
        breaks="aliases in aliases nest without end",
        tests=("tests/contexts/test_vectors.py",),
    ),
    Mutant(
        module="contexts/files/merge.py",
        old='if name in listed or name.partition(".")[0] in listed} - set(edited)',
        new='if name in listed or name.partition(".")[0] in listed}',
        breaks="what a person changed is drafted over",
        tests=("tests/contexts/test_drafting.py",),
    ),
    Mutant(
        module="contexts/files/edit.py",
        old='    if "\\r\\n" in text:\n        new = new.replace("\\n", "\\r\\n")\n',
        new="",
        breaks="a file of another system gets lines of two kinds",
        tests=("tests/contexts/test_edit.py",),
    ),
    Mutant(
        module="contexts/files/writing.py",
        old='before.fields if before and before.last_updated == values["last_updated"] else {}',
        new="before.fields if before else {}",
        breaks="a context that was rewritten elsewhere passes for the machine's own draft",
        tests=("tests/contexts/test_drafting.py",),
    ),
    Mutant(
        module="contexts/answers.py",
        old="selection.offset + selection.limit",
        new="selection.limit",
        breaks="the second page of a listing is short",
        tests=("tests/contexts/test_answers.py",),
    ),
    # guild
    Mutant(
        module="guild/lists/naming.py",
        old=" and not _HASHED.fullmatch(name)",
        new="",
        breaks="a tool may take the shortened name of another one",
        tests=("tests/guild/test_naming.py",),
    ),
    Mutant(
        module="guild/members/manifest.py",
        old="not isinstance(value, bool) and 0 < value < math.inf:",
        new="not isinstance(value, bool) and 0 <= value < math.inf:",
        breaks="a member may be given no time at all",
        tests=("tests/guild/test_manifest.py",),
    ),
    Mutant(
        module="guild/lists/definitions.py",
        old="    return _canonical(before) != _canonical(after)  # to Python 1 equals true\n",
        new="    return False\n",
        breaks="a definition in which true became 1 counts as approved",
        tests=("tests/guild/test_definitions.py",),
    ),
    Mutant(
        module="guild/lists/in_force.py",
        old="if not record.is_listed or record.cache_digest != listed.digest:",
        new="if not record.is_listed:",
        breaks="a list that somebody else wrote is judged by what is remembered of ours",
        tests=("tests/guild/test_in_force.py",),
    ),
    Mutant(
        module="guild/servers/supervisor.py",
        old="            if has_turn:\n                self._turns.release()\n",
        new="            pass\n",
        breaks="after four starts every other one waits for a turn in vain",
        tests=("tests/guild/test_manager.py",),
    ),
    Mutant(
        module="guild/lists/tool_lists.py",
        old="return not self._memory.has_lost(member) or (self._memory.is_damaged(member) and not self._hold)",
        new="return not self._memory.has_lost(member) or self._memory.is_damaged(member)",
        breaks="a refresh writes over approvals that cannot be understood just now",
        tests=("tests/guild/test_lists.py",),
    ),
    Mutant(
        module="guild/servers/process.py",
        old="for send in (os.kill, os.killpg):",
        new="for send in (os.kill,):",
        breaks="only the server is signalled, not what it started",
        tests=("tests/guild/test_parent_death_pipe.py",),
    ),
    Mutant(
        module="guild/lists/search.py",
        old="self._listed = sorted(listed, key=lambda tool: (tool.name, tool.member))",
        new="self._listed = list(listed)",
        breaks="of tools that fit equally well, the order of the members decides",
        tests=("tests/guild/test_search.py",),
    ),
    Mutant(
        module="guild/log.py",
        old="if file.status().size + len(data) > self._most_bytes:",
        new="if file.status().size > self._most_bytes:",
        breaks="a log grows beyond its size",
        tests=("tests/guild/test_log.py",),
    ),
    # clients
    Mutant(
        module="clients/config_file.py",
        old="if not was_in or not self._disk.is_there(backup):",
        new="if not was_in:",
        breaks="no copy is kept of a file that had the hall in it already",
        tests=("tests/clients/test_register.py",),
    ),
    # faces
    Mutant(
        module="faces/mcp/sessions.py",
        old='elif session is not None and origin in {"", session.origin}:',
        new="elif session is not None:",
        breaks="a page of another Origin may use a session whose id it knows",
        tests=("tests/faces/mcp/test_http.py",),
    ),
    Mutant(
        module="faces/mcp/stdio.py",
        old="if call.ticket in self._role.incoming:",
        new="if True:",
        breaks="a call that waits is begun though it was cancelled",
        tests=("tests/faults/test_load.py::test_over_pipes_a_call_that_waits_is_cancelled_though_all_before_it_go_on",),
    ),
    Mutant(
        module="faces/web/guard.py",
        old='not _OWN_SITES.issuperset(headers.getlist("sec-fetch-site")):',
        new='headers.get("sec-fetch-site") == "cross-site":',
        breaks="a page of another port of this machine may ask the hall",
        tests=("tests/faces/web/test_guard.py",),
    ),
    Mutant(
        module="core/text.py",
        old='return text if len(text) <= most else text[: most - 1] + "…"',
        new='return text if len(text) <= most else text[:most] + "…"',
        breaks="a shortened text is one character too long",
        tests=("tests/faces/cli/test_contexts.py",),
    ),
    Mutant(
        module="caches/embedding/embedders.py",
        old="if model_of(embedder) != model:",
        new="if embedder.id != name:",
        breaks="an embedder with other weights ranks a cache",
        tests=("tests/caches/test_embedding.py",),
    ),
    Mutant(
        module="caches/embedding/meaning.py",
        old="if found and len(models) == 1 else None",
        new="if found else None",
        breaks="vectors of different embedders are compared",
        tests=("tests/caches/test_embedding.py",),
    ),
    Mutant(
        module="caches/query/fusion.py",
        old="values[section] = values.get(section, 0) + meaning_value(rank)",
        new="values[section] = values.get(section, 0) + word_value(rank)",
        breaks="a rank by meaning is worth as much as one by words",
        tests=("tests/caches/test_embedding.py",),
    ),
)

MUTANTS = (*SURVIVED_ONCE, *CHOSEN)
