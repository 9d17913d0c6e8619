"""Texts as numbers, the same on every machine."""

from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.errors import MissingExtraError

__all__ = ["reduced_rows", "word_rows"]


def word_rows(texts: npt.NDArray[Any], n_train: int) -> Any:
    """Weighted word counts of all texts as a sparse matrix, weights from the first `n_train`."""
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer
    except ImportError as error:
        raise MissingExtraError("a task of texts", "scikit-learn", "sklearn") from error

    words = TfidfVectorizer(sublinear_tf=True, min_df=2, stop_words="english")
    return words.fit(texts[:n_train]).transform(texts)


def reduced_rows(rows: Any, n_train: int, size: int) -> npt.NDArray[np.float64]:
    """Rows in the `size` dimensions in which the first `n_train` vary most.

    In one thread, because several add up in another order: rows would differ in the last digits,
    and runs that begin with them soon in all.
    """
    from sklearn.decomposition import TruncatedSVD
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        return np.asarray(TruncatedSVD(size, random_state=0).fit(rows[:n_train]).transform(rows))
