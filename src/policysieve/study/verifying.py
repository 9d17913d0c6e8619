"""Folding a study again from its beginning, and comparing bits."""

from typing import Any

from sqlalchemy import Connection, select

from policysieve.arrays import same_numbers
from policysieve.errors import FileFormatError
from policysieve.exploration.designs.saving import ExplorationFile
from policysieve.study.learning import Learning
from policysieve.study.ledger import SqlLedger
from policysieve.study.results import Verification
from policysieve.study.schema import explorations

__all__ = ["verified"]

_ROUNDING = 1e-9  # relative; processors of other kinds round the last digit otherwise


def verified(ledger: SqlLedger, connection: Connection, known: Learning) -> Verification:
    """Fold all rounds that are known anew, and compare what came out with what is kept.

    Every published exploration must be the one that the rounds before it lead to, and what is known
    now, perhaps from a snapshot, what all of them do. Bits are compared. Where they differ, but
    numbers agree to nine digits, another kind of processor has made them: that is counted apart.
    """
    anew = Learning.first(SqlLedger(ledger.record, ledger.policies))
    wrong: list[str] = []
    made = rounded = 0
    rows = connection.execute(
        select(explorations.c.version, explorations.c.learnt, explorations.c.content)
        .where(explorations.c.study == ledger.record.study)
        .order_by(explorations.c.version)
    ).all()
    for row in rows:
        if row.learnt > known.learnt:
            break
        if row.learnt > anew.learnt:
            anew = anew.advanced(connection, until=row.learnt)
        name = f"exploration {row.version}"
        try:
            file = ExplorationFile.from_bytes(row.content, name)
            kept = file.exploration(ledger.policies)
        except FileFormatError as error:
            wrong.append(str(error))
            continue
        made += 1
        mine = anew.learner.exploration
        same = anew.learnt == row.learnt and mine.same_as(kept, within=_ROUNDING)
        rounded += same and not mine.same_as(kept)
        if not same:
            wrong.append(
                f"{name} is not what the first {row.learnt:,} rounds lead to, which have been "
                f"replayed up to {anew.learnt:,}"
            )
    if known.learnt > anew.learnt:
        anew = anew.advanced(connection, until=known.learnt)
    if anew.learnt != known.learnt:
        wrong.append(f"{anew.learnt:,} rounds were replayed, but {known.learnt:,} were learnt from")
    else:
        other = _other(anew, known)
        wrong += [] if other is None else [f"{other} another"]
    return Verification(
        rounds=anew.learnt, explorations=made, rounded=rounded, differences=tuple(wrong)
    )


def _other(anew: Learning, known: Learning) -> str | None:
    """What a learner that was folded anew says otherwise; None if nothing."""
    mine, theirs = anew.learner, known.learner
    if not _agree(mine.recommend().to_dict(), theirs.recommend().to_dict()):
        return "the recommendation is"
    if not _agree(mine.cost().to_dict(), theirs.cost().to_dict()):
        return "the cost of exploring is"
    ours, other = mine.intervals(), theirs.intervals()
    for name in ("values", "lower", "upper"):
        if not same_numbers(getattr(ours, name), getattr(other, name), _ROUNDING):
            return "an interval is"
    return None


def _agree(one: Any, two: Any) -> bool:
    """Whether plain values are equal, numbers but for rounding, in sentences too."""
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(_agree(one[key], two[key]) for key in one)
    return one == two or (isinstance(one, float) and same_numbers(one, two, _ROUNDING))
