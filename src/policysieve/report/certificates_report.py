"""The report of the benchmark of certificates."""

from typing import Any

from policysieve.report.formats import Beyond, Cell
from policysieve.report.page import Page
from policysieve.report.size_plots import rounds_to_certify

__all__ = ["certificates_page"]


def certificates_page(result: dict[str, Any], made_by: str) -> Page:
    """A page about how often certificates are wrong, and how soon they come."""
    false, power = result["false"], result["power"]
    runs, delta, limit = (false[0][key] for key in ("runs", "delta", "limit"))
    most = max(row["false"] for row in false)
    page = Page(
        "Are certificates true, and how soon do they come?",
        "False certificates counted on worlds where they are most likely, and the methods raced "
        "to a true one on the same data.",
        configuration={
            "runs": runs,
            "delta of the runs": delta,
            "seeds": power[0]["seeds"],
            "max_rounds": power[0]["max_rounds"],
            "n_actions": list(dict.fromkeys(row["n_actions"] for row in power)),
        },
        made_by=made_by,
    )
    page.facts(
        {
            "Most false certificates": (most, f"in {runs:,} runs, of any method"),
            "Allowed": (limit, f"by delta {delta:g}, at level 0.999"),
        }
    )
    page.text(
        f"No method may be wrong in more than {limit:,} of {runs:,} runs. "
        + ("None was." if most <= limit else "At least one was: its certificates are not true."),
        statement=True,
    )
    page.section("How soon")
    page.figure(
        rounds_to_certify(power),
        "Median rounds until each method certifies epsilon 0.05 among 50 policies of close value, "
        "on a log scale: further left is better. A hollow mark had no certificate when it was "
        "given up there.",
        name="certificates",
    )
    page.table(
        ["exploration", "actions", *(_words(method) for method in power[0]["rounds"])],
        [
            [_words(row["source"]), row["n_actions"]]
            + [_rounds(rounds, row["max_rounds"]) for rounds in row["rounds"].values()]
            for row in power
        ],
        f"The same in numbers, medians over {power[0]['seeds']} seeds.",
    )
    page.section("How often wrong")
    page.table(
        ["method", "exploration", "false", "runs", "allowed"],
        [
            [_words(row["method"]), row["explorer"], row["false"], row["runs"], row["limit"]]
            for row in false
        ],
        "Runs in which a certificate was ever wrong, looked at after every batch. The best of four "
        "arms is ahead by a little more than epsilon; greedy exploration misleads on purpose.",
    )
    return page


def _rounds(rounds: float | None, most: int) -> Cell:
    return Beyond(most) if rounds is None else round(rounds)


def _words(name: str) -> str:
    return name.replace("_", " ")
