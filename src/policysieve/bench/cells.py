"""Measurements in cells, each kept in a file of its own with the code that measured it."""

import hashlib
import json
import os
import signal
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import closing, contextmanager
from functools import cache
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import policysieve
from policysieve.errors import ClusterError, InvalidArgumentError
from policysieve.files import write_whole
from policysieve.naming import meant

if TYPE_CHECKING:
    from policysieve.scale import RayEngine

__all__ = [
    "Cell",
    "Progress",
    "Runner",
    "SayStep",
    "check_names",
    "code_version",
    "keep_cell",
    "kept_cell",
    "on_all_cores",
    "on_cluster",
    "run_cells",
]

Progress = Callable[[int, int, str], None]
"""Is told how many cells are done, of how many, and the name of the last."""

SayStep = Callable[[str], None]
"""Is told the name of the next step, by benchmarks without cells."""

_ROOT = Path(policysieve.__file__).parent
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
_SHOWING_ROOMS = ("cli", "report")
_SHOWING_FILES = ("page.py", "pages.py")  # of benchmarks


class Cell(NamedTuple):
    """One measurement.

    Attributes
    ----------
    name : str
        Of its file, too.
    settings : dict
        What it was measured with, as JSON has it: a kept cell of other settings, or of other code,
        is run anew.
    measure : callable
        A function of a module, because another process calls it.
    arguments : tuple
    """

    name: str
    settings: dict[str, Any]
    measure: Callable[..., dict[str, Any]]
    arguments: tuple[Any, ...]


Runner = Callable[[Sequence[Cell]], Generator[tuple[Cell, dict[str, Any]], None, None]]
"""Runs cells, and yields each with what it found as soon as that is known."""


def check_names(argument: str, names: Sequence[str], known: Collection[str]) -> None:
    """Refuse a name that is not among those that can be measured."""
    for name in names:
        if name not in known:
            raise InvalidArgumentError(
                f"{argument} must be among {', '.join(known)}, got {name!r}"
                f"{meant(name, list(known))}"
            )


def kept_cell(folder: Path | None, name: str, settings: dict[str, Any]) -> dict[str, Any] | None:
    """What was found by a finished cell of the same settings and code, or None.

    A file that was damaged or edited is none.
    """
    if folder is None:
        return None
    try:
        saved = json.loads(_path(folder, name).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    found: dict[str, Any] = saved.get("found", {}) if isinstance(saved, dict) else {}
    return found if saved == _content(settings, found) else None


def keep_cell(
    folder: Path | None, name: str, settings: dict[str, Any], found: dict[str, Any]
) -> None:
    """Write what a cell found, if there is a folder."""
    if folder is not None:
        place = _path(folder, name)
        place.parent.mkdir(parents=True, exist_ok=True)
        write_whole(place, json.dumps(_content(settings, found)).encode())


def run_cells(
    cells: Sequence[Cell], *, folder: Path | None, progress: Progress, runner: Runner | None = None
) -> dict[str, dict[str, Any]]:
    """Run cells on all cores, or where the `runner` does; those in `folder` are not run again.

    Returns what every cell found, by name.
    `progress` hears of each cell that was run: how many are done, of how many, and its name.
    """
    done = {
        cell.name: found
        for cell in cells
        if (found := kept_cell(folder, cell.name, cell.settings)) is not None
    }
    left = [cell for cell in cells if cell.name not in done]
    with closing((runner or on_all_cores)(left)) as running:
        for cell, done[cell.name] in running:
            keep_cell(folder, cell.name, cell.settings, done[cell.name])
            progress(len(done), len(cells), cell.name)
    return done


def on_all_cores(cells: Sequence[Cell]) -> Generator[tuple[Cell, dict[str, Any]], None, None]:
    """Run cells in processes of this machine, one for each core."""
    others = set(active_children())
    # A fresh process for each worker: forked ones could inherit locks of running threads.
    with (
        _one_thread_each(),
        ProcessPoolExecutor(
            os.cpu_count(), mp_context=get_context("spawn"), initializer=_leave_interrupts
        ) as pool,
    ):
        running = {pool.submit(cell.measure, *cell.arguments): cell for cell in cells}
        try:
            for future in as_completed(running):
                yield running[future], future.result()
        except BaseException:
            # A cell may take minutes. The pool's own thread, and no other, waits for the ended
            # workers: of two threads that wait for one process, the later is told nothing.
            for worker in set(active_children()) - others:
                worker.terminate()
            raise


def on_cluster(engine: "RayEngine") -> Runner:
    """Run cells on the workers of a cluster, on which the same code must be installed.

    A cell whose worker or node is lost is run again by another one, and found once.
    """

    def run(cells: Sequence[Cell]) -> Generator[tuple[Cell, dict[str, Any]], None, None]:
        code = engine.share(_code(), "the version of the code")
        with closing(engine.as_done(_on_worker, cells, code, name=_name)) as running:
            yield from running

    return run


def _name(cell: Cell) -> str:
    return f"cell {cell.name}"


def _on_worker(cell: Cell, code: str) -> dict[str, Any]:
    """What a cell found, unless it would be that of other code."""
    if _code() != code:
        raise ClusterError(
            f"the nodes of the cluster must have the code of this process, {code}, got {_code()}; "
            "install the same version everywhere"
        )
    return cell.measure(*cell.arguments)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Workers that are started meanwhile multiply matrices in one thread.

    There is a worker for each core. Threads of theirs wait for one another: making a pool of 5,000
    linear policies took 80 seconds on two busy cores, and takes one.
    """
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _leave_interrupts() -> None:
    """In a worker: Ctrl-C is for the process that started it, which then ends its workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _code() -> str:
    return code_version(measuring_only=True)


def _content(settings: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """What a file holds, with a checksum of what was found, as JSON has it."""
    checksum = hashlib.sha256(json.dumps(found).encode()).hexdigest()
    return {"settings": settings, "code": _code(), "found": found, "sha256": checksum}


def _path(folder: Path, name: str) -> Path:
    return folder / "cells" / f"{name}.json"


@cache
def code_version(*, measuring_only: bool = False) -> str:
    """The package's version and a short hash of its source, as in ``0.1.0+1a2b3c4d``.

    The same source has the same hash on every machine.

    Parameters
    ----------
    measuring_only : bool
        Leave out what only prints and draws, which changes no measurement.
    """
    digest = hashlib.sha256()
    names = sorted(path.relative_to(_ROOT).as_posix() for path in _ROOT.rglob("*.py"))
    for name in names:
        if not (measuring_only and _only_shows(name)):
            source = (_ROOT / name).read_bytes().replace(b"\r\n", b"\n")
            digest.update(f"{name} {len(source)}\n".encode() + source)
    return f"{policysieve.__version__}+{digest.hexdigest()[:8]}"


def _only_shows(name: str) -> bool:
    room, *inside = name.split("/")
    return room in _SHOWING_ROOMS or (room == "bench" and inside[-1] in _SHOWING_FILES)
