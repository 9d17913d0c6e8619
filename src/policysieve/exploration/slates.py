"""Random slates."""

from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.kernels.subsets import uniform_subsets

__all__ = ["uniform_slates"]


def uniform_slates(uniforms: npt.NDArray[np.float64], n_actions: int) -> npt.NDArray[Any]:
    """Uniformly random sets of m different actions, from (n, m) uniform random numbers."""
    slates = np.empty(uniforms.shape, dtype=np.int32)
    uniform_subsets(uniforms, n_actions, slates)
    return slates
