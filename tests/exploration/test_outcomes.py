"""Learners that hear of other outcomes, with the rewards or later."""

import pickle
from copy import deepcopy
from datetime import timedelta

import numpy as np
import pytest

import policysieve as ps
from policysieve.exploration.learners import LEARNERS

X, K, P = 6, 4, 5
RNG = np.random.default_rng(0)
TABLE = np.stack([RNG.permutation(K)[[0, 1, 2, 3, 0]] for _ in range(X)])
CLICK = RNG.uniform(0.1, 0.4, (X, K))
SALE = RNG.uniform(0.1, 0.4, (X, K))
CLICK[np.arange(X), TABLE[:, 1]] = 0.9  # earns the most clicks
SALE[np.arange(X), TABLE[:, 1]] = 0.02  # and costs sales
CLICK[np.arange(X), TABLE[:, 2]] = 0.6
SALE[np.arange(X), TABLE[:, 2]] = 0.5
SALE[np.arange(X), TABLE[:, 0]] = 0.5


def problem(**asked):
    given = {"n_actions": K, "sparsity": None, "epsilon": 0.3, "delta": 0.2, "against": 0}
    return ps.Problem(**{**given, "outcomes": {"sale": (0, 1), "minutes": (0, 60)}, **asked})


def functions():
    return ps.FunctionPolicies([lambda x, p=p: TABLE[x, p] for p in range(P)], n_actions=K)


def answered(decisions, rng):
    x, a = decisions.contexts, decisions.actions[:, 0]
    click, sale = (rng.random(len(x)) < table[x, a] for table in (CLICK, SALE))
    return click * 1.0, sale * 1.0


def play(learner, batches, *, lag=0, seed=1, order=None):
    """Play some batches; sales come so many batches late, minutes with the click."""
    rng, waiting = np.random.default_rng(seed), []
    for _ in range(batches):
        decisions = learner.ask(rng.integers(0, X, 30))
        click, sale = answered(decisions, rng)
        told = {"minutes": 60 * sale} if lag else {"minutes": 60 * sale, "sale": sale}
        learner.tell(decisions, click, outcomes=told)
        waiting.append((decisions, sale))
    if lag:
        for k in order if order is not None else range(batches):
            learner.tell_outcomes(waiting[k][0], {"sale": waiting[k][1]})
    return learner


@pytest.mark.parametrize("kind", sorted(LEARNERS))
def test_every_learner_says_what_policies_have_of_outcomes(kind):
    asked = problem(sparsity=1.0)
    learner = play(LEARNERS[kind](ps.PolicyTable(TABLE, n_actions=K), asked, rng=0), 8)
    found = learner.outcomes()
    assert set(found) == {"sale", "minutes"}
    np.testing.assert_allclose(found["minutes"].values, 60 * found["sale"].values)
    truth = np.array([SALE[np.arange(X), TABLE[:, p]].mean() for p in range(P)])
    assert ((found["sale"].lower <= truth) & (truth <= found["sale"].upper)).all()
    best = learner.recommend()
    if isinstance(best.policy, int):
        value = best.outcomes["sale"].value
        assert value == pytest.approx(found["sale"].values[best.policy], nan_ok=True)
        assert set(best.to_dict()["outcomes"]["sale"]) == {"value", "lower", "upper"}
    today = best.to_dict()["outcomes_against"]["sale"]["value"]
    assert today == pytest.approx(found["sale"].values[0])


@pytest.mark.parametrize("order", [range(8), [7, 2, 0, 1, 6, 5, 3, 4]])
@pytest.mark.parametrize("policies", [ps.PolicyTable(TABLE, n_actions=K), functions()])
def test_late_outcomes_make_no_difference_in_the_end(order, policies):
    at_once = play(ps.Uniform(policies, problem(), rng=0), 8)
    late = play(ps.Uniform(policies, problem(), rng=0), 8, lag=1, order=order)
    for name in ("sale", "minutes"):
        ours, theirs = late.outcomes()[name], at_once.outcomes()[name]
        np.testing.assert_allclose(ours.values, theirs.values, rtol=1e-12)
        np.testing.assert_allclose(ours.upper, theirs.upper, rtol=1e-9)
        np.testing.assert_array_equal(late.log.outcomes[name], at_once.log.outcomes[name])
    assert late.open_outcomes == {"sale": 0, "minutes": 0}


def test_an_outcome_counts_up_to_the_first_round_that_lacks_it():
    learner = ps.Uniform(ps.PolicyTable(TABLE, n_actions=K), problem(), rng=0)
    rng = np.random.default_rng(0)
    first, second = learner.ask(rng.integers(0, X, 10)), learner.ask(rng.integers(0, X, 10))
    learner.tell(second, np.ones(10), outcomes={"sale": np.ones(10)})  # waits for the first
    assert learner.rounds == 0
    learner.tell(first, np.ones(10))
    assert learner.rounds == 20
    assert np.isnan(learner.outcomes()["sale"].values).all()
    assert learner.open_outcomes == {"sale": 10, "minutes": 20}
    learner.tell_outcomes(first[:4], {"sale": np.zeros(4)})
    assert (learner.outcomes()["sale"].values == 0).all()
    learner.tell_outcomes(first[4:], {"sale": np.ones(6)})
    assert learner.outcomes()["sale"].values.max() > 0
    np.testing.assert_array_equal(learner.log.outcomes["sale"].ravel(), [0] * 4 + [1] * 16)
    assert np.isnan(learner.log.outcomes["minutes"]).all()


def test_outcomes_of_told_rounds_that_wait_for_earlier_ones_may_come():
    learner = ps.Uniform(ps.PolicyTable(TABLE, n_actions=K), problem(), rng=0)
    first, second = learner.ask(np.arange(5)), learner.ask(np.arange(5))
    learner.tell(second, np.zeros(5))
    learner.tell_outcomes(second, {"sale": np.ones(5)})
    with pytest.raises(ps.DecisionsError, match="each is told once"):
        learner.tell_outcomes(second[2:], {"sale": np.ones(3)})
    learner.tell_outcomes(second, {"minutes": np.full(5, 30)})
    learner.tell(first, np.zeros(5), outcomes={"sale": np.zeros(5)})
    np.testing.assert_array_equal(learner.log.outcomes["sale"].ravel(), [0] * 5 + [1] * 5)
    assert learner.open_outcomes == {"sale": 0, "minutes": 5}


@pytest.mark.parametrize(
    ("outcomes", "error", "message"),
    [
        ({"sale": [0.5] * 5}, ps.DecisionsError, "each is told once"),
        ({"minutes": [61] * 5}, ps.InvalidArgumentError, r"must lie in \[0, 60\]"),
        ({"minutes": [1] * 4}, ps.InvalidArgumentError, "shape"),
        ({"clicks": [1] * 5}, ps.InvalidArgumentError, "must be declared by the problem"),
        ([1] * 5, ps.InvalidArgumentError, "must be a dict"),
        ({"minutes": [1] * 5, "sale": [1] * 5}, ps.DecisionsError, "each is told once"),
    ],
)
def test_what_is_wrong_is_named_and_changes_nothing(outcomes, error, message):
    learner = ps.Uniform(ps.PolicyTable(TABLE, n_actions=K), problem(), rng=0)
    decisions, still_open = learner.ask(np.arange(5)), learner.ask(np.arange(5))
    learner.tell(decisions, np.zeros(5), outcomes={"sale": np.ones(5)})
    before = pickle.dumps(learner.log)
    with pytest.raises(error, match=message):
        learner.tell_outcomes(decisions, outcomes)
    with pytest.raises(ps.DecisionsError, match="open or was given up"):
        learner.tell_outcomes(still_open, {"sale": [1] * 5})
    if error is ps.InvalidArgumentError:
        with pytest.raises(error, match=message):
            learner.tell(still_open, np.zeros(5), outcomes=outcomes)
        assert learner.pending == 5
    assert pickle.dumps(learner.log) == before
    learner.tell_outcomes(decisions, {"minutes": np.ones(5)})
    learner.discard(still_open)
    with pytest.raises(ps.DecisionsError, match="given up"):
        learner.tell_outcomes(still_open, {"sale": [1] * 5})


def test_without_a_declaration_there_is_nothing_to_tell():
    learner = ps.Uniform(ps.PolicyTable(TABLE, n_actions=K), problem(outcomes=None), rng=0)
    decisions = learner.ask(np.arange(3))
    for tell in (
        lambda: learner.tell(decisions, np.zeros(3), outcomes={"sale": np.zeros(3)}),
        lambda: learner.tell_outcomes(decisions, {"sale": np.zeros(3)}),
        learner.outcomes,
    ):
        with pytest.raises(ps.InvalidArgumentError, match="must be declared by the problem"):
            tell()
    assert learner.pending == 3
    assert learner.recommend().outcomes is None


def test_what_never_comes_counts_as_declared():
    declared = {"sale": (0, 1), "cost": ps.Outcome(1, 9, "minimize", late=5)}
    learner = ps.Uniform(ps.PolicyTable(TABLE, n_actions=K), problem(outcomes=declared), rng=0)
    decisions = learner.ask(np.arange(5))
    learner.tell(decisions, np.zeros(5), outcomes={"sale": [1, np.nan, 1, np.nan, 0]})
    assert learner.expire_outcomes(older_than=timedelta(hours=1)) == {"sale": 0, "cost": 0}
    assert learner.expire_outcomes(older_than=0) == {"sale": 2, "cost": 5}
    np.testing.assert_array_equal(learner.log.outcomes["sale"].ravel(), [1, 0, 1, 0, 0])
    np.testing.assert_array_equal(learner.log.outcomes["cost"].ravel(), [5] * 5)


def test_copies_and_pickles_go_on_where_they_were():
    learner = ps.Sieve(functions_that_pickle(), problem(), rng=0)
    decisions = learner.ask(np.arange(6))
    learner.tell(decisions, np.zeros(6))
    for twin in (deepcopy(learner), pickle.loads(pickle.dumps(learner))):
        twin.tell_outcomes(decisions, {"sale": np.ones(6)})
        assert twin.open_outcomes["sale"] == 0
    assert learner.open_outcomes["sale"] == 6


def test_rounds_that_were_decided_elsewhere_bring_their_outcomes():
    policies = ps.PolicyTable(TABLE, n_actions=K)
    learner = play(ps.Uniform(policies, problem(), rng=0), 3)
    other = ps.Uniform(policies, problem(), rng=5)
    other.learn(learner.log, other.exploration)
    np.testing.assert_array_equal(other.log.outcomes["sale"], learner.log.outcomes["sale"])
    ours, theirs = (one.outcomes()["sale"].values for one in (other, learner))
    np.testing.assert_allclose(ours, theirs)


def test_candidates_are_not_asked_again_for_outcomes():
    asked = []

    def of(p):
        def policy(x):
            asked.append(len(x))
            return TABLE[x, p]

        return policy

    learner = ps.Sieve(
        ps.FunctionPolicies([of(p) for p in range(P)], n_actions=K),
        problem(guardrails={"sale": 0.1}),
        rng=0,
    )
    play(learner, 4)
    before = sum(asked)
    assert before <= 4 * 30 * P
    learner.outcomes()
    learner.recommend()
    assert sum(asked) == before


class TestGuardrails:
    def learner(self, kind=ps.Sieve, **asked):
        asked = {"guardrails": {"sale": 0.2}, **asked}
        return kind(functions(), problem(**asked), rng=0)

    @pytest.mark.parametrize("kind", [ps.Sieve, ps.PolicyElimination])
    def test_what_breaks_one_is_shown_no_more_and_not_recommended(self, kind):
        learner, rng = self.learner(kind), np.random.default_rng(2)
        while not learner.finished and learner.rounds < 8_000:
            decisions = learner.ask(rng.integers(0, X, learner.batch_size))
            click, sale = answered(decisions, rng)
            learner.tell(decisions, click, outcomes={"sale": sale})
        best = learner.recommend()
        assert learner.finished
        assert best.policy == 2
        assert best.certified
        assert 1 not in learner.survivors
        assert 0 in learner.survivors
        (one,) = best.guardrails
        assert (one.outcome, one.verdict) == ("sale", "holds")
        assert one.lower >= -0.2
        assert "the guardrail on sale (0.2) is proved to hold" in best.guarantee
        assert "best policy that is not proved to break a guardrail" in best.guarantee
        decisions = learner.ask(np.repeat(np.arange(X), 20))
        bad = TABLE[decisions.contexts, 1]
        others = [TABLE[decisions.contexts, p] for p in learner.survivors]
        free = ~np.any([bad == other for other in others], axis=0)
        assert (decisions.actions[:, 0] != bad)[free].all()

    def test_an_end_is_taken_back_when_late_sales_bar_who_won(self):
        learner, rng, told = self.learner(), np.random.default_rng(3), []
        while learner.rounds < 2_500:
            decisions = learner.ask(rng.integers(0, X, 100))
            click, sale = answered(decisions, rng)
            learner.tell(decisions, click)
            told.append((decisions, sale))
        assert learner.recommend().policy == 1
        assert not learner.finished  # nothing is proved of its sales
        for decisions, sale in told:
            learner.tell_outcomes(decisions, {"sale": sale})
        assert learner.recommend().policy == 2
        assert 1 in learner.survivors  # until the next look
        decisions = learner.ask(rng.integers(0, X, 200))
        click, sale = answered(decisions, rng)
        learner.tell(decisions, click, outcomes={"sale": sale})
        assert 1 not in learner.survivors

    def waiting(self):
        """A learner that has proved all but its guardrail, and what it has not been told."""
        learner, rng, told = self.learner(), np.random.default_rng(3), []
        while learner.rounds < 2_500:
            decisions = learner.ask(rng.integers(0, X, 100))
            learner.tell(decisions, answered(decisions, rng)[0])
            told.append(decisions)
        return learner, told

    def test_one_that_is_not_proved_is_named_with_what_it_waits_for(self):
        learner, _ = self.waiting()
        best, status = learner.recommend(), learner.status()
        assert best.certified
        assert not learner.finished
        said = "Guardrail sale is not proved yet: 2,500 outcomes are open of sale."
        assert f"{said} The learner goes on until it is." in best.guarantee
        assert status.recommendation.guarantee == best.guarantee
        assert status.unproved == {"sale": 2_500}
        assert "guardrail on sale not proved (2,500 open)" in repr(status)
        assert status.to_dict()["open_outcomes"] == {"sale": 2_500, "minutes": 2_500}
        assert "certified, guardrail not proved" in status._repr_html_()
        assert "2,500 outcomes are open" in status._repr_html_()
        forecast = learner.forecast()
        assert forecast.total is None
        assert "2,500 outcomes are open of sale" in forecast.sentence()
        assert status.forecast.reason == forecast.reason

    @pytest.mark.parametrize("how", ["expire", "tell"])
    def test_late_outcomes_that_prove_it_end_at_once(self, how):
        learner, told = self.waiting()
        if how == "expire":
            assert learner.expire_outcomes(older_than=0)["sale"] == 2_500
        else:
            for k, decisions in enumerate(told):
                learner.tell_outcomes(decisions, {"sale": np.zeros(len(decisions))})
                if k == 0:
                    assert not learner.finished
        best = learner.recommend()
        assert learner.finished
        assert [one.verdict for one in best.guardrails] == ["holds"]
        assert "not proved yet" not in best.guarantee
        assert learner.status().unproved == {}
        assert learner.forecast().sentence() == "It has finished."

    def test_others_do_not_take_them(self):
        with pytest.raises(ps.InvalidArgumentError, match="Uniform takes no guardrails"):
            self.learner(ps.Uniform)

    def test_a_problem_without_them_is_played_as_ever(self):
        plain = ps.Sieve(functions(), problem(outcomes=None), rng=0)
        declared = ps.Sieve(functions(), problem(), rng=0)
        rng = np.random.default_rng(4)
        for _ in range(15):
            x = rng.integers(0, X, 30)
            ours, theirs = plain.ask(x), declared.ask(x)
            np.testing.assert_array_equal(ours.actions, theirs.actions)
            np.testing.assert_array_equal(ours.propensities, theirs.propensities)
            click, sale = answered(ours, rng)
            plain.tell(ours, click)
            declared.tell(theirs, click, outcomes={"sale": sale})
        assert plain.recommend().to_dict() == {
            name: value
            for name, value in declared.recommend().to_dict().items()
            if not name.startswith("outcomes")
        }


def test_for_whom_the_recommended_policy_is_better():
    learner = play(ps.Sieve(ps.PolicyTable(TABLE, n_actions=K), problem(), rng=0), 30)
    found = learner.by_segment(0)
    assert {one.label for one in found} == {str(x) for x in range(X)}
    assert found.policies == (learner.recommend().policy, 0)
    sales = learner.by_segment(lambda x: x % 2, outcome="sale", every_policy=True)
    assert len(sales.policies) == P
    assert sales.outcome == "sale"


class Column:
    """One policy, as a function that can be pickled."""

    def __init__(self, p):
        self.p = p

    def __call__(self, x):
        return TABLE[x, self.p]


def functions_that_pickle():
    return ps.FunctionPolicies([Column(p) for p in range(P)], n_actions=K)
