"""Pieces for threads make up the whole, and results do not depend on them."""

import numpy as np
import pytest
from numba import config

from policysieve.kernels.threads import in_pieces


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("size", [0, 1, 2, 7, 1000])
def test_every_place_is_in_one_piece(monkeypatch, threads, size):
    monkeypatch.setattr(config, "NUMBA_NUM_THREADS", threads)
    counts, pieces = np.zeros(size, np.int64), []

    def call(first, last):
        pieces.append((first, last))
        counts[first:last] += 1

    in_pieces(call, size)
    assert (counts == 1).all()
    assert len(pieces) == (1 if threads == 1 or size < 2 else min(size, 8 * threads))


@pytest.mark.parametrize(("size", "pieces"), [(99, 1), (100, 2), (270, 5), (2000, 24)])
def test_pieces_are_not_small(monkeypatch, size, pieces):
    monkeypatch.setattr(config, "NUMBA_NUM_THREADS", 2 if size < 1000 else 3)
    sizes = []
    in_pieces(lambda first, last: sizes.append(last - first), size, 50)
    assert sum(sizes) == size
    assert len(sizes) == pieces
    assert min(sizes) >= 50


def test_what_is_raised_in_a_thread_is_raised(monkeypatch):
    monkeypatch.setattr(config, "NUMBA_NUM_THREADS", 2)

    def call(first, _last):
        if first:
            raise MemoryError

    with pytest.raises(MemoryError):
        in_pieces(call, 10)
