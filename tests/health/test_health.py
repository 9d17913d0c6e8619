import json
from dataclasses import replace

import numpy as np
import pytest

import policysieve as ps
from policysieve.formats import FORMATS
from policysieve.log import Rounds
from tests.health import logs
from tests.oracles import health as oracle
from tests.statistics import assert_at_most


def rounds_of(log, **others):
    return Rounds(log.contexts, log.actions, log.propensities, log.rewards, **others)


def saved(folder, *batches):
    """A log with ids, times and missing rewards, which only files have."""
    FORMATS["parquet"].save(folder / "log.parquet", batches, batches[0].layout)
    return folder / "log.parquet"


def found(health, name):
    (one,) = [finding for finding in health.findings if finding.name == name]
    return one


@pytest.fixture(scope="module")
def log():
    contexts, shares, actions = logs.follower(np.random.default_rng(3))
    return logs.log_of(contexts, actions, logs.shown(shares, actions))


@pytest.mark.parametrize("make", logs.HEALTHY, ids=lambda make: make.__name__)
def test_healthy_logs_are_seldom_called_broken(make):
    runs, delta, alarms = 60, 0.2, 0
    for seed in range(runs):
        contexts, shares, actions = make(np.random.default_rng(seed))
        log = logs.log_of(contexts, actions, logs.shown(shares, actions))
        for part in (log, log[: len(log) // 8]):
            alarms += ps.check_log(part, n_actions=shares.shape[1], delta=delta).broken
    assert_at_most(alarms, 2 * runs, delta)


@pytest.mark.parametrize("m", [1, 2])
def test_logs_of_learners_are_seldom_called_broken(m):
    runs, delta, alarms = 20, 0.2, 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        table = rng.random((10, 12, 8)).argsort(axis=-1)[..., :m]
        policies = ps.PolicyTable(table, n_actions=8)
        problem = ps.Problem(n_actions=8, slate_size=m, epsilon=0.2, delta=0.1)
        learner = ps.LowVarianceExploration(
            policies, problem, explore_rounds=300, estimate_rounds=900, rng=seed
        )
        while not learner.finished:
            decisions = learner.ask(rng.integers(0, 10, min(100, learner.ask_limit)))
            good = decisions.actions == decisions.contexts[:, None] % 8
            learner.tell(decisions, good)
        alarms += ps.check_log(learner.log, n_actions=8, delta=delta).broken
    assert_at_most(alarms, runs, delta)


@pytest.mark.parametrize(("make", "breakage"), logs.BROKEN, ids=lambda function: function.__name__)
def test_what_breaks_in_practice_is_found(make, breakage):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        contexts, shares, actions = make(rng, n=12_000)
        broken = logs.log_of(*breakage(rng, contexts, shares, actions))
        assert ps.check_log(broken, n_actions=shares.shape[1]).broken, seed


def test_rewards_of_other_rounds_go_unseen(log):
    """They change nothing about propensities; the verdict says so."""
    moved = replace(rounds_of(log), rewards=np.roll(log.rewards, 3))
    health = ps.check_log(moved.to_log())
    assert not health.broken
    assert "rewards that were joined to the wrong rounds" in health.verdict


def test_means_and_limits_equal_the_slow_way(log):
    health = ps.check_log(log[:500], n_actions=7, delta=0.1)
    slates, shown = log.actions[:500].tolist(), log.propensities[:500].tolist()
    largest, level = 2 / log.propensities[:500].min(), 0.1 / 6
    tests = health.tests
    for action in range(7):
        weights = oracle.weights_of_action(action, slates, shown)
        part = tests.by_action
        assert (part.mean[action], part.lower[action], part.upper[action]) == pytest.approx(
            oracle.limits(weights, largest, level, 7)
        )
    rounds = oracle.weights_of_rounds(shown, 7)
    part, n = tests.over_time, len(tests.over_time.mean)
    for i in range(n):
        expected = oracle.limits(rounds[32 * i : 32 * i + 32], largest / 7, level, n)
        assert (part.mean[i], part.lower[i], part.upper[i]) == pytest.approx(expected)
    for group in range(8):
        assert tests.sums.groups[group] > 0
    np.testing.assert_allclose(
        np.average(tests.by_context.mean, axis=0, weights=tests.sums.groups), tests.by_action.mean
    )


def test_equal_contexts_are_in_one_group():
    for contexts in (
        np.arange(40) % 2,
        np.array(["left", "right"] * 20),
        np.array([[0.0, 1.5], [-0.0, 2.5]] * 20),
    ):
        always = np.tile([0, 1], 20)
        log = logs.log_of(contexts, always, np.full(40, 0.5))
        sums = ps.check_log(log).tests.sums
        assert sorted(sums.groups[sums.groups > 0]) in ([20, 20], [40])
        assert (sums.weights > 0).sum() == 2


def test_propensities_of_other_rounds_show_within_contexts_only():
    """Every action is shown as often as the others, and the weights are those of the log."""
    n, rng = 20_000, np.random.default_rng(0)
    contexts = rng.integers(0, 4, n)
    shares = np.full((n, 4), 0.1)
    shares[np.arange(n), contexts] = 0.7
    actions = logs.drawn(rng, shares)
    health = ps.check_log(logs.log_of(*logs.of_other_rounds(rng, contexts, shares, actions)))
    broken = {one.name for one in health.findings if one.verdict == "broken"}
    assert broken == {"frequency by context"}


def test_batches_do_not_matter(log, tmp_path, monkeypatch):
    monkeypatch.setattr("policysieve.formats.parquet_file.BATCH", 700)
    whole = ps.check_log(log).to_dict()
    log.save(tmp_path / "log.parquet")
    sizes = []

    def noted(batches):
        for batch in batches:
            sizes.append(len(batch))
            yield batch

    other = ps.check_log(tmp_path / "log.parquet", track=noted).to_dict()
    assert sizes == [700] * 4 + [200]
    for one, two in zip(whole.pop("findings"), other.pop("findings"), strict=True):
        assert one["numbers"] == pytest.approx(two["numbers"])
        assert one["sentence"] == two["sentence"]
    assert whole == other


def test_a_fixed_design_has_exact_limits():
    contexts, shares, actions = logs.two_arms(np.random.default_rng(0))
    log = logs.log_of(contexts, actions, logs.shown(shares, actions))
    assert found(ps.check_log(log), "frequency of actions").numbers["limits"] == "exact binomial"
    more = ps.check_log(log, n_actions=4)
    assert found(more, "frequency of actions").numbers["limits"] == "empirical Bernstein"
    assert found(more, "coverage").verdict == "warning"
    assert "1 of 4 actions were never shown (3)" in found(more, "coverage").sentence


def test_an_action_that_is_never_shown_is_found(log):
    health = ps.check_log(log, n_actions=7)
    assert health.broken
    one = found(health, "frequency of actions")
    assert (one.numbers["action"], one.numbers["shown"], one.numbers["mean"]) == (6, 0, 0)
    assert "not every action could be shown" in one.sentence


def test_the_sieve_is_not_blamed_for_what_it_leaves_out_on_purpose():
    rng = np.random.default_rng(0)
    policies = ps.PolicyTable(rng.integers(0, 8, (10, 12)), n_actions=8)
    problem = ps.Problem(n_actions=8, epsilon=0.05, delta=0.1)
    learner = ps.Sieve(policies, problem, rng=0)
    while not learner.finished and learner.rounds < 3000:
        decisions = learner.ask(rng.integers(0, 10, 50))
        learner.tell(decisions, decisions.actions == decisions.contexts[:, None] % 8)
    health = ps.check_log(learner.log, n_actions=8)
    assert health.broken
    assert health.leaves_out
    assert health.verdict.startswith("Not every action could be shown in every round of this log")
    assert "what it proved holds" in health.verdict
    for wrong in (logs.too_small, logs.too_large, logs.filtered):  # leaves no room for others
        other = ps.check_log(logs.log_of(*wrong(rng, *logs.uniform(rng, n=12_000))))
        assert other.broken
        assert not other.leaves_out
        assert other.verdict.startswith("This log is broken")


def test_actions_numbered_from_one_are_the_first_thing_that_is_said(log):
    shifted = logs.log_of(log.contexts, log.actions + 1, log.propensities)
    health = ps.check_log(shifted)
    first = next(one for one in health.findings if one.verdict != "ok")
    assert first.sentence.startswith("Are actions numbered from 1? Here the first is 0. 1 of 7")
    with pytest.raises(ps.InvalidArgumentError, match=r"action 6; are actions numbered from 1\?"):
        ps.check_log(shifted, n_actions=6)


def test_rounds_without_exploration():
    health = ps.check_log(logs.log_of(np.zeros(40, int), np.arange(40) % 2, np.ones(40)))
    assert "40 of 40 rounds have propensities of 1 only" in found(health, "exploration").sentence
    everything = logs.log_of(np.zeros(40, int), np.tile([0, 1], (40, 1)), np.ones((40, 2)))
    assert not ps.check_log(everything).broken


def two_worlds(n=8000):
    """The best action flips halfway."""
    rng = np.random.default_rng(0)
    actions = rng.integers(0, 2, n)
    good = (actions == 1) ^ (np.arange(n) < n // 2)
    return ps.Log(
        contexts=rng.integers(0, 30, n),
        actions=actions,
        propensities=np.full(n, 0.5),
        rewards=rng.random(n) < np.where(good, 0.6, 0.4),
    )


def test_a_log_whose_best_action_flips_is_something_to_look_at():
    health = ps.check_log(two_worlds())
    one = found(health, "changed world")
    assert (health.worst, one.verdict) == ("warning", "warning")
    assert one.numbers["alarm"] == health.change.alarm
    assert f"since={health.change.alarm}" in one.sentence
    assert "look at: changed world" in health.verdict
    json.dumps(health.to_dict(), allow_nan=False)
    later = ps.check_log(two_worlds(), since=health.change.alarm)
    assert later.rounds == 8000 - health.change.alarm
    assert (later.worst, later.change) == ("ok", None)
    part = ps.check_log(two_worlds(), since=2000).change
    assert part.start == 2000
    assert 3300 < part.split < 4700
    assert part.alarm > 4000
    assert part.ends[-1] == 8000
    at_once = ps.check_log(two_worlds()[: health.change.alarm])
    assert at_once.change.alarm == health.change.alarm
    assert "since=" not in found(at_once, "changed world").sentence
    assert "collect new rounds" in found(at_once, "changed world").sentence


def test_wrong_propensities_are_not_taken_for_a_changed_world():
    """More would be earned and missed than there is."""
    rng = np.random.default_rng(0)
    contexts, shares, actions = logs.uniform(rng, n=12_000)
    health = ps.check_log(logs.log_of(*logs.too_small(rng, contexts, shares, actions)))
    assert health.broken
    assert health.change is None
    assert found(health, "changed world").value == "not tested"


def test_ids_times_and_missing_rewards(log, tmp_path):
    n = len(log)
    ids = np.array([f"round {i}" for i in range(n)], dtype=object)
    times = np.arange(n, dtype=float)
    fine = ps.check_log(saved(tmp_path, rounds_of(log, ids=ids, times=times)))
    assert (fine.worst, found(fine, "ids").numbers) == ("ok", {"with_id": n, "repeated": 0})
    ids[5], ids[9], ids[11], ids[12] = ids[0], ids[0], "", ""
    times[7], times[20] = np.nan, 3.0
    rewards = log.rewards.copy()
    rewards[2], rewards[n - 1] = np.nan, np.nan
    batch = replace(rounds_of(log, ids=ids, times=times), rewards=rewards)
    rows = np.arange(n)
    health = ps.check_log(saved(tmp_path, batch.where(rows < 8), batch.where(rows >= 8)))
    assert found(health, "ids").numbers == {"with_id": n - 2, "repeated": 2}
    assert found(health, "ids").verdict == "broken"
    assert found(health, "time order").numbers == {"with_time": n - 1, "backwards": 1}
    assert found(health, "time order").verdict == "warning"
    assert found(health, "rewards").numbers["missing"] == 2
    assert found(health, "rewards").verdict == "warning"
    missing = replace(batch, rewards=np.full((n, 1), np.nan))
    assert found(ps.check_log(saved(tmp_path, missing)), "rewards").verdict == "broken"
    nothing = replace(batch, rewards=np.zeros((n, 1)))
    rewards = found(ps.check_log(saved(tmp_path, nothing)), "rewards")
    assert "nothing can be compared" in rewards.sentence


def test_small_logs_and_heavy_rounds():
    few = ps.check_log(logs.log_of(np.zeros(20, int), np.arange(20) % 4, np.full(20, 0.25)))
    assert found(few, "effective rounds").verdict == "warning"
    assert few.worst == "warning"
    assert "look at: effective rounds" in few.verdict
    propensities = np.full(300, 0.5)
    propensities[7] = 0.005
    heavy = ps.check_log(logs.log_of(np.zeros(300, int), np.arange(300) % 2, propensities))
    assert "estimates hang on single rounds" in found(heavy, "smallest propensity").sentence


def test_plain_values(log):
    health = ps.check_log(log)
    again = json.loads(json.dumps(health.to_dict(), allow_nan=False))
    assert again["broken"] is False
    assert again["rounds"] == len(log)
    assert [one["name"] for one in again["findings"]] == [one.name for one in health.findings]


def test_what_is_refused(log, tmp_path):
    with pytest.raises(ps.InvalidArgumentError, match="at least one round"):
        ps.check_log(log[:0])
    with pytest.raises(ps.InvalidArgumentError, match="at least one file, got none"):
        ps.check_log([])
    with pytest.raises(
        ps.InvalidArgumentError, match=r"log must be a Log, .* several paths, got int"
    ):
        ps.check_log(7)
    with pytest.raises(ps.InvalidArgumentError, match=r"n_actions .* >= 6, got 5; .* action 5$"):
        ps.check_log(log, n_actions=5)
    with pytest.raises(ps.InvalidArgumentError, match="delta"):
        ps.check_log(log, delta=1)
    with pytest.raises(
        ps.InvalidArgumentError, match=r"since must be a whole number in \[0, 2999\]"
    ):
        ps.check_log(log, since=3000)
    batch = rounds_of(log[:3])
    with pytest.raises(ps.InvalidArgumentError, match="number them from 0 without gaps"):
        ps.check_log(replace(batch, actions=np.full((3, 1), 10**7)).to_log())
    for change, reason in (
        ({"propensities": np.full((3, 1), 16.7)}, "if it is a percentage, divide it by 100"),
        ({"rewards": np.full((3, 1), 2.0)}, "the reward 2 is outside"),
    ):
        with pytest.raises(ps.FileFormatError, match=f"log.parquet, row 1: .*{reason}"):
            ps.check_log(saved(tmp_path, replace(batch, **change)))


def test_a_column_that_is_text_because_of_one_cell_is_told(tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{rng.random() < 0.5},{'n/a' if i == 7 else i},{i % 3}x" for i in range(60)]
    rows[17] = rows[17].replace("True", "maybe").replace("False", "maybe")
    text = "\n".join(f"{row},{i % 2},0.5,{i % 2}" for i, row in enumerate(rows))
    (tmp_path / "log.csv").write_text(f"mobile,age,code,a,p,r\n{text}\n")
    columns = {
        "context": ["mobile", "age", "code"],
        "action": "a",
        "propensity": "p",
        "reward": "r",
    }
    health = ps.check_log(ps.LogFile(tmp_path / "log.csv", columns=columns))
    finding = found(health, "columns")
    assert finding.verdict == "warning"
    assert "Column mobile is text because of cells such as 'maybe' in round 17" in finding.sentence
    assert [(o["column"], o["text"], o["round"]) for o in finding.numbers["odd"]] == [
        ("mobile", "maybe", 17),
        ("age", "n/a", 7),
    ]
    (tmp_path / "log.csv").write_text(f"mobile,age,code,a,p,r\n{text}\n".replace("maybe", "True"))
    health = ps.check_log(ps.LogFile(tmp_path / "log.csv", columns=columns))
    assert [o["column"] for o in found(health, "columns").numbers["odd"]] == ["age"]
