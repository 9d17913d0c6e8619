"""One door: whatever takes a log takes it from memory and from files of any format."""

import json
import re

import numpy as np
import pytest

import policysieve as ps
from policysieve.formats import FORMATS, convert, open_contexts, to_bandit_feedback
from policysieve.formats.lines import plain_lines
from policysieve.formats.table import ScalarCells
from policysieve.formats.text import TextRow, text_format
from policysieve.log import Rounds, open_log
from tests.formats.rounds import write

HEADER = "context,action,propensity,reward\n"
PROBLEM = ps.Problem(n_actions=4, epsilon=0.3, delta=0.1)
POLICIES = ps.PolicyTable(np.random.default_rng(5).integers(0, 4, (6, 5)), n_actions=4)


def make_rounds(n=900):
    rng = np.random.default_rng(0)
    contexts, actions = rng.integers(0, 6, n), rng.integers(0, 4, (n, 1))
    rewards = (actions[:, 0] == contexts % 4).astype(float)[:, None]
    return Rounds(contexts, actions.astype(np.int32), np.full((n, 1), 0.25), rewards)


ROUNDS = make_rounds()
FEATURES = Rounds(np.eye(6)[ROUNDS.contexts], ROUNDS.actions, ROUNDS.propensities, ROUNDS.rewards)
LOG = ROUNDS.to_log()


def halves(rounds):
    first = np.arange(len(rounds)) < 400
    return rounds.where(first), rounds.where(~first)


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """The same log in all the ways in which it can be given."""
    folder = tmp_path_factory.mktemp("door")
    every = {"Log": LOG}
    for name in sorted(set(FORMATS) - {"obp-csv", "vw-adf"}):
        path = folder / f"log{FORMATS[name].suffixes[0]}"
        write(path, name, ROUNDS)
        every[name] = path
    every["text of a path"] = str(every["csv"])
    every["LogFile"] = ps.LogFile(every["jsonl"])
    write(folder / "log.txt", "vw-adf", ROUNDS)
    every["LogFile of a named format"] = ps.LogFile(folder / "log.txt", "vw-adf")
    for name in ("parquet", "csv", "jsonl"):
        paths = [folder / f"part{i}{FORMATS[name].suffixes[0]}" for i in range(2)]
        for path, half in zip(paths, halves(ROUNDS), strict=True):
            write(path, name, half)
        every[f"several {name}"] = paths
    return every


KINDS = [
    "Log",
    "LogFile",
    "LogFile of a named format",
    "text of a path",
    *sorted(set(FORMATS) - {"obp-csv", "vw-adf"}),
    "several parquet",
    "several csv",
    "several jsonl",
]
every_kind = pytest.mark.parametrize("kind", KINDS)


@every_kind
class TestEveryKindOfLog:
    def test_is_opened(self, sources, kind):
        opened = open_log(sources[kind])
        assert (len(opened), opened.slate_size) == (900, 1)
        assert sum(len(piece) for piece in opened.pieces()) == 900
        assert ps.Log.load(sources[kind]) == LOG

    def test_is_checked(self, sources, kind):
        found = ps.check_log(sources[kind], n_actions=4).to_dict()
        assert found["rounds"] == 900
        assert found["verdict"] == ps.check_log(LOG, n_actions=4).verdict

    def test_is_selected_from(self, sources, kind):
        found = ps.select(sources[kind], POLICIES, PROBLEM)
        expected = ps.select(LOG, POLICIES, PROBLEM)
        assert found.policy == expected.policy
        np.testing.assert_allclose(found.values, expected.values, rtol=1e-12)

    def test_is_evidence(self, sources, kind):
        uniform = ps.Uniform(POLICIES, PROBLEM, rounds=10, rng=0).exploration
        proofs = []
        for log in (sources[kind], LOG):
            capped, floored = ps.Evidence(POLICIES, PROBLEM), ps.FloorEvidence(POLICIES, PROBLEM)
            capped.add(log, uniform)
            floored.add(log, floor=0.25)
            proofs.append([one.certificate().to_dict() for one in (capped, floored)])
        assert proofs[0] == proofs[1]

    def test_is_learnt_from(self, sources, kind):
        learner = ps.Uniform(POLICIES, PROBLEM, rounds=10, rng=0)
        learner.learn(sources[kind], learner.exploration)
        assert learner.log == LOG

    def test_is_designed_from(self, sources, kind):
        found = ps.design(sources[kind], POLICIES, PROBLEM, rng=0)
        expected = ps.design(LOG, POLICIES, PROBLEM, rng=0)
        np.testing.assert_allclose(found.shares, expected.shares)

    def test_is_converted(self, sources, kind, tmp_path):
        assert convert(sources[kind], tmp_path / "log.parquet").rounds == 900
        assert ps.Log.load(tmp_path / "log.parquet") == LOG

    def test_becomes_bandit_feedback(self, sources, kind):
        found = to_bandit_feedback(sources[kind], n_actions=4)
        assert found["reward"].tolist() == LOG.rewards[:, 0].tolist()

    def test_is_replayed(self, sources, kind):
        world = ps.worlds.Replay(sources[kind], n_actions=4)
        assert world.draw(5, np.random.default_rng(0)).contexts.tolist() == [*LOG.contexts[:5]]


@pytest.mark.parametrize(
    "take",
    ["check", "select", "design", "replay", "load", "convert", "bandit feedback", "evidence"],
)
@pytest.mark.parametrize("wrong", [7, None, [1, 2], {"a": 1}])
def test_what_is_no_log_is_refused_in_the_same_words(take, wrong):
    calls = {
        "check": lambda: ps.check_log(wrong),
        "select": lambda: ps.select(wrong, POLICIES, PROBLEM),
        "design": lambda: ps.design(wrong, POLICIES, PROBLEM),
        "replay": lambda: ps.worlds.Replay(wrong, n_actions=4),
        "load": lambda: ps.Log.load(wrong),
        "convert": lambda: convert(wrong, "out.csv"),
        "bandit feedback": lambda: to_bandit_feedback(wrong, n_actions=4),
        "evidence": lambda: ps.FloorEvidence(POLICIES, PROBLEM).add(wrong, floor=0.1),
    }
    message = f"log must be a Log, a LogFile, a path or several paths, got {type(wrong).__name__}"
    with pytest.raises(ps.InvalidArgumentError, match=message):
        calls[take]()


@pytest.mark.parametrize("wrong", [3, None, b"log.csv", ["a.csv", 3], {"a.csv": 1}])
def test_a_log_file_takes_nothing_but_paths(wrong):
    message = f"paths must be a path or several paths, got {type(wrong).__name__}"
    with pytest.raises(ps.InvalidArgumentError, match=message):
        ps.LogFile(wrong)
    with pytest.raises(ps.InvalidArgumentError, match=message):
        open_contexts(wrong)


class TestSeveralFiles:
    def test_contexts_are_understood_together(self, tmp_path):
        """What one file says of its contexts may be less than what all of them say."""
        (tmp_path / "a.vw").write_text("1:0:0.5 | f0:1\n")
        (tmp_path / "b.vw").write_text("1:0:0.5 | f2:1\n")
        log = ps.Log.load([tmp_path / "a.vw", tmp_path / "b.vw"])
        assert log.contexts.tolist() == [[1, 0, 0], [0, 0, 1]]
        (tmp_path / "a.csv").write_text(f"{HEADER}1,0,0.5,1\n")
        (tmp_path / "b.csv").write_text(f"{HEADER}blue,0,0.5,1\n")
        log = ps.Log.load([tmp_path / "a.csv", tmp_path / "b.csv"])
        assert log.contexts.tolist() == ["1", "blue"]

    def test_codes_agree(self, tmp_path):
        header = "item_id,position,click,propensity_score,user_feature_0\n"
        (tmp_path / "a.csv").write_text(f"{header}1,1,0,0.5,zebra\n")
        (tmp_path / "b.csv").write_text(f"{header}1,1,0,0.5,ant\n")
        log = ps.Log.load([tmp_path / "a.csv", tmp_path / "b.csv"])
        assert log.contexts.tolist() == [[1], [0]]

    def test_numbers_have_the_type_that_holds_all(self, tmp_path):
        one = Rounds(
            np.arange(2),
            *[
                getattr(ROUNDS.where(np.arange(900) < 2), name)
                for name in ("actions", "propensities", "rewards")
            ],
        )
        two = Rounds(
            np.array([0.5, 1]),
            one.actions,
            one.propensities,
            one.rewards,
            np.array(["a", "b"], dtype=object),
            np.array([1.0, 2.0]),
        )
        write(tmp_path / "a.parquet", "parquet", one)
        write(tmp_path / "b.parquet", "parquet", two)
        pieces = list(ps.LogFile([tmp_path / "a.parquet", tmp_path / "b.parquet"]).rounds())
        assert [piece.contexts.dtype for piece in pieces] == [np.float64] * 2
        assert [piece.ids.tolist() for piece in pieces] == [["", ""], ["a", "b"]]
        assert np.isnan(pieces[0].times).all()
        convert([tmp_path / "a.parquet", tmp_path / "b.parquet"], tmp_path / "c.parquet")
        assert ps.Log.load(tmp_path / "c.parquet").contexts.tolist() == [0, 1, 0.5, 1]

    def test_become_one(self, tmp_path):
        (tmp_path / "a.csv").write_text(f"{HEADER}1,0,0.5,1\n2,9,7,1\n")
        (tmp_path / "b.csv").write_text(f"{HEADER}3,0,0.5,0\n4,bad,0.5,0\n")
        done = convert(
            [tmp_path / "a.csv", tmp_path / "b.csv"], tmp_path / "c.parquet", skip_bad=True
        )
        assert (done.rounds, done.skipped) == (2, 2)
        skipped = (tmp_path / "c.parquet.skipped.jsonl").read_text().splitlines()
        assert [(row["file"], row["line"]) for row in map(json.loads, skipped)] == [
            (str(tmp_path / "a.csv"), 3),
            (str(tmp_path / "b.csv"), 3),
        ]
        assert ps.Log.load(tmp_path / "c.parquet").contexts.tolist() == [1, 3]


class TestErrorsNameTheFile:
    def test_missing(self, tmp_path):
        (tmp_path / "a.csv").write_text(f"{HEADER}1,0,0.5,1\n")
        with pytest.raises(FileNotFoundError, match=re.escape(f"no log at {tmp_path / 'b.csv'}")):
            open_log([tmp_path / "a.csv", tmp_path / "b.csv"])

    def test_of_an_unknown_format(self, tmp_path):
        (tmp_path / "a.txt").write_text("")
        with pytest.raises(ps.InvalidArgumentError, match=r"suffix of .*a\.txt does not tell"):
            open_log(tmp_path / "a.txt")

    def test_of_mixed_formats(self, tmp_path):
        (tmp_path / "a.csv").write_text(f"{HEADER}1,0,0.5,1\n")
        (tmp_path / "b.vw").write_text("1:0:0.5 | c=1\n")
        with pytest.raises(
            ps.InvalidArgumentError, match=r"one format, .*a\.csv is csv and .*b\.vw is vw; conv"
        ):
            open_log([tmp_path / "a.csv", tmp_path / "b.vw"])

    @pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl"])
    def test_of_other_slate_sizes(self, tmp_path, suffix):
        slates = Rounds(
            np.arange(2), np.array([[0, 1], [1, 0]]), np.full((2, 2), 0.5), np.zeros((2, 2))
        )
        ours = [tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"]
        write(ours[0], FORMATS_BY_SUFFIX[suffix], ROUNDS)
        write(ours[1], FORMATS_BY_SUFFIX[suffix], slates)
        with pytest.raises(ps.FileFormatError, match=re.escape(str(ours[1]))):
            open_log(ours)

    def test_of_other_contexts(self, tmp_path):
        write(tmp_path / "a.parquet", "parquet", ROUNDS)
        write(tmp_path / "b.parquet", "parquet", FEATURES)
        with pytest.raises(
            ps.FileFormatError, match=r"of .*b\.parquet are 6 features, but .*a\.parquet are row n"
        ):
            open_log([tmp_path / "a.parquet", tmp_path / "b.parquet"])

    @pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl", ".dsjson"])
    def test_with_missing_rewards(self, tmp_path, suffix):
        (tmp_path / "a.csv").write_text(f"{HEADER}1,0,0.5,1\n2,1,0.5,\n3,1,0.5,0\n")
        path = tmp_path / f"a{suffix}"
        if suffix == ".dsjson":
            shown = {"row": "1", "_multi": [{"a": "0"}]}
            lines = [{"a": [1], "p": [0.5], "c": shown, "_label_cost": -1}]
            lines += [{"a": [1], "p": [0.5], "c": shown}]
            path.write_text("\n".join(map(json.dumps, lines)))
        elif suffix != ".csv":
            write(path, FORMATS_BY_SUFFIX[suffix], *ps.LogFile(tmp_path / "a.csv").rounds())
        unit = {".parquet": "row 2", ".csv": "line 3"}.get(suffix, "line 2")
        message = rf"a\{suffix}, {unit}: the reward is missing; .*missing_reward=0"
        for call in (
            lambda log: ps.select(log, POLICIES, PROBLEM),
            lambda log: ps.design(log, POLICIES, PROBLEM),
            lambda log: ps.worlds.Replay(log, n_actions=4),
            ps.Log.load,
        ):
            with pytest.raises(ps.FileFormatError, match=message):
                call(path)
        assert ps.check_log(path, n_actions=4).findings[8].numbers["missing"] == 1
        told = ps.Log.load(ps.LogFile(path, missing_reward=0))
        assert told.rewards[1, 0] == 0


FORMATS_BY_SUFFIX = {
    suffix: one.name for one in reversed(FORMATS.values()) for suffix in one.suffixes
}


def test_a_new_format_needs_its_line_in_the_table_alone(tmp_path, monkeypatch):
    """Two numbers a line: the action, and the reward in percent."""

    class Reader:
        def __init__(self, rules):
            self.contexts = ScalarCells()
            self.longest = rules.longest_row

        def raw_rows(self, path):
            return plain_lines(path, self.longest)

        def row(self, raw):
            action, percent = raw.text.split()
            return TextRow("0", [int(action)], [0.25], [int(percent) / 100])

    def text(batches, _layout, _n_actions):
        for rounds in batches:
            for action, reward in zip(rounds.actions[:, 0], rounds.rewards[:, 0], strict=True):
                yield f"{action} {reward * 100:.0f}\n"

    mine = text_format(
        name="mine",
        title="pairs of numbers",
        suffixes=(".mine",),
        reader=Reader,
        text=text,
        not_held=lambda _layout: ("contexts",),
    )
    monkeypatch.setitem(FORMATS, "mine", mine)
    LOG.save(tmp_path / "log.parquet")
    assert convert(tmp_path / "log.parquet", tmp_path / "log.mine").not_held == ("contexts",)
    log = ps.Log.load(tmp_path / "log.mine")
    np.testing.assert_array_equal(log.actions, LOG.actions)
    np.testing.assert_array_equal(log.rewards, LOG.rewards)
    assert ps.check_log([tmp_path / "log.mine"] * 2, n_actions=4).rounds == 1800


def test_a_log_file_says_what_it_is(tmp_path):
    write(tmp_path / "a.jsonl", "jsonl", FEATURES)
    assert repr(ps.LogFile(tmp_path / "a.jsonl")) == (
        "LogFile(900 rounds, slate_size=1, 6 features)"
    )


def test_two_loops_over_one_log_do_not_meet(tmp_path, monkeypatch):
    monkeypatch.setattr("policysieve.formats.text.BATCH", 3)
    (tmp_path / "a.csv").write_text(HEADER + "".join(f"{i},0,0.5,1\n" for i in range(9)))
    log = ps.LogFile(tmp_path / "a.csv")
    pairs = list(zip(log.pieces(), log.pieces(), strict=True))
    assert len(pairs) == 3
    assert all(one == two for one, two in pairs)


def test_the_first_rounds_can_be_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr("policysieve.formats.parquet_file.BATCH", 7)
    rng = np.random.default_rng(0)
    log = ps.Log(
        contexts=np.arange(30),
        actions=rng.integers(0, 3, 30),
        propensities=np.full(30, 1 / 3),
        rewards=rng.integers(0, 2, 30),
    )
    log.save(tmp_path / "log.parquet")
    opened = ps.LogFile(tmp_path / "log.parquet")
    for start in (0, 7, 10, 29):
        later = opened.since(start)
        assert len(later) == 30 - start
        assert ps.Log.load(later) == log.since(start) == log[start:]
    assert len(opened) == 30
    assert ps.Log.load(opened.since(4).since(6)) == log[10:]
    convert(opened.since(10), tmp_path / "later.csv")
    assert len(ps.LogFile(tmp_path / "later.csv")) == 20
    for wrong in (30, -1, 2.5):
        with pytest.raises(ps.InvalidArgumentError, match=r"since must be .* in \[0, 29\]"):
            opened.since(wrong)
