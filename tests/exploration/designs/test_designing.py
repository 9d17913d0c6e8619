from io import BytesIO

import numpy as np
import pytest

import policysieve as ps
from policysieve.exploration.designs.saving import sealed
from tests.exploration.cases import play, random_case
from tests.oracles import low_variance as oracle


@pytest.fixture(params=[1, 2])
def case(request):
    m = request.param
    policies, rewards = random_case(seed=40 + m, m=m, rewarded=0.3)
    return policies, rewards, ps.Problem(n_actions=6, slate_size=m, epsilon=0.3, delta=0.1)


def uniform_log(policies, problem, rewards, rounds, seed=0):
    learner = ps.Uniform(policies, problem, rounds=rounds, rng=seed)
    play(learner, rewards, rounds, rounds, seed)
    return learner.log


def skewed_log(policies, problem, rewards, rounds, seed=0):
    """Slates of a fixed design with known propensities, not uniform."""
    log = uniform_log(policies, problem, rewards, 200, seed)
    first = ps.design(log, policies, problem, mixing=0.5, rng=seed)
    decisions = first.ask(np.random.default_rng(seed).integers(0, 5, rounds))
    return ps.Log(
        contexts=decisions.contexts,
        actions=decisions.actions,
        propensities=decisions.propensities,
        rewards=rewards[decisions.contexts[:, None], decisions.actions],
    )


def test_reproduces_the_learner(case):
    """Design from its phase-1 log, collect, estimate: the same as the learner itself."""
    policies, rewards, problem = case
    learner = ps.LowVarianceExploration(
        policies, problem, explore_rounds=250, estimate_rounds=50, rng=1
    )
    play(learner, rewards, 250, 100, seed=2)
    designed = ps.design(learner.log[:250], policies, problem)
    np.testing.assert_allclose(designed.shares, learner.design.shares, rtol=1e-12)
    assert designed.mixing == learner.mixing
    assert designed.variance_bound == pytest.approx(learner.design.variance_bound)


@pytest.mark.parametrize("make", [uniform_log, skewed_log])
def test_equals_the_naive_algorithm_on_any_log(case, make):
    policies, rewards, problem = case
    log = make(policies, problem, rewards, 300)
    designed = ps.design(log, policies, problem)
    m, mu = problem.slate_size, problem.reward_cap
    sizes = ps.plan(problem, policies.n_policies)
    theta = sizes.learning_rate * mu * 6 / (sizes.mixing * m)
    smallest = min(log.propensities.min(), m / 6)
    p_hat, gains = oracle.phase_one(
        policies.actions(log.contexts).tolist(),
        log.actions,
        log.rewards,
        6,
        m,
        sizes.mixing,
        theta * sizes.mixing * smallest / mu,
        300,
        importance=(m / 6) / log.propensities,
    )
    found = np.zeros(9)
    found[designed.support] = designed.shares
    np.testing.assert_allclose(found, p_hat, atol=1e-10, rtol=0)
    assert designed.variance_bound >= 6 / (m * 300) * gains.max()


def test_skewed_data_gives_unbiased_variance_rewards(case):
    """sum_t u_t(pi) has the same mean under uniform and skewed logs when weights stand still."""
    policies, rewards, problem = case
    means = []
    for make in (uniform_log, skewed_log):
        gains = []
        for seed in range(60):
            log = make(policies, problem, rewards, 200, seed)
            importance = (problem.slate_size / 6) / log.propensities
            g = log.rewards**2 if problem.slate_size == 1 else log.rewards
            slates = policies.actions(log.contexts)
            hit = (slates[:, :, :, None] == log.actions[:, None, None, :]).any(axis=2)
            gains.append((hit * (g * importance)[:, None, :]).sum(axis=(0, 2)))
        means.append((np.mean(gains, axis=0), np.std(gains, axis=0) / np.sqrt(60)))
    (one, error_one), (two, error_two) = means
    assert (np.abs(one - two) <= 5.5 * np.hypot(error_one, error_two) + 1e-9).all()


def test_blocks_do_not_change_the_design(case, monkeypatch):
    policies, rewards, problem = case
    log = uniform_log(policies, problem, rewards, 300)
    whole = ps.design(log, policies, problem)
    rules = ps.FunctionPolicies(
        [lambda x, p=p: policies.actions(x)[:, p] for p in range(9)],
        n_actions=6,
        slate_size=problem.slate_size,
    )
    monkeypatch.setattr("policysieve.exploration.designs.designing._BLOCK_BYTES", 100)
    np.testing.assert_allclose(ps.design(log, rules, problem).shares, whole.shares, rtol=1e-12)


@pytest.mark.parametrize("sampled", [False, True])
def test_a_file_gives_back_the_design(case, tmp_path, sampled):
    policies, rewards, problem = case
    log = uniform_log(policies, problem, rewards, 300)
    one = ps.design(log, policies, problem, sampled=sampled, rng=5)
    one.save(tmp_path / "design.npz")
    two = ps.Exploration.load(tmp_path / "design.npz", policies)
    contexts = np.arange(5)
    np.testing.assert_array_equal(one.propensities(contexts), two.propensities(contexts))
    assert (two.mixing, two.variance_bound, two.problem) == (
        one.mixing,
        one.variance_bound,
        one.problem,
    )
    again = one.ask(contexts, rng=7).actions
    np.testing.assert_array_equal(two.ask(contexts, rng=7).actions, again)
    assert (tmp_path / "design.npz").stat().st_size < 3000


def test_remembered_and_computed_propensities_agree(case, monkeypatch):
    policies, rewards, problem = case
    log = uniform_log(policies, problem, rewards, 300)
    contexts = np.random.default_rng(1).integers(0, 5, 64)
    batches = []
    for budget in (1 << 26, 0):
        monkeypatch.setattr("policysieve.exploration.designs.parts._BYTES", budget)
        exploration = ps.design(log, policies, problem)
        rng = np.random.default_rng(3)
        for part in (contexts[:10], contexts):
            decisions = exploration.ask(part, rng=rng)
        batches.append(decisions)
    np.testing.assert_array_equal(batches[0].actions, batches[1].actions)
    np.testing.assert_allclose(batches[0].propensities, batches[1].propensities, rtol=1e-12)
    every = exploration.propensities(contexts)
    np.testing.assert_allclose(
        batches[0].propensities, every[np.arange(64)[:, None], batches[0].actions], rtol=1e-12
    )


def test_bad_logs(case):
    policies, rewards, problem = case
    m = problem.slate_size
    log = uniform_log(policies, problem, rewards, 30)
    with pytest.raises(ps.InvalidArgumentError, match="at least one round"):
        ps.design(log[:0], policies, problem)
    with pytest.raises(ps.InvalidArgumentError, match="mixing"):
        ps.design(log, policies, problem, mixing=0)
    unknown = ps.Log(
        contexts=[0, 0, 1],
        actions=[[0, 1][:m], [0, 1][:m], [9, 8][:m]],
        propensities=np.full((3, m), 0.2),
        rewards=np.zeros((3, m)),
    )
    with pytest.raises(ps.InvalidArgumentError, match=r"lie in \[0, 5\], got .* in row 2"):
        ps.design(unknown, policies, problem)
    with pytest.raises(ps.InvalidArgumentError, match="got 0 in row 1"):
        ps.Log(contexts=[0, 1], actions=[0, 0], propensities=[0.5, 0.0], rewards=[0, 0])
    other = ps.Problem(n_actions=7, slate_size=m, epsilon=0.3, delta=0.1)
    with pytest.raises(ps.InvalidArgumentError, match="agree on n_actions"):
        ps.design(log, policies, other)


def test_bad_files(case, tmp_path):
    policies, rewards, problem = case
    path = tmp_path / "design.npz"
    with pytest.raises(FileNotFoundError, match="no exploration"):
        ps.Exploration.load(path, policies)
    ps.design(uniform_log(policies, problem, rewards, 30), policies, problem).save(path)
    whole = path.read_bytes()
    fewer = ps.PolicyTable(policies.table[:, :4], n_actions=6)
    with pytest.raises(ps.InvalidArgumentError, match=r"made for, .*n_policies=9.* got .*=4"):
        ps.Exploration.load(path, fewer)
    others = ps.PolicyTable(policies.table[:, ::-1], n_actions=6)
    with pytest.raises(ps.InvalidArgumentError, match="make a new one for other policies"):
        ps.Exploration.load(path, others)
    turned = [whole[:i] + bytes([whole[i] ^ 0xFF]) + whole[i + 1 :] for i in range(70, 140, 7)]
    for broken in (*turned, whole[:-40], whole[:20], b"", b"hello"):
        path.write_bytes(broken)
        with pytest.raises(ps.FileFormatError, match="not a readable exploration"):
            ps.Exploration.load(path, policies)
    file = BytesIO()
    np.savez(file, header='{"version": 9}', support=[0], shares=[1.0])
    path.write_bytes(sealed(file.getvalue()))
    with pytest.raises(ps.FileFormatError, match="version 9"):
        ps.Exploration.load(path, policies)
