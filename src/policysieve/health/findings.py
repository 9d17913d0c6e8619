"""What the sums over a log say about its health, one finding at a time."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.arrays import shown
from policysieve.evidence.change import Change
from policysieve.evidence.weights import MeanWeights, inverse
from policysieve.health.beside_findings import beside_findings
from policysieve.health.finding import Finding, Verdict
from policysieve.health.weight_tests import LogSums, WeightTests
from policysieve.scaling import Range

__all__ = ["Finding", "Verdict", "findings"]

_FEW_ROUNDS = 100  # effective ones, below which a log says little
_HEAVY = 0.1  # share of all weight that one round should not have
_NAMED = 5  # actions that a sentence names


def findings(
    tests: WeightTests, change: Change | None, reward_range: Range = None
) -> Iterator[Finding]:
    """All findings; first whether actions are missing, which explains mean weights below 1."""
    yield _never_shown(tests)
    yield _mean_weight(tests)
    yield _over_time(tests)
    yield _actions(tests)
    yield _by_context(tests)
    yield _exploration(tests)
    yield _smallest(tests)
    yield _effective_rounds(tests.sums)
    yield _rewards(tests.sums, reward_range)
    yield _ids(tests.sums)
    yield _times(tests.sums)
    yield _world(tests, change)
    if tests.sums.odd_cells.any:
        yield _columns(tests.sums)
    yield from beside_findings(tests.sums)


def _mean_weight(tests: WeightTests) -> Finding:
    what = f"The mean importance weight, over all {tests.n_actions:,} actions,"
    return _about("mean weight", tests.whole, 0, what)


def _over_time(tests: WeightTests) -> Finding:
    worst, width = tests.over_time.worst, tests.sums.width
    first, last = worst * width, min((worst + 1) * width, tests.sums.rounds) - 1
    found = _about(
        "weight over time",
        tests.over_time,
        worst,
        f"The mean importance weight of rounds {first:,} to {last:,}",
        many="stretches of rounds",
    )
    return _with(found, first_round=first, last_round=last, stretches=len(tests.over_time.mean))


def _actions(tests: WeightTests) -> Finding:
    worst = tests.by_action.worst
    found = _about(
        "frequency of actions",
        tests.by_action,
        worst,
        f"The mean importance weight of action {tests.name_of(worst)}",
        many="actions",
    )
    limits = "exact binomial" if tests.fixed else "empirical Bernstein"
    return _with(found, action=worst, shown=int(tests.shown[worst]), limits=limits)


def _by_context(tests: WeightTests) -> Finding:
    worst = tests.by_context.worst
    group, action = divmod(worst, tests.n_actions)
    found = _about(
        "frequency by context",
        tests.by_context,
        worst,
        f"The mean importance weight of action {tests.name_of(action)} in group {group} of "
        "contexts",
        many="pairs of action and group",
    )
    return _with(found, action=action, group=group)


def _about(name: str, weights: MeanWeights, which: int, what: str, many: str = "") -> Finding:
    """Judge the mean weights by their limits, and say which is furthest off."""
    mean, low, high = (float(part.flat[which]) for part in vars(weights).values())
    count, wrong = weights.mean.size, int(weights.wrong.sum())
    low = max(low, 0.0)
    value = f"{mean:.3g} ({low:.3g} to {high:.3g})"
    if count > 1:
        value = f"worst of {count:,}: {value}"
    numbers = {"mean": mean, "lower": low, "upper": high, "wrong": wrong, "of": count}
    if not wrong:
        may = f"Of all {count:,} {many}, none is off. {what}" if many else what
        return Finding(name, "ok", value, f"{may} may be 1, as it should be.", numbers)
    cause = (
        "the propensities are too small to be probabilities of being shown"
        if low > 1
        else "propensities are too large, or not every action could be shown in every round"
    )
    also = f" In all, {wrong:,} of {count:,} {many} are off." if wrong > 1 else ""
    sentence = f"{what} is {mean:.3g}, between {low:.3g} and {high:.3g}, not 1: {cause}.{also}"
    return Finding(name, "broken", value, sentence, numbers)


def _with(finding: Finding, **numbers: Any) -> Finding:
    return replace(finding, numbers={**finding.numbers, **numbers})


def _exploration(tests: WeightTests) -> Finding:
    certain, rounds = tests.sums.certain, tests.sums.rounds
    name, value = "exploration", f"{rounds - certain:,} of {rounds:,} rounds"
    numbers = {"without_choice": certain, "rounds": rounds}
    if not certain or tests.sums.mass.slate_size == tests.n_actions:
        return Finding(name, "ok", value, "Every round could have shown others.", numbers)
    return Finding(
        name,
        "broken",
        value,
        f"{certain:,} of {rounds:,} rounds have propensities of 1 only, so nothing else could be "
        "shown: they say nothing about what other actions earn. Leave out the rounds that did not "
        "explore, if that was decided without a look at actions and rewards.",
        numbers,
    )


def _never_shown(tests: WeightTests) -> Finding:
    never, n_actions = np.flatnonzero(tests.shown == 0), tests.n_actions
    value = f"{n_actions - len(never):,} of {n_actions:,} actions"
    numbers = {"never_shown": len(never), "n_actions": n_actions}
    if not len(never):
        return Finding("coverage", "ok", value, "Each of the actions was shown.", numbers)
    numbered = never.tolist() == [0] and tests.name_of(0) == "0"
    from_one = "Are actions numbered from 1? Here the first is 0. " if numbered else ""
    return Finding(
        "coverage",
        "warning",
        value,
        f"{from_one}{len(never):,} of {n_actions:,} actions were never shown "
        f"({_names(tests, never)}): nothing is known about policies that show them.",
        numbers,
    )


def _smallest(tests: WeightTests) -> Finding:
    name, mass = "smallest propensity", tests.sums.mass
    value = f"{mass.smallest:.3g}"
    share = float(inverse(mass.smallest)) / mass.total
    numbers: dict[str, Any] = {"smallest": mass.smallest, "share_of_weight": share}
    crowded = tests.crowded()
    if crowded is not None:
        count = int(tests.sums.sizes[crowded:].sum())
        return Finding(
            name,
            "broken",
            value,
            f"{count:,} of {mass.rounds:,} rounds show an item of propensity {0.5**crowded:.3g} or "
            "less, more often than such items can come up: these propensities are too small.",
            {**numbers, "rounds": count, "at_most": 0.5**crowded},
        )
    if mass.rounds > 1 and share > _HEAVY:
        return Finding(
            name,
            "warning",
            value,
            f"The smallest propensity is {value}, and one item of it has {share:.0%} of the weight "
            "of the whole log: estimates hang on single rounds.",
            numbers,
        )
    return Finding(name, "ok", value, f"No propensity is below {value}.", numbers)


def _effective_rounds(sums: LogSums) -> Finding:
    effective = sums.mass.effective_rounds
    few = effective < _FEW_ROUNDS
    return Finding(
        "effective rounds",
        "warning" if few else "ok",
        f"{effective:,.0f} of {sums.rounds:,}",
        f"By their weights, the {sums.rounds:,} rounds are worth {effective:,.0f} of equal weight"
        + (": too few to conclude much." if few else "."),
        {"rounds": sums.rounds, "effective_rounds": effective},
    )


def _world(tests: WeightTests, change: Change | None) -> Finding:
    name = "changed world"
    if tests.too_small:
        text = "Whether the world has changed cannot be told while propensities are too small."
        return Finding(name, "ok", "not tested", text, {"changed": None})
    if change is None:
        text = "Rewards and contexts may come from one world throughout."
        return Finding(name, "ok", "no change seen", text, {"changed": False})
    advice = "collect new rounds"
    if change.alarm < change.ends[-1]:
        advice = (
            f"use the rounds from {change.alarm:,} on alone (since={change.alarm}), which had no "
            "part in finding it, and check these again, or collect new ones"
        )
    return Finding(
        name,
        "warning",
        f"around round {change.split:,}",
        f"{change.sentence()} What is concluded from the whole log "
        f"is about a mixture of both worlds. To learn about the new one, {advice}.",
        {"changed": True, **change.to_dict()},
    )


def _rewards(sums: LogSums, reward_range: Range) -> Finding:
    worth, something, anything = "0", "something", "anything"
    if reward_range is not None:
        worth = "what no answer is worth"
        something = anything = f"more than {reward_range[0]:g}, the least"
    rewarded, rounds, missing = sums.rewarded, sums.rounds, sums.incomplete
    numbers = {"rewarded": rewarded, "rounds": rounds, "missing": missing}
    value = f"{rewarded:,} of {rounds:,} rounds"
    if missing == rounds:
        return Finding("rewards", "broken", "missing", "All rewards are missing.", numbers)
    if missing:
        text = (
            f"{missing:,} of {rounds:,} rounds have a missing reward: count it as {worth} if its "
            "deadline has passed. Leaving such rounds out is right only if that has nothing to do "
            "with what they earned."
        )
        return Finding("rewards", "warning", f"{missing:,} missing", text, numbers)
    if not rewarded:
        text = f"No round earned {anything}: nothing can be compared."
        return Finding("rewards", "warning", value, text, numbers)
    return Finding("rewards", "ok", value, f"{rewarded:,} rounds earned {something}.", numbers)


def _columns(sums: LogSums) -> Finding:
    odd, name = sums.odd_cells.found(), "columns"
    numbers = {"odd": [cell._asdict() for cell in odd]}
    if not odd:
        text = "No column of text looks like numbers, but for a few cells."
        return Finding(name, "ok", "no odd cells", text, numbers)
    first = odd[0]
    return Finding(
        name,
        "warning",
        f"{first.column} is text",
        f"Column {first.column} is text because of cells such as {shown(first.text)} in round "
        f"{first.round:,}, where {first.share:.1%} are {first.kind}: candidates get text for all "
        "of them. Mend those cells, or leave them empty.",
        numbers,
    )


def _ids(sums: LogSums) -> Finding:
    repeated = sums.repeated_ids()
    numbers = {"with_id": sums.identified, "repeated": repeated}
    if not sums.identified:
        return Finding("ids", "ok", "none", "Rounds have no ids, so repeats go unseen.", numbers)
    value = f"{repeated:,} repeated"
    if not repeated:
        return Finding("ids", "ok", value, "No id comes twice.", numbers)
    return Finding(
        "ids",
        "broken",
        value,
        f"The ids of {repeated:,} rounds came before: the same round would count twice. Keep "
        "one of each, or leave the ids out if they do not name rounds.",
        numbers,
    )


def _times(sums: LogSums) -> Finding:
    name, value = "time order", f"{sums.backwards:,} backwards"
    numbers = {"with_time": sums.timed, "backwards": sums.backwards}
    if not sums.timed:
        text = "Rounds have no times: they count as being in the order of their decisions."
        return Finding(name, "ok", "no times", text, numbers)
    if not sums.backwards:
        return Finding(name, "ok", value, "Rounds are in the order of their times.", numbers)
    return Finding(
        name,
        "warning",
        value,
        f"The times of {sums.backwards:,} rounds are earlier than that before: sort the log by "
        "the times of its decisions, because propensities may depend on what came before.",
        numbers,
    )


def _names(tests: WeightTests, actions: npt.NDArray[np.intp]) -> str:
    listed = ", ".join(map(tests.name_of, actions[:_NAMED].tolist()))
    return listed + (", ..." if len(actions) > _NAMED else "")
