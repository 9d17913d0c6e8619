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
