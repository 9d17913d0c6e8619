"""Results as small cards that notebooks show, readable on light and on dark paper.

A card has no style sheet and no script, because notebooks drop them, and takes the colours of the
notebook: text is the notebook's own, lines and tints are half-transparent.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from policysieve.arrays import shown
from policysieve.report.card import (
    Facts,
    between,
    card,
    interval,
    paragraph,
    pill_with,
    rows_table,
    short,
)
from policysieve.report.cost_report import cost_facts
from policysieve.report.log_cards import (
    few_names,
    health_card,
    log_card,
    log_file_card,
    rewards_in,
)
from policysieve.report.table import CellValue, gain_fact, shown_text, value_text

if TYPE_CHECKING:
    from policysieve.evidence import Certificate, Guardrail, Segments, Selection, ValueIntervals
    from policysieve.experiment import ExperimentResult
    from policysieve.exploration import ExploringCost, Forecast, Recommendation, Status
    from policysieve.problem import Problem
    from policysieve.reported import Carded
    from policysieve.simulate import RunResult
    from policysieve.study import StudyStatus

__all__ = ["card_of"]

_LEADERS = 5  # policies in a card


def card_of(result: "Carded") -> str:
    """The card of a result, as HTML that stands by itself.

    It never raises: a result that is not complete has a card that says what is missing.
    """
    for kind in type(result).__mro__:
        make = _CARDS.get(kind.__name__)
        if make is not None:
            try:
                return make(result)
            except Exception as error:  # a look must not fail, whatever is inside
                return card(kind.__name__, text=f"It cannot be shown: {shown(error)}.")
    return card(type(result).__name__, text=shown(result))


def _problem(problem: "Problem") -> str:
    return card(
        "Problem",
        text=f"Find a policy within {problem.epsilon:g} of the best, with probability at least "
        f"{1 - problem.delta:g}.{' Lower is better.' if problem.scale.minimize else ''}",
        facts={
            "Actions": (problem.n_actions, few_names(problem.actions)),
            "In a round": shown_text(problem.slate_size),
            "Sparsity": "not known" if problem.sparsity is None else problem.sparsity,
            "epsilon": problem.epsilon,
            "delta": problem.delta,
            **({} if problem.against is None else {"Better than": problem.against}),
            **rewards_in(problem.reward_range, "Costs" if problem.scale.minimize else "Rewards"),
            **({} if problem.traffic == 1 else {"Exploring rounds": problem.traffic}),
            **({} if problem.max_loss is None else {"May cost": problem.max_loss}),
            **{f"Guardrail on {name}": x for name, x in (problem.guardrails or {}).items()},
        },
    )


def _cost(cost: "ExploringCost") -> str:
    facts: dict[str, CellValue | tuple[CellValue, str]] = {
        "Cost in all" if cost.minimize else "Earned": cost.earned
    }
    for lost in (cost.best,) if cost.today is None else (cost.today, cost.best):
        facts[f"Against {lost.policy_name}"] = (lost.estimate, between(lost.lower, lost.upper))
    facts["Rounds"] = (cost.rounds, cost.explored_in_words)
    return card("What exploring has cost", text=cost.guarantee, facts=facts)


def _status(status: "Status") -> str:
    best = status.recommendation
    left = "" if status.left is None else f"{status.left:,} more rounds may explore"
    words = "exploring" if status.exploring else "not exploring"
    return card(
        f"{status.learner} recommends {best.policy_name}",
        _pill_of(best.certified, best.guardrails),
        text=best.guarantee,
        facts={
            "Rounds": (status.rounds, f"{status.pending:,} pending" if status.pending else ""),
            **({} if status.survivors is None else {"Survivors": status.survivors}),
            "Suboptimality bound": best.suboptimality_bound,
            **gain_fact(best.gain, best.against),
            **cost_facts(status.cost),
            **{
                f"Guardrail on {name}": ("not proved", f"{n:,} outcomes are open" if n else "")
                for name, n in status.unproved.items()
            },
            "Traffic": (status.traffic, words),
            **({} if status.max_loss is None else {"May cost": (status.max_loss, left)}),
            "Finished": status.finished,
        },
    )


def _recommendation(best: "Recommendation") -> str:
    return card(
        best.policy_name,
        _pill_of(best.certified, best.guardrails),
        text=best.guarantee,
        facts={
            "Estimated value": (best.value, between(best.lower, best.upper)),
            "Suboptimality bound": best.suboptimality_bound,
            **gain_fact(best.gain, best.against),
            **{
                f"Outcome {name}": (one.value, between(one.lower, one.upper))
                for name, one in (best.outcomes or {}).items()
            },
            **_guardrails(best.guardrails),
            "Rounds": best.rounds,
        },
    )


def _forecast(forecast: "Forecast") -> str:
    said = forecast.total is not None
    return card(
        "How long will it take?",
        text=forecast.sentence(),
        facts={
            "Rounds so far": forecast.rounds,
            **({"Rounds in all": (forecast.total, _rounds_between(forecast))} if said else {}),
            **(
                {} if forecast.days is None else {"Days": (forecast.days, f"until {forecast.date}")}
            ),
        },
    )


def _rounds_between(forecast: "Forecast") -> str:
    if forecast.exact:
        return ""
    return f"{forecast.level:.0%}: {forecast.lower:,} to {forecast.upper:,}"


def _guardrails(guardrails: "Sequence[Guardrail] | None") -> Facts:
    return {f"Guardrail on {one.outcome}": one.verdict for one in guardrails or ()}


def _segments(segments: "Segments") -> str:
    first, second = segments.names[:2]
    return card(
        f"For whom is {first} better than {second}?",
        text=segments.guarantee,
        facts={one.label: (one.difference[0], between(*one.difference[1:])) for one in segments},
    )


def _certificate(proof: "Certificate") -> str:
    return card(
        proof.policy_name,
        _pill_of(proof.certified),
        facts={
            "Suboptimality bound": proof.suboptimality_bound,
            **gain_fact(proof.gain, proof.against),
            **_eliminated(proof),
            "Rounds": (proof.rounds, f"{proof.pending:,} pending" if proof.pending else ""),
            "Method": proof.method,
        },
    )


def _selection(selection: "Selection") -> str:
    proof, chosen = selection.certificate, selection.chosen
    limits = selection.intervals
    return card(
        f"The log selects {selection.policy_name}",
        _pill_of(proof.certified),
        text=selection.guarantee,
        facts={
            "Estimated value": (
                selection.value,
                between(limits.lower[chosen], limits.upper[chosen]),
            ),
            "Suboptimality bound": (
                proof.suboptimality_bound,
                f"asked for: {value_text(selection.problem.epsilon)}",
            ),
            **gain_fact(proof.gain, proof.against),
            **_guardrails(selection.guardrails),
            **_eliminated(proof),
            "Rounds": (proof.rounds, f"{proof.pending:,} pending" if proof.pending else ""),
        },
        below=_leaders(selection.leaders(_LEADERS), chosen, limits),
    )


def _run(result: "RunResult") -> str:
    best = result.recommendation
    distance: Facts = (
        {} if result.suboptimality is None else {"True suboptimality": result.suboptimality}
    )
    return card(
        f"{result.learner} recommends {best.policy_name}",
        _pill_of(best.certified, best.guardrails),
        text=best.guarantee,
        facts={
            "Estimated value": (best.value, between(best.lower, best.upper)),
            "Suboptimality bound": (
                best.suboptimality_bound,
                f"asked for: {value_text(result.problem.epsilon)}",
            ),
            **gain_fact(best.gain, best.against),
            "Rounds": (result.rounds, "finished" if result.finished else "not finished"),
            **distance,
        },
        below=_leaders(result.leaders(_LEADERS), best.policy, result.intervals),
    )


def _experiment(result: "ExperimentResult") -> str:
    known = result.learners[0].median_suboptimality is not None
    many = len(result.seeds) > 1
    rows: list[list[CellValue]] = [
        [
            learner.name,
            None if learner.certified_rounds is None else round(learner.certified_rounds),
            f"{learner.n_certified} of {len(learner.seeds)}",
            learner.median_bound,
            *([learner.median_suboptimality] * known),
            learner.recommendation.policy_name,
        ]
        for learner in result.learners
    ]
    columns = ["learner", "proved after", "by seeds", "bound at end"]
    return card(
        f"{len(rows)} learners compared" if len(rows) > 1 else str(rows[0][0]),
        text=f"At most {result.rounds:,} rounds to prove epsilon {result.problem.epsilon:g}"
        + (f", with {len(result.seeds)} seeds each; medians." if many else "."),
        below=rows_table(columns + ["distance"] * known + ["recommends"], rows),
    )


def _study(status: "StudyStatus") -> str:
    best = status.recommendation
    return card(
        f"{status.name} recommends {best.policy_name}",
        _pill_of(best.certified),
        text=best.guarantee,
        facts={
            "Estimated value": (best.value, between(best.lower, best.upper)),
            "Rounds": (status.rounds, f"{status.learnt:,} learnt from"),
            **cost_facts(status.cost),
            "Open": status.open,
            "Expired": status.expired,
            "Late or refused": status.late + status.refused,
        },
        below=_leaders(status.leaders(_LEADERS), status.chosen, status.intervals),
    )


# By the names of their classes, as pages are.
_CARDS: dict[str, Callable[[Any], str]] = {
    "Certificate": _certificate,
    "ExperimentResult": _experiment,
    "Forecast": _forecast,
    "ExploringCost": _cost,
    "Log": log_card,
    "LogFile": log_file_card,
    "LogHealth": health_card,
    "Problem": _problem,
    "Recommendation": _recommendation,
    "RunResult": _run,
    "Segments": _segments,
    "Selection": _selection,
    "Status": _status,
    "StudyStatus": _study,
}


def _eliminated(proof: "Certificate") -> Facts:
    """How many, of a class that can be listed."""
    n = len(proof.eliminated)
    return {"Eliminated": (int(proof.eliminated.sum()), f"of {n:,} policies")} if n else {}


def _leaders(leaders: Sequence[Mapping[str, Any]], chosen: Any, limits: "ValueIntervals") -> str:
    """The leading policies with their intervals, drawn on one scale; nothing if there is one."""
    if len(leaders) < 2:
        return ""
    low = min(float(row["lower"]) for row in leaders)
    high = max(float(row["upper"]) for row in leaders)
    rows: list[list[CellValue]] = [
        [short(row["name"]), row["value"], row["lower"], row["upper"]] for row in leaders
    ]
    drawn = [interval(row, low, high, row["policy"] == chosen) for row in leaders]
    count = len(limits.values)
    best = "lowest" if limits.minimize else "largest"
    more = f"The {len(rows)} {best} estimates of {count:,}." if count > len(rows) else ""
    return rows_table(["policy", "estimate", "lower", "upper"], rows, drawn) + paragraph(more)


def _pill_of(certified: bool, guardrails: "Sequence[Guardrail] | None" = None) -> str:
    if not certified:
        return pill_with("not certified", "open")
    if any(one.verdict == "not proved" for one in guardrails or ()):
        return pill_with("certified, guardrail not proved", "open")
    return pill_with("certified", "good")
