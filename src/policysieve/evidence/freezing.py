"""Evidence as plain arrays and back, so that it can be kept without pickle.

Of the past rounds only the later ones need to be kept again: those before them never change.
"""

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.columns import Columns
from policysieve.evidence.cohorts import Cohort
from policysieve.evidence.evidence import Evidence
from policysieve.evidence.incumbents import Incumbent
from policysieve.evidence.past import Model, Past
from policysieve.evidence.retrospect import Retrospect
from policysieve.evidence.standing import BIN_EDGES, Standing
from policysieve.policies import Slates

__all__ = ["evidence_arrays", "past_arrays", "thawed"]

Arrays = dict[str, npt.NDArray[Any]]


def evidence_arrays(evidence: Evidence) -> Arrays:
    """All but the past rounds."""
    standing, retrospect, incumbent = evidence.standing, evidence._retrospect, evidence._incumbent
    look = evidence.at_look
    arrays = {
        "rounds": np.array([evidence.rounds, evidence.next_look, look.rounds]),
        "past": np.array([len(evidence._past), len(look._past)]),
        "looked_up": np.array(evidence._past._looked_up),
        "kept_slates": evidence._past._kept,
        "tallies": np.stack([evidence._past.tally, look._past.tally]),
        "standing.rounds": np.array([standing.rounds, standing.leader]),
        "standing.survivors": standing.survivors,
        "standing.totals": standing.totals,
        "standing.cohorts": np.array([one[:3] for one in standing.cohorts.every]),
        "standing.weights": np.array([one.weights for one in standing.cohorts.every]),
        "standing.votes": standing.model.votes,
        "standing.rates": standing.model.rates,
        "standing.scale": np.array(standing.model.scale),
        "standing.kept": standing.kept,
        "retrospect.rounds": np.array(
            [retrospect.leader, retrospect.rounds, int(retrospect.holds)]
        ),
        "retrospect.threshold": np.array(retrospect.log_threshold),
        "retrospect.rivals": retrospect.rivals,
        "retrospect.counted": retrospect.counted,
        "retrospect.log_wealth": retrospect.log_wealth,
    }
    arrays |= {f"gone.{i}": array for i, array in enumerate(standing.gone.arrays)}
    if incumbent is not None:
        arrays |= {
            "incumbent.number": np.array(incumbent.number),
            "incumbent.threshold": np.array(incumbent.log_threshold),
            "incumbent.epsilons": incumbent.epsilons,
            "incumbent.log_wealth": incumbent.log_wealth,
        }
    return arrays


def past_arrays(evidence: Evidence, since: int = 0) -> Arrays:
    """The past rounds, from one of them on."""
    past = evidence._past
    offsets = past._offsets.arrays[0][since:]
    arrays: Arrays = {"kept_slates": past._kept, "offsets": offsets - offsets[0]}
    arrays |= {f"rounds.{i}": array[since:] for i, array in enumerate(past._rounds.arrays)}
    arrays |= {f"lists.{i}": array[offsets[0] :] for i, array in enumerate(past._lists.arrays)}
    if past._answers is not None:
        said = past._answers
        arrays["answers"] = said.rows[since:] if past._looked_up else said.table[since:]
    return arrays


def thawed(fresh: Evidence, arrays: Arrays, pasts: list[Arrays]) -> Evidence:
    """Evidence as it was.

    Parameters
    ----------
    fresh : Evidence
        Of the same policies and problem, before any round.
    arrays : dict
        From `evidence_arrays`.
    pasts : list of dict
        From `past_arrays`, each from where the one before ended.
    """
    evidence, first = copy(fresh), fresh.standing
    survivors = arrays["standing.survivors"].astype(np.intp)
    votes = arrays["standing.votes"]
    votes.flags.writeable = False
    rounds, leader = map(int, arrays["standing.rounds"])
    evidence.standing = Standing(
        first.problem,
        rounds=rounds,
        survivors=survivors,
        totals=arrays["standing.totals"],
        cohorts=replace(first.cohorts, every=_cohorts(arrays)),
        gone=Columns(*(arrays[f"gone.{i}"] for i in range(4))),
        leader=leader,
        model=Model(
            survivors, votes, BIN_EDGES, arrays["standing.rates"], float(arrays["standing.scale"])
        ),
        kept=arrays["standing.kept"].astype(np.intp),
        comparator=first.comparator,
    )
    leader, looked, holds = map(int, arrays["retrospect.rounds"])
    evidence._retrospect = Retrospect(
        evidence.standing.cohorts,
        float(arrays["retrospect.threshold"]),
        leader,
        arrays["retrospect.rivals"].astype(np.intp),
        arrays["retrospect.counted"],
        arrays["retrospect.log_wealth"],
        looked,
        bool(holds),
    )
    if "incumbent.number" in arrays:
        evidence._incumbent = Incumbent(
            evidence.standing,
            float(arrays["incumbent.threshold"]),
            int(arrays["incumbent.number"]),
            arrays["incumbent.epsilons"],
            arrays["incumbent.log_wealth"],
        )
    evidence._past = _past(fresh, arrays, pasts)
    evidence.rounds, evidence.next_look, at_look = map(int, arrays["rounds"])
    evidence.__dict__.pop("at_look", None)
    look = copy(evidence)
    look.rounds = at_look
    look._past = _beginning(evidence._past, int(arrays["past"][1]), arrays["tallies"][1])
    evidence.at_look = look
    return evidence


def _cohorts(arrays: Arrays) -> tuple[Cohort, ...]:
    pairs = zip(arrays["standing.cohorts"], arrays["standing.weights"], strict=True)
    return tuple(
        Cohort(int(first), int(size), int(since), (float(total), float(square)))
        for (first, size, since), (total, square) in pairs
    )


def _past(fresh: Evidence, arrays: Arrays, pasts: list[Arrays]) -> Past:
    past = copy(fresh._past)
    past._looked_up = bool(arrays["looked_up"])
    past.tally, past._kept = arrays["tallies"][0], arrays["kept_slates"].astype(np.intp)
    if not pasts:
        return past
    past._rounds = Columns(*(_joined(pasts, f"rounds.{i}") for i in range(4)))
    past._lists = Columns(*(_joined(pasts, f"lists.{i}") for i in range(3)))
    lengths = np.concatenate([np.diff(part["offsets"]) for part in pasts])
    past._offsets = Columns(np.concatenate([[0], lengths.cumsum()]).astype(np.int64))
    said = [part for part in pasts if "answers" in part]
    if said and past._looked_up:
        rows = _joined(said, "answers").astype(np.intp)
        past._answers = fresh.policies.answers_at(rows)
    elif said:
        tables = [
            part["answers"][:, np.searchsorted(part["kept_slates"], past._kept)] for part in said
        ]
        past._answers = Slates(np.concatenate(tables))
    if len(past) != arrays["past"][0]:
        raise ValueError(f"{len(past)} rounds in place of {int(arrays['past'][0])}")
    return past


def _joined(pasts: list[Arrays], name: str) -> npt.NDArray[Any]:
    return np.concatenate([part[name] for part in pasts])


def _beginning(past: Past, n: int, tally: npt.NDArray[np.float64]) -> Past:
    """The first n rounds."""
    first, end = copy(past), int(past._offsets.arrays[0][n])
    first.tally = tally
    first._rounds = Columns(*(array[:n] for array in past._rounds.arrays))
    first._lists = Columns(*(array[:end] for array in past._lists.arrays))
    first._offsets = Columns(past._offsets.arrays[0][: n + 1])
    if past._answers is not None:
        first._answers = past._answers.take(slice(n))
    return first
