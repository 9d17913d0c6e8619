"""Everything about the speed and the steadiness of the service, in one run."""

import os
import tempfile
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from policysieve.bench.cells import SayStep, code_version
from policysieve.bench.service.load import Load, closed_loop, open_loop
from policysieve.bench.service.paint import NotShownError, first_paint, why_not
from policysieve.bench.service.servers import Server, bare_server, our_server

__all__ = ["ServiceSettings", "measure_service"]

_CLIENTS = 8
_MUST = 200.0  # asks and tells a second that it must take
_SIZE = 50  # rounds of a batch
_FEW = 5  # errors that a result tells
_TURN, _SHORTER = 60.0, 5  # seconds before the bare app has its turn, which is shorter
_QUANTILES = (0.5, 0.9, 0.99, 0.999)
_STOLEN = 7  # the column of /proc/stat for time that other virtual machines took


@dataclass(frozen=True, kw_only=True)
class ServiceSettings:
    """How much is measured.

    Parameters
    ----------
    blocks : int
        Turns that our service and the bare app take, one after the other.
    block_seconds : float
        Of each, with one client and with several.
    batch_seconds : float
        For which batches are asked for and told.
    soak_seconds : float
        For which people come, half as many as it must take.
    busier_seconds : float
        For which they come then, half as many as it took.
    """

    blocks: int = 5
    block_seconds: float = 4.0
    batch_seconds: float = 10.0
    soak_seconds: float = 60.0
    busier_seconds: float = 60.0

    @classmethod
    def quick(cls) -> Self:
        """Less than half a minute of it."""
        return cls(
            blocks=2, block_seconds=1.5, batch_seconds=2.0, soak_seconds=6.0, busier_seconds=3.0
        )


def measure_service(
    settings: ServiceSettings | None = None,
    progress: SayStep = lambda _step: None,
    folder: Path | None = None,
) -> dict[str, Any]:
    """Measure a service with one worker on SQLite; `progress` hears the name of each step.

    Everything runs on 127.0.0.1, and ends with the call.

    Parameters
    ----------
    settings : ServiceSettings, optional
    progress : callable
    folder : path, optional
        On the disk to measure; by default that of temporary files.

    Returns
    -------
    dict
        Plain values for JSON: the ``code`` that measured, the ``settings``, one entry for each
        step, and in ``skipped`` the steps for which something is not installed.
    """
    chosen = settings or ServiceSettings()
    results: dict[str, Any] = {"code": code_version(), "settings": asdict(chosen)}
    skipped: dict[str, str] = {}
    with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as made:
        here = Path(made)
        progress("pairs")
        results["pairs"] = _pairs(here, chosen)
        progress("batches")
        results["batches"] = _batches(here, chosen)
        progress("soak")
        per_second = results["pairs"]["per_second"]["ours"]["several"]
        soak = partial(_soak, here, warm_seconds=chosen.block_seconds / 2)
        results["soak"] = soak("soak", rate=_MUST / 2, seconds=chosen.soak_seconds)
        progress("busier")
        results["busier"] = soak("busier", rate=per_second / 2, seconds=chosen.busier_seconds)
        progress("restart")
        results["restart"] = _restart(here)
        reason = why_not()
        if reason is None:
            progress("paint")
            with our_server(here, "soak") as server:
                try:
                    results["paint"] = first_paint(f"http://127.0.0.1:{server.port}/studies/study")
                except NotShownError as error:  # all else was measured
                    reason = str(error)
        if reason is not None:
            skipped["paint"] = reason
    return {**results, "skipped": skipped}


def _pairs(folder: Path, chosen: ServiceSettings) -> dict[str, Any]:
    """Rounds asked for and told one at a time, by both servers in turn."""
    clients = {"one": 1, "several": _CLIENTS}
    with our_server(folder, "ours") as ours, bare_server(folder) as bare:
        servers = {"ours": ours, "bare": bare}
        for server in servers.values():
            closed_loop(server.port, clients=_CLIENTS, seconds=chosen.block_seconds / 2)  # warms
        found: dict[str, dict[str, list[Load]]] = {
            name: {count: [] for count in clients} for name in servers
        }
        computed = {name: _cpu(server) for name, server in servers.items()}
        for block in range(chosen.blocks):
            for count, n in clients.items():
                for name, server in servers.items():
                    found[name][count].append(
                        closed_loop(
                            server.port, clients=n, seconds=chosen.block_seconds, seed=block
                        )
                    )
        computed = {name: _cpu(server) - computed[name] for name, server in servers.items()}
    speeds = {
        name: {count: [load.per_second for load in loads] for count, loads in by_count.items()}
        for name, by_count in found.items()
    }
    every = {name: [load for loads in found[name].values() for load in loads] for name in found}
    return {
        "clients": _CLIENTS,
        "per_second": {
            name: {count: float(np.median(values)) for count, values in by_count.items()}
            for name, by_count in speeds.items()
        },
        "ratios": {
            count: float(
                np.median(np.array(speeds["ours"][count]) / np.array(speeds["bare"][count]))
            )
            for count in clients
        },
        "server_milliseconds": {
            name: 1e3 * computed[name] / sum(load.rounds for load in every[name]) for name in found
        },
        "client_milliseconds": {
            name: 1e3 * sum(load.cpu for load in every[name]) / sum(r.rounds for r in every[name])
            for name in found
        },
        "errors": {name: _told_errors(loads) for name, loads in every.items()},
    }


def _batches(folder: Path, chosen: ServiceSettings) -> dict[str, Any]:
    """Rounds in batches, by several clients at once."""
    with our_server(folder, "batches") as server:
        closed_loop(server.port, clients=2, seconds=chosen.batch_seconds / 5, size=_SIZE)
        load = closed_loop(
            server.port, clients=_CLIENTS, seconds=chosen.batch_seconds, size=_SIZE, seed=1
        )
    return {"size": _SIZE, "per_second": load.per_second, "errors": _told_errors([load])}


def _soak(
    folder: Path, name: str, *, rate: float, seconds: float, warm_seconds: float
) -> dict[str, Any]:
    """People who come at random moments, so many a second.

    After each minute they go to the bare app for a while: what is slow there, too, is the machine.
    Kernels are loaded before; what that takes is seen when it starts again.
    """
    with our_server(folder, name) as server, bare_server(folder, f"{name}-bare") as bare:
        for each in (server, bare):
            closed_loop(each.port, clients=_CLIENTS, seconds=warm_seconds, seed=1)
        megabytes: list[float | None] = []
        busy: list[float] = []

        def look() -> None:
            megabytes.append(server.megabytes())
            if hasattr(os, "getloadavg"):
                busy.append(os.getloadavg()[0])

        before, load, beside = _ticks(), Load(), Load()
        for start in np.arange(0.0, seconds, _TURN):
            turn, seed = min(_TURN, seconds - start), int(start)
            load.add(open_loop(server.port, rate=rate, seconds=turn, seed=seed, each_second=look))
            beside.add(open_loop(bare.port, rate=rate, seconds=turn / _SHORTER, seed=seed))
        passed = _ticks() - before
    known = [value for value in megabytes if value is not None]
    quarter = max(1, len(known) // 4)
    early = known[quarter : 2 * quarter] or known
    return {
        "seconds": load.seconds,
        "rate": rate,
        "rounds": load.rounds,
        "milliseconds": {str(q): load.milliseconds(q) for q in _QUANTILES},
        "bare_milliseconds": {str(q): beside.milliseconds(q) for q in _QUANTILES},
        "slowest_by_minute": load.by_minute(0.99),
        "errors": _told_errors([load]),
        "load_average": [float(np.median(busy)), max(busy)] if busy else None,
        "stolen": float(passed[_STOLEN] / passed.sum()) if passed.any() else None,
        "megabytes": known,
        "megabytes_early": float(np.median(early)) if known else None,
        "megabytes_late": float(np.median(known[-quarter:])) if known else None,
    }


def _restart(folder: Path) -> dict[str, Any]:
    """Seconds until a service is ready again on what the soak has left, and has answered."""
    with our_server(folder, "soak") as server:
        load = closed_loop(server.port, clients=1, seconds=0.1)
    return {
        "ready_seconds": server.started_in,
        "first_seconds": load.asked[0] if load.asked else None,
        "errors": _told_errors([load]),
    }


def _ticks() -> npt.NDArray[np.int64]:
    """Of the machine's cores so far, by what they did; zeros where that is not told."""
    try:
        words = Path("/proc/stat").read_text().partition("\n")[0].split()[1 : _STOLEN + 2]
    except OSError:
        words = ["0"] * (_STOLEN + 1)
    return np.array(words, np.int64)


def _cpu(server: Server) -> float:
    return server.cpu() or float("nan")


def _told_errors(loads: list[Load]) -> dict[str, Any]:
    said = [error for load in loads for error in load.errors]
    return {"count": len(said), "first": said[:_FEW]}
