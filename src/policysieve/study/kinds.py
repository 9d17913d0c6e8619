"""Contexts of one study are of one kind; rows of a table are arranged as earlier ones came."""

from typing import Any

from policysieve.errors import InvalidArgumentError
from policysieve.frames import ContextFrame, is_tabular, kind_of

__all__ = ["ContextKind"]


class ContextKind:
    """What the contexts of a study have been so far.

    Attributes
    ----------
    earlier : contexts or None
        Some earlier ones; None if there are none.
    """

    def __init__(self, earlier: Any = None) -> None:
        self.earlier = earlier

    def arranged(self, contexts: Any) -> Any:
        """Rows of a table with the columns and types of earlier ones, or raise; others as given."""
        earlier = self.earlier
        if isinstance(earlier, ContextFrame) and is_tabular(contexts):
            contexts = ContextFrame.of(contexts).like(earlier.dtype)
            earlier.check_takes(contexts)
        return contexts

    def check(self, contexts: Any) -> None:
        """Raise unless checked contexts are like earlier ones."""
        earlier = self.earlier
        if earlier is None or not len(contexts):
            return
        mine, theirs = (
            (x.shape[1:], kind_of(x.dtype), x.dtype == "uint64") for x in (contexts, earlier)
        )
        if mine != theirs:
            sizes = ", ".join(map(str, ("n", *theirs[0])))
            raise InvalidArgumentError(
                f"contexts must be like those of earlier rounds, {theirs[1]} of shape "
                f"({sizes}), got {mine[1]} of shape {contexts.shape}"
            )

    def seen(self, contexts: Any) -> None:
        """Remember what contexts of a decided batch were."""
        if isinstance(contexts, ContextFrame) and isinstance(self.earlier, ContextFrame):
            joined = self.earlier.dtype.joined(contexts.dtype)
            self.earlier = ContextFrame([joined.no_rows()])
        elif self.earlier is None and len(contexts):
            self.earlier = contexts[:1]
