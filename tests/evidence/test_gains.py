"""How much better the leader is than what runs today: what is proved, and how seldom wrongly."""

import json
import pickle
from dataclasses import replace
from math import inf, log

import numpy as np
import pytest
from click.testing import CliRunner

import policysieve as ps
from policysieve.cli import main
from policysieve.evidence import comparing
from policysieve.evidence.comparing import capped_difference
from policysieve.exploration.learners import LEARNERS
from tests.evidence.capped import World
from tests.statistics import assert_at_most

NAMES = ["logreg", "trees", "rules"]


def logged(n=4000, seed=0, gap=0.2, distributions=True):
    """A log of uniform exploration over two actions; trees are better than logreg by the gap."""
    rng = np.random.default_rng(seed)
    policies = ps.PolicyTable([[0, 1, 0]], n_actions=2, names=NAMES)
    actions = rng.integers(0, 2, n)
    log = ps.Log(
        contexts=np.zeros(n, int),
        actions=actions,
        propensities=np.full(n, 0.5),
        rewards=rng.random(n) < np.where(actions == 1, 0.5 + gap, 0.5),
        distributions=np.full((n, 2), 0.5) if distributions else None,
    )
    return log, policies


def asked(against="logreg", **arguments):
    settings = {"n_actions": 2, "sparsity": None, "epsilon": 0.05, "delta": 0.05, **arguments}
    return ps.Problem(against=against, **settings)


class TestProblem:
    def test_it_takes_a_name_or_a_number(self):
        assert asked("logreg").against == "logreg"
        assert asked(np.int64(1)).against == 1
        assert asked(None).against is None
        for wrong in (-1, 1.5, True, ["logreg"]):
            with pytest.raises(ps.InvalidArgumentError, match="against must be"):
                asked(wrong)

    def test_the_policies_must_have_it(self):
        log, policies = logged(100)
        with pytest.raises(ps.InvalidArgumentError, match=r"against .*'forest'"):
            ps.select(log, policies, asked("forest"))
        with pytest.raises(ps.InvalidArgumentError, match="against must be"):
            ps.Sieve(policies, asked(3))
        classes = ps.TabularPolicies(n_contexts=1, n_actions=2)
        with pytest.raises(ps.InvalidArgumentError, match="cannot be listed"):
            ps.select(log, classes, asked(0), floor=0.5)


class TestSelections:
    def test_the_gain_is_the_lower_limit_with_half_of_delta_and_a_union_over_leaders(self):
        log_, policies = logged()
        proof = ps.select(log_, policies, asked()).certificate
        evidence = ps.Evidence(policies, asked())
        evidence.add(log_)
        standing, past, kept = evidence._now()[0], evidence._past, evidence.survivors
        wanted = capped_difference(standing, past, kept, 1, 0, log(2 * 2 / 0.05))
        assert (proof.leader, proof.against, proof.gain) == (1, "logreg", wanted)
        assert 0.1 < proof.gain < 0.2

    def test_who_runs_today_is_never_eliminated(self):
        log_, policies = logged()
        free, kept = (ps.select(log_, policies, asked(who)) for who in (None, "logreg"))
        assert free.certificate.eliminated.tolist() == [True, False, True]
        assert kept.certificate.eliminated.tolist() == [False, False, True]
        assert free.gain is None
        assert free.certificate.to_dict()["gain"] is None

    def test_the_rest_has_the_other_half(self):
        world = World(0, n=200, n_policies=4)
        half = replace(world.problem, delta=world.problem.delta / 2)
        worst = 0
        plain = ps.Evidence(world.policies, half, keep=[worst])
        named = ps.Evidence(world.policies, replace(world.problem, against=worst))
        for evidence in (plain, named):
            world.feed(evidence, 0, 200)
        one, other = (evidence.certificate().to_dict() for evidence in (plain, named))
        assert one.pop("against") is one.pop("gain") is None
        assert other.pop("against") == "policy 0"
        assert other.pop("gain") is not None
        assert one == other

    def test_the_sentence_says_by_how_much(self):
        log_, policies = logged()
        found = ps.select(log_, policies, asked())
        assert found.guarantee.endswith(
            f" With probability at least 0.95, trees is better than logreg by at least "
            f"{found.gain:.3g}."
        )
        assert json.loads(json.dumps(found.to_dict()))["certificate"]["gain"] == found.gain

    def test_what_is_not_proved_is_said(self):
        log_, policies = logged(300, gap=0.02)
        found = ps.select(log_, policies, asked("rules"))
        assert found.policy_name == "trees"
        assert found.gain < 0
        assert found.guarantee.endswith(
            f"It is not proved that trees is better than rules: it may be worse by "
            f"{-found.gain:.3g}."
        )

    def test_a_leader_that_runs_today_gains_nothing(self):
        log_, policies = logged()
        found = ps.select(log_, policies, asked("trees"))
        assert found.gain == 0
        assert found.guarantee.endswith("trees, which runs today, leads itself.")

    def test_one_candidate_is_enough(self):
        log_, policies = logged()
        two = ps.PolicyTable(policies.table[:, :2], n_actions=2, names=NAMES[:2])
        alone, among = (ps.select(log_, some, asked()).gain for some in (two, policies))
        assert alone > among > 0

    @pytest.mark.parametrize("method", ["betting", "empirical_bernstein", "stitched", "fixed"])
    def test_with_a_floor(self, method):
        log_, policies = logged(distributions=False)
        found = ps.select(log_, policies, asked(), method=method, floor=0.5)
        assert 0 < found.gain < 0.2
        wide = ps.select(log_, policies, asked(None), method=method, floor=0.5)
        assert wide.certificate.suboptimality_bound <= found.certificate.suboptimality_bound

    def test_with_neither(self):
        log_, policies = logged(distributions=False)
        found = ps.select(log_, policies, asked())
        assert found.certificate.method == "none"
        assert 0 < found.gain < 0.2

    def test_it_travels(self):
        log_, policies = logged(500)
        proof = ps.select(log_, policies, asked()).certificate
        there = pickle.loads(pickle.dumps(ps.select(log_, policies, asked()).certificate))
        assert there.gain == proof.gain

    @pytest.mark.parametrize("kind", ["capped", "betting", None])
    def test_a_certificate_stays_what_it_was(self, kind):
        """Rounds that come later do not change what is found when it is first asked for."""
        log_, policies = logged(2000, distributions=kind == "capped")
        floor = {"floor": 0.5} if kind == "betting" else {}
        evidence = ps.evidence.evidence_of(
            policies,
            asked(),
            method=kind,
            floor=floor.get("floor"),
            exploration=None,
            declared_rounds=1,
            memory_limit=1 << 20,
        )
        held, add = evidence
        add(log_[:1000])
        early = held.certificate()
        add(log_[1000:])
        assert early.gain == ps.select(log_[:1000], policies, asked(), **floor).gain

    def test_after_forgetting_values_are_compared(self):
        log_, policies = logged(6000)
        kept, forgot = (ps.select(log_, policies, asked(), memory_limit=x) for x in (1 << 30, 0))
        assert 0 < forgot.gain < kept.gain

    def test_reports_and_cards_have_it(self, tmp_path):
        log_, policies = logged()
        found = ps.select(log_, policies, asked())
        found.report(tmp_path / "page.html")
        for text in (
            (tmp_path / "page.html").read_text(encoding="utf-8"),
            found._repr_html_(),
            found.certificate._repr_html_(),
        ):
            assert "Better than logreg by" in text
        assert "logreg" in asked()._repr_html_()


def test_any_survivor_may_be_taken_for_the_leader():
    world = World(6, m=2, n=130, sparsity=None)
    evidence = ps.Evidence(world.policies, world.problem)
    world.feed(evidence, 0, 130)
    assert len(evidence.survivors) > 1
    for policy in evidence.now().survivors.tolist():
        led = evidence.led_by(policy)
        proof, bets = led.certificate(), led.proof()
        assert proof.leader == policy
        assert policy not in bets.rivals
        assert proof.certified == bets.holds(world.problem.epsilon)
    assert evidence.certificate().leader == evidence.standing.leader
    gone = [p for p in range(6) if p not in evidence.now().survivors]
    with pytest.raises(ps.InvalidArgumentError, match="which was eliminated"):
        evidence.led_by(gone[0])


def test_a_gain_of_zero_is_said_to_be_no_loss():
    log_, policies = logged()
    twins = ps.PolicyTable(policies.table[:, [1, 1, 0]], n_actions=2, names=["a", "b", "c"])
    found = ps.select(log_, twins, asked("b"))
    assert (found.policy_name, found.gain) == ("a", 0.0)
    assert found.guarantee.endswith("that a is better than b, only that it is not worse.")


class TestCommand:
    @pytest.mark.parametrize("who", ["logreg", "0"])
    def test_select_against(self, tmp_path, who):
        log_, policies = logged()
        log_.save(tmp_path / "log.parquet")
        policies.save(tmp_path / "table.npy")
        arguments = ["select", str(tmp_path / "log.parquet"), "--policies"]
        arguments += [str(tmp_path / "table.npy"), "--actions", "2", "--sparsity", "unknown"]
        arguments += ["--names", ",".join(NAMES), "--epsilon", "0.05", "--delta", "0.05"]
        told = CliRunner().invoke(main, [*arguments, "--against", who])
        assert told.exit_code == 0, told.output
        assert "trees is better than logreg by at least" in " ".join(told.output.split())
        told = CliRunner().invoke(main, [*arguments, "--against", who, "--json"])
        proof = json.loads(told.output)["certificate"]
        assert proof["against"] == "logreg"
        assert proof["gain"] == ps.select(log_, policies, asked()).gain


class TestLearners:
    @pytest.mark.parametrize("kind", LEARNERS)
    def test_all_say_it(self, kind):
        world = ps.worlds.SparseSynthetic(
            n_actions=4, n_contexts=20, n_policies=5, profile="one_good", rng=3
        )
        policies = ps.PolicyTable(world.pool, n_actions=4)
        values = world.values(policies)
        worst = int(values.argmin())
        problem = world.problem(epsilon=0.3, delta=0.2, against=worst)
        learner = LEARNERS[kind](policies, problem, rng=0)
        result = ps.run(learner, world, max_rounds=3000, rng=0)
        best = result.recommendation
        assert best.against == f"policy {worst}"
        if best.gain is None:
            assert "Nothing is guaranteed" in best.guarantee
            return
        truth = values[best.policy] - values[worst] if isinstance(best.policy, int) else inf
        assert best.gain <= truth
        assert f"policy {worst}" in best.guarantee
        assert best.to_dict()["gain"] == best.gain
        assert f"Better than policy {worst} by" in best._repr_html_()

    def test_the_sieve_proves_it(self):
        world = ps.worlds.SparseSynthetic(
            n_actions=4, n_contexts=20, n_policies=5, profile="one_good", rng=3
        )
        policies = ps.PolicyTable(world.pool, n_actions=4)
        values = world.values(policies)
        problem = world.problem(epsilon=0.1, delta=0.1, against=int(values.argmin()))
        learner = ps.Sieve(policies, problem, rng=0)
        best = ps.run(learner, world, max_rounds=5000, rng=0).recommendation
        assert best.certified
        assert 0 < best.gain <= values[best.policy] - values.min()
        assert problem.against in learner.survivors


# --- false gains are as rare as delta says ----------------------------------------------------

DELTA = 0.2
RUNS = 60


def wrong_claims(seed, values, against):
    """Whether a gain was ever claimed that is larger than the true one; exploration is greedy."""
    rng = np.random.default_rng(seed)
    K = len(values)
    policies = ps.PolicyTable([np.arange(K)], n_actions=K)
    problem = ps.Problem(n_actions=K, sparsity=None, epsilon=0.1, delta=DELTA, against=against)
    evidence, wrong = ps.Evidence(policies, problem), False
    while evidence.rounds < 150:
        n = max(evidence.next_look - evidence.rounds, 3)
        W = np.full((n, K), 0.06)
        W[:, evidence.standing.leader] += 1 - 0.06 * K
        actions = (rng.random((n, 1)) > W.cumsum(axis=1)[:, :-1]).sum(axis=1)
        rewards = rng.random(n) < np.asarray(values)[actions]
        rounds = ps.Log(
            contexts=np.zeros(n, int),
            actions=actions,
            propensities=W[np.arange(n), actions],
            rewards=rewards,
        )
        evidence.take(rounds, policies.answers(rounds.contexts), lambda rows, W=W: W[rows])
        proof = evidence.certificate()
        wrong |= proof.gain > values[proof.leader] - values[against] + 1e-12
    return wrong


@pytest.mark.parametrize(
    ("values", "against"),
    [
        pytest.param([0.5, 0.5, 0.5, 0.5], 1, id="ties"),
        pytest.param([0.6, 0.3, 0.3, 0.3], 0, id="the best runs today"),
        pytest.param([0.5, 0.5], 0, id="one candidate"),
        pytest.param([0.2, 0.7, 0.6, 0.1], 0, id="a true gain"),
    ],
)
def test_false_gains_are_rare(values, against):
    wrong = sum(wrong_claims(seed, values, against) for seed in range(RUNS))
    assert_at_most(wrong, RUNS, DELTA / 2, alpha=1e-3)


def test_false_gains_are_found(monkeypatch):
    monkeypatch.setattr(comparing, "log", lambda _: 1e-3)  # gains for nothing
    wrong = sum(wrong_claims(seed, [0.5] * 4, 1) for seed in range(30))
    with pytest.raises(AssertionError):
        assert_at_most(wrong, 30, DELTA / 2, alpha=1e-3)
