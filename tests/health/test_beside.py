"""What a check says of users who come back, and of what was available."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import policysieve as ps
from policysieve.availability import Available
from policysieve.health import check_log
from policysieve.health.returning import Returning
from policysieve.health.weight_tests import LogSums, WeightTests
from policysieve.log import Beside
from tests.oracles import returning as oracle
from tests.statistics import assert_at_most

N = 6000


def log_of(contexts, **more):
    n, rng = len(contexts), np.random.default_rng(0)
    columns = {
        "contexts": contexts,
        "actions": rng.integers(0, 4, n),
        "propensities": np.full(n, 0.25),
        "rewards": rng.integers(0, 2, n),
        **more,
    }
    return ps.Log(**columns)


def found(log, name, **options):
    """The finding of a name; None if there is none."""
    return next((one for one in check_log(log, **options).findings if one.name == name), None)


class TestUnits:
    def test_who_comes_back_is_said(self):
        units = ["often"] * 300 + [f"u{i}" for i in range(700)]
        finding = found(log_of(np.arange(1000), units=units), "units")
        assert finding.verdict == "warning"
        assert finding.numbers == {
            "units": 701,
            "rounds": 1000,
            "returning": 299,
            "share": 0.299,
            "largest": "often",
            "largest_rounds": 300,
        }
        assert "299 of 1,000 rounds (29.9%)" in finding.sentence
        assert "only the first of each counts as evidence, 701 in all" in finding.sentence

    def test_nobody_comes_back(self):
        finding = found(log_of(np.arange(50), units=np.arange(50)), "units")
        assert (finding.verdict, finding.sentence) == ("ok", "Nobody comes back.")

    def test_files_in_pieces_say_the_same(self, tmp_path):
        log = log_of(np.arange(3000), units=np.arange(3000) // 2)
        log.save(tmp_path / "a.parquet")
        mine, theirs = (found(one, "units").to_dict() for one in (log, tmp_path / "a.parquet"))
        assert mine == theirs

    def test_the_page_and_json_have_it(self, tmp_path):
        health = check_log(log_of(np.arange(400), units=np.arange(400) // 2))
        assert "units" in [one["name"] for one in health.to_dict()["findings"]]
        health.report(tmp_path / "page.html")
        text = (tmp_path / "page.html").read_text(encoding="utf-8")
        assert "of units that had come before" in text

    def test_a_user_who_comes_back_is_no_change_of_the_world(self):
        """Users have tastes of their own, and the last of them comes two thousand times."""
        rng = np.random.default_rng(5)
        users = np.append(np.arange(1000), np.full(2000, 999))
        likes = rng.integers(0, 4, 1000)
        actions = rng.integers(0, 4, len(users))
        log = log_of(
            np.zeros(len(users), int), actions=actions, rewards=actions == likes[users], units=users
        )
        plain = ps.Log.trusted(log.contexts, log.actions, log.propensities, log.rewards)
        assert check_log(plain).change is not None
        assert check_log(log).change is None

    def test_a_change_has_the_number_of_its_round_in_the_whole_log(self):
        users = np.repeat(np.arange(2000), 2)
        rewards = (users >= 1000).astype(float)
        log = log_of(np.zeros(4000, int), rewards=rewards, units=users)
        change = check_log(log, since=10).change
        assert abs(change.split - 2000) < 50
        assert 2000 < change.alarm < 2400
        assert change.ends[-1] == 3999  # where the last unit came first, and one more


def contexts_of(kind, rng):
    users = rng.random((N // 5, 3))
    return {
        "features": lambda: rng.random((N, 3)),
        "row numbers": lambda: rng.integers(0, 50, N),
        "each once": lambda: np.arange(N),
        "common and rare": lambda: rng.zipf(1.3, N),
        "few categories": lambda: rng.integers(0, 2, (N, 3)),
        "a list of pages": lambda: rng.random((800, 8))[rng.integers(0, 800, N)],
        "texts": lambda: np.array([f"query {i}" for i in rng.zipf(1.5, N)], dtype=object),
        "users at random": lambda: np.repeat(users, 5, axis=0)[rng.permutation(N)],
        "users in a row": lambda: np.repeat(users, 5, axis=0),
        "users at a time": lambda: np.repeat(users, 5, axis=0)[
            np.argsort((rng.random((N // 5, 1)) + rng.exponential(0.002, (N // 5, 5))).ravel())
        ],
        "one table": lambda: [{"age": float(age)} for age in np.repeat(rng.random(N // 5), 5)],
    }[kind]()


@pytest.mark.parametrize(
    ("kind", "warned"),
    [
        *[("features", False), ("row numbers", False), ("each once", False)],
        *[("common and rare", False), ("few categories", False), ("a list of pages", False)],
        *[("texts", False), ("users at random", False)],
        *[("users in a row", True), ("users at a time", True), ("one table", True)],
    ],
)
def test_contexts_that_come_again_too_soon(kind, warned):
    contexts = contexts_of(kind, np.random.default_rng(1))
    finding = found(log_of(contexts), "returning users", n_actions=4)
    assert (finding is not None) == warned
    if warned:
        assert finding.verdict == "warning"
        assert "--map unit=COLUMN" in finding.sentence


def test_units_say_better_who_comes_back():
    contexts = np.repeat(np.random.default_rng(0).random((200, 2)), 5, axis=0)
    log = log_of(contexts, units=np.arange(1000))
    assert found(log, "returning users") is None


@given(values=st.lists(st.integers(0, 2), min_size=2, max_size=6))
@settings(deadline=None, max_examples=30)
def test_gaps_are_counted_and_expected_as_by_brute_force(values):
    returning = Returning()
    codes = np.array(values, dtype=np.uint64)
    for start in range(0, len(values), 2):
        returning.add(None, codes[start : start + 2])
    soon = returning.soon_again()
    assert (soon.within, soon.rounds) == (1, len(values))
    assert soon.again == oracle.again_within(values, 1)
    np.testing.assert_allclose(soon.expected, oracle.expected_again(values, 1), atol=1e-12)


def test_many_contexts_are_followed_in_part():
    rng = np.random.default_rng(0)
    returning, codes = Returning(), np.repeat(rng.integers(0, 2**62, 60_000, np.uint64), 2)
    for start in range(0, len(codes), 10_000):
        returning.add(None, codes[start : start + 10_000])
    soon = returning.soon_again()
    assert soon.rounds < 40_000
    assert soon.again == soon.rounds / 2
    assert soon.too_often


class TestAvailable:
    def test_what_was_not_available_is_named(self):
        mask = np.ones((500, 4), bool)
        log = log_of(np.arange(500))
        mask[7, (log.actions[7, 0] + 1) % 4] = False
        mask[[123, 400], log.actions[[123, 400], 0]] = False
        health = check_log(log_of(np.arange(500), available=mask))
        finding = next(one for one in health.findings if one.name == "availability")
        assert (finding.verdict, health.broken) == ("broken", True)
        assert finding.numbers["not_available"] == 2
        assert finding.numbers["first_round"] == 123
        assert f"the first is action {log.actions[123, 0]} in round 123" in finding.sentence

    def test_names_of_actions_are_said(self):
        log = ps.Log(
            contexts=[0, 1],
            actions=["hats", "shoes"],
            propensities=[0.5, 0.5],
            rewards=[0, 1],
            available=[["hats", "shoes"], ["hats"]],
        )
        assert "action shoes in round 1" in found(log, "availability").sentence

    def test_what_is_always_the_same_is_noted(self):
        finding = found(log_of(np.arange(500), available=np.ones((500, 4), bool)), "availability")
        assert finding.verdict == "ok"
        assert "the same in all rounds" in finding.sentence

    def test_all_is_well(self):
        log = log_of(np.arange(500))
        mask = np.random.default_rng(0).random((500, 4)) < 0.7
        mask[np.arange(500), log.actions[:, 0]] = True
        finding = found(log_of(np.arange(500), available=mask), "availability")
        assert (finding.verdict, finding.value) == ("ok", "1 to 4 actions")

    def test_without_it_nothing_is_said(self):
        assert found(log_of(np.arange(500)), "availability") is None


def available_log(rng, n=6000, m=1, k=6):
    """Uniform slates of what is available, which differs; in some rounds there is no choice."""
    mask = rng.random((n, k)) < rng.random((n, 1)) * 0.9
    mask[np.arange(n)[:, None], rng.permuted(np.tile(np.arange(k), (n, 1)), axis=1)[:, :m]] = True
    keys = np.where(mask, rng.random((n, k)), 2.0)
    counts = mask.sum(axis=1, keepdims=True)
    return ps.Log(
        contexts=rng.integers(0, 9, n),
        actions=np.argsort(keys, axis=1)[:, :m],
        propensities=np.repeat(m / counts, m, axis=1),
        rewards=rng.integers(0, 2, (n, m)),
        available=mask,
    )


class TestWeightsOfWhatIsAvailable:
    @pytest.mark.parametrize("m", [1, 2])
    def test_right_propensities_are_not_called_wrong(self, m):
        broken = 0
        for seed in range(20):
            log = available_log(np.random.default_rng(seed), 2000, m)
            broken += check_log(log, delta=0.2).broken
            plain = ps.Log.trusted(log.contexts, log.actions, log.propensities, log.rewards)
            assert check_log(plain).broken  # who does not know it must think so
        assert_at_most(broken, 20, 0.2)

    def test_wrong_ones_are(self):
        log = available_log(np.random.default_rng(0))
        wrong = ps.Log(
            contexts=log.contexts,
            actions=log.actions,
            propensities=np.full((len(log), 1), 1 / 6),  # as if all were available
            rewards=log.rewards,
            available=log.available,
        )
        finding = found(wrong, "mean weight")
        assert finding.verdict == "broken"
        assert "too small" in finding.sentence

    def test_an_action_that_is_hidden_although_it_is_available_is_found(self):
        log = available_log(np.random.default_rng(0))
        rows = np.flatnonzero(log.actions[:, 0] != 3)
        hidden = ps.Log(
            contexts=log.contexts[rows],
            actions=log.actions[rows],
            propensities=log.propensities[rows],
            rewards=log.rewards[rows],
            available=log.available[rows],
        )
        finding = found(hidden, "frequency of actions", n_actions=6)
        assert finding.verdict == "broken"
        assert finding.numbers["action"] == 3

    def test_batches_of_several_widths_say_the_same(self):
        log = available_log(np.random.default_rng(0), 3000)
        narrow = LogSums(1)
        for start in range(0, 3000, 500):
            (rounds,) = log[start : start + 500].rounds()
            width = max(max(row) for row in rounds.beside.available.lists()) + 1
            lists = Available.of(rounds.beside.available.lists(), 500, width)
            narrow.add(replace(rounds, beside=Beside(lists)))
        mine, theirs = WeightTests(narrow, 7, 0.1), check_log(log, n_actions=7, delta=0.1).tests
        for name in ("whole", "over_time", "by_action", "by_context"):
            pair = [getattr(tests, name).mean for tests in (mine, theirs)]
            np.testing.assert_allclose(*pair)

    def test_select_takes_such_a_log(self):
        log = available_log(np.random.default_rng(0))
        policies = ps.PolicyTable(np.array([[0, 1]] * 9), n_actions=6, fallback=range(6))
        problem = ps.Problem(n_actions=6, epsilon=0.1, delta=0.1)
        assert ps.select(log, policies, problem).certificate.rounds == len(log)
        assert ps.select(log, policies, problem, floor=1 / 6).certificate.rounds == len(log)
