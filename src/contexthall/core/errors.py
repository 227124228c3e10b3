"""What can go wrong? One tree: a code, a wire message and an exit code each.

    HallError
    ├── UsageError           usage           1  what was asked for cannot be understood or done
    │   ├── SettingsError    usage           1  a setting has an unknown name or a bad value
    │   ├── SourcesError     usage           1  the sources cannot become a cache
    │   │   └── SourcesOutsideError usage    1  they are where this caller may not read
    │   ├── SourcesUnknownError usage        1  the cache does not say of which sources it was built
    │   ├── BuildUnderWayError usage         1  another process builds the cache
    │   ├── UnknownToolError usage           1  no tool has that name
    │   ├── UnknownMemberError usage         1  no member of the guild has that name
    │   ├── ScopeError       usage           1  a scope leaves the project
    │   └── ContextError     usage           1  a directory has no context that can be used
    │       ├── ContextMissingError    usage 1  it has none
    │       ├── ContextCorruptError    usage 1  it has one that cannot be read
    │       └── ContextVersionError    usage 1  it has one of a newer schema; the detail is the version
    ├── InvalidQueryError    invalid_query   2  the query is missing or no string
    ├── InvalidBudgetError   invalid_budget  3  the budget is missing or no whole number in range
    ├── CacheMissingError    cache_missing   4  there is no cache, or none the caller may name
    ├── CacheInvalidError    cache_invalid   5  the cache breaks an invariant; a retry will not help
    ├── DiskError            io_error        6  the operating system refused
    │   └── PathMissingError io_error        6  nothing is there
    ├── InternalError        internal_error  7  a time-out, or a mistake of ours
    ├── CheckFailedError     check_failed    8  a check that was asked for does not hold
    ├── ToolFailedError      tool_failed     9  a tool answered with an error that has no code
    │   └── MemberError      tool_failed     9  a member of the guild could not be started, asked or understood
    ├── DocumentMissingError document_missing 10  a cache has no page or section of that id
    └── EmbedderError        embedder_error 11  an embedder is not installed, is another one, or failed

`message` is stable and free of paths, because it goes over the wire. `detail` says what exactly went wrong and `hint`
what to type next; both are for people and never leave the machine. Only a MemberError's `detail` is told to agents too,
and therefore free of paths.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Self


class HallError(Exception):
    """An error that the hall understands. Only the classes below it are raised."""

    code: ClassVar[str]
    message: ClassVar[str]
    exit_code: ClassVar[int]
    usual_hint: ClassVar[str] = ""

    def __init__(self, detail: str = "", *, hint: str = "") -> None:
        super().__init__(detail)
        self.detail = detail
        self.hint = hint or self.usual_hint
        self.more = ""
        """Lines that agents are told besides."""
        self.unknown = ""
        """The word that names nothing, if that is the fault."""
        self.known: tuple[str, ...] = ()
        """The names of what it could have named."""

    def about(self, word: str, known: Iterable[str]) -> Self:
        """Return this error, which now says which word is unknown, and which ones are known in its place."""
        self.unknown, self.known = word, tuple(known)
        return self

    def __str__(self) -> str:
        return f"{self.message}: {self.detail}" if self.detail else self.message


class UsageError(HallError):
    code = "usage"
    message = "Cannot do that"
    exit_code = 1


class SettingsError(UsageError):
    message = "Bad setting"


class SourcesError(UsageError):
    message = "Cannot build from these sources"


class SourcesOutsideError(SourcesError):
    pass


class SourcesUnknownError(UsageError):
    pass


class BuildUnderWayError(UsageError):
    usual_hint = "wait, then try again"


class UnknownToolError(UsageError):
    message = "Unknown tool"


class UnknownMemberError(UsageError):
    message = "Unknown member"


class ScopeError(UsageError):
    message = "Invalid scope: path traversal detected"
    usual_hint = "name a directory of the project, by its path from the project root"


class ContextError(UsageError):
    message = "No usable context"


class ContextMissingError(ContextError):
    message = "No .context.yaml found"
    usual_hint = "`context init` drafts the contexts that are missing"


class ContextCorruptError(ContextError):
    message = "Invalid or corrupt .context.yaml"
    usual_hint = "mend the file, or remove it and let `context init` draft another"


class ContextVersionError(ContextError):
    message = "Unsupported schema version"
    usual_hint = "a newer release may know it"


class InvalidQueryError(HallError):
    code = "invalid_query"
    message = "Query is invalid"
    exit_code = 2


class InvalidBudgetError(HallError):
    code = "invalid_budget"
    message = "Budget is invalid"
    exit_code = 3


class CacheMissingError(HallError):
    code = "cache_missing"
    message = "Cache does not exist"
    exit_code = 4
    usual_hint = "list what is there with `context caches`; --path DIR names a project other than the working directory"


class CacheInvalidError(HallError):
    code = "cache_invalid"
    message = "Cache exists but is invalid"
    exit_code = 5
    usual_hint = "`context verify --cache CACHE` names every violation, `context build` makes a new one"


class DiskError(HallError):
    code = "io_error"
    message = "I/O error occurred"
    exit_code = 6

    @property
    def cause(self) -> str:
        """What the system said, free of paths."""
        return (self.__cause__.strerror or "") if isinstance(self.__cause__, OSError) else ""


class PathMissingError(DiskError):
    """Nothing is at the path, or nothing can be."""


class InternalError(HallError):
    code = "internal_error"
    message = "Internal error"
    exit_code = 7


class CheckFailedError(HallError):
    code = "check_failed"
    message = "The check does not hold"
    exit_code = 8


class ToolFailedError(HallError):
    code = "tool_failed"
    message = "The tool answered with an error"
    exit_code = 9


class MemberError(ToolFailedError):
    """A failure of somebody else's server: `detail` says what, for agents too, and `more` what else people may want."""

    message = "The member failed"

    def __init__(
        self,
        detail: str = "",
        *,
        hint: str = "",
        more: str = "",
        fault: Mapping[str, Any] | None = None,
        can_repeat: bool = False,
    ) -> None:
        super().__init__(detail, hint=hint)
        self.more = more
        self.fault = fault
        """The JSON-RPC error that the server answered with, if it did."""
        self.can_repeat = can_repeat
        """Whether the server surely did nothing, and would on a new connection."""

    def reworded(self, reword: Callable[[str], str]) -> "MemberError":
        """Return the same error in other words, those that the server answered with included."""
        fault = None if self.fault is None else _reworded(self.fault, reword)
        return MemberError(
            reword(self.detail), hint=self.hint, more=reword(self.more), fault=fault, can_repeat=self.can_repeat
        )

    @property
    def sentence(self) -> str:
        """What went wrong, for people."""
        return f"{self.detail} ({self.more})" if self.more else self.detail


class DocumentMissingError(HallError):
    code = "document_missing"
    message = "Document does not exist"
    exit_code = 10
    usual_hint = "`context outline --cache CACHE` lists the ids of a cache"


class EmbedderError(HallError):
    code = "embedder_error"
    message = "Embedder cannot be used"
    exit_code = 11
    usual_hint = "install it, or build the cache without --embedder"


def _reworded(value: Any, reword: Callable[[str], str]) -> Any:  # noqa: ANN401 - whatever a server answered
    if isinstance(value, str):
        return reword(value)
    if isinstance(value, list):
        return [_reworded(each, reword) for each in value]
    return {key: _reworded(each, reword) for key, each in value.items()} if isinstance(value, Mapping) else value


CODES = {error.code: error for error in HallError.__subclasses__()}


def exit_code_of(code: str | None) -> int:
    """Say with which exit code a tool's error leaves the process; an error without a code has one of its own."""
    return CODES[code].exit_code if code in CODES else ToolFailedError.exit_code
