"""Names of a log's actions: numbers stand for them, in memory, in files, and for policies."""

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import policysieve as ps
from policysieve.errors import FileFormatError, InvalidArgumentError
from policysieve.formats import FORMATS, convert

NAMES = ("hats", "shoes", "socks")


def a_log(actions=("shoes", "hats", "shoes"), **change):
    n = len(actions)
    plain = {"contexts": np.arange(n), "propensities": np.full(n, 0.5), "rewards": np.zeros(n)}
    return ps.Log(**{**plain, "actions": list(actions), **change})


class TestInMemory:
    def test_names_are_numbered_by_the_alphabet(self):
        log = a_log()
        assert log.action_names == ("hats", "shoes")
        assert log.actions.tolist() == [[1], [0], [1]]
        assert log.actions.dtype == np.int32

    def test_or_as_they_are_given(self):
        log = a_log(action_names=("socks", "shoes", "hats"))
        assert log.actions.tolist() == [[1], [2], [1]]
        assert a_log([1, 0, 2], action_names=NAMES).action_names == NAMES

    def test_numbers_alone_have_no_names(self):
        assert a_log([1, 0, 2]).action_names is None

    @pytest.mark.parametrize(
        ("actions", "names", "message"),
        [
            (["shoes", "hat"], NAMES, r"actions \(row 1\) must be .* got 'hat'; did you mean 'hat"),
            ([0, 3], NAMES, r"below 3, because action_names has so many, got 3 in row 1"),
            (["shoes", 1], None, "all names or all numbers, got 'shoes' and, in entry 1, 1"),
            (["shoes", ""], None, "not empty"),
            ([0, 1], ["a", "a"], "action_names must be different"),
            ([0, 1], "ab", "action_names must be a sequence of names"),
        ],
    )
    def test_what_is_refused(self, actions, names, message):
        with pytest.raises(InvalidArgumentError, match=message):
            a_log(actions, action_names=names)

    def test_slates_of_names(self):
        log = ps.Log(
            contexts=[1, 2],
            actions=[["socks", "hats"], ["shoes", "socks"]],
            propensities=np.full((2, 2), 0.5),
            rewards=np.zeros((2, 2)),
        )
        assert log.actions.tolist() == [[2, 0], [1, 2]]

    def test_distributions_may_have_names_too(self):
        lists = [{"shoes": 0.5, "socks": 0.5}, [("hats", 0.5), ("shoes", 0.5)]]
        log = a_log(["shoes", "hats"], distributions=lists)
        assert log.action_names == NAMES
        assert list(log.distributions) == [[(1, 0.5), (2, 0.5)], [(0, 0.5), (1, 0.5)]]
        again = log.with_action_names(NAMES[::-1])
        assert list(again.distributions) == [[(0, 0.5), (1, 0.5)], [(1, 0.5), (2, 0.5)]]
        with pytest.raises(InvalidArgumentError, match="action_names must be given"):
            a_log(["shoes", "hats"], distributions=np.full((2, 2), 0.5))
        with pytest.raises(InvalidArgumentError, match="row 0: an action must be one of"):
            a_log(["shoes", "hats"], distributions=lists, action_names=("hats", "shoes"))

    def test_parts_and_copies_keep_names(self):
        log = a_log()
        for same in (log[1:], log.copy(), log.without_distributions(), ps.Log.concatenate([log])):
            assert same.action_names == ("hats", "shoes")
        (rounds,) = log.rounds()
        assert rounds.to_log() == log
        assert log != a_log([1, 0, 1])

    def test_logs_that_are_joined_unite_their_names(self):
        one, other = a_log(), a_log(["bags", "hats"])
        before = one.copy()
        for joined in (one.plus(other), ps.Log.concatenate([one, other])):
            assert joined.action_names == ("hats", "shoes", "bags")
            assert joined.actions.ravel().tolist() == [1, 0, 1, 2, 0]
        assert one == before
        one.extend(other)
        assert one.action_names == ("hats", "shoes", "bags")

    def test_names_and_numbers_are_not_joined(self):
        named, numbered = a_log(), a_log([0, 1, 0])
        with pytest.raises(InvalidArgumentError, match="the earlier rounds have them"):
            named.extend(numbered)
        with pytest.raises(InvalidArgumentError, match=r"the new rounds .*with_action_names"):
            numbered.plus(named)
        numbered.with_action_names(("hats", "shoes")).extend(named)
        empty = a_log([])
        empty.extend(named)
        assert empty.action_names == named.action_names

    def test_append_takes_names_and_the_numbers_that_stand_for_them(self):
        log = a_log()
        log.append(contexts=[7, 8], actions=["shoes", "hats"], propensities=[1, 1], rewards=[0, 0])
        log.append(contexts=[7], actions=[1], propensities=[1], rewards=[0])
        assert log.actions.ravel().tolist() == [1, 0, 1, 1, 0, 1]
        before = log.copy()
        for wrong in ("bags", 2):
            with pytest.raises(InvalidArgumentError):
                log.append(contexts=[7], actions=[wrong], propensities=[1], rewards=[0])
        assert log == before

    def test_unknown_names_are_found_by_row(self):
        log = a_log(["hats", "shoes", "shoos"])
        with pytest.raises(InvalidArgumentError, match=r"row 2\) .*'shoos'; did you mean 'shoes'"):
            log.with_action_names(NAMES)
        with pytest.raises(InvalidArgumentError, match="below 2"):
            a_log([0, 2]).with_action_names(("a", "b"))
        full = a_log([0, 1], distributions=[{0: 0.5, 1: 0.5}, {1: 0.5, 2: 0.5}])
        with pytest.raises(InvalidArgumentError, match="row 1: an action of the distribution"):
            full.with_action_names(("a", "b"))
        assert log[:2].with_action_names(NAMES).actions.ravel().tolist() == [0, 1]


def _from(path):
    log = ps.Log.load(path)
    return log.action_names, log.actions.tolist()


class TestInFiles:
    @pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "csv.gz"])
    @pytest.mark.parametrize("full", [False, True])
    def test_come_back(self, tmp_path, suffix, full):
        lists = [{"a b": 0.5, "c:%": 0.5}, {"a b": 0.5, "ü,": 0.5}] if full else None
        log = a_log(["c:%", "a b"], distributions=lists)
        done = convert(log, tmp_path / f"log.{suffix}")
        assert ps.Log.load(tmp_path / f"log.{suffix}") == log
        assert done.not_held == ()

    @pytest.mark.parametrize("format", ["vw", "vw-adf", "dsjson", "obp-csv"])
    def test_or_their_loss_is_said(self, tmp_path, format):
        done = convert(a_log(), tmp_path / "log.x", to_format=format)
        assert any("0 is 'hats', 1 is 'shoes'" in phrase for phrase in done.not_held)
        assert ps.Log.load(ps.LogFile(tmp_path / "log.x", format)).action_names is None

    def test_the_first_action_says_whether_they_are_names(self, tmp_path):
        header = "context,action,propensity,reward\n"
        (tmp_path / "a.csv").write_text(f"{header}1,jacket,0.5,1\n2,501,0.5,1\n3,1.0,1,0\n")
        assert _from(tmp_path / "a.csv") == (("1.0", "501", "jacket"), [[2], [1], [0]])
        (tmp_path / "b.csv").write_text(f"{header}1,501,0.5,1\n2,jacket,0.5,1\n")
        with pytest.raises(FileFormatError, match=r"line 3: .*got 'jacket'; if actions are names"):
            ps.LogFile(tmp_path / "b.csv")
        log = ps.LogFile(tmp_path / "b.csv", actions=["jacket", "501"])
        assert [piece.actions.tolist() for piece in log.pieces()] == [[[1], [0]]]

    @pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
    def test_are_numbered_as_declared(self, tmp_path, suffix):
        path = tmp_path / f"log.{suffix}"
        convert(a_log(), path)
        log = ps.LogFile(path, actions=NAMES[::-1])
        assert (log.action_names, len(log)) == (NAMES[::-1], 3)
        assert ps.Log.load(log).actions.ravel().tolist() == [1, 2, 1]
        assert ps.Log.load(ps.LogFile(path).with_action_names(NAMES[::-1])) == ps.Log.load(log)
        unit = "row" if suffix == "parquet" else "line"
        with pytest.raises(FileFormatError, match=rf"log.{suffix}, {unit} \d: .*'hats'"):
            list(ps.LogFile(path, actions=["shoes", "hut"]).rounds())

    @pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
    def test_numbers_stand_for_declared_names(self, tmp_path, suffix):
        path = tmp_path / f"log.{suffix}"
        convert(a_log([0, 2, 1]), path)
        assert ps.Log.load(ps.LogFile(path, actions=NAMES)).action_names == NAMES
        with pytest.raises(FileFormatError, match="an action must be a number from 0 to 1, got 2"):
            list(ps.LogFile(path, actions=NAMES[:2]).rounds())

    @pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
    def test_several_files_have_names_in_common(self, tmp_path, suffix):
        paths = [tmp_path / f"{i}.{suffix}" for i in range(3)]
        convert(a_log(), paths[0])
        convert(a_log(["bags", "shoes"]), paths[1])
        convert(a_log([0, 1]), paths[2])
        log = ps.Log.load(paths[:2])
        assert log.action_names == ("bags", "hats", "shoes")
        assert log.actions.ravel().tolist() == [2, 1, 2, 0, 2]
        if suffix == "csv":  # where a number may be a name
            assert ps.Log.load(paths).action_names == ("0", "1", "bags", "hats", "shoes")
        else:
            with pytest.raises(FileFormatError, match="name"):
                ps.LogFile(paths)

    def test_bad_rows_name_nothing(self, tmp_path):
        text = "context,action,propensity,reward\n1,hats,0.5,1\n2,wrong,7,1\n3,shoes,0.5,0\n"
        (tmp_path / "a.csv").write_text(text)
        convert(tmp_path / "a.csv", tmp_path / "b.parquet", skip_bad=True)
        assert _from(tmp_path / "b.parquet") == (("hats", "shoes"), [[0], [1]])

    def test_a_file_that_has_more_than_it_names(self, tmp_path):
        a_log().save(tmp_path / "a.parquet")
        table = pq.read_table(tmp_path / "a.parquet")
        meta = table.schema.metadata[b"policysieve.log"].replace(b'"hats", ', b"")
        pq.write_table(table.replace_schema_metadata({b"policysieve.log": meta}), tmp_path / "b")
        with pytest.raises(FileFormatError, match="row 2: an action must be one of the 1 that"):
            list(ps.LogFile(tmp_path / "b", "parquet").rounds())

    def test_a_data_frame_may_go_between(self, tmp_path):
        """It loses our header, so names are where numbers would be."""
        contexts = pd.DataFrame({"age": [1.0, None, 3.0], "c": ["x", "y", None]})
        lists = [{"hats": 0.5, "shoes": 0.5}] * 3
        log = a_log(contexts=contexts, distributions=lists, action_names=("shoes", "hats"))
        log.save(tmp_path / "a.parquet")
        frame = pd.read_parquet(tmp_path / "a.parquet")
        assert [list(shown) for shown in frame["actions"]] == [["shoes"], ["hats"], ["shoes"]]
        frame.to_parquet(tmp_path / "b.parquet")
        again = ps.Log.load(ps.LogFile(tmp_path / "b.parquet", actions=("shoes", "hats")))
        assert again.contexts.tolist() == log.contexts.tolist()
        assert again.actions.tolist() == log.actions.tolist()
        assert again.distributions == log.distributions
        assert ps.Log.load(tmp_path / "b.parquet").action_names == ("hats", "shoes")

    def test_plain_columns_of_names(self, tmp_path):
        columns = {"context": [1, 2], "action": ["b", "a"], "propensity": [0.5, 0.5]}
        full = {
            "distribution_actions": [["a", "b"], ["c", "a"]],
            "distribution_propensities": [[0.5, 0.5], [0.5, 0.5]],
        }
        frame = pd.DataFrame({**columns, "reward": [True, False]})
        frame.to_parquet(tmp_path / "a.parquet")
        assert _from(tmp_path / "a.parquet") == (("a", "b"), [[1], [0]])
        frame.assign(**full).to_parquet(tmp_path / "b.parquet")
        log = ps.Log.load(tmp_path / "b.parquet")
        assert log.action_names == ("a", "b", "c")
        assert list(log.distributions)[1] == [(0, 0.5), (2, 0.5)]

    def test_names_of_all_formats_are_told_apart(self):
        assert {name for name, one in FORMATS.items() if one.tabular} == {"parquet", "csv", "jsonl"}


RNG = np.random.default_rng(0)
POLICIES = ps.PolicyTable(
    RNG.integers(0, 3, (20, 6)), actions=("socks", "hats", "shoes"), names=list("abcdef")
)
PROBLEM = ps.Problem(actions=("socks", "hats", "shoes"), epsilon=0.3, delta=0.1)


def explored(n=600):
    """A log of names, and the same in the numbers of the problem."""
    x = RNG.integers(0, 20, n)
    numbers = RNG.integers(0, 3, n)
    rewards = (numbers == x % 3) * 1.0
    columns = {"contexts": x, "propensities": np.full(n, 1 / 3), "rewards": rewards}
    full = np.full((n, 3), 1 / 3)
    names = [PROBLEM.actions[number] for number in numbers]
    numbered = ps.Log(**columns, actions=numbers, distributions=full)
    return ps.Log(
        **columns, actions=names, distributions=full, action_names=sorted(PROBLEM.actions)
    ), numbered


class TestForPolicies:
    def test_a_log_is_put_into_the_order_of_the_names(self, tmp_path):
        named, numbered = explored()
        convert(named, tmp_path / "log.csv")
        expected = ps.select(numbered, POLICIES, PROBLEM).to_dict()
        for log in (named, tmp_path / "log.csv"):
            assert ps.select(log, POLICIES, PROBLEM).to_dict() == expected
        made = [ps.design(log, POLICIES, PROBLEM) for log in (named, numbered)]
        assert made[0].variance_bound == made[1].variance_bound

    def test_evidence_and_learners_do_so_too(self):
        named, numbered = explored()
        seen = []
        for log in (named, numbered):
            evidence = ps.Evidence(POLICIES, PROBLEM)
            evidence.add(log)
            floored = ps.FloorEvidence(POLICIES, PROBLEM)
            floored.add(log, floor=1 / 3)
            learner = ps.Uniform(POLICIES, PROBLEM, rng=0)
            learner.learn(log, learner.exploration)
            assert learner.log.action_names == PROBLEM.actions
            assert learner.log.actions.tolist() == numbered.actions.tolist()
            learner.tell(learner.ask([1, 2]), [0, 0])
            seen.append([one.intervals().values.tolist() for one in (evidence, floored, learner)])
        assert seen[0] == seen[1]

    def test_replay_has_the_names_of_its_log_or_puts_it_into_the_order_of_others(self):
        named, numbered = explored()
        assert ps.worlds.Replay(named).actions == tuple(sorted(PROBLEM.actions))
        world = ps.worlds.Replay(named, actions=PROBLEM.actions)
        plain = ps.worlds.Replay(numbered, n_actions=3)
        draws = [one.draw(50, rng=1) for one in (world, plain)]
        answers = [draw.rewards(numbered.actions[:50]) for draw in draws]
        np.testing.assert_array_equal(*answers)

    def test_names_for_numbers_are_refused_with_what_to_write(self):
        named, _ = explored()
        policies = ps.PolicyTable(POLICIES.table, n_actions=3)
        problem = ps.Problem(n_actions=3, epsilon=0.3, delta=0.1)
        with pytest.raises(InvalidArgumentError, match=r"Problem\(actions=log.action_names, ...\)"):
            ps.select(named, policies, problem)

    def test_a_name_that_no_policy_knows(self, tmp_path):
        named, _ = explored()
        named.append(
            contexts=[1],
            actions=["hats"],
            propensities=[1 / 3],
            rewards=[0],
            distributions=[{"hats": 1 / 3, "shoes": 1 / 3, "socks": 1 / 3}],
        )
        other = ps.Log.concatenate([named.without_distributions(), a_log(["sock"])])
        with pytest.raises(InvalidArgumentError, match=r"\(row 601\).*'sock'; did you mean 's"):
            ps.select(other, POLICIES, PROBLEM)
        convert(other, tmp_path / "log.csv")
        with pytest.raises(FileFormatError, match=r"line 603: .*'sock'; did you mean 'socks'"):
            ps.select(tmp_path / "log.csv", POLICIES, PROBLEM)

    def test_the_health_of_a_log_speaks_of_names(self):
        named, _ = explored()
        health = ps.check_log(named.with_action_names(("hats", "shoes", "socks", "bags")))
        assert health.n_actions == 4
        sentences = " ".join(one.sentence for one in health.findings)
        assert "never shown ('bags')" in sentences
        assert "of action 'bags'" in sentences
        with pytest.raises(InvalidArgumentError, match=r"n_actions must be the 3 that have names"):
            ps.check_log(named, n_actions=4)
