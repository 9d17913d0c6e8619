"""Who came before: first rounds of units, however rounds are cut into batches."""

import pickle
from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policysieve.errors import InvalidArgumentError
from policysieve.log import Log
from policysieve.log.returning import Met, first_rounds
from tests.oracles import returning as oracle

BATCHES = st.lists(st.lists(st.sampled_from("abcdef"), max_size=5), max_size=6)


def units_of(batch):
    return np.array([*batch, None], dtype=object)[:-1]


def firsts(met, batch):
    """The value after a batch, and which of its rounds are first ones."""
    after = met.plus(units_of(batch))
    return after, after.are_first(units_of(batch), np.arange(met.rounds, after.rounds)).tolist()


def log_of(units):
    n = len(units)
    return Log(
        contexts=np.arange(n),
        actions=np.zeros(n, int),
        propensities=np.full(n, 0.5),
        rewards=np.zeros(n),
        units=list(units),
    )


@given(batches=BATCHES)
def test_batches_make_no_difference(batches):
    met, found = Met(), []
    for batch in batches:
        met, first = firsts(met, batch)
        found += first
    every = [unit for batch in batches for unit in batch]
    assert np.flatnonzero(found).tolist() == oracle.first_rounds(every)
    assert met.first_numbers().tolist() == oracle.first_rounds(every)
    assert len(met) == len(set(every))
    assert met.rounds == len(every)


@given(before=BATCHES, batch=st.lists(st.sampled_from("abcdef"), max_size=5))
def test_what_was_met_in_another_continuation_is_not_met_here(before, batch):
    met = Met()
    for each in before:
        met = met.plus(units_of(each))
    abandoned = met.plus(units_of("fedcba"))
    expected = firsts(Met([unit for each in before for unit in each]), batch)[1]
    for same in (met, pickle.loads(pickle.dumps(met)), deepcopy(met)):
        assert firsts(same, batch)[1] == expected
    assert len(abandoned) == len({unit for each in before for unit in each} | set("abcdef"))


def test_logs_are_cut_down_to_first_rounds():
    counted, met = first_rounds(log_of("aabca"), None, 0)
    assert counted.contexts.tolist() == [0, 2, 3]
    assert counted.units.tolist() == ["a", "b", "c"]
    again, _ = first_rounds(log_of("cd"), met, 3)
    assert again.units.tolist() == ["d"]


def test_a_log_without_units_stays_as_it_is():
    log = log_of("ab")
    plain = Log.trusted(log.contexts, log.actions, log.propensities, log.rewards)
    assert first_rounds(plain, None, 7) == (plain, None)


@pytest.mark.parametrize("named", [True, False])
def test_rounds_with_and_without_units_do_not_mix(named):
    log = log_of("ab")
    plain = Log.trusted(log.contexts, log.actions, log.propensities, log.rewards)
    with pytest.raises(InvalidArgumentError, match="units must be named in all rounds or in none"):
        first_rounds(log if named else plain, None if named else Met("x"), 1)
