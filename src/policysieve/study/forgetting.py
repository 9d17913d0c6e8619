"""Erasing contexts, while everything that the proof needs is kept."""

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, select, update

from policysieve.errors import InvalidArgumentError
from policysieve.study.ledger import SqlLedger
from policysieve.study.packing import pack_contexts
from policysieve.study.probes import probed_places
from policysieve.study.schema import batches, studies

__all__ = ["forget"]


def forget(ledger: SqlLedger, connection: Connection, places: npt.NDArray[np.int64]) -> None:
    """Erase the contexts of some rounds, or raise if answers are found from them."""
    if ledger.reads_contexts:
        raise InvalidArgumentError(
            f"contexts of {type(ledger.policies).__name__} cannot be erased: the answers of the "
            "policies are found from them, and the proof needs these"
        )
    if not ledger.record.keep_contexts:
        raise InvalidArgumentError("contexts of this study were never kept, only their hashes")
    study, ordered = ledger.record.study, np.unique(places)
    for batch in ledger.holding(connection, ordered):
        mine = ordered[(ordered >= batch.first) & (ordered < batch.end)]
        before = np.zeros(len(batch), np.bool_) if batch.forgotten is None else batch.forgotten
        erased = before.copy()
        erased[mine - batch.first] = True
        left = batch.contexts[~erased[~before]]
        connection.execute(
            update(batches)
            .where(batches.c.study == study, batches.c.first == batch.first)
            .values(contexts=pack_contexts(left), forgotten=np.packbits(erased).tobytes())
        )
    this = studies.c.study == study
    held = select(studies.c.probes).where(this).with_for_update(key_share=True)  # asks add to them
    probes = connection.execute(held).scalar_one()
    if np.isin(probed_places(probes), ordered).any():
        connection.execute(update(studies).where(this).values(probes=None))
