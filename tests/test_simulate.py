from itertools import pairwise

import numpy as np
import pytest

import policysieve as ps
from policysieve.exploration import LEARNERS
from tests.terminal import on_terminal


@pytest.fixture
def world():
    return ps.worlds.SparseSynthetic(
        n_actions=5, n_contexts=40, n_policies=12, profile="one_good", rng=0
    )


def learner(world, seed=0, rounds=1000):
    policies = ps.PolicyTable(world.pool, n_actions=world.n_actions)
    return ps.Uniform(policies, world.problem(epsilon=0.2, delta=0.1), rounds=rounds, rng=seed)


def test_result(world):
    result = ps.run(learner(world), world, max_rounds=1000)
    assert (result.rounds, result.finished, result.learner) == (1000, True, "Uniform")
    assert repr(result).startswith("RunResult(Uniform, 1,000 rounds, policy ")
    assert len(repr(result)) < 120
    assert result.history[-1].recommendation == result.recommendation
    rounds = [checkpoint.recommendation.rounds for checkpoint in result.history]
    assert rounds == sorted(set(rounds))
    assert rounds[-1] == 1000
    policies = ps.PolicyTable(world.pool, n_actions=5)
    truth = world.values(policies)
    best = result.recommendation.policy
    assert result.suboptimality == pytest.approx(truth.max() - truth[best])
    np.testing.assert_array_equal(result.true_values, truth)


def test_the_result_knows_how_it_was_made(world):
    stops = iter([10, 20])
    result = ps.run(learner(world), world, 30, batch_size=7, checkpoints=stops, rng=np.int64(3))
    assert result.configuration == {
        "world": repr(world),
        "max_rounds": 30,
        "batch_size": 7,
        "checkpoints": [10, 20],
        "seed": 3,
    }
    assert [c.recommendation.rounds for c in result.history] == [14, 21, 30]
    other = ps.run(learner(world), world, 30, rng=np.random.default_rng(3))
    assert other.configuration["seed"] is None


def test_same_seeds_same_bits_whatever_the_batches(world):
    one = ps.run(learner(world), world, 700, rng=3, checkpoints=[100, 700])
    two = ps.run(learner(world), world, 700, rng=3, checkpoints=[100, 700])
    other = ps.run(learner(world), world, 700, rng=4, checkpoints=[100, 700])
    assert one.to_dict() == two.to_dict()
    assert one.to_dict() != other.to_dict()


def test_checkpoints(world):
    result = ps.run(learner(world), world, 500, checkpoints=[1, 7, 350], batch_size=64)
    assert [c.recommendation.rounds for c in result.history] == [64, 384, 500]
    exact = ps.run(learner(world), world, 500, checkpoints=[1, 7, 350], batch_size=1)
    assert [c.recommendation.rounds for c in exact.history] == [1, 7, 350, 500]
    assert len(ps.run(learner(world), world, 500, checkpoints=0).history) == 1
    many = ps.run(learner(world), world, 1000, checkpoints=10)
    assert 8 <= len(many.history) <= 10


def test_checkpoints_are_announced_when_the_run_gets_there(world):
    playing = learner(world)
    heard = []
    result = ps.run(
        playing,
        world,
        500,
        checkpoints=[1, 7, 350],
        on_checkpoint=lambda checkpoint: heard.append((playing.rounds, checkpoint)),
    )
    assert [rounds for rounds, _ in heard] == [100, 400, 500]
    assert tuple(checkpoint for _, checkpoint in heard) == result.history


def test_stops_when_the_learner_has_finished_or_the_rounds_run_out(world):
    short = ps.run(learner(world, rounds=150), world, 1000)
    assert (short.rounds, short.finished) == (150, True)
    cut = ps.run(learner(world, rounds=5000), world, 150)
    assert (cut.rounds, cut.finished) == (150, False)
    again = learner(world, rounds=5000)
    ps.run(again, world, 100)
    assert ps.run(again, world, 100, rng=1).rounds == 100
    assert again.rounds == 200


class Counted:
    """A function and a model that counts its answers."""

    def __init__(self, by):
        self.by, self.answers = by, 0

    def predict(self, x):
        self.answers += len(x)
        return (x.sum(axis=1) * self.by).astype(int) % 4

    __call__ = predict


@pytest.mark.parametrize(
    "made",
    [
        lambda candidates, _: ps.FunctionPolicies(candidates, n_actions=4),
        lambda candidates, _: ps.EstimatorPolicies(candidates, n_actions=4),
        lambda candidates, path: ps.cached(ps.FunctionPolicies(candidates, n_actions=4), path),
    ],
)
def test_candidates_are_called_for_what_is_drawn_alone(tmp_path, made):
    """The truth takes all of them at every context, and is for who asks for it."""
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 5, (300, 3)).astype(float), rng.integers(0, 4, 300)
    world = ps.worlds.Classification(x, y, n_actions=4)
    candidates = [Counted(by) for by in range(6)]
    policies = made(candidates, tmp_path)
    learner = ps.Uniform(policies, world.problem(epsilon=0.2, delta=0.1), rounds=9, rng=0)
    result = ps.run(learner, world, 9, rng=0)
    assert sum(one.answers for one in candidates) == result.usage.total.contexts <= 9 * 6
    assert result.suboptimality is None
    assert result.true_values is None
    assert world.values(policies).shape == (6,)


def test_unknown_truth_and_replay(world):
    first = learner(world, rounds=4000)
    ps.run(first, world, 4000)
    replay = ps.worlds.Replay(first.log, n_actions=5)
    second = learner(world, seed=9, rounds=10**6)
    result = ps.run(second, replay, 10**6)
    assert result.suboptimality is None
    assert result.true_values is None
    assert result.rounds == replay.rows_accepted == second.rounds
    assert replay.rows_left == 0
    assert 600 < result.rounds < 1000  # a fifth of 4000, give or take six standard deviations
    assert result.history[0].to_dict()["suboptimality"] is None


def test_leaders(world):
    result = ps.run(learner(world), world, 1000)
    leaders = result.leaders(5)
    assert leaders[0]["policy"] == result.recommendation.policy
    values = [leader["value"] for leader in leaders]
    assert values == sorted(values, reverse=True)
    assert all(leader["lower"] <= leader["value"] <= leader["upper"] for leader in leaders)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_rounds": 0}, "max_rounds"),
        ({"batch_size": 0}, "batch_size"),
        ({"checkpoints": [5, 5]}, "increasing"),
        ({"checkpoints": [0]}, "checkpoints"),
        ({"checkpoints": -1}, "checkpoints"),
        ({"rng": "seed"}, "rng"),
    ],
)
def test_bad_arguments(world, arguments, message):
    with pytest.raises(ps.InvalidArgumentError, match=message):
        ps.run(learner(world), world, **arguments)


def test_a_world_that_does_not_fit(world):
    other = ps.worlds.Classification(np.zeros((3, 1)), [0, 1, 2], contexts="rows")
    with pytest.raises(ps.InvalidArgumentError, match="agree on n_actions, got 3 and 5"):
        ps.run(learner(world), other)


def test_no_bar_when_the_output_is_not_a_terminal(world, capsys):
    ps.run(learner(world), world, 200, progress=True)
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_a_bar_on_a_terminal(world, monkeypatch):
    terminal = on_terminal(monkeypatch)
    ps.run(learner(world), world, 300, progress=True)
    assert "Uniform" in terminal.getvalue()


def test_the_bar_says_when_the_proof_is_expected(monkeypatch):
    world = ps.worlds.SparseSynthetic(
        n_actions=8, n_contexts=100, n_policies=30, profile="close", rng=0
    )
    policies = ps.PolicyTable(world.pool, n_actions=8)
    sieve = ps.Sieve(policies, world.problem(epsilon=0.1, delta=0.05), rng=0)
    terminal = on_terminal(monkeypatch)
    ps.run(sieve, world, 400, progress=True)
    assert "Sieve, proof expected after about" in terminal.getvalue()


@pytest.mark.parametrize("name", LEARNERS)
def test_checkpoints_do_not_cut_batches(name):
    """Whoever plays, in batches as they are by default."""
    world = ps.worlds.SparseSynthetic(
        n_actions=10, n_contexts=100, n_policies=30, profile="one_good", rng=1
    )
    policies, sizes = ps.PolicyTable(world.pool, n_actions=10), {}
    if hasattr(LEARNERS[name], "_find_design"):
        sizes = {"explore_rounds": 250, "estimate_rounds": 500}
    ends = []
    for checkpoints in (0, 30, range(25, 700, 25)):
        learner = LEARNERS[name](policies, world.problem(epsilon=0.05, delta=0.05), rng=1, **sizes)
        result = ps.run(learner, world, 700, checkpoints=checkpoints, progress=False, rng=1)
        log, last = learner.log, result.recommendation.to_dict()
        ends.append((result.rounds, last, log.actions.tolist(), log.propensities.tolist()))
    assert ends[0] == ends[1] == ends[2]
    assert ends[0][0] > 100


@pytest.mark.parametrize("seed", range(6))
def test_checkpoints_do_not_change_the_experiment(seed):
    """Round by round, looked at every 25 rounds and never."""
    world = ps.worlds.SparseSynthetic(
        n_actions=10, n_contexts=100, n_policies=30, profile="one_good", rng=seed
    )
    policies = ps.PolicyTable(world.pool, n_actions=10)
    problem = world.problem(epsilon=0.05, delta=0.05)
    ends = []
    for checkpoints in (0, range(25, 3000, 25)):
        learner = ps.Sieve(policies, problem, rng=seed)
        result = ps.run(
            learner, world, 3000, batch_size=1, checkpoints=checkpoints, progress=False, rng=seed
        )
        ends.append((result.rounds, result.recommendation.to_dict(), learner.log.actions.tolist()))
    assert ends[0] == ends[1]
    assert ends[0][0] > 100


def functions(world):
    rules = {f"rule {p}": lambda x, p=p: world.pool[x, p] for p in range(12)}
    return ps.FunctionPolicies(rules, n_actions=5)


def test_a_run_says_what_the_candidates_cost(world):
    policies = functions(world)
    policies.actions(np.arange(7))  # before
    sieve = ps.Sieve(policies, world.problem(epsilon=0.1, delta=0.1), goal="best", rng=0)
    result = ps.run(sieve, world, 600)
    assert len(sieve.survivors) < 12
    found = {one.name: one for one in result.usage.candidates}
    assert found["rule 0"].policy == 0
    best = result.usage.candidates[result.chosen]
    assert best.contexts == result.rounds
    assert min(one.contexts for one in result.usage.candidates) < result.rounds
    assert best.calls < result.rounds
    assert result.to_dict()["usage"]["total"]["contexts"] == result.usage.total.contexts
    assert policies.usage().total.contexts > result.usage.total.contexts


def test_answers_that_are_looked_up_cost_nothing(world):
    result = ps.run(learner(world), world, 100)
    assert result.usage is None
    assert result.to_dict()["usage"] is None


def looks(most):
    """After how many rounds evidence looks at itself."""
    found = [20]
    while found[-1] < most:
        found.append(int(1.05 * found[-1]) + 1)
    return set(found)


@pytest.mark.parametrize("batch_size", [None, 60, 200, 1000])
def test_batches_of_the_sieve_end_at_the_last_look_within_their_size(world, batch_size):
    policies = ps.PolicyTable(world.pool, n_actions=5)
    problem = world.problem(epsilon=1e-4, delta=0.001)
    sieve = ps.Sieve(policies, problem, goal="best", rng=0)  # which never stops
    ends = [0]
    ps.run(
        sieve,
        world,
        5000,
        batch_size=batch_size,
        on_batch=lambda log, _: ends.append(ends[-1] + len(log)),
    )
    assert ends[-1] == 5000
    for start, end in pairwise(ends[:-1]):
        most = batch_size or max(100, start // 10)
        due = {look for look in looks(6000) if start < look <= start + most}
        assert end == max(due, default=start + most)


def test_batches_do_not_go_beyond_what_is_planned(world):
    policies = ps.PolicyTable(world.pool, n_actions=5)
    problem = world.problem(epsilon=1e-4, delta=0.001)
    sieve = ps.Sieve(policies, problem, rounds=130, rng=0)
    assert sieve.batch_size == max(look for look in looks(100) if look <= 100)
    waiting = sieve.ask(np.zeros(100, int))
    assert sieve.batch_size == 30
    more = sieve.ask(np.zeros(30, int))
    assert sieve.batch_size == 0
    sieve.tell(waiting, np.zeros(100))
    sieve.tell(more, np.zeros(30))
    assert sieve.finished
    uniform = learner(world, rounds=130)
    assert (uniform.batch_size, uniform.ask_limit) == (100, 130)
    uniform.ask(np.zeros(100, int))
    assert (uniform.batch_size, uniform.ask_limit) == (30, 30)


def test_the_history_as_a_data_frame(world):
    result = ps.run(learner(world), world, max_rounds=1000, progress=False)
    frame = result.to_frame("pyarrow").to_pylist()
    assert len(frame) == len(result.history)
    assert frame[-1] == {
        "rounds": 1000,
        "policy": result.recommendation.policy,
        "name": result.recommendation.policy_name,
        "value": result.recommendation.value,
        "lower": result.recommendation.lower,
        "upper": result.recommendation.upper,
        "suboptimality_bound": result.recommendation.suboptimality_bound,
        "certified": result.recommendation.certified,
        "suboptimality": result.suboptimality,
    }


def test_batches_say_who_decided_them_also_where_nothing_is_explored():
    world = ps.worlds.SparseSynthetic(n_actions=6, n_contexts=30, n_policies=5, profile="close")
    policies = ps.PolicyTable(world.pool, n_actions=6)
    learner = ps.Sieve(policies, world.problem(epsilon=0.01, delta=0.1, against=2), rng=0)
    heard = []

    def hear(rounds, exploration):
        heard.append((type(exploration).__name__, len(rounds)))

    ps.run(learner, world, 40, batch_size=20, progress=False, on_batch=hear)
    learner.stop_exploring()
    result = ps.run(learner, world, 40, batch_size=20, progress=False, on_batch=hear)
    assert heard == [("NeedExploration", 20)] * 2 + [("TodayExploration", 20)] * 2
    assert (result.cost.rounds, result.cost.explored) == (80, 40)
    lost = result.history[-1].lost
    assert result.to_dict()["history"][-1]["lost"] == lost.to_dict()
    assert result.to_dict()["cost"]["today"] == lost.to_dict()
