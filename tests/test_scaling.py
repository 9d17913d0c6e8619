import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policysieve.errors import InvalidArgumentError
from policysieve.scaling import RewardScale, as_reward_range, range_in_words, usual_range

ends = st.floats(-1e6, 1e6).flatmap(
    lambda low: st.tuples(st.just(low), st.floats(low + 1e-3, low + 1e6))
)


@given(ends, st.booleans(), st.integers(1, 4), st.lists(st.floats(0, 1), min_size=1))
def test_rewards_go_inside_and_values_come_back(ends, minimize, m, shares):
    low, high = ends
    scale = RewardScale(low=low, high=high, minimize=minimize, slate_size=m)
    rewards = np.clip(low + (high - low) * np.array(shares), low, high)
    inside = scale.inside(rewards)
    assert (inside >= 0).all()
    assert (inside <= 1).all()
    total = scale.value(inside.sum() * m / len(inside))  # a slate of m items of the mean reward
    assert total == pytest.approx(m * rewards.mean(), rel=1e-9, abs=1e-9 * (abs(low) + abs(high)))


@given(ends, st.booleans(), st.integers(1, 4), st.floats(0, 1), st.floats(0, 1))
def test_limits_stay_in_order_and_better_stays_better(ends, minimize, m, first, second):
    scale = RewardScale(low=ends[0], high=ends[1], minimize=minimize, slate_size=m)
    least, most = sorted((first * m, second * m))
    lower, upper = scale.limits(least, most)
    assert lower <= upper
    assert (scale.value(most) <= scale.value(least)) if minimize else (lower == scale.value(least))
    assert scale.distance(most - least) >= 0
    low, high = scale.differences(-1.0, 2.0)
    assert low < 0 < high
    assert high == pytest.approx((1 if minimize else 2) * (ends[1] - ends[0]))


def test_nothing_is_computed_for_rewards_that_are_in_the_unit_interval():
    scale, rewards = RewardScale(slate_size=3), np.array([0.1, 0.7])
    assert scale.is_unit
    assert scale.inside(rewards) is rewards
    assert scale.value(rewards) is rewards
    assert scale.distance(rewards) is rewards
    assert scale.limits(rewards, rewards)[1] is rewards


def test_costs_between_0_and_1_are_mirrored():
    scale = RewardScale(minimize=True)
    assert not scale.is_unit
    assert scale.inside(np.array([0.0, 0.25, 1.0])).tolist() == [1.0, 0.75, 0.0]
    assert scale.limits(0.25, 0.5) == (0.5, 0.75)


@pytest.mark.parametrize(
    "wrong",
    [
        (1, 0),
        (1, 1),
        (0,),
        (0, 1, 2),
        5,
        "ab",
        (0, float("inf")),
        (float("nan"), 1),
        (-1e308, 1e308),
    ],
)
def test_what_is_no_range(wrong):
    with pytest.raises(InvalidArgumentError, match="reward_range must be two finite numbers low <"):
        as_reward_range(wrong)


def test_the_usual_range_needs_no_declaration():
    assert usual_range(None) is None
    assert usual_range((0, 1)) is None
    assert usual_range([-1, 1]) == (-1.0, 1.0)
    assert range_in_words(None) == "[0, 1]"
    assert range_in_words((-2.5, 500.0)) == "[-2.5, 500]"
