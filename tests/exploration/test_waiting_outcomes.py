"""Outcomes that wait are those of a plain dict, and adding one costs little."""

import numpy as np
import pytest

from policysieve.exploration.waiting_outcomes import WaitingOutcomes


def told(value):
    return {"sale": np.array([float(value)])}


@pytest.mark.parametrize("seed", range(5))
def test_they_are_those_of_a_dict(seed):
    rng = np.random.default_rng(seed)
    waiting, plain, begin = WaitingOutcomes(), {}, 0
    for step in range(400):
        if rng.random() < 0.2:
            numbers = list(range(begin, begin + int(rng.integers(0, 12))))
            begin += len(numbers)
            before, (heard, waiting) = waiting, waiting.taken(numbers)
            assert heard == [plain.pop(number, {}) for number in numbers]
            assert [before.get(number) for number in numbers] == heard  # a value
        else:
            some = rng.integers(begin, begin + 50, int(rng.integers(0, 4))).tolist()
            new = {number: told(step) for number in some}
            waiting, plain = waiting.plus(new), plain | new
        for number in range(begin, begin + 60):
            assert waiting.get(number) == plain.get(number, {})
        assert sum(map(len, waiting.layers)) <= 3 * 50 + 4


def test_adding_one_at_a_time_copies_each_a_few_times():
    waiting, copied, n = WaitingOutcomes(), 0, 4096
    for number in range(n):
        waiting = waiting.plus({number: told(1)})
        copied += len(waiting.layers[-1])
    assert copied <= n * (2 + np.log2(n))
    assert sum(map(len, waiting.layers)) == n


def test_nothing_is_kept_once_all_was_learnt_from():
    waiting = WaitingOutcomes().plus({3: told(1), 5: told(2)})
    heard, then = waiting.taken([3, 4, 5])
    assert [one.get("sale") for one in heard] == [[1.0], None, [2.0]]
    assert then.layers == ()
    assert waiting.get(3)["sale"] == [1.0]  # a value
