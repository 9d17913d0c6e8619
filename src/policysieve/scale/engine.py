"""A Ray cluster, started here or connected to, and maps over parts of work on it."""

import os
import pickle
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from ipaddress import ip_address
from itertools import islice
from types import TracebackType
from typing import Any, Self, TypeVar

from policysieve.arrays import shown
from policysieve.checks import integer
from policysieve.errors import (
    ClusterError,
    FileFormatError,
    InvalidArgumentError,
    PolicySieveError,
    UnpicklableError,
)
from policysieve.files import Paths
from policysieve.log import ColumnMap
from policysieve.scale.parts import PART_ROUNDS, PartedLog, opened

__all__ = ["RayEngine"]

Item = TypeVar("Item")

_AHEAD = 2  # parts for each worker that are being worked on, or wait to be taken
_RETRIES = 3  # of a part whose worker or node has died
_LOOPBACK = "127.0.0.1"
_RENAMED = (InvalidArgumentError, FileFormatError, ClusterError)


class RayEngine:
    """Where work in parts is done: on the workers of a Ray cluster.

    Ray moves Python objects between its processes with cloudpickle: your candidates, and what is
    computed from the log. So connect only to a cluster that is yours. What is in the files of a
    log is never unpickled.

    Parameters
    ----------
    address : str, optional
        Of a cluster that runs: ``"auto"`` for the one of this machine, or ``"host:port"``. By
        default one is started on this machine, on the loopback interface only, and stopped by
        `close`. In a process that is connected to a cluster already, that one is used.
    workers : int, optional
        Processes of a cluster that is started here; by default one for each core.

    Raises
    ------
    ClusterError
        If there is no such cluster.
    InvalidArgumentError
        If `workers` is given for a cluster that runs, or this process is connected to another.

    Examples
    --------
    >>> with RayEngine(workers=2) as engine:  # doctest: +SKIP
    ...     selection = ps.select(engine.log("logs/*.parquet"), policies, problem)
    """

    def __init__(self, address: str | None = None, *, workers: int | None = None) -> None:
        if address is not None and (not isinstance(address, str) or not address.strip()):
            raise InvalidArgumentError(
                f'address must be "auto" or "host:port" of a Ray cluster, got {shown(address)}'
            )
        if workers is not None:
            integer("workers", workers, low=1)
            if address is not None:
                raise InvalidArgumentError(
                    f"workers must be None for the cluster at {address}, which has its own; got "
                    f"{workers}"
                )
        ray = self.ray = _imported(address)
        self._task: Any = None
        self._owned = not ray.is_initialized()
        if self._owned:
            _connect(ray, address, workers)
        elif address not in (None, "auto", ray.get_runtime_context().gcs_address):
            raise InvalidArgumentError(
                f"address must be {ray.get_runtime_context().gcs_address}, the cluster that this "
                f"process is connected to, or None for that; got {address}"
            )

    @property
    def workers(self) -> int:
        """Parts that the cluster can work on at once: its cores, at least one."""
        return max(1, int(self.ray.cluster_resources().get("CPU", 1)))

    def share(self, value: Any, what: str) -> Any:
        """Send a value to the cluster once; the reference that is returned goes with many parts.

        Raises
        ------
        UnpicklableError
            If it cannot be sent; `what` says in words what it is.
        """
        try:
            return self.ray.put(value)
        except (TypeError, pickle.PicklingError, AttributeError) as error:
            known = isinstance(error, UnpicklableError)
            reason = str(error if known else error.__cause__ or error).splitlines()[0]
            raise UnpicklableError(
                f"{what} cannot be sent to the workers of the cluster: {reason}. Keep locks, "
                "connections and open files out of it, or open them where they are used"
            ) from error

    def map(
        self,
        function: Callable[..., Any],
        items: Iterable[Item],
        *shared: Any,
        name: Callable[[Item], str] = str,
    ) -> Iterator[Any]:
        """What a function returns for each item, in the order of the items.

        A few items are ahead of what was taken, so that memory does not grow with their number. An
        item whose worker or node dies is given to another one; its result is there once.

        Parameters
        ----------
        function : callable
            Of a module, so that workers can import it; called with the item and what is shared.
        items : iterable
        *shared
            References from `share`.
        name : callable
            From an item to what errors call it.

        Raises
        ------
        PolicySieveError
            What the function raised, with the item's name.
        ClusterError
            If it raised something else, or no worker could finish.
        """
        if self._task is None:
            self._task = self.ray.remote(num_cpus=1, max_retries=_RETRIES)(_on_worker)
        ahead, waiting = _AHEAD * self.workers, deque[tuple[Item, Any]]()
        try:
            for item in items:
                waiting.append((item, self._task.remote(function, item, *shared)))
                if len(waiting) >= ahead:
                    yield self._taken(*waiting.popleft(), name)
            while waiting:
                yield self._taken(*waiting.popleft(), name)
        finally:
            for _, reference in waiting:
                self.ray.cancel(reference, force=False)

    def as_done(
        self,
        function: Callable[..., Any],
        items: Iterable[Item],
        *shared: Any,
        name: Callable[[Item], str] = str,
    ) -> Generator[tuple[Item, Any], None, None]:
        """`map` in the order in which results are known, each with its item: none waits for others.

        What still runs when the caller stops is ended.
        """
        if self._task is None:
            self._task = self.ray.remote(num_cpus=1, max_retries=_RETRIES)(_on_worker)
        left, running = iter(items), dict[Any, Item]()
        try:
            while True:
                for item in islice(left, max(0, _AHEAD * self.workers - len(running))):
                    running[self._task.remote(function, item, *shared)] = item
                if not running:
                    return
                (ready,), _ = self.ray.wait(list(running), num_returns=1)
                item = running.pop(ready)
                yield item, self._taken(item, ready, name)
        finally:
            for reference in running:
                self.ray.cancel(reference, force=True)

    def _taken(self, item: Item, reference: Any, name: Callable[[Item], str]) -> Any:
        """The result for an item, or raise what it failed with."""
        errors = self.ray.exceptions
        try:
            return self.ray.get(reference)
        except errors.RayTaskError as error:
            raise _named(error.cause, name(item)) from error
        except errors.RayError as error:
            why = str(error).strip().splitlines()[0]
            raise ClusterError(
                f"{name(item)} could not be worked on in {_RETRIES + 1} attempts: {why}"
            ) from error

    def log(
        self,
        paths: Paths,
        *,
        filesystem: Any = None,
        part_rounds: int = PART_ROUNDS,
        reward_range: tuple[float, float] | None = None,
        missing_reward: float | None = None,
        columns: Mapping[str, Any] | ColumnMap | None = None,
        actions: Sequence[str] | None = None,
        max_bytes: int | None = None,
    ) -> PartedLog:
        """A log whose parts the workers read, for `select`, `check_log`, `design` and all others.

        Parameters
        ----------
        paths : path or sequence of paths
            Parquet files with one row for each round, which all workers can read: on a disk that
            they share, or in an object store (``"s3://bucket/logs/*.parquet"``). In the last part
            of a path ``*``, ``?`` and ``[...]`` stand for many, in the order of their names.
        filesystem : pyarrow.fs.FileSystem, optional
            Where the paths are, if that is no disk and an address does not say it.
        part_rounds : int
            Rounds of a part at most, but for those of one batch of a file. A worker holds one part
            at a time; results do not depend on it.
        reward_range, missing_reward, columns, actions, max_bytes
            As `LogFile` has them.

        Raises
        ------
        FileNotFoundError, FileFormatError, InvalidArgumentError
            As `LogFile` has it, and if files cannot be read in parts.
        """
        return opened(
            self,
            paths,
            filesystem,
            part_rounds=part_rounds,
            reward_range=reward_range,
            missing_reward=missing_reward,
            columns=columns,
            actions=actions,
            max_bytes=max_bytes,
        )

    def close(self) -> None:
        """Stop the cluster that was started here, or leave the one that was connected to."""
        if self._owned and self.ray.is_initialized():
            self.ray.shutdown()
        self._owned = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _imported(address: str | None) -> Any:
    """Ray, told before it is imported to report nothing and to leave loopback as it is.

    And to let workers run as other processes do: by default they wait for all that is busy here.
    """
    os.environ.setdefault("RAY_worker_niceness", "0")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    if address is None or _is_loopback(address):
        # Else Ray takes the machine's own address in place of 127.0.0.1, at which nobody listens.
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    import ray

    return ray


def _is_loopback(address: str) -> bool:
    host = address.rpartition(":")[0]
    try:
        return host == "localhost" or ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _connect(ray: Any, address: str | None, workers: int | None) -> None:
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        if address is not None:
            ray.init(address=address, **quiet)
            return
        ray.init(
            address="local",  # else it joins whatever cluster somebody has started here
            num_cpus=workers,
            include_dashboard=False,
            _node_ip_address=_LOOPBACK,
            **quiet,
        )
    except (ConnectionError, RuntimeError, TimeoutError, ValueError) as error:
        where = "on this machine" if address is None else f"at {address}"
        raise ClusterError(f"no Ray cluster {where}: {error}") from error


def _on_worker(function: Callable[..., Any], item: Any, *shared: Any) -> Any:
    _one_thread()
    return function(item, *shared)


@lru_cache(maxsize=1)
def _one_thread() -> None:
    """A worker has one core: Arrow would take them all."""
    import pyarrow as pa

    pa.set_cpu_count(1)
    pa.set_io_thread_count(2)


def _named(cause: Any, name: str) -> Exception:
    """An error of a worker that names the item it was about."""
    if isinstance(cause, _RENAMED):
        text = str(cause)
        return cause if name in text else type(cause)(f"{name}: {text}")
    if isinstance(cause, PolicySieveError):
        cause.add_note(f"while a worker of the cluster worked on {name}")
        return cause
    return ClusterError(f"{name} failed: {type(cause).__name__}: {cause}")
