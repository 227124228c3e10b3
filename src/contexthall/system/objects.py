"""What is in an object store? The only module that speaks to one, by obstore, which is imported with the first URL.

Nothing that a store says reaches an error: its words may name keys and accounts.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from contexthall.core import limits
from contexthall.core.errors import DiskError, PathMissingError, UsageError
from contexthall.core.store_url import file_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from obstore.store import ObjectStore

Result = TypeVar("Result")


class ObjectRange(NamedTuple):
    """Some bytes of an object."""

    name: str
    at: int
    length: int

    @property
    def end(self) -> int:
        return self.at + self.length


class Traffic(NamedTuple):
    """What was asked of a store: rounds of requests that wait for each other, requests, and bytes that came back."""

    rounds: int = 0
    requests: int = 0
    bytes: int = 0


class Objects:
    """The objects below one URL."""

    def __init__(self, url: str, store: "ObjectStore") -> None:
        self.url = url
        self.traffic = Traffic()
        self._store = store
        self._pool = ThreadPoolExecutor(limits.STORE_REQUESTS)
        self._lock = Lock()

    @classmethod
    def at(cls, url: str, environment: Mapping[str, str], *, make: bool = False) -> "Objects":
        """Return the objects at a URL; `make` the folder that it names, if it is one of this machine."""
        try:
            from obstore import store as stores  # noqa: PLC0415 - only where there is a URL
        except ImportError:
            raise UsageError("object stores need obstore", hint="pip install 'contexthall[store]'") from None
        if (path := file_path(url)) is not None:
            with _translated(url):
                return cls(url, stores.LocalStore(path, mkdir=make))
        second = timedelta(seconds=1)
        with _translated(url):
            return cls(
                url,
                stores.from_url(
                    url,
                    client_options={
                        "timeout": limits.STORE_SECONDS * second,
                        "connect_timeout": limits.STORE_SECONDS * second,
                        "allow_http": environment.get("AWS_ALLOW_HTTP", "").lower() == "true",
                    },
                    retry_config={
                        "max_retries": limits.STORE_RETRIES,
                        "retry_timeout": (limits.STORE_RETRIES + 1) * limits.STORE_SECONDS * second,
                        "backoff": {"init_backoff": second / 10, "max_backoff": second, "base": 2},
                    },
                ),
            )

    def get(self, name: str) -> bytes:
        """Return an object; PathMissingError if there is none."""
        data = bytes(self._ask(name, lambda: self._store.get(name).bytes()))
        self._count(1, [data])
        return data

    def get_ranges(self, ranges: Sequence[ObjectRange]) -> list[bytes]:
        """Return parts of objects, in one round of requests."""
        if not ranges:
            return []
        found = [self._range(ranges[0])] if len(ranges) == 1 else [*self._pool.map(self._range, ranges)]
        self._count(len(ranges), found)
        return found

    def _range(self, wanted: ObjectRange) -> bytes:
        name, at, length = wanted
        data = bytes(self._ask(name, lambda: self._store.get_range(name, start=at, length=length)) if length else b"")
        if len(data) != length:
            raise DiskError(f"{self.url}/{name}: the store gave {len(data)} of {length} bytes", hint="try again")
        return data

    def size(self, name: str) -> int | None:
        """Return how large an object is; None if there is none."""
        try:
            return int(self._ask(name, lambda: self._store.head(name))["size"])
        except PathMissingError:
            return None

    def create(self, name: str, data: bytes) -> bool:
        """Put an object where none is; False if there is one, which stays."""
        from obstore.exceptions import AlreadyExistsError  # noqa: PLC0415 - as above

        def put() -> bool:
            try:
                self._store.put(name, data, mode="create", use_multipart=False)
            except AlreadyExistsError:
                return False
            return True

        return self._ask(name, put)

    def put(self, name: str, data: bytes | Iterable[bytes]) -> None:
        """Put an object, whole or not at all, in place of whatever is there."""
        self._ask(name, lambda: self._store.put(name, data))

    def _ask(self, name: str, request: Callable[[], Result]) -> Result:
        with _translated(f"{self.url}/{name}"):
            return request()

    def _count(self, requests: int, found: Iterable[bytes]) -> None:
        with self._lock:
            rounds, before, size = self.traffic
            self.traffic = Traffic(rounds + 1, before + requests, size + sum(map(len, found)))


@contextmanager
def _translated(place: str) -> "Iterator[None]":
    """Turn what a store refuses into an error of ours."""
    from obstore import exceptions  # noqa: PLC0415 - as above

    refused: Any = (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError, PermissionError)
    try:
        yield
    except (FileNotFoundError, exceptions.NotFoundError):
        raise PathMissingError(f"{place} is not there") from None
    except refused:
        hint = "credentials are found as obstore finds them, such as in AWS_ACCESS_KEY_ID"
        raise DiskError(f"{place}: the store refuses access", hint=hint) from None
    except (exceptions.BaseError, OSError, ValueError) as error:
        reason = "no such folder" if "canonicalize" in str(error) else "the store fails"
        kind = PathMissingError if "canonicalize" in str(error) else DiskError
        raise kind(f"{place}: {reason}") from None
