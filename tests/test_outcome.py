"""Other outcomes of a round, and guardrails on them, as a problem declares them."""

import json
from dataclasses import asdict

import numpy as np
import pytest

import policysieve as ps

ASKED = {"n_actions": 4, "epsilon": 0.1, "delta": 0.2}


def test_a_range_is_an_outcome_of_which_more_is_better():
    problem = ps.Problem(**ASKED, outcomes={"sale": (0, 1), "cost": ps.Outcome(0, 9, "minimize")})
    assert problem.outcomes == {
        "sale": ps.Outcome(0.0, 1.0),
        "cost": ps.Outcome(0.0, 9.0, objective="minimize", late=0.0),
    }
    assert problem.guardrails is None


def test_a_problem_with_guardrails_survives_json_and_can_be_hashed():
    problem = ps.Problem(
        **ASKED, against="now", outcomes={"sale": (0, 1)}, guardrails={"sale": 0.01}
    )
    assert ps.Problem(**json.loads(json.dumps(asdict(problem)))) == problem
    assert hash(problem) == hash(ps.Problem(**asdict(problem)))
    assert problem != ps.Problem(**ASKED, against="now", outcomes={"sale": (0, 1)})


def test_guardrails_take_a_quarter_of_delta_from_the_best_policy():
    plain = ps.Problem(**ASKED, against=0)
    guarded = ps.Problem(**ASKED, against=0, outcomes={"a": (0, 1)}, guardrails={"a": 0})
    assert (plain.delta_of_best, plain.delta_of_guardrails) == (0.1, 0.0)
    assert (guarded.delta_of_best, guarded.delta_of_guardrails) == (0.05, 0.05)


def test_scores_go_from_worst_to_best_and_back_to_units():
    values = np.array([[2.0], [5.0], [4.0]])
    more, less = ps.Outcome(2, 6), ps.Outcome(2, 6, "minimize")
    np.testing.assert_allclose(more.scores(values).ravel(), [0, 0.75, 0.5])
    np.testing.assert_allclose(less.scores(values).ravel(), [1, 0.25, 0.5])
    middle, lower, upper = (np.array([x]) for x in (0.5, 0.25, 1.0))
    assert [float(x[0]) for x in more.in_units(middle, lower, upper, 2)] == [6.0, 5.0, 8.0]
    assert [float(x[0]) for x in less.in_units(middle, lower, upper, 2)] == [10.0, 8.0, 11.0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"outcomes": {}}, "outcomes must be a dict"),
        ({"outcomes": [("sale", 0, 1)]}, "outcomes must be a dict"),
        ({"outcomes": {"sale": 1}}, "'sale' must be a range such as"),
        ({"outcomes": {"sale": (1, 0)}}, "high must be a number with 1 < high"),
        ({"outcomes": {"": (0, 1)}}, "the names of outcomes"),
        ({"guardrails": {"sale": 0.1}}, "need the policy that runs today"),
        ({"guardrails": {"sale": 0.1}, "against": 0}, "must be of declared outcomes"),
        (
            {"guardrails": {"sale": -1}, "against": 0, "outcomes": {"sale": (0, 1)}},
            "the guardrail 'sale' must be a finite number of at least 0",
        ),
        (
            {"guardrails": {}, "against": 0, "outcomes": {"sale": (0, 1)}},
            "guardrails must be a dict",
        ),
    ],
)
def test_what_cannot_be_declared_is_named(given, message):
    with pytest.raises(ps.InvalidArgumentError, match=message):
        ps.Problem(**ASKED, **given)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 1, "more"), "objective must be one of maximize, minimize"),
        ((0, float("inf")), "high must be"),
        ((float("nan"), 1), "low must be"),
    ],
)
def test_an_outcome_has_a_range_and_a_direction(arguments, message):
    with pytest.raises(ps.InvalidArgumentError, match=message):
        ps.Outcome(*arguments)
    with pytest.raises(ps.InvalidArgumentError, match="late must be"):
        ps.Outcome(0, 1, late=2)
