"""What is asked of a cache, of either format."""

from typing import Literal, NamedTuple, TypeAlias

ReplyFormat: TypeAlias = Literal["json", "text"]


class SourcesState(NamedTuple):
    """Whether a cache still says what its sources say, and how many of these changed."""

    state: str = "unknown"
    changed: int = 0

    def __str__(self) -> str:
        return f"stale ({self.changed} changed)" if self.state == "stale" else self.state


UNKNOWN = SourcesState()


class Question(NamedTuple):
    """What is asked, and of which cache: its name and version stand in a text. To read, the query is an id."""

    query: str
    budget: int
    format: ReplyFormat = "json"
    name: str = ""
    version: str = ""
    freshness: SourcesState = UNKNOWN
    model: str = ""
    """The embedder by which sections are ranked besides their words, if there is one."""
