"""Where a study stands, for people and for machines."""

from typing import TYPE_CHECKING

from policysieve.cli.output import print_json, print_table, print_text

if TYPE_CHECKING:
    from policysieve.study import Study

__all__ = ["print_status"]


def print_status(opened: "Study", as_json: bool) -> None:
    """Print where a study stands."""
    status = opened.status()
    if as_json:
        print_json(status.to_dict())
        return
    print_table(
        f"{status.name}: {status.learner} with {status.candidates}",
        ["rounds", "how many"],
        [(what, f"{count:,}") for what, count in status.counts.items()],
    )
    best = status.recommendation
    recommended = f"Recommended: {best.policy_name}. " if best.rounds else ""
    print_text(f"{recommended}{best.guarantee}")
    if status.held_up is not None and best.rounds:  # otherwise the guarantee has said it
        print_text(status.held_up)
    if status.archived:
        print_text("It is archived.")
