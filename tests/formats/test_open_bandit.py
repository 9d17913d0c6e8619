"""Open Bandit Pipeline's dictionary and its CSV."""

import numpy as np
import pytest

from policysieve.errors import FileFormatError, InvalidArgumentError
from policysieve.formats import from_bandit_feedback, to_bandit_feedback
from policysieve.log import Log, LogFile
from tests.formats.rounds import read

HEADER = (
    ",timestamp,item_id,position,click,propensity_score,"
    "user_feature_0,user_feature_1,user-item_affinity_0,user-item_affinity_1\n"
)
ROWS = [
    "0,2019-11-24 00:00:34.762830+00:00,14,3,0,0.0125,zebra,7,0.0,1.0\n",
    "1,2019-11-24 00:00:53.965051+00:00,9,1,1,0.0125,ant,5,0.5,0.0\n",
    "2,2019-11-24 00:00:56.727734+00:00,14,2,0,0.25,cow,6,0.0,0.0\n",
]


def feedback(**change):
    return {
        "n_rounds": 3,
        "n_actions": 4,
        "context": np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
        "action_context": np.eye(4),
        "action": np.array([0, 3, 1]),
        "position": None,
        "reward": np.array([0, 1, 0]),
        "pscore": np.array([0.5, 0.25, 1.0]),
        "expected_reward": np.zeros((3, 4)),
        **change,
    }


class TestFeedback:
    def test_becomes_a_log(self):
        log = from_bandit_feedback(feedback())
        expected = Log(
            contexts=[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]],
            actions=[0, 3, 1],
            propensities=[0.5, 0.25, 1.0],
            rewards=[0, 1, 0],
        )
        assert log == expected

    def test_several_positions_are_the_last_feature(self):
        log = from_bandit_feedback(feedback(position=np.array([0, 2, 1])))
        assert log.contexts.tolist() == [[1, 2, 0], [3, 4, 2], [5, 6, 1]]
        assert from_bandit_feedback(feedback(position=np.zeros(3, int))).contexts.shape == (3, 2)

    def test_comes_back(self):
        there = from_bandit_feedback(feedback())
        back = to_bandit_feedback(there, 4)
        assert from_bandit_feedback(back) == there
        assert set(back) == set(feedback()) - {"expected_reward"}
        assert (back["n_rounds"], back["n_actions"]) == (3, 4)
        assert back["position"].tolist() == [0, 0, 0]
        assert back["action_context"].shape == (4, 4)
        for key in ("action", "position"):
            assert back[key].dtype.kind == "i"
        for key in ("action", "reward", "pscore"):
            assert back[key].shape == (3,)

    def test_row_numbers_are_one_feature(self):
        log = Log(contexts=[4, 7], actions=[1, 0], propensities=[0.5, 0.5], rewards=[0, 1])
        assert to_bandit_feedback(log, 2)["context"].tolist() == [[4], [7]]

    def test_rewards_of_another_range(self):
        log = from_bandit_feedback(feedback(reward=np.array([-1, 1, 0])), reward_range=(-1, 1))
        assert log.rewards.tolist() == [[-1], [1], [0]]
        assert log.reward_range == (-1.0, 1.0)

    @pytest.mark.parametrize("wrong", [(0, 0), (1, -1), "ab"])
    def test_ranges_that_are_none(self, wrong):
        with pytest.raises(InvalidArgumentError, match="reward_range must be"):
            from_bandit_feedback(feedback(), reward_range=wrong)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"pscore": None}, "'pscore' is missing"),
            ({"action": np.array([0, 1])}, r"feedback\['action'\] must be 3 numbers"),
            ({"action": np.array([0.0, 1.0, 2.0])}, r"feedback\['action'\] must be 3 numbers"),
            ({"reward": np.array([0, 2, 0])}, r"row 1: the reward 2 is outside \[0, 1\]"),
            ({"reward": np.array([0, np.nan, 0])}, "row 1: the reward is missing"),
            ({"pscore": np.array([0.5, 0.5, 0])}, "row 2: a propensity must lie"),
            ({"position": np.array([0, 1])}, r"feedback\['position'\] must be 3 numbers"),
            ({"context": np.array(["a", "b", "c"])}, r"feedback\['context'\] must be numbers"),
            ({"context": 3}, r"feedback\['context'\] must be numbers"),
            ({"n_actions": "3"}, r"feedback\['n_actions'\] must be"),
            ({"n_actions": 3}, "row 1: an action must be a number from 0 to 2, got 3"),
        ],
    )
    def test_bad_feedback(self, change, message):
        with pytest.raises(InvalidArgumentError, match=message):
            from_bandit_feedback(feedback(**change))

    def test_logs_that_do_not_fit(self):
        slates = Log(contexts=[1], actions=[[0, 1]], propensities=[[0.5, 0.5]], rewards=[[0, 0]])
        with pytest.raises(InvalidArgumentError, match="slates of 2"):
            to_bandit_feedback(slates, 2)
        text = Log(contexts=["a"], actions=[2], propensities=[0.5], rewards=[0])
        with pytest.raises(InvalidArgumentError, match="contexts must be numbers"):
            to_bandit_feedback(text, 3)
        numbers = Log(contexts=[1], actions=[2], propensities=[0.5], rewards=[0])
        with pytest.raises(InvalidArgumentError, match=r"n_actions must be .* >= 3, got 2"):
            to_bandit_feedback(numbers, 2)


class TestCsv:
    def test_is_recognised_and_its_strings_are_coded(self, tmp_path):
        (tmp_path / "all.csv").write_text(HEADER + "".join(ROWS))
        got = read(tmp_path / "all.csv")
        # zebra, ant, cow in alphabetical order; positions 3, 1, 2 from zero
        assert got.contexts.tolist() == [[2, 7, 0, 1, 2], [0, 5, 0.5, 0, 0], [1, 6, 0, 0, 1]]
        assert got.actions.tolist() == [[14], [9], [14]]
        assert got.propensities.tolist() == [[0.0125], [0.0125], [0.25]]
        assert got.rewards.tolist() == [[0], [1], [0]]
        assert got.times.tolist() == [1574553634.76283, 1574553653.965051, 1574553656.727734]
        assert got.ids is None

    def test_codes_do_not_depend_on_order_or_batches(self, tmp_path, monkeypatch):
        monkeypatch.setattr("policysieve.formats.text.BATCH", 1)
        (tmp_path / "all.csv").write_text(HEADER + "".join(reversed(ROWS)))
        got = np.concatenate([piece.contexts for piece in LogFile(tmp_path / "all.csv").rounds()])
        assert got[:, 0].tolist() == [1, 0, 2]
        assert got[:, -1].tolist() == [1, 0, 2]

    def test_one_position_is_no_feature(self, tmp_path):
        (tmp_path / "all.csv").write_text(HEADER + ROWS[0] + ROWS[0])
        assert read(tmp_path / "all.csv").contexts.tolist() == [[0, 7, 0, 1]] * 2

    def test_without_features_the_position_is_the_context(self, tmp_path):
        (tmp_path / "a.csv").write_text("item_id,position,click,propensity_score\n4,1,0,0.5\n")
        assert read(tmp_path / "a.csv").contexts.tolist() == [[0]]

    @pytest.mark.parametrize(
        ("old", "new", "reason"),
        [
            (",5,", ",five,", "user_feature_1 must be a finite number, got 'five'"),
            (",9,", ",nine,", "item_id must be a whole number"),
            (",1,1,", ",1.5,1,", "position must be a whole number"),
            ("2019-11-24 00:00:53.965051+00:00", "once", "timestamp must be seconds"),
            (",ant", "", "10 columns are needed, got 9"),
        ],
    )
    def test_bad_rows(self, tmp_path, old, new, reason):
        text = HEADER + ROWS[0] + ROWS[1].replace(old, new)
        (tmp_path / "all.csv").write_text(text)
        with pytest.raises(FileFormatError, match=f"line 3: {reason}"):
            list(LogFile(tmp_path / "all.csv").rounds())

    def test_a_missing_column(self, tmp_path):
        (tmp_path / "a.csv").write_text("item_id,position,propensity_score\n1,1,0.5\n")
        with pytest.raises(FileFormatError, match="no column 'click'"):
            LogFile(tmp_path / "a.csv", "obp-csv").rounds()
