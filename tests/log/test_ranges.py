"""Logs that know in which range their rewards lie."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import policysieve as ps
from policysieve.errors import FileFormatError, InvalidArgumentError
from policysieve.formats import FORMATS, convert
from policysieve.log import in_unit
from policysieve.scaling import RewardScale

COLUMNS = {"contexts": [4, 7, 4], "actions": [1, 0, 1], "propensities": [0.5, 0.25, 0.5]}


def ranged(rewards=(-2.5, 0.1, 30), reward_range=(-2.5, 30), **others):
    return ps.Log(**COLUMNS, rewards=list(rewards), reward_range=reward_range, **others)


def test_rewards_are_kept_as_they_are():
    log = ranged()
    assert log.rewards.tolist() == [[-2.5], [0.1], [30.0]]
    assert log.reward_range == (-2.5, 30.0)
    assert repr(log) == ("Log(3 rounds, slate_size=1, contexts: scalar, rewards in [-2.5, 30])")
    assert ps.Log(**COLUMNS, rewards=[0, 1, 0], reward_range=(0, 1)).reward_range is None


@pytest.mark.parametrize("reward", [-2.6, 30.1, np.nan, np.inf])
def test_rewards_outside_of_the_range_are_refused(reward):
    message = r"rewards must lie in \[-2.5, 30\], got .* in row 1"
    do = "as what it is worth" if np.isnan(reward) else r"reward_range=\(low, high\)"
    with pytest.raises(InvalidArgumentError, match=f"{message}.*{do}"):
        ranged((0, reward, 0))
    log = ranged()
    with pytest.raises(InvalidArgumentError, match=r"rewards must lie in \[-2.5, 30\]"):
        log.append(contexts=[1], actions=[0], propensities=[0.5], rewards=[reward])
    assert len(log) == 3


def test_without_a_range_they_lie_between_0_and_1():
    with pytest.raises(InvalidArgumentError, match=r"in \[0, 1\], got 30 in row 2.*reward_range="):
        ps.Log(**COLUMNS, rewards=[0, 1, 30])


def test_the_range_stays_with_the_rounds():
    log = ranged(distributions=[[(1, 0.5), (0, 0.5)], [(0, 0.25), (1, 0.75)], [(1, 0.5), (0, 0.5)]])
    for same in (
        log[1:],
        log.copy(),
        log.without_distributions(),
        log.with_action_names(["a", "b"]),
        log.with_action_names(["a", "b"]).with_action_names(["c", "b", "a"]),
        log.plus(log),
        log.since(1),
        ps.Log.concatenate([log, log]),
        next(log.rounds()).to_log(),
        next(log.rounds()).where(np.array([True, False, True])).to_log(),
        ps.Log.empty(contexts=log.contexts, slate_size=1, reward_range=(-2.5, 30)),
    ):
        assert same.reward_range == (-2.5, 30.0)
    assert log != log.with_reward_range((-3, 30))
    assert log == log.with_reward_range((-2.5, 30))


def test_inside_rewards_lie_in_0_to_1_and_all_else_stays():
    log = ps.Log(
        contexts=[4, 7, 4],
        actions=[1, 0, 1],
        propensities=[0.5, 0.5, 0.5],
        rewards=[-2.5, 0.1, 30],
        distributions=[[(0, 0.5), (1, 0.5)]] * 3,
        units=["ann", "bob", "ann"],
        reward_range=(-2.5, 30),
    )
    unit = in_unit(log, RewardScale(low=-2.5, high=30, minimize=True))
    assert unit.rewards[[0, 2], 0].tolist() == [1.0, 0.0]
    assert unit.reward_range is None
    assert (unit.units == log.units).all()
    assert unit.distributions == log.distributions
    assert in_unit(log, RewardScale()) is log


def test_logs_of_two_ranges_are_not_joined():
    first, second = ranged(), ranged(reward_range=(-3, 30))
    for join in (first.plus, first.extend, lambda other: ps.Log.concatenate([first, other])):
        with pytest.raises(InvalidArgumentError, match=r"got \[-2.5, 30\] and \[-3, 30\]"):
            join(second)
    assert len(first.plus(second.with_reward_range((-2.5, 30)))) == 6


@settings(max_examples=25)
@given(st.lists(st.floats(-7, 3), min_size=1, max_size=20), st.integers(1, 2))
def test_parquet_gives_back_every_bit(tmp_path_factory, rewards, m):
    n, path = len(rewards), tmp_path_factory.mktemp("log") / "log.parquet"
    log = ps.Log(
        contexts=np.arange(n),
        actions=np.tile(np.arange(m), (n, 1)),
        propensities=np.full((n, m), 0.5),
        rewards=np.tile(np.array(rewards)[:, None], (1, m)),
        reward_range=(-7, 3),
    )
    log.save(path)
    assert ps.Log.load(path) == log
    assert ps.Log.load([path, path]).reward_range == (-7.0, 3.0)
    assert ps.LogFile(path).since(0).reward_range == (-7.0, 3.0)


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "parquet"])
def test_other_formats_give_rewards_back_when_told_their_range(tmp_path, name):
    log, path = ranged(), tmp_path / "log"
    done = convert(log, path, to_format=name, n_actions=2)
    assert any("--reward-range -2.5 30" in phrase for phrase in done.not_held)
    back = ps.Log.load(ps.LogFile(path, name, reward_range=(-2.5, 30)))
    assert back.rewards.tolist() == log.rewards.tolist()
    assert back.reward_range == (-2.5, 30.0)
    with pytest.raises(FileFormatError, match=r"outside \[0, 1\]; declare the range"):
        ps.LogFile(path, name)


def test_files_of_two_ranges_are_not_one_log(tmp_path):
    ranged().save(tmp_path / "a.parquet")
    ranged(reward_range=(-3, 30)).save(tmp_path / "b.parquet")
    with pytest.raises(
        FileFormatError, match=r"b.parquet says .* \[-3, 30\], but that of .*a.parq"
    ):
        ps.LogFile([tmp_path / "a.parquet", tmp_path / "b.parquet"])


def test_a_damaged_range_is_a_damaged_header(tmp_path):
    ranged().save(tmp_path / "a.parquet")
    table = pq.read_table(tmp_path / "a.parquet")
    said = {
        key: text.replace(b"[-2.5, 30.0]", b"[30, -2]")
        for key, text in table.schema.metadata.items()
    }
    pq.write_table(table.replace_schema_metadata(said), tmp_path / "a.parquet")
    with pytest.raises(FileFormatError, match="damaged header"):
        ps.LogFile(tmp_path / "a.parquet")


def test_a_data_frame_of_rewards_in_a_range():
    frame = pa.table({"x": [1, 2], "a": [0, 1], "p": [0.5, 0.5], "spent": [12.5, -3]})
    columns = {"context": "x", "action": "a", "propensity": "p", "reward": "spent"}
    log = ps.Log.from_frame(frame, **columns, reward_range=(-5, 20))
    assert log.rewards.tolist() == [[12.5], [-3.0]]
    assert log.reward_range == (-5.0, 20.0)
    assert log.to_arrow()["reward"].to_pylist() == [12.5, -3.0]
    with pytest.raises(InvalidArgumentError, match=r"frame, row 0: .*outside the declared range"):
        ps.Log.from_frame(frame, **columns, reward_range=(-5, 10))


class TestOneRewardForASlate:
    reason = "does not say which item earned it; .*slate_size=1"

    def test_in_a_log(self):
        with pytest.raises(InvalidArgumentError, match=self.reason):
            ps.Log(
                contexts=[0, 1],
                actions=[[0, 1], [1, 2]],
                propensities=np.full((2, 2), 0.5),
                rewards=[1, 0],
            )

    def test_in_a_table(self, tmp_path):
        text = "context,action_0,action_1,propensity_0,propensity_1,reward\n1,0,1,0.5,0.5,1\n"
        (tmp_path / "a.csv").write_text(text)
        with pytest.raises(
            FileFormatError, match=f"one column 'reward' .* 2 actions.*{self.reason}"
        ):
            ps.LogFile(tmp_path / "a.csv")

    def test_in_json_lines(self, tmp_path):
        line = '{"context": 1, "actions": [0, 1], "propensities": [0.5, 0.5], "rewards": [1]}\n'
        (tmp_path / "a.jsonl").write_text(line)
        with pytest.raises(FileFormatError, match=f"line 1: .*{self.reason}"):
            ps.LogFile(tmp_path / "a.jsonl")

    def test_in_a_map_of_columns(self):
        frame = pa.table({"x": [1], "a": [0], "b": [1], "p": [0.5], "q": [0.5], "sale": [1]})
        with pytest.raises(InvalidArgumentError, match=self.reason):
            ps.Log.from_frame(
                frame, context="x", action=["a", "b"], propensity=["p", "q"], reward="sale"
            )


def test_health_of_a_log_in_its_units(tmp_path):
    rng, n = np.random.default_rng(0), 4_000
    rewards = np.where(np.arange(n) < n / 2, 1.0, 3.0) + rng.random(n)
    log = ps.Log(
        contexts=rng.integers(0, 3, n),
        actions=rng.integers(0, 2, n),
        propensities=np.full(n, 0.5),
        rewards=rewards,
        reward_range=(1, 5),
    )
    health = ps.check_log(log)
    assert 1.4 < health.change.before < 1.6 < health.change.after < 3.6
    assert "4,000 rounds earned more than 1, the least" in [
        one.sentence.rstrip(".") for one in health.findings
    ]
    convert(log, tmp_path / "log.csv")
    again = ps.check_log(tmp_path / "log.csv", reward_range=(1, 5))
    assert again.to_dict() == health.to_dict()
    with pytest.raises(FileFormatError, match="declare the range"):
        ps.check_log(tmp_path / "log.csv")
    with pytest.raises(InvalidArgumentError, match=r"the declared range is \[0, 5\]"):
        ps.check_log(log, reward_range=(0, 5))
