"""A log to and from files and data frames."""

import os
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from policysieve.checks import as_path
from policysieve.errors import InvalidArgumentError, MissingExtraError
from policysieve.log.mapping import ColumnMap
from policysieve.naming import as_names

if TYPE_CHECKING:
    from policysieve.log.log import Log
    from policysieve.log.opening import AnyLog

__all__ = ["Exchanged"]


class Exchanged:
    """What a `Log` can do with files and data frames; formats are loaded on use."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a Parquet file; an existing one is replaced only when all is written.

        Parameters
        ----------
        path : path
            Any name but that of another format: `policysieve.formats.convert` writes those.

        Raises
        ------
        InvalidArgumentError
            If the suffix means another format.
        """
        from policysieve.formats.parquet import FORMAT
        from policysieve.formats.registry import formats_of_suffix

        (meant, *_) = formats_of_suffix(as_path(path)) or [FORMAT]
        if meant is not FORMAT:
            raise InvalidArgumentError(
                f"a log is saved as Parquet, but the suffix of {path} means {meant.name}; let the "
                "name end in .parquet, or write that format with "
                "policysieve.formats.convert(log, path)"
            )
        log: Any = self
        (rounds,) = log.rounds()
        FORMAT.save(path, [rounds], rounds.layout)

    @classmethod
    def load(cls, log: "AnyLog") -> "Log":
        """A whole log in memory: a file that `save` wrote, or one or several of any other format.

        Parameters
        ----------
        log : path, paths, LogFile or Log
            A `Log` is returned as it is.

        Raises
        ------
        FileNotFoundError, FileFormatError, InvalidArgumentError
            As `LogFile` has it, and if a reward is missing.
        """
        from policysieve.log.log import Log
        from policysieve.log.opening import open_log

        opened = open_log(log)
        if isinstance(opened, Log):
            return opened
        layout = opened.layout
        empty = Log.empty(
            contexts=layout.no_contexts(),
            slate_size=layout.slate_size,
            distributions=layout.has_distributions,
            action_names=layout.action_names,
            reward_range=layout.reward_range,
        )
        return Log.concatenate(opened.whole() or [empty])

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        context: str | Sequence[str],
        action: str | Sequence[str],
        propensity: str | Sequence[str],
        reward: str | Sequence[str],
        slate: str | None = None,
        position: str | None = None,
        available: str | None = None,
        unit: str | None = None,
        outcome: Mapping[str, str | Sequence[str]] | None = None,
        actions: Sequence[str] | None = None,
        reward_range: tuple[float, float] | None = None,
    ) -> "Log":
        """A log of the rows of a data frame.

        Parameters
        ----------
        frame : pandas, polars or pyarrow table, or any other that narwhals knows
            Rounds in the order of their decisions. Other columns than these are not used.
        context : str or list of str
            The column with the contexts; or columns, which stay a table by their names.
        action, propensity, reward : str or list of str
            One column each, or one for each item of a slate. Actions are numbers or names, rewards
            may be true and false.
        slate : str, optional
            Where a row is one shown item: the column by which rows belong to one round. They follow
            each other, and have the same context.
        position : str, optional
            The column with the place of an item in its slate; by default the order of the rows.
        available : str, optional
            The column with lists of the actions that could be shown, as numbers or names.
        unit : str, optional
            The column that names the user or session; see docs/returning-users.md.
        outcome : dict, optional
            The columns of other outcomes by the names of these, each like `reward`; missing values
            are not known.
        actions : sequence of str, optional
            Names of all actions, in the order of their numbers; by default those in the frame, in
            alphabetical order.
        reward_range : (low, high), optional
            Least and largest reward that an item can have, if not 0 and 1.

        Raises
        ------
        InvalidArgumentError
            If a column is not there, or a row breaks a rule; row and value are named.

        Examples
        --------
        >>> import pyarrow as pa
        >>> frame = pa.table(
        ...     {"age": [31, None], "item": ["hats", "shoes"], "p": [0.5, 0.25], "hit": [1, 0]}
        ... )
        >>> log = Log.from_frame(
        ...     frame, context=["age"], action="item", propensity="p", reward="hit"
        ... )
        >>> log.action_names, log.contexts.tolist()
        (('hats', 'shoes'), [{'age': 31}, {'age': None}])
        """
        from policysieve.formats.data_frames import log_of

        columns = ColumnMap.of(
            {
                "context": context,
                "action": action,
                "propensity": propensity,
                "reward": reward,
                "slate": slate,
                "position": position,
                "available": available,
                "unit": unit,
                "outcome": outcome,
            }
        )
        names = None if actions is None else as_names("actions", actions)
        return log_of(frame, columns, names, reward_range)

    def to_arrow(self) -> Any:
        """The log as a pyarrow table, a row for each round.

        Columns are those of the contexts by their names, or ``context``, or ``x0``, ``x1``, ...;
        and ``action``, ``propensity`` and ``reward``, of slates ``action_0``, ``action_1``, ....
        Actions are names if they have any. Where a log has more, ``available`` has lists, ``unit``
        says who came, and ``outcome:sale``, of slates ``outcome_0:sale``, ..., is the outcome of
        that name. Full distributions are left out.

        Raises
        ------
        InvalidArgumentError
            If contexts are sparse, or one of their columns is called like another.
        """
        from policysieve.formats.data_frames import as_arrow

        log: Any = self
        return as_arrow(log)

    def to_pandas(self) -> Any:
        """The log as a pandas data frame; see `to_arrow`.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.
        """
        return _as_frame(self, "pandas")

    def to_polars(self) -> Any:
        """The log as a polars data frame; see `to_arrow`.

        Raises
        ------
        MissingExtraError
            If polars is not installed.
        """
        return _as_frame(self, "polars")


def _as_frame(log: Any, library: Literal["pandas", "polars"]) -> Any:
    if find_spec(library) is None:
        raise MissingExtraError(f"to_{library}()", library)
    from policysieve.formats.data_frames import as_frame

    return as_frame(log, library)
