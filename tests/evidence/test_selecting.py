import json

import numpy as np
import pytest
from click.testing import CliRunner

import policysieve as ps
from policysieve.cli import main
from tests.oracles.naive import importance_weighted
from tests.statistics import assert_at_most


@pytest.fixture(scope="module")
def case():
    world = ps.worlds.SparseSynthetic(
        n_actions=8, n_contexts=60, n_policies=25, profile="one_good", rng=1
    )
    policies = ps.PolicyTable(world.pool, n_actions=8)
    problem = world.problem(epsilon=0.1, delta=0.05)
    learner = ps.Uniform(policies, problem, rounds=4000, rng=0)
    ps.run(learner, world, 4000)
    return world, policies, problem, learner.log


def test_selection(case):
    world, policies, problem, log = case
    selection = ps.select(log, policies, problem)
    truth = world.values(policies)
    assert selection.policy == truth.argmax()
    assert selection.certificate.certified
    assert selection.certificate.rounds == 4000
    assert selection.floor == pytest.approx(1 / 8)
    assert ((selection.lower <= truth) & (truth <= selection.upper)).all()
    slates = policies.actions(log.contexts).tolist()
    naive = importance_weighted(slates, log.actions, log.propensities, log.rewards).mean(axis=0)
    np.testing.assert_allclose(selection.values, naive, rtol=1e-12)
    assert selection.value == selection.values[selection.policy]
    assert "no policy is better than policy" in selection.guarantee


@pytest.mark.parametrize("method", ["empirical_bernstein", "stitched", "fixed", "checkpoints"])
def test_other_methods_agree_and_are_not_tighter(case, method):
    _, policies, problem, log = case
    betting = ps.select(log[:1500], policies, problem).certificate
    other = ps.select(log[:1500], policies, problem, method=method).certificate
    assert other.method == method
    assert other.leader == betting.leader
    assert other.suboptimality_bound >= betting.suboptimality_bound


def test_little_data_proves_nothing(case):
    _, policies, problem, log = case
    selection = ps.select(log[:3], policies, problem)
    assert selection.certificate.suboptimality_bound == 1.0
    assert "prove nothing yet" in selection.guarantee


def test_fixed_holds_at_the_declared_rounds_alone(case):
    _, policies, problem, log = case
    evidence = ps.Evidence(policies, problem, method="fixed", declared_rounds=4000)
    evidence.add(log[:100], floor=1 / 8)
    with pytest.raises(ps.InvalidArgumentError, match="declared 4000 rounds only, there are 100"):
        evidence.certificate()
    evidence.add(log[100:], floor=1 / 8)
    one, two = evidence.certificate(), evidence.certificate()
    assert one.to_dict() == two.to_dict()


def test_a_file_larger_than_a_piece(case, tmp_path, monkeypatch):
    _, policies, problem, log = case
    log.save(tmp_path / "log.parquet")
    file = ps.LogFile(tmp_path / "log.parquet")
    monkeypatch.setattr("policysieve.formats.parquet.BATCH", 700)
    assert [len(piece) for piece in file.pieces()] == [700] * 5 + [500]
    one, two = ps.select(log, policies, problem), ps.select(file, policies, problem)
    assert one.policy == two.policy
    assert ps.select(tmp_path / "log.parquet", policies, problem).policy == one.policy
    with pytest.raises(ps.InvalidArgumentError, match="log must be a Log"):
        ps.select([1, 2], policies, problem)
    np.testing.assert_allclose(one.values, two.values, rtol=1e-12)
    assert one.certificate.suboptimality_bound == pytest.approx(
        two.certificate.suboptimality_bound, rel=3e-3
    )


def without_last_action(n_actions, rounds, greedy, rng):
    """A log that cannot show the last action, which would always earn 1; others hardly ever do."""
    odds = np.full(n_actions - 1, (1 - greedy) / (n_actions - 1))
    odds[0] += greedy
    actions = rng.choice(n_actions - 1, size=rounds, p=odds)
    return ps.Log(
        contexts=np.zeros(rounds, dtype=int),
        actions=actions,
        propensities=odds[actions],
        rewards=(actions == 0) & (rng.random(rounds) < 0.3),
    )


@pytest.mark.parametrize("n_actions", [3, 10])
@pytest.mark.parametrize("greedy", [0.0, 0.5, 0.8])
def test_no_false_certificate_without_support(n_actions, greedy):
    rng = np.random.default_rng(n_actions)
    policies = ps.PolicyTable(np.arange(n_actions)[None], n_actions=n_actions)
    problem = ps.Problem(n_actions=n_actions, epsilon=0.6, delta=0.05)
    refused = 0
    for rounds in (5, 20, 60, 200, 600, 2000):
        for _ in range(5):
            log = without_last_action(n_actions, rounds, greedy, rng)
            try:
                proof = ps.select(log, policies, problem).certificate
            except ps.InvalidArgumentError:
                refused += 1
            else:
                assert proof.suboptimality_bound >= 0.7  # by which the last action is better
    assert refused >= 10


def test_a_smaller_floor_explains_what_was_never_shown():
    rng = np.random.default_rng(0)
    log = without_last_action(4, 500, 0.0, rng)
    policies = ps.PolicyTable(np.arange(4)[None], n_actions=4)
    problem = ps.Problem(n_actions=4, epsilon=0.6, delta=0.05)
    with pytest.raises(ps.InvalidArgumentError, match=r"action 3 was never shown in 500 rounds"):
        ps.select(log, policies, problem)
    with pytest.raises(
        ps.InvalidArgumentError, match=r"0\.333, the smallest in the log, would sum"
    ):
        ps.select(log[:3], policies, problem)
    for floor in (0.5, 1.0):
        with pytest.raises(ps.InvalidArgumentError, match=f"the floor {floor:g}, got 0.333"):
            ps.select(log, policies, problem, floor=floor)
    assert ps.select(log, policies, problem, floor=1e-3).floor == 1e-3


def test_healthy_logs_are_refused_at_most_so_often():
    rng, runs, refused = np.random.default_rng(5), 300, 0
    policies = ps.PolicyTable(np.arange(4)[None], n_actions=4)
    problem = ps.Problem(n_actions=4, epsilon=0.6, delta=0.2)
    for run in range(runs):
        n = (16, 30, 300)[run % 3]
        odds = np.array([0.7, 0.1, 0.1, 0.1] if run % 2 else [0.25] * 4)
        actions = rng.choice(4, size=n, p=odds)
        log = ps.Log(
            contexts=np.zeros(n, dtype=int),
            actions=actions,
            propensities=odds[actions],
            rewards=rng.integers(0, 2, n),
        )
        try:
            ps.select(log, policies, problem, floor=float(odds.min()))
        except ps.InvalidArgumentError:
            refused += 1
    assert_at_most(refused, runs, 0.2 + 1e-4)


def test_what_is_refused(case):
    _, policies, problem, log = case

    def changed(**columns):
        data = {
            "contexts": log.contexts,
            "actions": log.actions,
            "propensities": log.propensities,
            "rewards": log.rewards,
        }
        return ps.Log(**{**data, **columns})

    with pytest.raises(ps.InvalidArgumentError, match="did not explore"):
        ps.select(changed(propensities=np.ones((4000, 1))), policies, problem)
    with pytest.raises(ps.InvalidArgumentError, match=r"too small to be .*policysieve check"):
        ps.select(changed(propensities=np.full((4000, 1), 0.01)), policies, problem)
    with pytest.raises(ps.InvalidArgumentError, match="at least one round"):
        ps.select(log[:0], policies, problem)
    with pytest.raises(ps.InvalidArgumentError, match="at least two"):
        ps.select(log, ps.PolicyTable(policies.table[:, :1], n_actions=8), problem)
    with pytest.raises(ps.InvalidArgumentError, match=r"lie in \[0, 7\], got \[8\] in row 0"):
        ps.select(
            changed(actions=np.where(log.actions == log.actions[0], 8, log.actions)),
            policies,
            problem,
        )
    with pytest.raises(ps.InvalidArgumentError, match=r"\[8\] .*; are actions numbered from 1\?"):
        ps.select(changed(actions=log.actions + 1), policies, problem)
    with pytest.raises(ps.InvalidArgumentError, match=r"got \[8\] in row [^?]*$"):
        ps.select(changed(actions=np.where(log.actions == 7, 8, log.actions)), policies, problem)
    with pytest.raises(ps.InvalidArgumentError, match="method must be one of"):
        ps.select(log, policies, problem, method="guess")
    with pytest.raises(ps.InvalidArgumentError, match=r"at least the floor 0\.2"):
        ps.select(log, policies, problem, floor=0.2)


class TestCommand:
    @pytest.fixture
    def files(self, case, tmp_path):
        _, policies, _, log = case
        log.save(tmp_path / "log.parquet")
        policies.save(tmp_path / "table.npy")
        return tmp_path

    def invoke(self, files, *arguments, policies="table.npy"):
        source = policies if ":" in policies else str(files / policies)
        command = [
            "select",
            str(files / "log.parquet"),
            "--policies",
            source,
            "--epsilon",
            "0.1",
            "--delta",
            "0.05",
            *map(str, arguments),
        ]
        return CliRunner().invoke(main, command)

    def test_table_and_report(self, case, files):
        written = ("--report", files / "report.html", "--figures", files / "figures")
        result = self.invoke(files, "--actions", 8, *written)
        assert result.exit_code == 0, result.output
        title = "Leaders of 25 policies for 60 contexts after 4,000 logged rounds"
        assert title in " ".join(result.output.split())
        assert "no policy is better than policy" in result.output
        html = (files / "report.html").read_text()
        assert "The log selects policy" in html
        assert "<code>policysieve select " in html
        assert (files / "figures" / "leaders.png").is_file()
        assert "<svg" in html

    def test_json_is_the_selection(self, case, files):
        _, policies, problem, log = case
        result = self.invoke(files, "--actions", 8, "--json")
        assert json.loads(result.stdout) == ps.select(log, policies, problem).to_dict()

    def test_policies_from_python(self, case, files, monkeypatch):
        (files / "candidates.py").write_text(
            "import policysieve as ps\n"
            "def make():\n    return ps.PolicyTable.load('table.npy', n_actions=8)\n"
            "number = 3\n"
        )
        monkeypatch.chdir(files)
        assert self.invoke(files, policies="candidates:make").exit_code == 0
        other = self.invoke(files, "--actions", 9, policies="candidates:make")
        assert "--actions must be the 8 of the policies, got 9" in other.output
        wrong = self.invoke(files, policies="candidates:number")
        assert wrong.exit_code == 1
        assert "got int" in wrong.output
        missing = self.invoke(files, policies="candidates:nothing")
        assert "cannot be loaded" in missing.output

    def test_linear_weights(self, tmp_path):
        rng = np.random.default_rng(0)
        weights, X = rng.normal(size=(6, 4, 3)), rng.normal(size=(800, 3))
        labels = (X @ weights[2].T).argmax(axis=1)
        actions = rng.integers(0, 4, 800)
        ps.Log(
            contexts=X, actions=actions, propensities=np.full(800, 0.25), rewards=actions == labels
        ).save(tmp_path / "log.parquet")
        np.savez(tmp_path / "weights.npz", weights=weights)
        result = self.invoke(tmp_path, "--json", policies="weights.npz")
        assert json.loads(result.stdout)["policy"] == 2
        np.savez(tmp_path / "other.npz", w=weights)
        assert "no array named weights" in self.invoke(tmp_path, policies="other.npz").output
        with open(tmp_path / "array.npz", "wb") as file:
            np.save(file, weights)
        assert "it is one .npy array" in self.invoke(tmp_path, policies="array.npz").output

    @pytest.mark.parametrize("command", ["select", "design"])
    def test_help_says_the_shapes(self, command):
        said = " ".join(CliRunner().invoke(main, [command, "--help"]).output.split())
        assert "(n_contexts, n_policies)" in said
        assert "(n_policies, n_actions, n_features)" in said

    @pytest.mark.parametrize(
        ("arguments", "code", "message"),
        [
            ((), 2, "--actions is needed"),
            (("--actions", 8, "--method", "magic"), 2, "--method"),
            (("--actions", 8, "--floor", 2), 1, "floor"),
            (("--actions", 3), 1, "actions must lie in"),
        ],
    )
    def test_errors(self, files, arguments, code, message):
        result = self.invoke(files, *arguments)
        assert result.exit_code == code
        assert message in result.output
        assert "Traceback" not in result.output

    def test_missing_files(self, files):
        assert self.invoke(files, "--actions", 8, policies="none.npy").exit_code == 1
        assert "no weights at" in self.invoke(files, policies="none.npz").output
        assert "module:attribute" in self.invoke(files, policies="table.txt").output
        (files / "log.parquet").write_bytes(b"")
        broken = self.invoke(files, "--actions", 8)
        assert broken.exit_code == 1
        assert "not a readable Parquet file" in broken.output


def test_a_log_that_hardly_ever_shows_an_action_is_refused():
    """In one context the good action is almost never shown: the log cannot tell, and says so."""
    rng = np.random.default_rng(0)
    contexts = (rng.random(3000) < 0.15).astype(int)
    share = np.where(contexts == 1, 1e-4, 0.5)
    actions = (rng.random(3000) < share).astype(int)
    policies = ps.PolicyTable([[0, 0], [0, 1]], n_actions=2)
    log = ps.Log(
        contexts=contexts,
        actions=actions,
        propensities=np.where(actions == 1, share, 1 - share),
        rewards=(actions == contexts).astype(float),
    )
    with pytest.raises(ps.InvalidArgumentError, match=r"not cover all actions.*policysieve check"):
        ps.select(log, policies, ps.Problem(n_actions=2, epsilon=0.05, delta=0.05))


def test_logs_of_our_own_designs_are_accepted():
    """Propensities that vary much, few rounds, many actions: nothing is refused by mistake."""
    for seed in range(10):
        policies = ps.PolicyTable(
            np.random.default_rng(seed).integers(0, 3000, (4, 6)), n_actions=3000
        )
        problem = ps.Problem(n_actions=3000, epsilon=0.2, delta=0.1)
        learner = ps.LowVarianceExploration(
            policies, problem, explore_rounds=20, estimate_rounds=30, rng=seed
        )
        while not learner.finished:
            decisions = learner.ask(np.zeros(learner.ask_limit, int))
            learner.tell(decisions, np.zeros(len(decisions)))
        ps.select(learner.log, policies, problem)


@pytest.mark.parametrize("method", ["betting", "empirical_bernstein", "stitched", "checkpoints"])
def test_tiny_propensities_prove_nothing(method):
    policies = ps.PolicyTable([[0, 1]], n_actions=2)
    problem = ps.Problem(n_actions=2, epsilon=0.1, delta=0.1)
    evidence = ps.Evidence(policies, problem, method=method)
    log = ps.Log(
        contexts=np.zeros(200, int),
        actions=np.arange(200) % 2,
        propensities=np.where(np.arange(200) == 0, 1e-200, 0.5),
        rewards=np.ones(200),
    )
    with np.errstate(all="ignore"):
        evidence.add(log, floor=1e-200)
        proof, intervals = evidence.certificate(), evidence.intervals()
        assert proof.suboptimality_bound == 1.0
    assert not proof.certified
    assert np.isfinite(intervals.lower).all()
    assert np.isfinite(intervals.upper).all()
