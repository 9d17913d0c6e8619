"""From scores to slates."""

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["top_actions"]


def top_actions(scores: npt.NDArray[Any], slate_size: int) -> npt.NDArray[np.intp]:
    """The `slate_size` best actions along the last axis, best first, ties to the lower number."""
    if slate_size == 1:
        return np.asarray(scores.argmax(axis=-1))[..., None]
    return np.argsort(-scores, axis=-1, kind="stable")[..., :slate_size]
