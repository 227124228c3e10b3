"""How does the hall get a member's server? It starts one, with the variables and secrets that its manifest names.

A server that runs elsewhere is only reached.
"""

import socket
from collections.abc import Callable, Mapping
from functools import partial

from contexthall.core.errors import MemberError, UsageError
from contexthall.guild.log import BoundedLog
from contexthall.guild.members.manifest import KEYRING, ManifestError, MemberManifest, filled_in, filled_in_headers
from contexthall.guild.members.roster import Member
from contexthall.guild.servers.connection import Connection
from contexthall.guild.servers.output import ServerOutput
from contexthall.guild.servers.process import MemberProcess, OrphanReaper, clean_environment
from contexthall.guild.servers.redaction import Redactor
from contexthall.guild.servers.transport import Endpoint
from contexthall.protocol.client import ClientRole
from contexthall.system.keyring import SecretReader


class Connector:
    """Starts servers, or reaches those that run elsewhere: the manager's server factory."""

    def __init__(self, *, version: str, environment: Mapping[str, str], log_of: Callable[[Member], BoundedLog]) -> None:
        self._client = {"name": "context-hall", "title": "Context Hall", "version": version}
        self._environment = environment
        self._log_of = log_of
        self._reaper = OrphanReaper()
        self._secrets = SecretReader()
        self._redactors: dict[str, Redactor] = {}
        """Of the members that were started, by name."""
        self._ports: set[int] = set()
        """Those of servers that are being started or live."""

    def redacted(self, text: str) -> str:
        """Return a text without the values that members were given."""
        for redactor in tuple(self._redactors.values()):
            text = redactor.text(text)
        return text

    async def spawn(self, member: Member) -> Connection:
        """Start or reach the server of `member` and shake hands with it; MemberError if that cannot be."""
        if (manifest := member.manifest) is None:
            raise MemberError(f"its manifest cannot be used: {member.error}")
        log, environment = self._log_of(member), await self._environment_of(manifest)
        values = {name: environment[name] for name in manifest.launch.variables if name in environment}
        redactor = self._redactors[member.name] = Redactor(values)
        output = ServerOutput(log, redactor, manifest.launch.command)
        launch = partial(self._launch, manifest, member.directory, environment, output)
        connection = Connection(manifest, launch, output, ClientRole(self._client))
        is_first = member.freshness.state == "missing"
        await connection.open(manifest.first_start_seconds if is_first else manifest.start_seconds)
        return connection

    async def _environment_of(self, manifest: MemberManifest) -> Mapping[str, str]:
        """Return the environment with the secrets that a manifest names."""
        secrets = [each for each in manifest.launch.variables if each.startswith(KEYRING)]
        try:
            found = {each: await self._secrets.read(each.removeprefix(KEYRING)) for each in secrets}
        except UsageError as error:
            raise MemberError(str(error), more=error.hint) from None
        return {**self._environment, **found} if found else self._environment

    async def _launch(
        self, manifest: MemberManifest, directory: str, environment: Mapping[str, str], output: ServerOutput
    ) -> Endpoint:
        """Start the server, if the hall is to start it, and return where it is reached."""
        launch, process = manifest.launch, None
        port = self._free_port() if launch.command and launch.transport == "http" else 0
        try:
            headers = filled_in_headers(launch.headers, environment)
            if launch.command:
                process = await MemberProcess.start(
                    launch.command_line(port),
                    directory=directory,
                    environment=clean_environment(environment, filled_in(launch.env, environment)),
                    reaper=self._reaper,
                    on_stderr=output.add_stderr,
                    port=port,
                )
        except ManifestError as error:
            raise MemberError(f"the server {error}") from None
        except FileNotFoundError:  # a command that is missing is the shell's to report
            raise MemberError("the server could not be started: its directory is gone") from None
        except OSError as error:
            raise MemberError("the server could not be started", more=str(error)) from None
        finally:
            if process is None:
                self._ports.discard(port)
            else:
                process.ended.add_done_callback(lambda _code: self._ports.discard(port))
        url = f"http://127.0.0.1:{port}/mcp" if port else launch.url
        return Endpoint(process, url, headers, manifest.tool_seconds)

    def _free_port(self) -> int:
        """Return a port on which nobody listens, or is about to: a server's headers are for no other server."""
        while True:
            with socket.socket() as listening:
                listening.bind(("127.0.0.1", 0))
                port = int(listening.getsockname()[1])
            if port not in self._ports:
                self._ports.add(port)
                return port
