"""Policies given by their actions on a finite list of contexts."""

import os
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from policysieve.archives import mapped_array
from policysieve.availability import Available
from policysieve.checks import as_path, context_array, refuse_rows, repeated_items
from policysieve.errors import InvalidArgumentError
from policysieve.files import whole_or_nothing
from policysieve.naming import labels_of, looked_up
from policysieve.policies.answers import Slates
from policysieve.policies.base import Policies, action_dtype, run_of

__all__ = ["PolicyTable", "row_numbers"]

_CHECK_BLOCK = 1 << 24  # actions looked at in one go, so that a memory-mapped table stays on disk


class PolicyTable(Policies):
    """Policies as a table of actions; a context is the number of a row.

    Parameters
    ----------
    table : array of shape (n_contexts, n_policies) or (n_contexts, n_policies, m)
        What each policy shows at each context: numbers of actions, or names where these are given.
        The row of one context is contiguous in memory. An array that has the compact dtype already
        is used as it is, not copied: do not change it.
    n_actions : int
        Number K of actions. May be left out where they are named.
    names, actions : sequences of str, optional
        Names of the policies, and of the actions.
    fallback : sequence of actions, optional
        What takes the place of actions that are not available, the first choice first, by number
        or name.

    Examples
    --------
    >>> table = PolicyTable([[0, 1, 1], [2, 2, 0]], n_actions=3)
    >>> table.actions([1])[0, :, 0].tolist()
    [2, 2, 0]
    >>> table = PolicyTable([["hats"], ["shoes"]], actions=["shoes", "hats"], names=["old"])
    >>> table.table[:, :, 0].tolist()
    [[1], [0]]
    """

    looked_up = True

    def __init__(
        self,
        table: Any,
        n_actions: int | None = None,
        *,
        names: Sequence[str] | None = None,
        actions: Sequence[str] | None = None,
        fallback: Sequence[int | str] | None = None,
    ) -> None:
        given = table
        if not isinstance(table, np.memmap):
            table = labels_of(
                "table", table, "an array with one action of each policy for each context"
            )
        if table.ndim == 2:
            table = table[:, :, None]
        if table.ndim != 3:
            raise InvalidArgumentError(
                "table must have shape (n_contexts, n_policies) or (n_contexts, n_policies, "
                f"slate_size), got {table.shape}"
            )
        if not len(table):
            raise InvalidArgumentError(
                "table must have at least one row, one per context, got none"
            )
        super().__init__(
            n_policies=table.shape[1],
            n_actions=n_actions,
            slate_size=max(1, table.shape[2]),
            names=names,
            actions=actions,
            fallback=fallback,
        )
        if self.action_names is not None:
            table = looked_up("table", table, self.action_names)
        if table.dtype.kind not in "iu" or not table.shape[2]:
            raise InvalidArgumentError(
                f"table must hold whole numbers, got dtype {table.dtype} and shape "
                f"{np.shape(given)}; convert them with astype(int), or name the actions that it "
                "holds with actions=[...]"
            )
        block = max(1, _CHECK_BLOCK // (table.shape[1] * table.shape[2]))
        for start in range(0, len(table), block):
            self._check_block(table[start : start + block], start)
        self.table = np.ascontiguousarray(table, dtype=action_dtype(self.n_actions))

    @property
    def n_contexts(self) -> int:
        """Number of contexts the table knows."""
        return len(self.table)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        n_actions: int | None = None,
        *,
        names: Sequence[str] | None = None,
        actions: Sequence[str] | None = None,
        fallback: Sequence[int | str] | None = None,
    ) -> Self:
        """Open a table saved as ``.npy`` without reading it into memory.

        The file stays memory-mapped if it has the compact dtype, as `save` writes it. A later
        `save` to the same path does not change it; whatever else writes into the file does.

        Raises
        ------
        FileFormatError
            If the file is not one whole ``.npy`` array.
        InvalidArgumentError
            If what it holds are not actions below `n_actions`.
        """
        if not as_path(path).is_file():
            raise FileNotFoundError(f"no policy table at {os.fspath(path)}")
        table = mapped_array(path)
        return cls(table, n_actions, names=names, actions=actions, fallback=fallback)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table as ``.npy`` in its compact dtype; all of it, or nothing is changed."""
        header = np.lib.format.header_data_from_array_1_0(self.table)
        with whole_or_nothing(as_path(path)) as partial, open(partial, "wb") as file:
            np.lib.format.write_array_header_1_0(file, header)
            file.write(self.table.data)  # numpy.save would not say why a disk takes no more

    def check_contexts(self, contexts: Any) -> npt.NDArray[Any]:
        """Return the contexts as row numbers of the table, or raise."""
        return row_numbers(contexts, self.n_contexts, of="the policy table")

    def answers_at(
        self,
        contexts: npt.NDArray[Any],
        which: npt.NDArray[np.integer] | None = None,
        available: Available | None = None,
    ) -> Slates:
        """The whole table and the contexts themselves: nothing is copied.

        Where not everything is available, slates that are worked out for these contexts.
        """
        if available is not None:
            return super().answers_at(contexts, which, available)
        return Slates(self.table, contexts.astype(np.intp, copy=False))

    def part(self, numbers: npt.NDArray[np.intp]) -> Self:
        """Some of the columns, copied."""
        return self._like(numbers, table=np.ascontiguousarray(self.table[:, run_of(numbers)]))

    def same_as(self, policy: int, others: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
        """Which of the others have the same column, up to the order within slates."""
        same = np.ones(len(others), dtype=np.bool_)
        start, step = 0, 1
        while start < self.n_contexts and same.any():
            left = np.flatnonzero(same)
            part = self.table[start : start + step]
            mine, theirs = np.sort(part[:, [policy]], axis=-1), np.sort(part[:, others[left]], -1)
            same[left] = (theirs == mine).all(axis=(0, 2))
            start, step = start + step, min(2 * step, 1024)  # most differ within a few rows
        return same

    def _numbers(self) -> tuple[npt.NDArray[Any], ...]:
        return (self.table,)

    def _evaluate(
        self, contexts: npt.NDArray[Any], which: npt.NDArray[np.intp] | None
    ) -> npt.NDArray[Any]:
        if which is None:
            return np.asarray(self.table[contexts])
        return np.asarray(self.table[contexts[:, None], which[None, :]])

    def _check_block(self, block: npt.NDArray[Any], start: int) -> None:
        if block.min() < 0 or block.max() >= self.n_actions:
            context, policy, slot = np.argwhere((block < 0) | (block >= self.n_actions))[0]
            raise InvalidArgumentError(
                f"actions must lie in [0, {self.n_actions - 1}], got "
                f"{block[context, policy, slot]} for {self.name_of(int(policy))} at context "
                f"{start + context}"
            )
        twice = repeated_items(block)
        if twice.any():
            context, policy = np.argwhere(twice)[0]
            raise InvalidArgumentError(
                "a slate must hold different actions, got "
                f"{block[context, policy].tolist()} for {self.name_of(int(policy))} at context "
                f"{start + context}"
            )


def row_numbers(contexts: Any, n_rows: int, *, of: str) -> npt.NDArray[np.int64]:
    """Return contexts as row numbers in [0, n_rows - 1], or raise an error that says of what."""
    rows = context_array(contexts)
    if rows.ndim == 0:
        rows = rows[None]
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
        raise InvalidArgumentError(
            f"contexts must be row numbers of {of}, a 1-d array of whole numbers, got shape "
            f"{rows.shape} and dtype {rows.dtype}"
        )
    refuse_rows(
        (rows < 0) | (rows >= n_rows),
        f"contexts must be row numbers in [0, {n_rows - 1}]",
        lambda entry: rows[entry],
        unit="entry",
    )
    return rows.astype(np.int64)
