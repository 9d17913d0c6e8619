import dataclasses
import json
import pickle

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import policysieve as ps

GOOD = {"n_actions": 10, "slate_size": 3, "sparsity": 2.0, "epsilon": 0.1, "delta": 0.05}


def test_defaults_are_the_one_label_bandit():
    problem = ps.Problem(n_actions=10, epsilon=0.1, delta=0.05)
    assert (problem.slate_size, problem.sparsity, problem.reward_cap) == (1, 1.0, 1.0)


def test_frozen_keyword_only_hashable_picklable():
    problem = ps.Problem(**GOOD)
    with pytest.raises(dataclasses.FrozenInstanceError):
        problem.epsilon = 0.2
    with pytest.raises(TypeError):
        ps.Problem(10, 1, 1.0, 0.1, 0.05)
    assert pickle.loads(pickle.dumps(problem)) == problem
    assert len({problem, ps.Problem(**GOOD)}) == 1
    assert dataclasses.replace(problem, epsilon=0.2).epsilon == 0.2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"traffic": 0.5}, "traffic needs the policy that runs today"),
        ({"traffic": 0, "against": 0}, "0 < traffic <= 1, got 0"),
        ({"traffic": 1.5, "against": 0}, "traffic"),
        ({"max_loss": 3}, "max_loss needs the policy that runs today"),
        ({"max_loss": 0, "against": 0}, "max_loss"),
        ({"max_loss": float("inf"), "against": 0}, "max_loss"),
        ({"n_actions": 0}, "n_actions must be a whole number >= 1, got 0"),
        ({"n_actions": 2.5}, "n_actions must be a whole number"),
        ({"n_actions": True}, "n_actions must be a whole number"),
        ({"n_actions": "10"}, "n_actions must be a whole number"),
        ({"slate_size": 0}, r"slate_size must be a whole number in \[1, 10\], got 0"),
        ({"slate_size": 11}, "slate_size"),
        ({"sparsity": 0}, "0 < sparsity <= 10, got 0"),
        ({"sparsity": 10.5}, "sparsity"),
        ({"sparsity": float("nan")}, "sparsity"),
        ({"sparsity": "one"}, "sparsity"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": 2.0}, "0 < epsilon < 2, got 2"),
        ({"epsilon": 1.5, "slate_size": 1}, "0 < epsilon < 1"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"delta": 0}, "delta"),
        ({"delta": 1}, "delta"),
        ({"delta": 95}, "the probability of being wrong, so 0.05 for 95% confidence"),
        ({"delta": None}, "delta"),
        (
            {"n_actions": 10**400},
            r"a whole number >= 1 of 64 bits, got about 10\^400",
        ),
        ({"slate_size": 10**5000}, r"got about 10\^5000"),
        ({"sparsity": 10**400}, "sparsity <= 10, got inf"),
        ({"epsilon": -(10**400)}, "got -inf"),
        ({"epsilon": 1e-200}, "epsilon must be at least 1e-100, got 1e-200"),
        ({"delta": 5e-324}, "delta must be at least 1e-100, got 4.94066e-324"),
    ],
)
def test_rules(change, message):
    with pytest.raises(ps.InvalidArgumentError, match=message):
        ps.Problem(**{**GOOD, **change})


def test_slates_may_ask_for_more_than_one():
    assert ps.Problem(**{**GOOD, "epsilon": 1.9}).epsilon == 1.9


@given(
    n_actions=st.integers(1, 10**6),
    data=st.data(),
    epsilon=st.floats(1e-100, 1, exclude_max=True),
    delta=st.floats(1e-100, 1, exclude_max=True),
)
def test_every_problem_within_the_rules_is_accepted(n_actions, data, epsilon, delta):
    slate_size = data.draw(st.integers(1, n_actions))
    sparsity = data.draw(st.none() | st.floats(1e-100, n_actions))
    cap = slate_size if sparsity is None else min(sparsity, slate_size)
    epsilon = epsilon * (cap if slate_size > 1 else 1.0)
    assume(1e-100 <= epsilon < (cap if slate_size > 1 else 1.0))  # rounding may take it to an end
    problem = ps.Problem(
        n_actions=n_actions, slate_size=slate_size, sparsity=sparsity, epsilon=epsilon, delta=delta
    )
    assert problem.reward_cap == cap


def test_actions_may_have_names_in_place_of_their_number():
    problem = ps.Problem(actions=["shoes", "hats"], epsilon=0.1, delta=0.05)
    assert (problem.n_actions, problem.actions) == (2, ("shoes", "hats"))
    both = ps.Problem(actions=("shoes", "hats"), n_actions=2, epsilon=0.1, delta=0.05)
    assert both == problem
    assert both != ps.Problem(n_actions=2, epsilon=0.1, delta=0.05)
    assert "actions=('shoes', 'hats')" in repr(problem)
    assert ps.Problem(**json.loads(json.dumps(dataclasses.asdict(problem)))) == problem
    assert dataclasses.replace(problem, epsilon=0.2).actions == problem.actions
    assert len({problem, both}) == 1


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"actions": ["shoes", "hats"], "n_actions": 3}, "each of the 3 actions, got 2 names"),
        ({"actions": []}, "at least one name"),
        ({"actions": ["shoes", "shoes"]}, "actions must be different"),
        ({"actions": "shoes"}, "got one string"),
        ({"actions": ["shoes", 2]}, "str\\(17\\)"),
        ({"actions": ["shoes"], "n_actions": "1"}, "n_actions must be a whole number"),
        ({}, "n_actions must say how many actions there are, or actions must be their names"),
    ],
)
def test_rules_of_names(named, message):
    with pytest.raises(ps.InvalidArgumentError, match=message):
        ps.Problem(epsilon=0.1, delta=0.05, **named)


BASE = {"n_actions": 10, "delta": 0.05}


class TestUnits:
    def test_a_problem_in_0_to_1_is_its_own_unit(self):
        problem = ps.Problem(**GOOD)
        assert problem.unit is problem
        assert problem.scale.is_unit
        told = ps.Problem(**{**GOOD, "reward_range": (0, 1)})
        assert told.unit is told
        assert ps.Problem(**BASE, epsilon=0.1, reward_range=(0, 1)).sparsity is None

    def test_epsilon_and_sparsity_are_in_the_units_of_the_rewards(self):
        problem = ps.Problem(**BASE, epsilon=5, sparsity=150, reward_range=(0, 100))
        assert (problem.unit.epsilon, problem.unit.sparsity) == (0.05, 1.5)
        assert (problem.reward_cap, problem.unit.reward_cap) == (100.0, 1.0)
        assert problem.unit == ps.Problem(**BASE, epsilon=0.05, sparsity=1.5)
        assert problem.unit.unit is problem.unit

    def test_without_a_sparsity_it_is_not_known(self):
        for change in ({"reward_range": (0, 5)}, {"objective": "minimize"}):
            assert ps.Problem(**BASE, epsilon=0.1, **change).sparsity is None

    def test_a_round_of_a_slate_is_worth_all_its_items(self):
        problem = ps.Problem(**BASE, epsilon=20, slate_size=3, reward_range=(-2, 8))
        assert problem.reward_cap == 30.0
        assert problem.unit.epsilon == 2.0

    def test_it_travels_and_is_made_anew(self):
        problem = ps.Problem(
            **BASE, epsilon=5, reward_range=(-3, 8), objective="minimize", no_answer=8
        )
        assert pickle.loads(pickle.dumps(problem)) == problem
        plain = json.loads(json.dumps(dataclasses.asdict(problem)))
        assert ps.Problem(**plain) == problem
        assert dataclasses.replace(problem, epsilon=4).unit.epsilon == 4 / 11

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"reward_range": (5, 1)}, "two finite numbers low < high"),
            ({"reward_range": 5}, "two finite numbers low < high"),
            ({"objective": "max"}, "objective must be one of maximize, minimize, got 'max'"),
            ({"reward_range": (0, 5), "epsilon": 5}, "0 < epsilon < 5, got 5; .*units of the rew"),
            ({"reward_range": (0, 5), "sparsity": 51}, r"<= 50, got 51; .* rewards in \[0, 5\]"),
            ({"reward_range": (1, 5), "sparsity": 5}, r"range \[1, 5\]: a sum of shifted rewards"),
            ({"objective": "minimize", "sparsity": 1}, "a small sum of costs does not say"),
            ({"reward_range": (1, 5), "no_answer": 0}, "1 <= no_answer <= 5, got 0"),
            ({"no_answer": 2}, "0 <= no_answer <= 1, got 2"),
            ({"reward_range": (0, 1e300), "epsilon": 0.1}, "epsilon must be at least 1e"),
        ],
    )
    def test_what_breaks_a_rule(self, change, message):
        with pytest.raises(ps.InvalidArgumentError, match=message):
            ps.Problem(**{**BASE, "epsilon": 0.1, **change})

    def test_what_no_answer_counts(self):
        assert ps.Problem(**BASE, epsilon=0.1).unanswered == 0
        assert ps.Problem(**BASE, epsilon=0.1, no_answer=0.5).unanswered == 0.5
        assert ps.Problem(**BASE, epsilon=0.1, reward_range=(-2, 3)).unanswered == 0
        with pytest.raises(ps.InvalidArgumentError, match="no_answer must be declared"):
            _ = ps.Problem(**BASE, epsilon=0.1, reward_range=(2, 3)).unanswered

    @pytest.mark.parametrize(("objective", "worst"), [("maximize", 2), ("minimize", 3)])
    def test_who_forgot_what_no_answer_counts_is_advised_the_worst(self, objective, worst):
        asked = {"epsilon": 0.1, "reward_range": (2, 3), "sparsity": None}
        problem = ps.Problem(**{**BASE, **asked}, objective=objective)
        with pytest.raises(ps.InvalidArgumentError, match=rf"Problem\(no_answer={worst}\)"):
            _ = problem.unanswered

    @given(
        st.floats(-1e6, 1e6),
        st.floats(1e-3, 1e6),
        st.floats(0, 1, exclude_min=True, exclude_max=True),
        st.integers(1, 4),
    )
    def test_every_problem_has_a_unit(self, low, span, share, m):
        high = low + span
        assume(share * m * (high - low) < m * (high - low))
        problem = ps.Problem(
            n_actions=10,
            slate_size=m,
            epsilon=max(share, 1e-90) * m * (high - low) * (1 - 1e-12),
            delta=0.1,
            reward_range=(low, high),
        )
        assert problem.unit.epsilon == pytest.approx(problem.epsilon / (high - low))
        assert problem.unit.reward_cap == m
