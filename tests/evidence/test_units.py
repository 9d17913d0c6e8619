"""What logs prove of rewards in a range, and of costs: the image of what they prove in [0, 1]."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import policysieve as ps
from policysieve.errors import FileFormatError, InvalidArgumentError
from policysieve.evidence.kinds import METHODS
from policysieve.formats import convert
from policysieve.policies import TabularPolicies

K, X, P, N = 5, 6, 8, 700
UNITS = {
    "revenue": ((0.0, 200.0), "maximize"),
    "profit": ((-20.0, 5.0), "maximize"),
    "costs": ((1.0, 4.0), "minimize"),
    "errors": (None, "minimize"),
}
TABLE = np.random.default_rng(1).integers(0, K, (X, P))
POOL = ps.PolicyTable(TABLE, n_actions=K, names=[f"p{i}" for i in range(P)])


def asked(units):
    reward_range, objective = UNITS[units]
    low, high = reward_range or (0.0, 1.0)
    return ps.Problem(
        n_actions=K,
        epsilon=0.15 * (high - low),
        delta=0.1,
        against="p1",
        reward_range=reward_range,
        objective=objective,
    )


def logs(problem, *, distributions=True, n=N):
    """A log in the user's units, and the same with rewards as they are inside."""
    rng = np.random.default_rng(2)
    low, high = problem.reward_range or (0.0, 1.0)
    x, a = rng.integers(0, X, n), rng.integers(0, K, n)
    means = np.random.default_rng(3).random((X, K))
    rewards = np.clip(
        low + (high - low) * rng.beta(1 + 8 * means, 9 - 8 * means, (n, X, K))[np.arange(n), x, a],
        low,
        high,
    )
    columns = {"contexts": x, "actions": a, "propensities": np.full(n, 1 / K)}
    if distributions:
        columns["distributions"] = np.full((n, K), 1 / K)
    ahead = high - rewards if problem.objective == "minimize" else rewards - low
    return (
        ps.Log(**columns, rewards=rewards, reward_range=problem.reward_range),
        ps.Log(**columns, rewards=ahead / (high - low)),
    )


def image(problem, value):
    low, high = problem.reward_range or (0.0, 1.0)
    return (
        high - (high - low) * value
        if problem.objective == "minimize"
        else (low + (high - low) * value)
    )


def span(problem):
    low, high = problem.reward_range or (0.0, 1.0)
    return high - low


def same(first, second):
    return first == pytest.approx(second, rel=1e-12, abs=1e-9)


@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("method", [*METHODS, None])
def test_select_proves_the_same_in_other_units(method, units):
    problem = asked(units)
    mine, inside = logs(problem, distributions=method == "capped")
    floor = None if method in (None, "capped") else 1 / K
    found = ps.select(mine, POOL, problem, method=method, floor=floor)
    twin = ps.select(inside, POOL, problem.unit, method=method, floor=floor)
    assert found.policy == twin.policy
    assert same(found.value, image(problem, twin.value))
    assert same(found.values, image(problem, twin.values))
    ends = np.sort([image(problem, twin.lower), image(problem, twin.upper)], axis=0)
    assert same(np.array([found.lower, found.upper]), ends)
    mine_proof, theirs = found.certificate, twin.certificate
    assert mine_proof.certified == theirs.certified
    assert (mine_proof.eliminated == theirs.eliminated).all()
    assert same(mine_proof.suboptimality_bound, span(problem) * theirs.suboptimality_bound)
    assert same(found.gain, span(problem) * twin.gain)
    assert [row["policy"] for row in found.leaders()] == [row["policy"] for row in twin.leaders()]
    assert found.to_frame("pyarrow").to_pydict()["value"] == found.values.tolist()

    one, other = found.compare("p0", "p3"), twin.compare("p0", "p3")
    sign = -1 if problem.objective == "minimize" else 1
    assert same(one.value, sign * span(problem) * other.value)
    limits = sorted([sign * span(problem) * other.lower, sign * span(problem) * other.upper])
    assert same([one.lower, one.upper], limits)
    assert one.lower <= one.upper


def test_a_certificate_travels_with_its_numbers():
    problem = asked("costs")
    found = ps.select(logs(problem)[0], POOL, problem)
    sent = pickle.loads(pickle.dumps(found))
    assert sent.certificate.suboptimality_bound == found.certificate.suboptimality_bound
    assert sent.gain == found.gain
    assert sent.to_dict() == found.to_dict()


@pytest.mark.parametrize("units", UNITS)
def test_evidence_answers_in_the_units_of_the_rewards(units):
    problem = asked(units)
    mine, inside = logs(problem)
    pair = [
        (ps.Evidence(POOL, problem), ps.Evidence(POOL, problem.unit), {}),
        (ps.FloorEvidence(POOL, problem), ps.FloorEvidence(POOL, problem.unit), {"floor": 1 / K}),
    ]
    for one, other, options in pair:
        one.add(mine, **options)
        other.add(inside, **options)
        assert same(one.intervals().values, image(problem, other.intervals().values))
        bounds = one.certificate(), other.certificate()
        assert same(bounds[0].suboptimality_bound, span(problem) * bounds[1].suboptimality_bound)
        assert one.intervals().leader == other.intervals().leader
    (one, other, _), _ = pair
    value, lower, upper = one.interval("p2")
    assert same(value, image(problem, other.interval("p2")[0]))
    assert lower <= value <= upper
    assert one.compare("p1", "p2", named_beforehand=True).rounds == N


def test_minimising_costs_is_maximising_minus_them():
    problem = asked("costs")
    log, _ = logs(problem)
    mirrored = ps.Log(
        contexts=log.contexts,
        actions=log.actions,
        propensities=log.propensities,
        rewards=-log.rewards,
        distributions=log.distributions,
        reward_range=(-4.0, -1.0),
    )
    costs = ps.select(log, POOL, problem)
    earned = ps.select(
        mirrored, POOL, replace(problem, reward_range=(-4, -1), objective="maximize")
    )
    assert costs.policy == earned.policy
    assert same(costs.values, -earned.values)
    assert same(np.array([costs.lower, costs.upper]), np.array([-earned.upper, -earned.lower]))
    assert same(costs.gain, earned.gain)
    assert costs.values[costs.policy] == min(row["value"] for row in costs.leaders())


def test_a_class_that_cannot_be_listed_has_its_units():
    problem = replace(asked("costs"), against=None)
    mine, inside = logs(problem, distributions=False)
    pool = TabularPolicies(n_contexts=X, n_actions=K)
    found = ps.select(mine, pool, problem, floor=1 / K)
    twin = ps.select(inside, pool, problem.unit, floor=1 / K)
    assert repr(found.policy) == repr(twin.policy)
    assert same(found.value, image(problem, twin.value))
    assert found.lower[0] <= found.value <= found.upper[0]
    bounds = [one.certificate.suboptimality_bound for one in (found, twin)]
    assert same(bounds[0], 3 * bounds[1])


def test_sentences_speak_of_costs():
    problem = asked("costs")
    log, _ = logs(problem)
    found = ps.select(log, POOL, problem)
    assert "no policy costs less than" in found.guarantee
    assert "better" not in found.guarantee
    assert "costs less than p1" in found.guarantee
    worst = int(found.values.argmax())
    far = found.compare(worst, found.policy)
    assert far.lower > 0
    assert f"{far.first} costs more than {far.second} by" in far.guarantee
    assert "costs less than" in found.compare(found.policy, worst).guarantee
    short = ps.select(log[:5].without_distributions(), POOL, problem, floor=1 / K)
    assert "has the lowest estimate" in short.guarantee
    assert (
        "has the lowest estimate" in ps.select(log.without_distributions(), POOL, problem).guarantee
    )


class TestRangesThatDoNotFit:
    def test_a_log_and_a_problem_must_agree(self):
        problem = asked("revenue")
        mine, inside = logs(problem)
        with pytest.raises(
            InvalidArgumentError, match=r"lie in \[0, 1\], but the declared range is"
        ):
            ps.select(inside, POOL, problem)
        with pytest.raises(
            InvalidArgumentError, match=r"declare reward_range=\(0, 200\), or --rew"
        ):
            ps.select(mine, POOL, replace(problem, reward_range=None, epsilon=0.1))
        with pytest.raises(InvalidArgumentError, match="the declared range is"):
            ps.Evidence(POOL, problem).add(inside)
        with pytest.raises(InvalidArgumentError, match="the declared range is"):
            ps.design(inside, POOL, problem)
        ranged = inside.with_reward_range((0, 200))  # whoever says so is believed
        assert ps.select(ranged, POOL, problem).values.max() < 2

    def test_rewards_are_not_said_to_lie_where_they_do_not(self):
        mine, _ = logs(asked("revenue"))
        with pytest.raises(InvalidArgumentError, match=r"rewards must lie in \[0, 5\]"):
            mine.with_reward_range((0, 5))

    def test_sums_of_slates_are_checked_in_their_units(self):
        problem = ps.Problem(
            n_actions=K, slate_size=2, sparsity=200, epsilon=9, delta=0.1, reward_range=(0, 200)
        )
        table = np.random.default_rng(0).random((X, P, K)).argsort(axis=2)[:, :, :2]
        log = ps.Log(
            contexts=[0, 1],
            actions=[[0, 1], [1, 2]],
            propensities=np.full((2, 2), 0.4),
            rewards=[[100, 90], [150, 60]],
            distributions=np.full((2, K), 0.4),
            reward_range=(0, 200),
        )
        message = "at most the problem's sparsity 200, got 210 in row 1"
        with pytest.raises(InvalidArgumentError, match=message):
            ps.select(log, ps.PolicyTable(table, n_actions=K), problem)


class TestFiles:
    @pytest.fixture
    def written(self, tmp_path):
        problem = asked("profit")
        log, _ = logs(problem, distributions=False)
        convert(log, tmp_path / "log.csv")
        convert(log, tmp_path / "log.parquet")
        return problem, log, tmp_path

    def test_the_range_of_the_problem_is_handed_to_the_reader(self, written):
        problem, log, folder = written
        wanted = ps.select(log, POOL, problem, floor=1 / K).to_dict()
        for path in (folder / "log.csv", folder / "log.parquet"):
            assert ps.select(path, POOL, problem, floor=1 / K).to_dict() == wanted
        opened = ps.LogFile(folder / "log.csv", reward_range=(-20, 5))
        assert ps.select(opened, POOL, problem, floor=1 / K).to_dict() == wanted

    def test_what_files_say_must_be_what_is_declared(self, written):
        problem, _, folder = written
        plain = replace(problem, reward_range=None, epsilon=0.1)
        with pytest.raises(FileFormatError, match=r"says that its rewards lie in \[-20, 5\]"):
            ps.LogFile(folder / "log.parquet", reward_range=(-20, 6))
        with pytest.raises(InvalidArgumentError, match=r"declare reward_range=\(-20, 5\)"):
            ps.select(folder / "log.parquet", POOL, plain)
        with pytest.raises(FileFormatError, match=r"log.csv, line .*reward_range=\(low, high\)"):
            ps.select(folder / "log.csv", POOL, plain)

    def test_a_file_of_unit_rewards_may_be_in_a_wider_range(self, tmp_path):
        problem = asked("revenue")
        _, inside = logs(problem, distributions=False)
        convert(inside, tmp_path / "log.csv")
        opened = ps.LogFile(tmp_path / "log.csv").since(10)
        assert ps.select(opened, POOL, problem).certificate.rounds == N - 10
