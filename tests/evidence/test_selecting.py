import json

import numpy as np
import pytest
from click.testing import CliRunner

import policysieve as ps
from policysieve.cli import main
from tests.evidence.records import uniform_case
from tests.oracles.naive import importance_weighted
from tests.statistics import assert_at_most

FLOOR = 1 / 8


@pytest.fixture(scope="module")
def case():
    return uniform_case()


def test_selection(case):
    world, policies, problem, log = case
    selection = ps.select(log, policies, problem, floor=FLOOR)
    truth = world.values(policies)
    assert selection.policy == truth.argmax()
    assert selection.certificate.certified
    assert selection.certificate.method == "betting"
    assert selection.certificate.rounds == 4000
    assert selection.floor == FLOOR
    assert "provided that no action's propensity could be below 0.125" in selection.guarantee
    assert ((selection.lower <= truth) & (truth <= selection.upper)).all()
    slates = policies.actions(log.contexts).tolist()
    naive = importance_weighted(slates, log.actions, log.propensities, log.rewards).mean(axis=0)
    np.testing.assert_allclose(selection.values, naive, rtol=1e-12)
    assert selection.value == selection.values[selection.policy]
    assert "no policy is better than policy" in selection.guarantee


def test_evidence_may_begin_later(case, tmp_path):
    _, policies, problem, log = case
    part = ps.select(log[1500:], policies, problem, floor=FLOOR).to_dict()
    assert ps.select(log, policies, problem, floor=FLOOR, since=1500).to_dict() == part
    log.save(tmp_path / "log.parquet")
    policies.save(tmp_path / "table.npy")
    arguments = ["select", str(tmp_path / "log.parquet"), "--policies", str(tmp_path / "table.npy")]
    arguments += ["--actions", "8", "--epsilon", "0.1", "--delta", "0.05", "--since", "1500"]
    told = CliRunner().invoke(main, [*arguments, "--floor", str(FLOOR)])
    assert "after 2,500" in told.output
    with pytest.raises(ps.InvalidArgumentError, match=r"since must be .* in \[0, 3999\]"):
        ps.select(log, policies, problem, floor=FLOOR, since=4000)


def test_all_policies_as_a_data_frame(case):
    _, policies, problem, log = case
    selection = ps.select(log, policies, problem, floor=FLOOR)
    frame = selection.to_frame("pyarrow").to_pydict()
    assert list(frame) == ["policy", "name", "value", "lower", "upper", "eliminated"]
    assert frame["policy"] == list(range(25))
    assert frame["name"][selection.policy] == selection.policy_name
    for name, limits in [
        ("value", selection.values),
        ("lower", selection.lower),
        ("upper", selection.upper),
    ]:
        assert frame[name] == limits.tolist()
    assert frame["eliminated"] == selection.certificate.eliminated.tolist()
    assert any(frame["eliminated"])


def test_a_class_without_end_has_one_row():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 2))
    log = ps.Log(
        contexts=rows,
        actions=rng.integers(0, 3, 500),
        propensities=np.full(500, 1 / 3),
        rewards=rng.integers(0, 2, 500),
    )
    problem = ps.Problem(n_actions=3, epsilon=0.2, delta=0.1)
    trees = ps.TreePolicies(rows, n_actions=3, depth=1, n_bins=4)
    selection = ps.select(log, trees, problem, floor=1 / 3)
    (row,) = selection.to_frame("pyarrow").to_pylist()
    assert (row["policy"], row["name"]) == (None, selection.policy_name)
    assert (row["value"], row["eliminated"]) == (selection.value, False)
    assert "policy 0" not in selection._repr_html_()


def with_distributions(log, propensities):
    """The same rounds with the propensities of all actions."""
    return ps.Log(
        contexts=log.contexts,
        actions=log.actions,
        propensities=log.propensities,
        rewards=log.rewards,
        distributions=np.broadcast_to(propensities, (len(log), np.shape(propensities)[-1])).copy(),
    )


def test_full_distributions_need_no_floor_and_prove_more(case):
    world, policies, problem, log = case
    log = log[:150]
    floored = ps.select(log, policies, problem, floor=FLOOR)
    full = with_distributions(log, np.full(8, FLOOR))
    selection = ps.select(full, policies, problem)
    truth = world.values(policies)
    assert selection.certificate.method == "capped"
    assert selection.floor is None
    assert "provided" not in selection.guarantee
    assert selection.certificate.suboptimality_bound < floored.certificate.suboptimality_bound
    assert selection.certificate.eliminated.sum() >= floored.certificate.eliminated.sum()
    assert ((selection.lower <= truth) & (truth <= selection.upper)).all()
    leader = selection.policy
    assert selection.lower[leader] > floored.lower[leader]
    uniform = ps.Uniform(policies, problem, rounds=10, rng=0).exploration
    decided = ps.select(log, policies, problem, exploration=uniform)
    assert decided.to_dict() == selection.to_dict()


def test_a_limit_of_memory_costs_rounds_not_validity(case):
    world, policies, problem, log = case
    full = with_distributions(log[:300], np.full(8, FLOOR))
    kept = ps.select(full, policies, problem).certificate
    forgotten = ps.select(full, policies, problem, memory_limit=0).certificate
    assert forgotten.leader == kept.leader
    assert forgotten.suboptimality_bound >= kept.suboptimality_bound
    truth = world.values(policies)
    assert truth.max() - truth[forgotten.leader] <= forgotten.suboptimality_bound


def test_another_exploration_than_the_one_that_decided(case):
    _, policies, problem, log = case
    other = ps.Sieve(policies, problem, rng=0).exploration
    with pytest.raises(ps.InvalidArgumentError, match="those of the exploration that decided"):
        ps.select(log, policies, problem, exploration=other)


def test_without_a_floor_nothing_is_certified_and_it_says_what_to_pass(case):
    world, policies, problem, log = case
    selection = ps.select(log, policies, problem)
    truth = world.values(policies)
    assert selection.policy == truth.argmax()
    assert selection.floor is None
    assert (selection.certificate.method, selection.certificate.certified) == ("none", False)
    assert selection.certificate.suboptimality_bound == 1.0
    assert not selection.certificate.eliminated.any()
    for word in ("Nothing is proved", "floor", "--design", "propensities of all actions"):
        assert word in selection.guarantee
    assert ((selection.lower <= truth) & (truth <= selection.upper)).all()
    assert (selection.upper < 1).any()
    for method in ("betting", "stitched"):
        with pytest.raises(ps.InvalidArgumentError, match=f"method='{method}' needs floor"):
            ps.select(log, policies, problem, method=method)
    with pytest.raises(ps.InvalidArgumentError, match="log must have distributions"):
        ps.select(log, policies, problem, method="capped")


def greedy_log(n, n_actions, tiny, explored, rng):
    """A log that explores so little at 7% of the contexts that this is seldom met.

    There only the last action earns anything; elsewhere it is a little worse than action 0, which
    the log shows most of the time.
    """
    contexts = (rng.random(n) < 0.07).astype(int)
    W = np.where(contexts == 1, tiny, explored / n_actions)[:, None] * np.ones(n_actions)
    W[:, 0] += 1 - W.sum(axis=1)
    actions = (W.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1).clip(0, n_actions - 1)
    last, first = actions == n_actions - 1, actions == 0
    means = np.where(contexts == 1, 1.0 * last, 0.5 * first + 0.49 * last)
    columns = {
        "contexts": contexts,
        "actions": actions,
        "propensities": W[np.arange(n), actions],
        "rewards": rng.random(n) < means,
    }
    return ps.Log(**columns), ps.Log(**columns, distributions=W)


@pytest.mark.parametrize(
    ("n_actions", "tiny", "explored", "n"),
    [(2, 1e-5, 0.1, 25_000), (10, 1e-3, 0.3, 3_000)],
    ids=["two", "ten"],
)
def test_propensities_that_were_not_met_make_no_certificate_false(n_actions, tiny, explored, n):
    """With the smallest one that was met as floor they may be; without a floor there are none."""
    problem = ps.Problem(n_actions=n_actions, epsilon=0.055, delta=0.2)
    both = [[0, n_actions - 1]] * 2
    policies, gap = ps.PolicyTable(both, n_actions=n_actions), 0.07 - 0.93 * 0.01
    taken_from_the_log = wrong = 0
    for seed in range(8):
        log, full = greedy_log(n, n_actions, tiny, explored, np.random.default_rng(seed))
        assert ps.select(log, policies, problem).certificate.method == "none"
        known = ps.select(full, policies, problem).certificate
        assert known.method == "capped"
        wrong += known.leader == 0 and known.suboptimality_bound < gap
        met = ps.FloorEvidence(policies, problem)
        met.add(log, floor=float(log.propensities.min()))
        taken_from_the_log += met.certificate().leader == 0 and met.certificate().certified
    assert_at_most(wrong, 8, problem.delta, alpha=1e-3)
    if n_actions == 2:
        assert taken_from_the_log >= 4


@pytest.mark.parametrize("method", ["empirical_bernstein", "stitched", "fixed", "checkpoints"])
def test_other_methods_agree_and_are_not_tighter(case, method):
    _, policies, problem, log = case
    betting = ps.select(log[:1500], policies, problem, floor=FLOOR).certificate
    other = ps.select(log[:1500], policies, problem, method=method, floor=FLOOR).certificate
    assert other.method == method
    assert other.leader == betting.leader
    assert other.suboptimality_bound >= betting.suboptimality_bound


def test_little_data_proves_nothing(case):
    _, policies, problem, log = case
    selection = ps.select(log[:3], policies, problem, floor=FLOOR)
    assert selection.certificate.suboptimality_bound == 1.0
    assert "3 rounds prove nothing yet" in selection.guarantee
    one = ps.select(log[:1], policies, problem, floor=FLOOR)
    assert "One round proves nothing yet" in one.guarantee


def test_fixed_holds_at_the_declared_rounds_alone(case):
    _, policies, problem, log = case
    evidence = ps.FloorEvidence(policies, problem, method="fixed", declared_rounds=4000)
    evidence.add(log[:100], floor=1 / 8)
    with pytest.raises(ps.InvalidArgumentError, match="declared 4,000 rounds only, got 100; add"):
        evidence.certificate()
    evidence.add(log[100:], floor=1 / 8)
    one, two = evidence.certificate(), evidence.certificate()
    assert one.to_dict() == two.to_dict()


def test_a_file_larger_than_a_piece(case, tmp_path, monkeypatch):
    _, policies, problem, log = case
    log.save(tmp_path / "log.parquet")
    monkeypatch.setattr("policysieve.formats.parquet_file.BATCH", 700)
    file = ps.LogFile(tmp_path / "log.parquet")
    assert [len(piece) for piece in file.pieces()] == [700] * 5 + [500]
    one, two = (ps.select(some, policies, problem, floor=FLOOR) for some in (log, file))
    assert one.policy == two.policy
    assert ps.select(tmp_path / "log.parquet", policies, problem).policy == one.policy
    with pytest.raises(ps.InvalidArgumentError, match="log must be a Log"):
        ps.select([1, 2], policies, problem)
    np.testing.assert_allclose(one.values, two.values, rtol=1e-12)
    assert one.certificate.suboptimality_bound == pytest.approx(
        two.certificate.suboptimality_bound, rel=3e-3
    )


def without_last_action(n_actions, rounds, greedy, rng):
    """A log that cannot show the last action, which would always earn 1; others hardly ever do."""
    odds = np.full(n_actions - 1, (1 - greedy) / (n_actions - 1))
    odds[0] += greedy
    actions = rng.choice(n_actions - 1, size=rounds, p=odds)
    return ps.Log(
        contexts=np.zeros(rounds, dtype=int),
        actions=actions,
        propensities=odds[actions],
        rewards=(actions == 0) & (rng.random(rounds) < 0.3),
    )


@pytest.mark.parametrize("n_actions", [3, 10])
@pytest.mark.parametrize("greedy", [0.0, 0.5, 0.8])
def test_no_false_certificate_without_support(n_actions, greedy):
    """Of a log that says so, the worst is assumed of what it cannot show; others are refused."""
    rng = np.random.default_rng(n_actions)
    policies = ps.PolicyTable(np.arange(n_actions)[None], n_actions=n_actions)
    problem = ps.Problem(n_actions=n_actions, epsilon=0.6, delta=0.05)
    refused = 0
    for rounds in (5, 20, 60, 200, 600, 2000):
        for _ in range(5):
            log = without_last_action(n_actions, rounds, greedy, rng)
            odds = np.full(n_actions, (1 - greedy) / (n_actions - 1))
            odds[0] += greedy
            odds[-1] = 0.0
            proof = ps.select(with_distributions(log, odds), policies, problem).certificate
            assert proof.suboptimality_bound >= 0.7  # by which the last action is better
            floor = float(odds[1:-1].min())
            try:
                ps.select(log, policies, problem, floor=floor)
            except ps.InvalidArgumentError:
                refused += 1
    assert refused >= 10


def test_a_smaller_floor_explains_what_was_never_shown():
    rng = np.random.default_rng(0)
    log = without_last_action(4, 500, 0.0, rng)
    policies = ps.PolicyTable(np.arange(4)[None], n_actions=4)
    problem = ps.Problem(n_actions=4, epsilon=0.6, delta=0.05)
    with pytest.raises(ps.InvalidArgumentError, match=r"action 3 was never shown in 500 rounds"):
        ps.select(log, policies, problem)
    named = ps.PolicyTable(np.arange(4)[None], actions=["shoes", "hats", "bags", "belts"])
    with pytest.raises(ps.InvalidArgumentError, match=r"action 'belts' was never shown"):
        ps.select(log, named, problem)
    with pytest.raises(
        ps.InvalidArgumentError, match=r"0\.333, the smallest in the log, would sum"
    ):
        ps.select(log[:3], policies, problem)
    for floor in (0.5, 1.0):
        with pytest.raises(ps.InvalidArgumentError, match=f"the floor {floor:g}, got 0.333"):
            ps.select(log, policies, problem, floor=floor)
    assert ps.select(log, policies, problem, floor=1e-3).floor == 1e-3


def test_healthy_logs_are_refused_at_most_so_often():
    rng, runs, refused = np.random.default_rng(5), 300, 0
    policies = ps.PolicyTable(np.arange(4)[None], n_actions=4)
    problem = ps.Problem(n_actions=4, epsilon=0.6, delta=0.2)
    for run in range(runs):
        n = (16, 30, 300)[run % 3]
        odds = np.array([0.7, 0.1, 0.1, 0.1] if run % 2 else [0.25] * 4)
        actions = rng.choice(4, size=n, p=odds)
        log = ps.Log(
            contexts=np.zeros(n, dtype=int),
            actions=actions,
            propensities=odds[actions],
            rewards=rng.integers(0, 2, n),
        )
        try:
            ps.select(log, policies, problem, floor=float(odds.min()))
        except ps.InvalidArgumentError:
            refused += 1
    assert_at_most(refused, runs, 0.2 + 1e-4)


def test_what_is_refused(case):
    _, policies, problem, log = case

    def changed(**columns):
        data = {
            "contexts": log.contexts,
            "actions": log.actions,
            "propensities": log.propensities,
            "rewards": log.rewards,
        }
        return ps.Log(**{**data, **columns})

    with pytest.raises(ps.InvalidArgumentError, match="did not explore"):
        ps.select(changed(propensities=np.ones((4000, 1))), policies, problem)
    with pytest.raises(ps.InvalidArgumentError, match=r"too small to be .*policysieve check"):
        ps.select(changed(propensities=np.full((4000, 1), 0.01)), policies, problem)
    with pytest.raises(ps.InvalidArgumentError, match="at least one round"):
        ps.select(log[:0], policies, problem)
    with pytest.raises(ps.InvalidArgumentError, match="at least two"):
        ps.select(log, ps.PolicyTable(policies.table[:, :1], n_actions=8), problem)
    with pytest.raises(ps.InvalidArgumentError, match=r"lie in \[0, 7\], got \[8\] in row 0"):
        ps.select(
            changed(actions=np.where(log.actions == log.actions[0], 8, log.actions)),
            policies,
            problem,
        )
    with pytest.raises(ps.InvalidArgumentError, match=r"\[8\] .*; are actions numbered from 1\?"):
        ps.select(changed(actions=log.actions + 1), policies, problem)
    with pytest.raises(ps.InvalidArgumentError, match=r"got \[8\] in row [^?]*$"):
        ps.select(changed(actions=np.where(log.actions == 7, 8, log.actions)), policies, problem)
    with pytest.raises(ps.InvalidArgumentError, match="method must be one of"):
        ps.select(log, policies, problem, method="guess", floor=FLOOR)
    with pytest.raises(ps.InvalidArgumentError, match=r"at least the floor 0\.2"):
        ps.select(log, policies, problem, floor=0.2)


def test_a_log_that_hardly_ever_shows_an_action_is_refused():
    """In one context the good action is almost never shown: the log cannot tell, and says so."""
    rng = np.random.default_rng(0)
    contexts = (rng.random(3000) < 0.15).astype(int)
    share = np.where(contexts == 1, 1e-4, 0.5)
    actions = (rng.random(3000) < share).astype(int)
    policies = ps.PolicyTable([[0, 0], [0, 1]], n_actions=2)
    log = ps.Log(
        contexts=contexts,
        actions=actions,
        propensities=np.where(actions == 1, share, 1 - share),
        rewards=(actions == contexts).astype(float),
    )
    with pytest.raises(ps.InvalidArgumentError, match=r"not cover all actions.*policysieve check"):
        ps.select(log, policies, ps.Problem(n_actions=2, epsilon=0.05, delta=0.05))


def test_logs_of_our_own_designs_are_accepted():
    """Propensities that vary much, few rounds, many actions: nothing is refused by mistake."""
    for seed in range(10):
        policies = ps.PolicyTable(
            np.random.default_rng(seed).integers(0, 3000, (4, 6)), n_actions=3000
        )
        problem = ps.Problem(n_actions=3000, epsilon=0.2, delta=0.1)
        learner = ps.LowVarianceExploration(
            policies, problem, explore_rounds=20, estimate_rounds=30, rng=seed
        )
        while not learner.finished:
            decisions = learner.ask(np.zeros(learner.ask_limit, int))
            learner.tell(decisions, np.zeros(len(decisions)))
        ps.select(learner.log, policies, problem)


@pytest.mark.parametrize("method", ["betting", "empirical_bernstein", "stitched", "checkpoints"])
def test_tiny_propensities_prove_nothing(method):
    policies = ps.PolicyTable([[0, 1]], n_actions=2)
    problem = ps.Problem(n_actions=2, epsilon=0.1, delta=0.1)
    evidence = ps.FloorEvidence(policies, problem, method=method)
    log = ps.Log(
        contexts=np.zeros(200, int),
        actions=np.arange(200) % 2,
        propensities=np.where(np.arange(200) == 0, 1e-200, 0.5),
        rewards=np.ones(200),
    )
    with np.errstate(all="ignore"):
        evidence.add(log, floor=1e-200)
        proof, intervals = evidence.certificate(), evidence.intervals()
        assert proof.suboptimality_bound == 1.0
    assert not proof.certified
    assert np.isfinite(intervals.lower).all()
    assert np.isfinite(intervals.upper).all()


def test_a_selection_names_its_policy(case):
    _, numbered, problem, log = case
    names = [f"model {chr(97 + i)}" for i in range(25)]
    policies = ps.PolicyTable(numbered.table, n_actions=8, names=names)
    selection = ps.select(log, policies, problem, floor=FLOOR)
    best = names[selection.policy]
    assert selection.policy_name == selection.certificate.policy_name == best
    assert f"no policy is better than {best}" in selection.guarantee
    data = json.loads(json.dumps(selection.to_dict()))
    assert data["policy_name"] == data["certificate"]["policy_name"] == best
    assert data["leaders"][0] == {**data["leaders"][0], "policy": selection.policy, "name": best}
    unproved = ps.select(log, policies, problem)
    assert f"{unproved.policy_name} has the largest estimate" in unproved.guarantee
    assert unproved.leaders()[0]["name"] in names
    same = ps.select(log, numbered, problem, floor=FLOOR)
    assert same.certificate.suboptimality_bound == selection.certificate.suboptimality_bound
    assert same.policy_name == f"policy {same.policy}"


def test_evidence_takes_a_policy_by_its_name(case):
    _, numbered, problem, log = case
    policies = ps.PolicyTable(numbered.table, n_actions=8, names=[f"m{i}" for i in range(25)])
    evidence = ps.Evidence(policies, problem)
    evidence.add(with_distributions(log[:200], np.full(8, FLOOR)))
    assert evidence.interval("m7") == evidence.interval(7)
    assert evidence.intervals().leaders(1)[0]["name"] == f"m{evidence.intervals().leader}"
    assert evidence.certificate().policy_name == f"m{evidence.certificate().leader}"
    with pytest.raises(ps.InvalidArgumentError, match="did you mean 'm7'"):
        evidence.interval("m7 ")
    with pytest.raises(ps.InvalidArgumentError, match=r"in \[0, 24\], got 25; or its name"):
        evidence.interval(25)


class TestHowOftenALogIsRead:
    """Propensities are judged on the way; but first, where answers cost something."""

    PROBLEM = ps.Problem(n_actions=3, epsilon=0.2, delta=0.1)

    def rounds(self, propensity):
        rng = np.random.default_rng(0)
        zeros = np.zeros(60)
        actions = rng.integers(0, 3, 60)
        return ps.Log(
            contexts=rng.integers(0, 4, 60),
            actions=actions,
            propensities=zeros + propensity,
            rewards=zeros,
        )

    @pytest.mark.parametrize("called", [False, True])
    def test_once_or_twice(self, tmp_path, monkeypatch, called):
        self.rounds(1 / 3).save(tmp_path / "log.parquet")
        loops, pieces = [], ps.LogFile.pieces
        monkeypatch.setattr(ps.LogFile, "pieces", lambda self: loops.append(1) or pieces(self))
        policies = ps.PolicyTable(np.arange(8).reshape(4, 2) % 3, n_actions=3)
        if called:
            rules = [lambda x, k=k: (x + k) % 3 for k in range(2)]
            policies = ps.FunctionPolicies(rules, n_actions=3)
        ps.select(tmp_path / "log.parquet", policies, self.PROBLEM, floor=0.3)
        assert len(loops) == 1 + called

    def test_no_call_is_spent_on_a_log_that_cannot_be_right(self):
        calls = []
        rules = [lambda x, k=k: calls.append(k) or (x + k) % 3 for k in range(2)]
        policies = ps.FunctionPolicies(rules, n_actions=3)
        with pytest.raises(ps.InvalidArgumentError, match="did not explore"):
            ps.select(self.rounds(1.0), policies, self.PROBLEM, floor=0.3)
        assert calls == []
