"""Vowpal Wabbit's formats: the letter of them, and Vowpal Wabbit itself."""

import json

import numpy as np
import pytest

from policysieve.errors import FileFormatError
from policysieve.formats import convert
from policysieve.log import LogFile, Rounds
from tests.formats.rounds import read, write

FOREIGN = "shared |user age:3 |time noon\n|item red\n0:-1.0:0.25 |item blue\n|item green"


def rounds(contexts, actions=(0, 2), rewards=(1.0, 0.25), ids=None):
    return Rounds(
        np.asarray(contexts),
        np.array(actions, dtype=np.int32)[:, None],
        np.array([[0.5], [0.125]]),
        np.array(rewards)[:, None],
        None if ids is None else np.array(ids, dtype=object),
    )


def test_text_is_numbered_from_one_and_costs_are_minus_rewards(tmp_path):
    write(tmp_path / "a.vw", "vw", rounds([[1.5, 0.0, 2.0], [0.0, 0.0, 0.0]], ids=["a b", ""]))
    assert (tmp_path / "a.vw").read_text() == (
        "1:-1.0:0.5 'a%20b| f0:1.5 f2:2.0\n3:-0.25:0.125 | f2:0.0\n"
    )
    write(tmp_path / "a.vw", "vw", rounds([17, 4], rewards=(0.0, 1.0)))
    assert (tmp_path / "a.vw").read_text() == "1:0.0:0.5 | c=17\n3:-1.0:0.125 | c=4\n"


def test_a_line_for_each_action(tmp_path):
    write(tmp_path / "a", "vw-adf", rounds([17, 4]), n_actions=3)
    assert (tmp_path / "a").read_text() == (
        "shared | c=17\n0:-1.0:0.5 | a=0\n| a=1\n| a=2\n\n"
        "shared | c=4\n| a=0\n| a=1\n0:-0.25:0.125 | a=2\n\n"
    )


def test_dsjson(tmp_path):
    write(tmp_path / "a.dsjson", "dsjson", rounds([17, 4], ids=["e", ""]), n_actions=3)
    first, second = map(json.loads, (tmp_path / "a.dsjson").read_text().splitlines())
    actions = [{"a": "0"}, {"a": "1"}, {"a": "2"}]
    assert first == {
        "_label_cost": -1.0,
        "_label_probability": 0.5,
        "_label_Action": 1,
        "_labelIndex": 0,
        "EventId": "e",
        "a": [1],
        "p": [0.5],
        "c": {"row": "17", "_multi": actions},
    }
    assert (second["_label_Action"], "EventId" in second) == (3, False)


@pytest.mark.parametrize(
    ("features", "contexts"),
    [
        (["| f0:1.5 f2", "|"], [[1.5, 0, 1], [0, 0, 0]]),
        (["| c=17", "| c=-4"], [17, -4]),
        (["| t=a%20b", "|user age:3"], ["a b", "|user age:3"]),
        (["| f0:1", "| c=4"], ["| f0:1", "| c=4"]),
        (["| f0:1 f0:2", "| f0:1"], ["| f0:1 f0:2", "| f0:1"]),
        (["| f00:1", "| f0:nan"], ["| f00:1", "| f0:nan"]),
        (["|a f0:1", "| f123456:1"], ["|a f0:1", "| f123456:1"]),
    ],
)
def test_what_features_mean(tmp_path, features, contexts):
    (tmp_path / "a.vw").write_text("".join(f"2:0.0:0.5 {text} \r\n\n" for text in features))
    got = read(tmp_path / "a.vw")
    assert got.contexts.tolist() == contexts
    assert got.actions.tolist() == [[1], [1]]


def test_other_features_go_through_a_log_unchanged(tmp_path):
    text = "1:-1.0:0.5 |user age:3 |item x\n2:0.0:0.25 |user |item t=y\n"
    (tmp_path / "a.vw").write_text(text)
    convert(tmp_path / "a.vw", tmp_path / "a.parquet")
    convert(tmp_path / "a.parquet", tmp_path / "b.vw")
    assert (tmp_path / "b.vw").read_text() == text


@pytest.mark.parametrize("block", [FOREIGN, FOREIGN.partition("\n")[2]])
def test_features_of_actions_are_kept_as_text(tmp_path, block):
    (tmp_path / "a").write_text(f"{block}\n\n{block}")
    got = read(tmp_path / "a", "vw-adf")
    assert got.contexts.tolist() == [block.replace("0:-1.0:0.25 ", "")] * 2
    assert (got.actions.tolist(), got.rewards.tolist()) == ([[1], [1]], [[1.0], [1.0]])
    convert(tmp_path / "a", tmp_path / "a.parquet", from_format="vw-adf")
    convert(tmp_path / "a.parquet", tmp_path / "b", to_format="vw-adf")
    assert (tmp_path / "b").read_text() == f"{block}\n\n" * 2


def test_other_objects_of_dsjson_are_kept_as_text(tmp_path):
    context = {"user": {"age": 3}, "_multi": [{"item": "red"}, {"item": "blue"}]}
    line = {"_label_cost": 0.0, "_labelIndex": 1, "p": [0.25], "a": [2, 1], "c": context}
    (tmp_path / "a.dsjson").write_text(json.dumps(line))
    got = read(tmp_path / "a.dsjson")
    assert json.loads(got.contexts[0]) == context
    assert (got.actions.tolist(), got.propensities.tolist()) == ([[1]], [[0.25]])
    convert(tmp_path / "a.dsjson", tmp_path / "a.csv")
    convert(tmp_path / "a.csv", tmp_path / "b.dsjson")
    assert json.loads((tmp_path / "b.dsjson").read_text())["c"] == context


def test_dsjson_says_when_and_who(tmp_path):
    line = {"_label_probability": 1, "a": [1, 2], "c": {}, "EventId": "e"}
    (tmp_path / "a.dsjson").write_text(
        json.dumps({**line, "Timestamp": "2021-02-04T16:31:29.2460000Z"})
    )
    got = read(tmp_path / "a.dsjson")
    assert (got.ids.tolist(), got.times.tolist()) == (["e"], [1612456289.246])
    assert np.isnan(got.rewards).all()  # no cost: the reward is missing


@pytest.mark.parametrize(
    ("format", "text", "reason"),
    [
        ("vw", "0:0:0.5 | a", "numbered from 1"),
        ("vw", "1:0:0.5 2:1:0.5 | a", "one action:cost:probability"),
        ("vw", "1 | a", "one action:cost:probability"),
        ("vw", "| a", "no action:cost:probability"),
        ("vw", "1:0:0.5| a", "no action:cost:probability"),
        ("vw", "1:0:0.5 a", r"no \| before"),
        ("vw", "1:nan:0.5 | a", "the cost must be a finite number, got 'nan'"),
        ("vw", "1.5:0:0.5 | a", "the action must be a whole number"),
        ("vw", "1:0:0 | a", r"propensity must lie in \(0, 1\], got 0"),
        ("vw", "1:0:1.5 | a", r"propensity must lie in \(0, 1\], got 1.5"),
        ("vw", "1:0.5:0.5 | a", "reward -0.5 is outside .*costs count as minus rewards"),
        ("vw", "shared | a", "vw-adf"),
        ("vw-adf", "shared | a\n| b", "no action has a label"),
        ("vw-adf", "0:0:1 | a\n0:0:1 | b", "two actions have a label"),
        ("vw-adf", "| a\nshared | a\n0:0:1 | b", "only the first line may be shared"),
        ("dsjson", "{", "not JSON"),
        ("dsjson", "[1]", "JSON object"),
        ("dsjson", '{"EventId": "e", "v": 1}', "observation without its decision"),
        ("dsjson", '{"c": {}, "p": [1]}', "which action was shown"),
        ("dsjson", '{"c": {}, "a": [1]}', "how probable"),
        ("dsjson", '{"c": {}, "p": [1], "_labelIndex": 1, "_label_Action": 1}', "different"),
        ("dsjson", '{"c": {}, "p": [1], "a": [0]}', "from 0 to"),
        ("dsjson", '{"c": {}, "p": [1], "a": [1], "pdrop": 0.5}', "pdrop"),
    ],
)
def test_bad_rows(tmp_path, format, text, reason):
    (tmp_path / "a").write_text(f"\n{text}\n")
    with pytest.raises(FileFormatError, match=f"line 2: .*{reason}"):
        list(LogFile(tmp_path / "a", format).rounds())


def test_costs_are_minus_rewards(tmp_path):
    (tmp_path / "a.vw").write_text("1:0:0.5 | c=1\n1:0.25:0.5 | c=2\n1:1:0.5 | c=3\n")
    got = read(tmp_path / "a.vw", reward_range=(-1, 0))
    assert got.rewards.tolist() == [[0.0], [-0.25], [-1.0]]
    assert got.reward_range == (-1.0, 0.0)


CONTEXTS = [
    [[1.5, 0.0, -2e-300], [0.0, 1e6, 0.5]],
    [17, 4],
    np.array(["a b|c:d\n%é", "plain"], dtype=object),
]


class TestVowpalWabbitItself:
    """It reads what we write, and sees the labels and features that we mean."""

    @pytest.fixture
    def vw(self):
        return pytest.importorskip("vowpalwabbit")

    @pytest.mark.parametrize("contexts", CONTEXTS)
    @pytest.mark.parametrize(
        ("format", "options", "end"),
        [
            ("vw", "--cb 3", "\n"),
            ("vw-adf", "--cb_explore_adf", "\n\n"),
            ("dsjson", "--cb_explore_adf --dsjson", "\n"),
        ],
    )
    def test_reads_the_file(self, vw, tmp_path, contexts, format, options, end):
        write(tmp_path / "a", format, rounds(contexts, ids=["x y", "z"]), n_actions=3)
        machine = vw.Workspace(f"{options} --quiet")
        seen = []
        for text in (tmp_path / "a").read_text().split(end)[:-1]:
            parsed = machine.parse(text)
            examples = parsed if isinstance(parsed, list) else [parsed]
            for place, example in enumerate(examples):
                for cost in example.get_label(vw.LabelType.CONTEXTUAL_BANDIT).costs:
                    if cost.probability > 0:  # that of the shared line is -1
                        action = cost.action if format == "vw" else place
                        seen.append((action, cost.cost, cost.probability))
            machine.finish_example(parsed)
        machine.finish()
        # The shared line comes first, so that places count from one as actions do.
        np.testing.assert_allclose(seen, [(1, -1.0, 0.5), (3, -0.25, 0.125)], rtol=1e-6)

        learner = vw.Workspace(f"{options} -d {tmp_path / 'a'} --quiet")
        learner.finish()
        assert learner.get_weighted_examples() == 2
