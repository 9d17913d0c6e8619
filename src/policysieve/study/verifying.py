"""Folding a study again from its beginning, and comparing bits."""

import numpy as np
from sqlalchemy import Connection, select

from policysieve.errors import FileFormatError
from policysieve.exploration.designs.saving import ExplorationFile
from policysieve.study.learning import Learning
from policysieve.study.ledger import SqlLedger
from policysieve.study.results import Verification
from policysieve.study.schema import explorations

__all__ = ["verified"]


def verified(ledger: SqlLedger, connection: Connection, known: Learning) -> Verification:
    """Fold all rounds that are known anew, and compare what came out with what is kept.

    Every published exploration must be the one that the rounds before it lead to, and what is known
    now, perhaps from a snapshot, what all of them do.
    """
    anew = Learning.first(SqlLedger(ledger.record, ledger.policies))
    wrong: list[str] = []
    made = 0
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
        if anew.learnt != row.learnt or not anew.learner.exploration.same_as(kept):
            wrong.append(
                f"{name} is not what the first {row.learnt:,} rounds lead to, which have been "
                f"folded up to {anew.learnt:,}"
            )
    if known.learnt > anew.learnt:
        anew = anew.advanced(connection, until=known.learnt)
    if anew.learnt != known.learnt:
        wrong.append(f"{anew.learnt:,} rounds were folded where {known.learnt:,} are known")
    elif anew.learner.recommend().to_dict() != known.learner.recommend().to_dict():
        wrong.append("the recommendation is another")
    elif anew.learner.cost().to_dict() != known.learner.cost().to_dict():
        wrong.append("the cost of exploring is another")
    else:
        mine, theirs = anew.learner.intervals(), known.learner.intervals()
        names = ("values", "lower", "upper")
        pairs = [(getattr(mine, name), getattr(theirs, name)) for name in names]
        if not all(np.array_equal(one, two, equal_nan=True) for one, two in pairs):
            wrong.append("the intervals are others")
    return Verification(rounds=anew.learnt, explorations=made, differences=tuple(wrong))
