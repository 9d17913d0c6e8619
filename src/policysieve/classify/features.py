"""Feature rows as scikit-learn takes them, but nothing that only looks like numbers."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.utils.validation import _get_feature_names

from policysieve.arrays import plain_array, shown
from policysieve.errors import InvalidArgumentError, PolicySieveError

__all__ = ["own_errors", "refuse_odd"]


class NotNumbersError(InvalidArgumentError, TypeError):
    """Features that are no numbers; scikit-learn's rules for estimators want a `TypeError`."""


@contextmanager
def own_errors() -> Iterator[None]:
    """Raise what scikit-learn says of bad data as an error of ours."""
    try:
        yield
    except PolicySieveError:
        raise
    except TypeError as error:
        raise NotNumbersError(str(error)) from error
    except (ValueError, OverflowError) as error:
        raise InvalidArgumentError(str(error)) from error


def refuse_odd(name: str, values: Any) -> None:
    """Raise for what scikit-learn would silently turn into other numbers.

    That is text, dates, and what lies under a mask; and the columns of a data frame that has no
    names, which would be taken by their places.
    """
    if hasattr(values, "tocsr"):
        return
    if hasattr(values, "columns") and _get_feature_names(values) is None:
        raise InvalidArgumentError(
            f"{name} must be an array, or a data frame whose columns have strings as names, got a "
            f"{type(values).__name__}, whose columns may come in another order the next time; pass "
            "frame[columns].to_numpy(), with the columns in an order that is always the same"
        )
    array = plain_array(name, values, "a matrix of numbers")
    odd = [str(array.dtype)] if array.dtype.kind in "SUTMm" else []
    if array.dtype == object:
        odd = [shown(entry) for entry in array.flat if isinstance(entry, str | bytes)]
    if odd:
        raise InvalidArgumentError(
            f"{name} must be a matrix of numbers, got {odd[0]}; if these are numbers, convert them "
            "with astype(float)"
        )
