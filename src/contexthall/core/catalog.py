"""Which tools does the hall offer, and what happens when one is called?

The seam between rooms and faces. A capability declares its tools as data and is never handed a server; a face loops
over the catalog and never asks which tool it has in hand. `Catalog.call` is the one place where arguments are
validated, a tool is run and errors become results.
"""

import inspect
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, TypeAlias, cast

import msgspec

from contexthall.core import limits
from contexthall.core.errors import DiskError, HallError, InternalError, UnknownToolError
from contexthall.core.paths import MayRead
from contexthall.core.profile import Profile
from contexthall.core.text import quoted
from contexthall.core.wire import compact

if TYPE_CHECKING:
    from contexthall.core.arguments import ArgumentCheck

logger = logging.getLogger(__name__)

JsonObject: TypeAlias = Mapping[str, Any]
Listener: TypeAlias = Callable[[], None]
Progress: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]

_DIGITS = re.compile(r"[0-9]{1,19}")
_GREETING = (
    "Context Hall serves what an agent needs before it works. Everything is a snapshot on this machine, and answers "
    "the same way every time."
)


class ToolResult(msgspec.Struct, frozen=True, kw_only=True):
    """A tool's answer: content blocks as MCP spells them, the same as structured data where declared, or an error."""

    content: tuple[JsonObject, ...]
    structured: JsonObject | None = None
    is_error: bool = False
    code: str | None = None
    """Which of our errors this is, for faces with exit codes or statuses."""
    whole: JsonObject | None = None
    """The result as another server gave it, with fields that nobody here knows; it is passed on as it is."""
    raw: bytes | None = None
    """The same as the JSON that it came in, for a caller that takes it so; there is nothing else then."""
    fault: JsonObject | None = None
    """The JSON-RPC error that another server gave in place of a result; it is passed on as it is."""
    ids: tuple[str, ...] = ()
    """Of the sections that the answer holds, for the journal."""

    @classmethod
    def of_text(cls, text: str, *, is_error: bool = False) -> Self:
        return cls(content=({"type": "text", "text": text},), is_error=is_error)

    @classmethod
    def of_json(cls, value: JsonObject) -> Self:
        return cls(content=({"type": "text", "text": compact(value)},), structured=value)

    @classmethod
    def of_error(cls, error: HallError) -> Self:
        text = compact({"error": {"code": error.code, "message": error.message}}) + "\n" + error.more
        return cls(content=({"type": "text", "text": text},), is_error=True, code=error.code)

    @classmethod
    def of_whole(cls, whole: JsonObject) -> Self:
        """Pass on what another server answered."""
        content, structured = whole.get("content"), whole.get("structuredContent")
        blocks = content if isinstance(content, list) else []
        return cls(
            content=tuple(block for block in blocks if isinstance(block, dict)),
            structured=structured if isinstance(structured, dict) else None,
            is_error=whole.get("isError") is True,
            whole=whole,
        )

    @classmethod
    def of_fault(cls, fault: JsonObject) -> Self:
        """Pass on the error that another server answered with."""
        return cls(content=({"type": "text", "text": str(fault.get("message", ""))},), is_error=True, fault=fault)

    @property
    def text(self) -> str:
        """The text blocks, one after the other."""
        return "".join(str(block.get("text", "")) for block in self.content if block.get("type") == "text")


class FailedResult(ToolResult, frozen=True, kw_only=True):
    """The failure of another server, with what people may want to know beside what agents are told."""

    sentence: str


async def no_progress(progress: float, total: float | None, message: str | None) -> None:
    """Tell nobody how far a call has come."""


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """What the one who calls may do, as the transport knows it."""

    may_read: MayRead
    progress: Progress = no_progress
    client: str = ""
    """What it calls itself."""
    takes_raw: bool = False
    """Whether the result of another server may be given as the bytes that it came in."""


PlainRun: TypeAlias = Callable[[JsonObject, Caller], ToolResult]
AsyncRun: TypeAlias = Callable[[JsonObject, Caller], Awaitable[ToolResult]]
RunPlain: TypeAlias = Callable[[Callable[[], ToolResult]], Awaitable[ToolResult]]

Seek: TypeAlias = Callable[[str], Awaitable["Tool | None"]]

READ_ONLY: JsonObject = {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False}


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """One tool, declared."""

    name: str
    title: str
    description: str
    input_schema: JsonObject
    output_schema: JsonObject | None = None
    annotations: JsonObject = {}
    refusals: Mapping[str, type[HallError]] = {}
    """The coded error that a fault in an argument deserves, in the order in which arguments are judged."""
    choices: Mapping[str, Callable[[JsonObject], str]] = {}
    """What is told besides of an argument that is missing: lines that name what it could be, by the other arguments."""
    failure: type[HallError] = InternalError
    """What is told when the tool runs out of time or fails in a way that nobody foresaw."""
    accept: Callable[[JsonObject], JsonObject] = lambda arguments: arguments
    """Returns arguments as they are meant, before they are judged."""
    original: JsonObject | None = None
    """The definition as another server gave it, which also judges the arguments; only the name is ours."""
    run: PlainRun | AsyncRun

    def definition(self) -> dict[str, object]:
        """Return what an agent sees of this tool in `tools/list`."""
        if self.original is not None:
            return {**self.original, "name": self.name}
        shown: dict[str, object] = {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.input_schema,
        }
        if self.output_schema is not None:
            shown["outputSchema"] = self.output_schema
        if self.annotations:
            shown["annotations"] = self.annotations
        return shown


def refusal(profile: Profile, tool: str) -> ToolResult:
    """Return what is answered to a call of a tool that is outside a profile."""
    sentence = f"the tool {quoted(tool)} is not in the profile {quoted(profile.name)}"
    return ToolResult.of_text(sentence, is_error=True)


def failing_tool(name: str, failure: ToolResult) -> Tool:
    """Stand for a tool that cannot be called, and say why to whoever calls it."""

    async def run(_arguments: JsonObject, _caller: Caller) -> ToolResult:
        return failure

    return Tool(name=name, title=name, description="", input_schema={}, original={}, run=run)


class Signal:
    """Tells its subscribers that something changed."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    def subscribe(self, listener: Listener) -> Listener:
        """Call `listener` after each change, until the function that is returned is called."""
        self._listeners.append(listener)
        return partial(self._listeners.remove, listener)

    def send(self) -> None:
        for listener in tuple(self._listeners):
            listener()


class Capability:
    """The tools of one room, what an agent should know about them, and a signal when they change."""

    def __init__(
        self, name: str, *, guidance: str = "", tools: Iterable[Tool] = (), unlisted: Iterable[Tool] = ()
    ) -> None:
        self.name = name
        self.guidance = guidance
        self.tools = tuple(tools)
        self.unlisted = tuple(unlisted)
        """Tools that can be called by whoever knows them, and are not listed."""
        self.seek: Seek | None = None
        """Finds a tool that is called and that nobody has listed; it may take a while."""
        self.replaced = Signal()
        self.changed = Signal()
        """Sent after `replaced`, if what is listed differs."""

    def within(self, profile: Profile) -> "Capability":
        """Return the part of this that is in a profile, of a room whose tools never change."""
        inside = [tool for tool in self.tools if profile.has_toolset(self.name) and profile.has_tool(tool.name)]
        outside = {tool.name for tool in self.tools} - {tool.name for tool in inside}
        # Guidance to call what cannot be called is worse than none.
        is_true = bool(inside) and not any(name in self.guidance for name in outside)
        view = Capability(self.name, guidance=self.guidance if is_true else "", tools=inside)

        async def seek(name: str) -> Tool | None:
            return failing_tool(name, refusal(profile, name)) if name in outside else None

        view.seek = seek
        return view

    def replace_tools(self, tools: Iterable[Tool], unlisted: Iterable[Tool] = ()) -> None:
        """Offer `tools` from now on; whoever listens is told if that is a change."""
        before, self.tools, self.unlisted = self.tools, tuple(tools), tuple(unlisted)
        self.replaced.send()
        if len(before) != len(self.tools) or any(map(_differ, before, self.tools)):
            self.changed.send()


def _differ(one: Tool, other: Tool) -> bool:
    return one is not other and one.definition() != other.definition()


def budget_as_number(arguments: JsonObject) -> JsonObject:
    """Return arguments in which a budget that is spelt as a string of digits is a number."""
    budget = arguments.get("budget")
    if not isinstance(budget, str) or not _DIGITS.fullmatch(budget):
        return arguments
    return {**arguments, "budget": int(budget)}


@dataclass(slots=True)
class CallNote:
    """What a journal is told of a call."""

    is_own: bool = False
    """Whether the tool is the hall's own: only then does the journal know what its arguments mean."""
    passed_on_to: str = ""
    """The tool that is called in place of the one that the agent named."""

    def end(self, outcome: ToolResult | BaseException) -> None:
        """Take note of how the call ended. This one is kept nowhere."""


_under_way: ContextVar[CallNote | None] = ContextVar("under_way", default=None)


def note_passed_on(tool: str) -> None:
    """Note, of the call that is under way, which tool is called in place of the one that the agent named."""
    if (note := _under_way.get()) is not None:
        note.passed_on_to = tool


class CallJournal(Protocol):
    """Keeps a record of calls."""

    def begin(self, tool: str, arguments: JsonObject, client: str, /) -> CallNote:
        """Take note of a call; what is returned has to be told how it ended."""
        ...


class PlainCall(NamedTuple):
    """A call of a tool that is a plain function, for a face that has threads of its own."""

    catalog: "Catalog"
    tool: Tool
    arguments: JsonObject
    caller: Caller
    note: CallNote

    def run(self) -> ToolResult:
        """Run the tool. Judging takes its time with large arguments, so it is done where the work is."""
        return self.catalog.refusal_of(self.tool, self.arguments) or cast("PlainRun", self.tool.run)(
            self.arguments, self.caller
        )

    def conclude(self, outcome: ToolResult | BaseException) -> ToolResult:
        """Return the result, once there is an outcome: every failure is one."""
        result = failed(self.tool, outcome) if isinstance(outcome, Exception) else outcome
        self.note.end(result)
        return cast("ToolResult", result)


class Catalog:
    """The tools of all capabilities, in one stable order."""

    def __init__(self, capabilities: Iterable[Capability]) -> None:
        self._capabilities = tuple(capabilities)
        self.journal: CallJournal | None = None
        self.changed = Signal()
        self.listed = Signal()
        """Sent by a face once an agent has been given the list."""
        self._collect()
        for capability in self._capabilities:
            capability.replaced.subscribe(self._collect)
            capability.changed.subscribe(self.changed.send)

    @property
    def tools(self) -> tuple[Tool, ...]:
        return tuple(tool for capability in self._capabilities for tool in capability.tools)

    @property
    def instructions(self) -> str:
        """What an agent is told at the start: what is here, and in which order to call it."""
        guidance = (capability.guidance for capability in self._capabilities if capability.guidance)
        return "\n".join((_GREETING, *guidance))

    def tool(self, name: str) -> Tool:
        try:
            return self._tools[name]
        except KeyError:
            # Not by a name of its own: it would hold its traceback, and that the arguments of the call.
            hint = "list the tools with `context tools`"
            raise UnknownToolError(quoted(name), hint=hint).about(name, self._tools) from None

    async def find(self, name: str) -> Tool:
        """Return a tool that is called: one that is there, or one that a capability finds only now."""
        for capability in self._capabilities if name not in self._tools else ():
            if capability.seek is not None and (found := await capability.seek(name)) is not None:
                return found
        return self.tool(name)

    async def call(
        self, name: str, arguments: JsonObject, caller: Caller, *, run_plain: RunPlain | None = None
    ) -> ToolResult:
        """Call a tool. Only an unknown name raises; every other failure is a result.

        `run_plain` is how the face runs a tool that is a plain function, in a worker thread for example; a TimeoutError
        from it is a time-out of the tool.
        """
        note = self._begin(name, arguments, caller)
        _under_way.set(note)
        try:
            tool = await self.find(name)
            note.is_own = tool.original is None
            result = await self.run(tool, arguments, caller, run_plain=run_plain)
        except BaseException as error:
            note.end(error)
            raise
        note.end(result)
        return result

    def plain_call(self, name: str, arguments: JsonObject, caller: Caller) -> PlainCall | None:
        """Begin a call of a tool that is a plain function; None for any other, which is for `call`."""
        tool = self._tools.get(name)
        if tool is None or tool.original is not None or _is_coroutine(tool.run):
            return None
        note = self._begin(name, arguments, caller)
        note.is_own = True
        return PlainCall(self, tool, tool.accept(arguments), caller, note)

    async def run(
        self, tool: Tool, arguments: JsonObject, caller: Caller, *, run_plain: RunPlain | None = None
    ) -> ToolResult:
        """Call a tool that was found; every failure is a result."""
        call = PlainCall(self, tool, tool.accept(arguments), caller, CallNote())
        try:
            if inspect.iscoroutinefunction(tool.run):
                refused = self.refusal_of(tool, call.arguments)
                return refused or await cast("AsyncRun", tool.run)(call.arguments, caller)
            return await run_plain(call.run) if run_plain is not None else call.run()
        except Exception as error:  # noqa: BLE001 - whatever it is becomes a result
            return failed(tool, error)

    def _begin(self, name: str, arguments: JsonObject, caller: Caller) -> CallNote:
        return CallNote() if self.journal is None else self.journal.begin(name, arguments, caller.client)

    def _collect(self) -> None:
        tools = [tool for capability in self._capabilities for tool in (*capability.tools, *capability.unlisted)]
        by_name = {tool.name: tool for tool in tools}
        if len(by_name) != len(tools):
            raise ValueError("two tools share a name")
        self._tools = by_name
        self._checks: dict[str, ArgumentCheck] = {}

    def refusal_of(self, tool: Tool, arguments: JsonObject) -> ToolResult | None:
        """Return what is wrong with `arguments`, if anything is; those of another server's tool are its to judge."""
        if tool.original is not None:
            return None
        check = self._checks.get(tool.name) or _check_of(tool.input_schema)
        self._checks[tool.name] = check
        blamed, complaint = check.faults(arguments)
        for argument, error in tool.refusals.items():
            value = arguments.get(argument)
            # A longer text means nothing, and to work on it would take for ever.
            if argument in blamed or (isinstance(value, str) and len(value) > limits.QUERY_CHARACTERS):
                return ToolResult.of_error(error())
        if not complaint:
            return None
        missing = [argument for argument in tool.choices if argument in blamed and argument not in arguments]
        lines = "".join(tool.choices[argument](arguments) for argument in missing)
        return ToolResult.of_text("\n".join(filter(None, (complaint, lines))), is_error=True)


@lru_cache
def _is_coroutine(run: PlainRun | AsyncRun) -> bool:
    return inspect.iscoroutinefunction(run)


def failed(tool: Tool, error: Exception) -> ToolResult:
    """Return what is answered in the place of a result."""
    if isinstance(error, HallError):
        # What the caller did wrong is the caller's to know; what the system refused, somebody must look into.
        logger.log(logging.WARNING if isinstance(error, DiskError) else logging.INFO, "%s: %s", tool.name, error)
        return ToolResult.of_error(error)
    if isinstance(error, TimeoutError):
        logger.warning("%s: out of time", tool.name)
    else:
        logger.error("%s: failed", tool.name, exc_info=error)
    return ToolResult.of_error(tool.failure())


def _check_of(schema: JsonObject) -> "ArgumentCheck":
    from contexthall.core.arguments import ArgumentCheck  # noqa: PLC0415 - jsonschema costs 80 ms, and no start waits

    return ArgumentCheck(schema)
