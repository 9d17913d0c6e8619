"""Feature rows as scikit-learn takes them, but nothing that only looks like numbers."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from policysieve.arrays import plain_array, shown
from policysieve.errors import InvalidArgumentError, PolicySieveError

__all__ = ["own_errors", "refuse_odd", "refuse_unknown_names"]


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

    That is text, dates, and what lies under a mask.
    """
    if hasattr(values, "tocsr"):
        return
    array = plain_array(name, values, "a matrix of numbers")
    odd = str(array.dtype) if array.dtype.kind in "SUTMm" else None
    if array.dtype == object:
        odd = next((shown(entry) for entry in array.flat if isinstance(entry, str | bytes)), None)
    if odd is not None:
        raise InvalidArgumentError(
            f"{name} must be a matrix of numbers, got {odd}; if these are numbers, convert them "
            "with astype(float)"
        )


def refuse_unknown_names(X: Any) -> None:
    """Raise for a data frame whose columns have names that scikit-learn cannot compare.

    Columns that are numbered are taken by their places, as scikit-learn takes them.
    """
    if not any(isinstance(name, str) for name in getattr(X, "columns", ())):
        return
    known = BaseEstimator()
    validate_data(known, X, skip_check_array=True, ensure_2d=False)
    if not hasattr(known, "feature_names_in_"):
        raise InvalidArgumentError(
            f"X must be an array, or a data frame of a kind that scikit-learn knows, got a "
            f"{type(X).__name__}, whose columns may come in another order the next time; pass "
            "frame[columns].to_numpy(), with the columns in an order that is always the same"
        )
