"""What the rows of the race add up to: the Sieve against others, in ratios."""

from collections.abc import Callable
from math import exp, inf, log
from typing import TYPE_CHECKING, Any

import numpy as np

from policysieve.bench.racers import VOTERS
from policysieve.bench.rounds import COMPARED, budgets

if TYPE_CHECKING:
    from policysieve.bench.race.measuring import RaceSettings

__all__ = ["summary"]

Row = dict[str, Any]
ByTask = dict[str, dict[str, float | None]]

_LEAST_GAP = 1e-4  # average suboptimality: less counts as this, so that ratios stay finite


def summary(picking: list[Row], proving: list[Row], settings: "RaceSettings") -> dict[str, Any]:
    """Ratios of the Sieve's numbers to those of others, and their geometric means.

    A learner that was given up counts with the rounds at which it was, its last budget: a ratio to
    it is at most the one shown. Where the Sieve was given up itself there is no ratio.

    The suboptimality is averaged over seeds, and then over the budgets up to 3,000 rounds. A row
    that has not all of these budgets is left out. In ratios, averages below 0.0001 count as that.

    Returns
    -------
    dict
        ``right``, by task the best other learner of ours and the ratio of the rounds to be right to
        its, ``right_mean``, their mean, and ``right_means``, the mean against each other learner;
        ``gaps``, by task and learner the average suboptimality, and ``gap``, ``gap_mean`` and
        ``gap_means``, the same of these; ``proved``, by task the ratio of the rounds to a
        certificate to those of each other prover, and ``proved_mean``, the mean against each.
    """
    right = _by_task(picking, "needed")
    tried = {
        (row["task"], row["learner"]): row.get("budgets", [settings.most])[-1] for row in picking
    }
    gaps = _average_gaps(picking, budgets(min(settings.most, COMPARED)))

    def right_ratio(task: str, other: str) -> float | None:
        return _ratio(right[task]["Sieve"], right[task][other], tried[task, other])

    def gap_ratio(task: str, other: str) -> float:
        ours, theirs = (max(gaps[task][name] or 0.0, _LEAST_GAP) for name in ("Sieve", other))
        return ours / theirs

    proofs = _by_task(proving, "median")
    planned = {row["task"]: row["planned"] for row in proving}
    ratios: ByTask = {}
    for task, rounds in proofs.items():
        if "Sieve" in rounds:
            ratios[task] = {
                name: _ratio(rounds["Sieve"], n, settings.most_to_prove)
                for name, n in rounds.items()
                if name != "Sieve"
            }
            ratios[task]["plan"] = _ratio(rounds["Sieve"], planned[task], 0)
    names = dict.fromkeys(name for row in ratios.values() for name in row)
    return {
        **_against_others("right", right, right_ratio),
        "gaps": gaps,
        **_against_others("gap", gaps, gap_ratio),
        "proved": ratios,
        "proved_mean": {
            name: _geometric([row[name] for row in ratios.values() if name in row])
            for name in names
        },
    }


def _average_gaps(rows: list[Row], stops: list[int]) -> ByTask:
    """Mean suboptimality over some budgets, of those that played all of them."""
    found: ByTask = {}
    for row in rows:
        played = row.get("budgets", [])[: len(stops)] == stops
        if stops and played and row["learner"] not in VOTERS:
            average = float(np.mean(row["mean"][: len(stops)]))
            found.setdefault(row["task"], {})[row["learner"]] = average
    return found


def _against_others(
    key: str, found: ByTask, ratio: Callable[[str, str], float | None]
) -> dict[str, Any]:
    """The Sieve against the best other of ours on each task, and against each other on all."""
    best: dict[str, Row] = {}
    against: dict[str, float | None] = {}
    with_sieve = {task: values for task, values in found.items() if "Sieve" in values}
    for task, values in with_sieve.items():
        others = {
            name: inf if n is None else n
            for name, n in values.items()
            if name not in ("Sieve", *VOTERS)
        }
        if others:
            name = min(others, key=others.__getitem__)
            best[task] = {"best_other": name, "ratio": ratio(task, name)}
    for other in dict.fromkeys(name for values in found.values() for name in values):
        if other != "Sieve":
            against[other] = _geometric(
                [ratio(task, other) for task, values in with_sieve.items() if other in values]
            )
    return {
        key: best,
        f"{key}_mean": _geometric([row["ratio"] for row in best.values()]),
        f"{key}_means": against,
    }


def _by_task(rows: list[Row], key: str) -> ByTask:
    found: ByTask = {}
    for row in rows:
        found.setdefault(row["task"], {})[row["learner"]] = row[key]
    return found


def _ratio(ours: float | None, theirs: float | None, most: int) -> float | None:
    return None if ours is None else ours / (most if theirs is None else theirs)


def _geometric(ratios: list[float | None]) -> float | None:
    """Geometric mean; None if there is nothing to average, or a ratio is missing."""
    known = [ratio for ratio in ratios if ratio is not None]
    if not known or len(known) < len(ratios):
        return None
    return exp(sum(map(log, known)) / len(known))
