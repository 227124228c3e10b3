"""What do workers elsewhere do for this process? The only module that speaks to Dask, with the first cluster.

Tasks are done by whichever worker is free, and done again elsewhere if it is lost. Objects stay on the workers, and
what is asked of one that is lost or slow is asked of another one.
"""

import asyncio
import logging
import os
import pickle
import signal
import socket
import threading
import time
import warnings
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from importlib.metadata import version
from multiprocessing import resource_tracker
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from contexthall.core import limits
from contexthall.core.cluster_url import parse_scheduler
from contexthall.core.errors import DiskError, HallError, InternalError, UsageError
from contexthall.system.processes import ParallelTask, Report

if TYPE_CHECKING:
    from distributed import Actor, Client, Future

_CERTIFICATES = "Dask's own configuration names them: distributed.comm.tls, ca-file and client's cert and key"
_ALONE = threading.Lock()
"""A worker may have several threads, but does one task at a time, as a process does."""


class Cluster:
    """The workers of one scheduler."""

    def __init__(self, url: str) -> None:
        """Connect to a scheduler, which must be one of this machine, or be spoken to over TLS."""
        self.url = parse_scheduler(url)
        self._connecting = threading.Lock()
        self._connected = self._connect()

    @property
    def client(self) -> "Client":
        """The connection; a new one if the scheduler was away for so long that the last one gave up."""
        with self._connecting:
            if self._connected.status in {"closing", "closed"}:
                self._connected = self._connect()
            return self._connected

    def workers(self) -> list[str]:
        """Return the addresses of the workers."""
        client = self.client
        try:
            found = client.sync(client.scheduler.ncores, callback_timeout=limits.CLUSTER_CONNECT_SECONDS)
        except (OSError, TimeoutError):
            raise self.gone() from None
        return sorted(found)

    def run(self, tasks: Sequence[ParallelTask], report: Report) -> list[Any]:
        """Run every task on some worker, and return their results in order.

        If tasks fail, the error is that of the first of them, as if they had been run in order.
        """
        client, topic, heard = self.client, f"contexthall-{uuid4().hex}", SimpleQueue[tuple[int, int]]()
        client.subscribe_topic(topic, lambda event: heard.put(event[1]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Dask advises against tasks of many megabytes, such as lists of files
            futures = [
                client.submit(_work, version("contexthall"), task, number, topic, key=f"{topic}-{number}", pure=False)
                for number, task in enumerate(tasks)
            ]
        for number, future in enumerate(futures):
            future.add_done_callback(lambda _future, number=number: heard.put((number, 0)))
        try:
            results = _Outcomes(self, futures, heard, report)
            return [results.of(number) for number in range(len(futures))]
        finally:
            for future in futures:
                future.release()  # which stops it, and waits for nobody
            with suppress(Exception):  # if the scheduler is gone, nobody listens
                client.unsubscribe_topic(topic)

    def close(self) -> None:
        """Leave; what still runs for this process is stopped."""
        self._connected.close(timeout=limits.CLUSTER_CONNECT_SECONDS)

    def _connect(self) -> "Client":
        try:
            from distributed import Client, Security  # noqa: PLC0415 - as above
        except ImportError:
            raise _missing() from None
        _quieten()
        # A client that cannot connect leaves a thread behind, so what can be seen beforehand is.
        if self.url.startswith("tls:"):
            _check_certificates(self.url, Security().get_connection_args)
        seconds, (host, _, port) = limits.CLUSTER_CONNECT_SECONDS, self.url.partition("://")[2].rpartition(":")
        listens = False
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=seconds).close()
            listens = True
            client = Client(self.url, timeout=seconds, set_as_default=False, direct_to_workers=True)
            address = client.sync(client.scheduler.identity, callback_timeout=seconds)["address"]
        except (OSError, TimeoutError, ValueError, RuntimeError):
            raise self._unheard() if listens else self.gone() from None
        try:
            parse_scheduler(address)  # one that listens everywhere is open too, by whatever name it is spoken to
        except UsageError:
            client.close(timeout=seconds)
            raise
        return client

    def gone(self) -> DiskError:
        """Return the error of a scheduler that does not answer."""
        hint = "is it running? `context cluster up` starts one on this machine"
        return DiskError(f"no scheduler answers at {self.url}", hint=hint)

    def _unheard(self) -> DiskError:
        """Return the error of something that listens, and is no scheduler, or none that trusts us and is trusted."""
        gone = self.gone()
        if self.url.startswith("tls:"):
            hint = f"something listens there: are its certificates and yours of one authority? {_CERTIFICATES}"
            return DiskError(gone.detail, hint=hint)
        return gone

    def without_workers(self) -> DiskError:
        """Return the error of a scheduler that has nobody to do anything."""
        return DiskError(f"{self.url} has no workers", hint="start some, then try again")


class _Outcomes:
    """What comes of tasks, each taken from its worker as soon as it is there."""

    def __init__(
        self, cluster: Cluster, futures: "Sequence[Future]", heard: "SimpleQueue[tuple[int, int]]", report: Report
    ) -> None:
        self._cluster = cluster
        self._futures = futures
        self._heard = heard
        self._report = report
        self._done = defaultdict[int, int](int)
        self._outcomes: dict[int, Any] = {}
        self._idle_since = 0.0

    def of(self, number: int) -> Any:  # noqa: ANN401 - whatever the task returned
        """Wait for the result of a task; raise its error, if it has one."""
        while number not in self._outcomes:
            try:
                self._take(*self._heard.get(timeout=1))
            except Empty:
                self._look_for_workers()
        if isinstance(self._outcomes[number], HallError):
            raise self._outcomes[number]
        return self._outcomes[number]

    def _take(self, number: int, done: int) -> None:
        if done:  # a task that is done again begins anew
            self._report(done - self._done[number])
            self._done[number] = done
            return
        try:
            self._outcomes[number] = self._outcome(self._futures[number])
        except TimeoutError:  # its worker was lost with it, so it is done again
            self._look_for_workers()
            self._heard.put((number, 0))

    def _look_for_workers(self) -> None:
        """Give up if there have been none for a while."""
        self._idle_since = 0.0 if self._cluster.workers() else self._idle_since or time.monotonic()
        if self._idle_since and time.monotonic() - self._idle_since > limits.CLUSTER_IDLE_SECONDS:
            raise self._cluster.without_workers()

    def _outcome(self, future: "Future") -> Any:  # noqa: ANN401 - whatever the task returned, or its error
        try:
            return future.result(timeout=1)
        except TimeoutError:
            raise
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - whatever went wrong on a worker
            return _fault(error, self._cluster)


def _check_certificates(url: str, connection_args: Callable[[str], dict[str, Any]]) -> None:
    """Refuse to speak over TLS without certificates, or with some that cannot be read."""
    try:
        context = connection_args("client").get("ssl_context")
    except (OSError, ValueError) as error:  # one of TLS is an OSError too
        raise UsageError(f"the certificates for {url} cannot be read: {error}", hint=_CERTIFICATES) from None
    if context is None:
        raise UsageError(f"{url} needs certificates", hint=_CERTIFICATES)


def _fault(error: BaseException, cluster: Cluster) -> HallError:
    """Return what Dask, or our code on a worker, says as an error of ours."""
    from distributed.client import FutureCancelledError  # noqa: PLC0415 - only where there is a cluster
    from distributed.scheduler import KilledWorker  # noqa: PLC0415

    if isinstance(error, HallError):
        return error
    if isinstance(error, FutureCancelledError | asyncio.CancelledError):
        return cluster.gone()
    if isinstance(error, KilledWorker):
        return DiskError("several workers died of one task", hint="do they have enough memory?")
    if isinstance(error, ImportError | AttributeError) or "deserialization" in str(error):
        return _other_installation(type(error.__cause__ or error).__name__)
    return InternalError(repr(error))


class Holders:
    """An object on every worker, made there. All are alike, so any of them can be asked."""

    def __init__(self, cluster: Cluster, make: Callable[[], object]) -> None:
        self._cluster = cluster
        self._make = make
        self._held: dict[str, Future] = {}
        self._actors: dict[str, Actor] = {}
        self._overtaken = frozenset[str]()
        self._looking = threading.Lock()
        self._looked_at = 0.0

    def count(self) -> int:
        """Return how many there are, which is looked at again now and then, and after a failure."""
        with self._looking:
            if not self._actors or time.monotonic() - self._looked_at > limits.CLUSTER_LOOK_SECONDS:
                self._look()
            self._add_actors()
            return len(self._actors)

    def ask(self, method: str, arguments: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        """Call a method of some objects, by their places, each with arguments of its own, and all side by side."""
        calls = {place: pickle.dumps((method, each)) for place, each in arguments.items()}
        deadline = time.monotonic() + limits.CLUSTER_SECONDS
        try:
            return self._asked(calls, deadline)
        except DiskError:
            if self._looked_at:  # no worker was lost, so others would say the same
                raise
        with self._looking:
            self._look()
            _wait(list(self._held.values()))  # also for whoever has come in the place of one that was lost
        return self._asked(calls, deadline)

    def _asked(self, calls: Mapping[int, bytes], deadline: float) -> dict[int, Any]:
        if not self.count():
            raise self._cluster.without_workers()
        try:
            found: dict[int, Any] = self._cluster.client.sync(
                self._ask_all, calls, callback_timeout=max(0.0, deadline - time.monotonic())
            )
        except TimeoutError:
            raise DiskError("the workers took too long to answer", hint="try again") from None
        except (OSError, RuntimeError, asyncio.CancelledError):  # the connection itself was lost
            self._looked_at = 0.0
            raise self._cluster.gone() from None
        return found

    async def _ask_all(self, calls: Mapping[int, bytes]) -> dict[int, Any]:
        addresses, asked = deque(self._actors), []
        for place, call in calls.items():
            addresses.rotate(-place)
            asked.append(self._ask(sorted(addresses, key=self._overtaken.__contains__), call))
            addresses.rotate(place)
        return dict(zip(calls, await asyncio.gather(*asked), strict=True))

    async def _ask(self, addresses: Sequence[str], call: bytes) -> Any:  # noqa: ANN401 - whatever the method returns
        """Return the first answer; the next is asked when one is lost, or is silent for a while.

        Those that were overtaken are asked last until the workers are looked at again. If one was lost and all others
        are silent, it is time for that: the one that was lost may have been started again.
        """
        waiting, failure = set[asyncio.Task[Any]](), self._cluster.without_workers()
        others = deque(addresses)
        try:
            while others or waiting:
                if others:
                    address = others.popleft()
                    waiting.add(asyncio.create_task(self._call(address, call), name=address))
                patience = (
                    limits.CLUSTER_SLOW_SECONDS
                    if others
                    else None
                    if self._looked_at
                    else limits.CLUSTER_CONNECT_SECONDS
                )
                done, waiting = await asyncio.wait(waiting, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
                if not done and not others:
                    break
                for each in done:
                    try:
                        answer = each.result()
                    except DiskError as error:  # any other error would be the same elsewhere
                        failure = error
                        continue
                    asked_before = addresses[: addresses.index(each.get_name())]
                    self._overtaken |= {other.get_name() for other in waiting}.intersection(asked_before)
                    return answer
            raise failure
        finally:
            for each in waiting:
                each.cancel()

    async def _call(self, address: str, call: bytes) -> Any:  # noqa: ANN401 - as above
        try:
            answer = pickle.loads(await self._actors[address].call(call))  # noqa: S301 - of our own workers
        except Exception as error:  # whatever Dask says of a worker that is lost
            self._held = {other: each for other, each in self._held.items() if other != address}
            self._actors = {other: each for other, each in self._actors.items() if other != address}
            self._looked_at = 0.0
            raise DiskError(f"the worker {address} was lost", hint="try again") from error
        if isinstance(answer, HallError):
            raise answer
        return answer

    def _look(self) -> None:
        """Have an object made on each worker that is there now; wait for them only if there is no other."""
        client, present = self._cluster.client, self._cluster.workers()
        known = {address: each for address, each in self._held.items() if each.client is client and not _is_lost(each)}
        make = partial(client.submit, _Held, version("contexthall"), self._make, actor=True, pure=False)
        made = {
            address: make(workers=[address], key=f"contexthall-{uuid4().hex}")
            for address in present
            if address not in known
        }
        self._held = {address: (known | made)[address] for address in present}
        self._actors = {address: each for address, each in self._actors.items() if address in known}
        if not self._actors:
            _wait(list(self._held.values()))
            if failed := [each for each in self._held.values() if each.status == "error"]:
                raise _fault(failed[0].exception(), self._cluster)
        self._overtaken = frozenset()
        self._looked_at = time.monotonic()

    def _add_actors(self) -> None:
        from distributed import Actor  # noqa: PLC0415 - as above

        with self._cluster.client.as_current():
            self._actors = self._actors | {
                address: Actor(_Held, address, future.key)
                for address, future in self._held.items()
                if address not in self._actors and future.status == "finished"
            }


class _Held:
    """The object, on a worker. Calls and answers are bytes: Dask takes ten times as long to send a list."""

    def __init__(self, made_by: str, make: Callable[[], object]) -> None:
        _check_version(made_by)
        self._object = make()

    def call(self, data: bytes) -> bytes:
        method, arguments = pickle.loads(data)  # noqa: S301 - of whoever may run code here
        try:
            answer = getattr(self._object, method)(*arguments)
        except HallError as error:
            answer = error
        return pickle.dumps(answer)


def _is_lost(future: "Future") -> bool:
    return future.status not in {"finished", "pending"}


def _wait(futures: "Sequence[Future]") -> None:
    """Wait until one is there, and a little longer for the others: a worker may have been lost, or be busy."""
    ended = SimpleQueue[object]()
    for future in futures:
        future.add_done_callback(ended.put)
    deadline = time.monotonic() + limits.CLUSTER_CONNECT_SECONDS
    with suppress(Empty):
        for _ in futures:
            ended.get(timeout=max(0.0, deadline - time.monotonic()))
            deadline = min(deadline, time.monotonic() + limits.CLUSTER_SLOW_SECONDS)


def _work(made_by: str, task: ParallelTask, number: int, topic: str) -> Any:  # noqa: ANN401 - whatever the task returns
    """Run a task on a worker, which tells how far it is, and stops if nobody waits for it any more."""
    from distributed import get_worker  # noqa: PLC0415 - as above

    _check_version(made_by)
    worker, done = get_worker(), 0
    key = worker.get_current_task()

    def report(more: int) -> None:
        nonlocal done
        done += more
        worker.log_event(topic, (number, done))
        state = worker.state.tasks.get(key)
        if state is None or state.state == "cancelled":
            raise InternalError("nobody waits for this any more")

    with _ALONE:
        return task(report)


@contextmanager
def local_cluster(workers: int, port: int, scratch: str) -> Iterator[str]:
    """Start a scheduler and workers on this machine, which write into a folder, and yield the scheduler's URL."""
    try:
        import dask  # noqa: PLC0415 - as above
        from distributed import LocalCluster  # noqa: PLC0415
    except ImportError:
        raise _missing() from None
    _quieten()
    # A worker that is killed is started again by its nanny, however often; Dask's own patience is 15 seconds.
    dask.config.set({"temporary-directory": scratch, "distributed.deploy.lost-worker-timeout": "1 day"})
    # Ctrl-C in a terminal is for this process: its threads, and the workers that they start, do not see it.
    resource_tracker.ensure_running()  # which would lift what is blocked
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        started = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            scheduler_port=port,
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        )
    except (OSError, RuntimeError) as error:
        hint = "choose another --port, or 0 for a free one"
        raise DiskError(f"the cluster cannot be started: {error.__cause__ or error}", hint=hint) from None
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    with started:
        yield str(started.scheduler_address)


def worker_name() -> str:
    """Return which worker this process is, for people."""
    from distributed import get_worker  # noqa: PLC0415 - as above

    return f"the worker {get_worker().address} (process {os.getpid()})"


def _missing() -> UsageError:
    return UsageError("clusters need Dask", hint="pip install 'contexthall[cluster]'")


def _quieten() -> None:
    """Let nobody but us tell what goes wrong, and that once."""
    for name in ("tornado.application", *logging.root.manager.loggerDict):
        if name.startswith(("distributed", "tornado")):
            logging.getLogger(name).setLevel(logging.CRITICAL)


def _check_version(asked_by: str) -> None:
    if version("contexthall") != asked_by:
        raise _other_installation(f"contexthall {version('contexthall')}, and not {asked_by}")


def _other_installation(reason: str) -> UsageError:
    hint = "install the same contexthall, with the same extras, for the scheduler and every worker"
    return UsageError(f"the cluster has another installation than this machine: {reason}", hint=hint)
