"""Does the software behave as the theorems say? Rounds against what they should depend on."""

import json
from collections.abc import Iterator, Sequence
from math import ceil, sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from policysieve.bench.cells import Cell, Progress, Runner, check_names, code_version, run_cells
from policysieve.bench.rounds import DELTA, picking, proving, rounds_needed
from policysieve.bench.scaling.growth import COUNTS, GROWTHS, SEEDS, Growth, median_rounds
from policysieve.bench.scaling.sweeps import LEARNERS, RATES, SWEEPS, Point, Rate, Sweep
from policysieve.bench.scaling.worlds import arms_among_many
from policysieve.errors import FileFormatError
from policysieve.exploration.learners import LowVarianceExploration
from policysieve.theory import rate_variance, variance_bound

__all__ = ["KINDS", "ScalingSettings", "fit_slope", "measure_scaling"]

KINDS = ("right", "certified", "growth", "variance")
"""What can be measured: rounds until right and until certified in the sweeps, and the rest."""

_Place = tuple[str, str, str]  # sweep, kind and learner of a row

_FILE = "scaling.json"
_MOST = {"right": 2, "certified": 4}  # rates after which a learner is given up
_FEWEST = 200  # rounds that every learner gets
_DESIGN: dict[str, Any] = {"n_actions": 64, "sparsity": 4, "epsilon": 0.1}
_EXPLORE = (250, 1000, 4000, 16_000)
_EXPLORE_FULL = (250, 500, 1000, 2000, 4000, 8000, 16_000, 32_000, 64_000)
_LEVEL = 0.95  # of the interval of a slope
_ROUNDING = 1e-9


class ScalingSettings(NamedTuple):
    """How much is measured.

    Attributes
    ----------
    seeds : int
        Runs behind each number of rounds until right, and designs behind each variance.
    full : bool
        All points of the sweeps, or few.
    """

    seeds: int = 10
    full: bool = False

    def seeds_of(self, kind: str) -> int:
        """Half as many for certificates: medians vary less than the rounds of 95% of the seeds."""
        return (self.seeds + 1) // 2 if kind == "certified" else self.seeds


class _Measurement(NamedTuple):
    """Where a cell belongs: a point of a sweep, measured for one learner."""

    kind: str
    sweep: Sweep
    learner: str
    point: Point
    most: int

    @property
    def cell(self) -> str:
        return f"{self.kind}-{self.sweep.name}-{self.learner}-{self.point.x:.4g}"


def measure_scaling(
    sweeps: Sequence[str] = tuple(SWEEPS),
    *,
    kinds: Sequence[str] = KINDS,
    learners: Sequence[str] = LEARNERS,
    settings: ScalingSettings | None = None,
    folder: Path | None = None,
    progress: Progress = lambda _done, _all, _name: None,
    runner: Runner | None = None,
) -> dict[str, Any]:
    """Measure sweeps, the growth of proofs and the variance of designs.

    Cells in `folder` are not run again. Of its ``scaling.json``, rows of the same size that are not
    measured now are kept: each says which code measured it, and with how many seeds.

    Parameters
    ----------
    sweeps, kinds, learners : sequences of str
        What to measure. Sweeps and learners are those of the kinds "right" and "certified".
    settings, folder, progress

    Returns
    -------
    dict
        ``code`` that wrote it; ``settings``; ``sweeps``, a row for each sweep, kind ("right" or
        "certified") and learner, with its points and slopes; ``growth``, a row for each kind of
        worlds and varied quantity; ``variance``, a row for each size of phase 1.
    """
    settings = settings or ScalingSettings()
    check_names("sweeps", sweeps, SWEEPS)
    check_names("kinds", kinds, KINDS)
    check_names("learners", learners, LEARNERS)
    wanted = [
        one
        for name in sweeps
        for one in _measurements(SWEEPS[name], settings.full)
        if one.kind in kinds and one.learner in learners
    ]
    growths = list(GROWTHS.values()) if "growth" in kinds else []
    sizes = (_EXPLORE_FULL if settings.full else _EXPLORE) if "variance" in kinds else ()
    seeds = settings.seeds
    cells = [
        Cell(_growth_cell(one, x), {"seeds": SEEDS, **at}, median_rounds, (at, SEEDS))
        for one in growths
        for x, at in one.points(full=settings.full)
    ]
    cells += [_cell(one, settings) for one in wanted]
    cells += [
        Cell(f"variance-{n}", {"seeds": seeds, **_DESIGN}, _variance, (n, seeds)) for n in sizes
    ]
    before = _measured_before(folder, settings)
    found = run_cells(cells, folder=folder, progress=progress, runner=runner)
    lines: dict[_Place, list[_Measurement]] = {}
    for one in wanted:
        lines.setdefault((one.sweep.name, one.kind, one.learner), []).append(one)
    rows = [row for row in before["sweeps"] if _place(row) not in lines]
    rows += [
        _by(settings.seeds_of(kind)) | _line(line, [found[one.cell] for one in line])
        for (_, kind, _), line in lines.items()
    ]
    grown = [_by(SEEDS) | _growth_line(one, found, settings.full) for one in growths]
    designs = [_by(seeds) | found[f"variance-{n}"] for n in sizes]
    return {
        "code": code_version(),
        "settings": settings._asdict(),
        "sweeps": sorted(rows, key=_order),
        "growth": grown or before["growth"],
        "variance": designs or before["variance"],
    }


def _by(seeds: int) -> dict[str, Any]:
    """What a row says about how it was measured."""
    return {"code": code_version(measuring_only=True), "seeds": seeds}


def _measured_before(folder: Path | None, settings: ScalingSettings) -> dict[str, Any]:
    """What the folder's file holds of the same size, or `FileFormatError` if it is damaged."""
    nothing: dict[str, Any] = {"sweeps": [], "growth": [], "variance": []}
    if folder is None or not (folder / _FILE).exists():
        return nothing
    try:
        kept = json.loads((folder / _FILE).read_bytes())
        if kept["settings"]["full"] != settings.full:
            return nothing
        rows = [row for row in kept["sweeps"] if row["sweep"] in SWEEPS]
        for row in rows:
            _order(row)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise FileFormatError(
            f"{folder / _FILE} is not a result of bench scaling ({error}), so its rows cannot be "
            "kept; remove it, or name another folder"
        ) from error
    return {**nothing, **kept, "sweeps": rows}


def _place(row: dict[str, Any]) -> _Place:
    return row["sweep"], row["kind"], row["learner"]


def _order(row: dict[str, Any]) -> tuple[int, int, int]:
    sweep, kind, learner = _place(row)
    return list(SWEEPS).index(sweep), KINDS.index(kind), LEARNERS.index(learner)


def _cell(one: _Measurement, settings: ScalingSettings) -> Cell:
    seeds = settings.seeds_of(one.kind)
    used = {"seeds": seeds, "most": one.most, **one.point.settings}
    return Cell(one.cell, used, _rounds, (one, seeds))


def _measurements(sweep: Sweep, full: bool) -> Iterator[_Measurement]:
    points = sweep.points(full=full)
    for kind, learner in sweep.lines():
        for point in points:
            most = max(_FEWEST, ceil(_MOST[kind] * _at(RATES[learner], point)))
            yield _Measurement(kind, sweep, learner, point, most)


def _at(rate: Rate, point: Point) -> float:
    rounds = rate(point.problem, point.log_n_policies)
    assert rounds is not None  # every point of a sweep is within reach of its rates
    return rounds


def _rounds(one: _Measurement, seeds: int) -> dict[str, Any]:
    task = one.point.task
    if one.kind == "certified":
        found = proving(task, one.learner, seeds=seeds, most=one.most)
        return {"rounds": found["median"], "false": found["false"]}
    found = picking(task, one.learner, seeds=seeds, most=one.most, compared=0)
    return {"rounds": rounds_needed(found["budgets"], found["right"])}


def _line(line: list[_Measurement], found: list[dict[str, Any]]) -> dict[str, Any]:
    """What was measured for one learner in one sweep, and its slope."""
    first, sweep = line[0], line[0].sweep
    closer = sweep.closer if first.kind == "right" else None
    points = [
        {
            "x": one.point.x,
            "rate": _at(sweep.rates[one.learner], one.point),
            "lower_bound": sweep.lower_bound and _at(sweep.lower_bound, one.point),
            "most": one.most,
            **result,
        }
        for one, result in zip(line, found, strict=True)
    ]
    x, rounds, rates = ([point[key] for point in points] for key in ("x", "rounds", "rate"))
    return {
        "sweep": sweep.name,
        "summary": sweep.summary,
        "axis": sweep.axis,
        "kind": first.kind,
        "learner": first.learner,
        "points": points,
        **fit_slope(x, rounds, rates),
        "closer": closer and fit_slope(x, rounds, [_at(closer, one.point) for one in line]),
    }


def _growth_line(growth: Growth, found: dict[str, dict[str, Any]], full: bool) -> dict[str, Any]:
    """What was measured in one growth, with a slope for each count of rounds."""
    points = [
        {"x": x, **found[_growth_cell(growth, x)]} for x, _settings in growth.points(full=full)
    ]
    return {
        "growth": growth.name,
        "summary": growth.summary,
        "axis": growth.axis,
        "points": points,
        "slopes": {
            count: fit_slope(
                [point["x"] for point in points],
                [point["rounds"][count] for point in points],
                [point["rates"][count] for point in points],
            )
            for count in COUNTS
        },
    }


def _growth_cell(growth: Growth, x: float) -> str:
    return f"growth-{growth.name}-{x:.4g}"


def _variance(explore_rounds: int, seeds: int) -> dict[str, Any]:
    """The largest variance term of a design, exactly, and what bounds it: means over seeds."""
    true, observed, uniform, over = [], [], 0.0, 0
    for seed in range(seeds):
        world, policies = arms_among_many(seed, **_DESIGN)
        problem = world.problem(epsilon=_DESIGN["epsilon"], delta=DELTA)
        learner = LowVarianceExploration(
            policies, problem, explore_rounds=explore_rounds, estimate_rounds=1, rng=seed
        )
        rng = np.random.default_rng(1000 + seed)
        draw = world.draw(explore_rounds, rng)
        decisions = learner.ask(draw.contexts)
        learner.tell(decisions, draw.rewards(decisions.actions))
        design = learner.design
        assert design is not None
        true.append(float(world.variances(policies, design.propensities(world.contexts)).max()))
        observed.append(design.variance_bound)
        over += true[-1] > observed[-1]
        uniform = float(world.values(policies).max() * problem.n_actions)
    log_size = float(np.log(policies.n_policies))
    shared: dict[str, Any] = {"explore_rounds": explore_rounds, "mixing": learner.mixing}
    return {
        "explore_rounds": explore_rounds,
        "true": float(np.mean(true)),
        "largest": max(true),
        "observable": float(np.mean(observed)),
        "over_observable": over,
        "bound": variance_bound(problem, log_size, **shared, learning_rate=learner.learning_rate),
        "rate": rate_variance(problem, log_size, **shared),
        "uniform": uniform,
    }


def fit_slope(
    x: Sequence[float], measured: Sequence[float | None], predicted: Sequence[float]
) -> dict[str, Any]:
    """Slopes of what was measured and of what was predicted, by least squares.

    The interval of the measured slope is Student's 95% interval for the slope of measured over
    predicted, moved by the predicted slope. It is about scatter: a curve that was predicted, as at
    the crossover of two terms, does not widen it.

    Parameters
    ----------
    x, measured, predicted : sequence of the same length
        Points that were given up are None and do not count.

    Returns
    -------
    dict
        ``slope``, ``low``, ``high``, ``predicted``, all None below three points, and ``verdict``:
        "as predicted" when the interval holds the predicted slope, "below", "above" or "unknown".
    """
    known = [(at, y, p) for at, y, p in zip(x, measured, predicted, strict=True) if y is not None]
    if len(known) < 3:
        empty: dict[str, Any] = dict.fromkeys(("slope", "low", "high", "predicted"))
        return {**empty, "verdict": "unknown"}
    from scipy.special import stdtrit

    at, y, p = np.log(np.array(known)).T
    expected = float(np.polyfit(at, p, 1)[0])
    excess, start = np.polyfit(at, y - p, 1)
    left = y - p - start - excess * at
    freedom = len(known) - 2
    error = sqrt(float(left @ left) / freedom / float(((at - at.mean()) ** 2).sum()))
    slope = expected + float(excess)
    half = float(stdtrit(freedom, (1 + _LEVEL) / 2)) * error
    verdict = "as predicted"
    if abs(excess) > half + _ROUNDING:
        verdict = "above" if excess > 0 else "below"
    return {
        "slope": slope,
        "low": slope - half,
        "high": slope + half,
        "predicted": expected,
        "verdict": verdict,
    }
