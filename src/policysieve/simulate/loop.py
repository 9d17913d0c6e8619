"""The loop: a learner in a world, with progress and history."""

from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from policysieve.arrays import as_list, shown
from policysieve.checks import as_rng, integer
from policysieve.errors import InvalidArgumentError, UnknownValueError
from policysieve.exploration import Explorer
from policysieve.exploration.costs import lost_to_today
from policysieve.exploration.forecast import about
from policysieve.naming import check_same_actions
from policysieve.policies import Policies, Usage
from policysieve.policies.policy_class import names_of_actions
from policysieve.progress import bar_shows, progress_bar
from policysieve.scaling import range_in_words
from policysieve.simulate.result import Checkpoint, RunResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from policysieve.exploration import Exploration
    from policysieve.log import Log
    from policysieve.worlds import World

__all__ = ["run"]

_MOST_CHECKPOINTS = 1_000_000


def run(
    learner: Explorer,
    world: "World",
    max_rounds: int = 20_000,
    *,
    batch_size: int | None = None,
    checkpoints: int | Iterable[int] = 30,
    progress: bool = True,
    on_checkpoint: "Callable[[Checkpoint], None] | None" = None,
    on_batch: "Callable[[Log, Exploration], None] | None" = None,
    rng: Any = 0,
) -> RunResult:
    """Let a learner play in a world until it has finished or the rounds run out.

    Where the world knows it, the result has the true value of every policy, unless that takes
    calls: functions and models are asked about the contexts that are drawn, and about no others.
    ``world.values(policies)`` asks them about all.

    Parameters
    ----------
    learner, world
        They must agree on the numbers of actions and of items in a slate.
    max_rounds : int
        Rounds after which to stop.
    batch_size : int, optional
        Contexts asked for at once; by default as many as ``learner.batch_size`` advises.
    checkpoints : int or increasing round numbers
        Where to ask for a recommendation on the way: that many, evenly spread on a log scale, or
        at the given rounds. It is asked for after the batch that gets there, because a batch that
        was cut short would change the experiment. The end of the run is always one.
    progress : bool
        Show a progress bar if the output is a terminal.
    on_checkpoint : callable, optional
        Called with each checkpoint when the run gets there, the last one included.
    on_batch : callable, optional
        Called with the rounds of each batch and the exploration that decided them; twice if some
        of them explore and the others do not.
    rng : seed or numpy Generator
        For the world. The same seeds give the same bits.

    Raises
    ------
    InvalidArgumentError
        If the world does not fit the learner, or an argument breaks a rule.
    """
    max_rounds = integer("max_rounds", max_rounds, low=1)
    if batch_size is not None:
        batch_size = integer("batch_size", batch_size, low=1)
    asked = checkpoints
    if isinstance(checkpoints, Iterable):
        asked = as_list("checkpoints", checkpoints, "a number, or increasing rounds")
    stops = _stops(asked, max_rounds)
    world_rng = as_rng(rng)
    _check_fit(learner, world)
    policies, looked_at = learner.policies, -1
    true_values, best = _truth(learner, world)
    history: list[Checkpoint] = []

    def look() -> None:
        nonlocal policies, looked_at, true_values, best
        if looked_at < learner.played:
            looked_at = learner.played
            if policies is not learner.policies:  # some have joined
                policies = learner.policies
                true_values, best = _truth(learner, world)
            recommendation = learner.recommend()
            gap = None
            if best is not None:
                gap = best - _value(recommendation.policy, true_values, world)
                gap = -gap + 0.0 if learner.problem.scale.minimize else gap
            lost = lost_to_today(learner)
            history.append(Checkpoint(recommendation=recommendation, suboptimality=gap, lost=lost))
            if on_checkpoint is not None:
                on_checkpoint(history[-1])

    start, spent = learner.played, _spent(learner)
    with progress_bar(type(learner).__name__, max_rounds, quiet=not progress) as move:
        while not learner.finished and learner.played - start < max_rounds:
            played = learner.played - start
            size = min(max(1, learner._batch_of(batch_size)), max_rounds - played)
            draw = world.draw(size, world_rng)
            if not len(draw):
                break
            played, explored = learner.played, learner._spending.explored
            decided_by, today = learner.exploration, learner._today
            _play(learner, draw)
            if on_batch is not None:
                end = played + learner._spending.explored - explored
                if end > played:
                    on_batch(learner.log[played:end], decided_by)
                if learner.played > end and today is not None:
                    on_batch(learner.log[end:], today)
            move(learner.played - start)
            if stops and learner.played - start >= stops[0]:
                stops = [stop for stop in stops if stop > learner.played - start]
                look()
                if bar_shows(not progress):
                    move(learner.played - start, title=_how_far(learner))
    look()
    return RunResult(
        learner=type(learner).__name__,
        recommendation=history[-1].recommendation,
        rounds=learner.played - start,
        history=tuple(history),
        suboptimality=history[-1].suboptimality,
        finished=learner.finished,
        problem=learner.problem,
        intervals=learner.intervals(),
        true_values=true_values,
        configuration={
            "world": repr(world),
            "max_rounds": max_rounds,
            "batch_size": "as advised" if batch_size is None else batch_size,
            "checkpoints": asked,
            "seed": rng if isinstance(rng, int | np.integer) else None,
        },
        usage=_spent(learner, spent),
        cost=learner.cost(),
    )


def _how_far(learner: Explorer) -> str:
    """The name of a learner, and how many rounds its proof is expected to take."""
    name, expected = type(learner).__name__, learner.forecast().proof_expected
    return name if expected is None else f"{name}, proof expected after about {about(expected)}"


def _spent(learner: Explorer, before: Usage | None = None) -> Usage | None:
    """What asking the candidates has cost since then, if any were called."""
    policies = learner.policies
    usage = policies.usage() if isinstance(policies, Policies) else Usage(())
    since = usage if before is None else usage.since(before)
    return since if since.candidates else None


def _truth(
    learner: Explorer, world: "World"
) -> tuple[npt.NDArray[np.float64] | None, float | None]:
    """Values of all policies, if they can be listed, and of the best one, where they are known.

    They take every answer at every context: candidates are not called for that.
    """
    if learner.policies.called:
        return None, None
    costs = learner.problem.scale.minimize
    try:
        if learner.policies.n_policies is None:  # whose best is the one that earns the most
            return None, None if costs else world.best_value(learner.policies)
        values = world.values(learner.policies)
        return values, float(values.min() if costs else values.max())
    except UnknownValueError:
        return None, None


def _value(policy: Any, values: npt.NDArray[np.float64] | None, world: "World") -> float:
    if values is None:
        return world.value(policy)
    return float(values[policy]) if isinstance(policy, int) else float(policy.average(values))


def _play(learner: Explorer, draw: Any) -> None:
    available = getattr(draw, "available", None)
    if available is None:
        decisions = learner.ask(draw.contexts)
    else:
        decisions = learner.ask(draw.contexts, available=available)
    rewards = draw.rewards(decisions.actions)
    known = ~np.isnan(rewards).any(axis=1)  # a replayed log cannot answer every round
    if known.all():
        learner.tell(decisions, rewards)
        return
    learner.discard(decisions[~known])
    if known.any():
        learner.tell(decisions[known], rewards[known])


def _check_fit(learner: Explorer, world: "World") -> None:
    if not isinstance(learner, Explorer):
        raise InvalidArgumentError(
            f"learner must be one such as Sieve(policies, problem), got {shown(learner)}"
        )
    if not all(hasattr(world, name) for name in ("n_actions", "slate_size", "sparsity", "draw")):
        raise InvalidArgumentError(
            f"world must be one of policysieve.worlds, or of their kind, got {shown(world)}"
        )
    for name in ("n_actions", "slate_size"):
        theirs, ours = getattr(world, name), getattr(learner.problem, name)
        if theirs != ours:
            raise InvalidArgumentError(
                f"world and learner must agree on {name}, got {theirs} and {ours}"
            )
    mine = names_of_actions(learner.policies, learner.problem)
    check_same_actions(getattr(world, "actions", None), mine, of="world and learner")
    given, wanted = getattr(world, "reward_range", None), learner.problem.scale.range
    if given is not None and given != wanted:
        raise InvalidArgumentError(
            f"the learner's problem declares rewards in {range_in_words(wanted)}, but the world's "
            f"lie in {range_in_words(given)}; use world.problem(epsilon=..., delta=...)"
        )
    declared = learner.problem.sparsity
    if (
        declared is not None
        and world.sparsity is not None
        and world.sparsity > declared * (1 + 1e-9)
    ):
        raise InvalidArgumentError(
            f"the learner's problem declares sparsity {declared:g}, but the world's rewards sum to "
            f"up to {world.sparsity:g}; use world.problem(epsilon=..., delta=...)"
        )


def _stops(checkpoints: int | Iterable[int], max_rounds: int) -> list[int]:
    if isinstance(checkpoints, Iterable):
        stops = [integer("checkpoints", stop, low=1) for stop in checkpoints]
        if any(b <= a for a, b in pairwise(stops)):
            raise InvalidArgumentError(f"checkpoints must be increasing rounds, got {stops}")
    else:
        count = integer("checkpoints", checkpoints, low=0, high=_MOST_CHECKPOINTS)
        first = min(100, max_rounds)
        stops = sorted({round(stop) for stop in np.geomspace(first, max_rounds, count)})
    return [stop for stop in stops if stop < max_rounds]
