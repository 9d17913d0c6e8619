"""Files of explorations that were made to do harm: their checksums are right."""

from dataclasses import replace

import numpy as np

__all__ = ["BAD_NUMBERS", "bad_arrays", "crafted_files"]

BAD_NUMBERS = [None, "much", "", [], {}, True, False, -1, 0, 7, 2**70, 1e308, 5e-324]
BAD_NUMBERS += [float("nan"), float("inf"), -float("inf")]


def bad_arrays(good):
    """What can stand in place of a good array: other types, shapes, sizes and values, by name."""
    last = good.reshape(-1)[-1:]

    def with_last(value, dtype):
        changed = good.astype(dtype)
        changed.reshape(-1)[-1:] = value
        return changed

    return {
        "no dimension": np.array(0, good.dtype),
        "one more dimension": good[None],
        "empty": good[:0],
        "shorter": good[:-1],
        "longer": np.concatenate([good, good[-1:]]),
        "much longer": np.concatenate([good] * 50),
        "all alike": np.full_like(good, last[0] if len(last) else 0),
        "all zero": np.zeros_like(good),
        "bool": good.astype(bool),
        "complex": good.astype(complex),
        "object": good.astype(object),
        "text": good.astype(str),
        "other bytes": good.astype(good.dtype.newbyteorder()),
        "columns first": np.asfortranarray(good),
        "half": with_last(0.5, float),
        "negative": with_last(-1, float if good.dtype.kind == "f" else int),
        "large": with_last(99, good.dtype),
        "wraps": with_last(2**32, np.int64),
        "wraps far": with_last(2**64 - 1, np.uint64),
        "NaN": with_last(np.nan, float),
        "infinite": with_last(np.inf, float),
        "huge": with_last(1e308, float),
        "less than nothing": with_last(-1e308, float),
        "long double": good.astype(np.longdouble),
    }


def crafted_files(good, kinds):
    """Variants of a good `ExplorationFile`, by name: most break a rule, some are harmless.

    Parameters
    ----------
    good : ExplorationFile
    kinds : iterable of str
        Names of kinds, each of which the variants claim to be.
    """
    for kind in kinds:
        yield f"kind {kind}", replace(good, kind=kind)
    for name, array in good.arrays.items():
        rest = {other: mine for other, mine in good.arrays.items() if other != name}
        yield f"{name} is missing", replace(good, arrays=rest)
        yield f"{name} is a number", replace(good, arrays=rest, numbers={**good.numbers, name: 3})
        for what, bad in bad_arrays(array).items():
            yield f"{name} {what}", replace(good, arrays={**good.arrays, name: bad})
    for name in good.numbers:
        rest = {other: mine for other, mine in good.numbers.items() if other != name}
        yield f"{name} is missing", replace(good, numbers=rest)
        yield (
            f"{name} is an array",
            replace(good, numbers=rest, arrays={**good.arrays, name: np.array([0.5])}),
        )
        for bad in BAD_NUMBERS:
            yield f"{name} {bad!r}", replace(good, numbers={**good.numbers, name: bad})
    for name in ("policies", "problem", "weights", "more", "header", "weights.more", "a.b", ""):
        yield f"also {name}", replace(good, arrays={**good.arrays, name: np.arange(3)})
        yield f"also the number {name}", replace(good, numbers={**good.numbers, name: 1})
    yield "no numbers", replace(good, numbers={})
    yield "no arrays", replace(good, arrays={})
