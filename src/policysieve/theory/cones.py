"""A small builder for second-order cone programmes; solved by clarabel, of the extra ``exact``."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from policysieve.errors import MissingExtraError

__all__ = ["ConeProgramme"]

Array = npt.NDArray[np.float64]
Rows = Any  # a sparse matrix: linear expressions of the variables, one in each row


class ConeProgramme:
    """Minimise a variable subject to linear equations, inequalities and rotated cones.

    Parameters
    ----------
    needed_by : str
        Who asks, for the error when clarabel is missing.
    **shapes : tuple of int
        The variables and their shapes; ``programme["name"]`` holds their flattened entries as
        rows, to be added, multiplied and selected like any sparse matrix.
    """

    def __init__(self, needed_by: str, **shapes: tuple[int, ...]) -> None:
        try:
            import clarabel
        except ImportError as error:
            raise MissingExtraError(needed_by, "clarabel", "exact") from error
        self._solver = clarabel
        self._shapes = shapes = {**shapes, "one": (1,)}
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes.values()])
        everything = sparse.identity(int(ends[-1]), format="csr")
        self._rows = dict(zip(shapes, np.split(np.arange(int(ends[-1])), ends[:-1]), strict=True))
        self._variables = {name: everything[rows] for name, rows in self._rows.items()}
        self._blocks: list[tuple[Rows, Array, list[Any]]] = []
        self.equal(self["one"], 1.0)

    def constant(self, values: Array) -> Rows:
        """Rows that are these numbers, to be added to others."""
        return sparse.csr_matrix(values[:, None]) @ self["one"]

    def __getitem__(self, name: str) -> Rows:
        return self._variables[name]

    def equal(self, left: Rows, right: npt.ArrayLike) -> None:
        """Require left = right, row by row."""
        level = np.broadcast_to(np.asarray(right, dtype=np.float64), left.shape[:1])
        self._blocks.append((left, level, [self._solver.ZeroConeT(left.shape[0])]))

    def at_least(self, left: Rows, right: npt.ArrayLike) -> None:
        """Require left >= right, row by row."""
        level = np.broadcast_to(np.asarray(right, dtype=np.float64), left.shape[:1])
        self._blocks.append((-left, -level, [self._solver.NonnegativeConeT(left.shape[0])]))

    def rotated(self, y: Rows, v: Rows, d: Rows) -> None:
        """Require y v >= d^2 and y, v >= 0, row by row."""
        n = y.shape[0]
        order = np.arange(3 * n).reshape(3, n).T.reshape(-1)  # the three rows of a cone together
        rows = sparse.vstack([-(y + v), v - y, -2 * d], format="csr")[order]
        self._blocks.append((rows, np.zeros(3 * n), [self._solver.SecondOrderConeT(3)] * n))

    def minimise(self, name: str) -> dict[str, Array]:
        """Minimise the variable of that name; return all of them, as good as the solver got."""
        rows, levels, cones = zip(*self._blocks, strict=True)
        matrix = sparse.vstack(rows, format="csc")
        settings = self._solver.DefaultSettings()
        settings.verbose = False
        size = matrix.shape[1]
        cost = np.zeros(size)
        cost[self._rows[name]] = 1.0
        solver = self._solver.DefaultSolver(
            sparse.csc_matrix((size, size)),
            cost,
            matrix,
            np.concatenate(levels),
            [cone for block in cones for cone in block],
            settings,
        )
        x = np.array(solver.solve().x)
        return {name: x[self._rows[name]].reshape(shape) for name, shape in self._shapes.items()}
