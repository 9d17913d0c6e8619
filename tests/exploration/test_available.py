"""Every learner where not everything is available."""

import copy
import pickle

import numpy as np
import pytest

import policysieve as ps
from policysieve.availability import Available
from policysieve.exploration import LEARNERS
from tests.oracles.naive import importance_weighted
from tests.statistics import assert_at_most

K, N_CONTEXTS, ORDER = 6, 5, [4, 2, 0, 5, 1, 3]


class AvailableContract:
    """What a learner does if it is told what is available."""

    def pytest_generate_tests(self, metafunc):
        if "m" in metafunc.fixturenames:
            metafunc.parametrize("m", [1, 3] if self.kind.takes_slates else [1])

    def policies(self, m=1):
        table = np.random.default_rng(3).random((N_CONTEXTS, 7, K)).argsort(axis=-1)[..., :m]
        return ps.PolicyTable(table, n_actions=K, fallback=ORDER)

    def learner(self, m=1, policies=None):
        sparsity = 1.0 if m == 1 else 2.0
        how = {"slate_size": m, "sparsity": sparsity, "epsilon": 0.2, "delta": 0.1}
        return self.kind(policies or self.policies(m), ps.Problem(n_actions=K, **how), rng=0)

    def batch(self, n, seed, m=1):
        rng = np.random.default_rng(seed)
        mask = rng.random((n, K)) < 0.6
        for row in mask:
            row[rng.choice(K, m, replace=False)] = True
        return rng.integers(0, N_CONTEXTS, n), mask

    def rewards(self, decisions):
        good = (np.asarray(decisions.contexts)[:, None] + decisions.actions) % K < 2
        return good.astype(float)

    def play(self, learner, batches=6, n=30, m=1, parts=False):
        for k in range(batches):
            contexts, mask = self.batch(n, k, m)
            decisions = learner.ask(contexts, available=mask)
            if not parts:
                learner.tell(decisions, self.rewards(decisions))
                continue
            odd = np.arange(n) % 2 == 1
            for some in (decisions[odd], decisions[~odd]):
                learner.tell(some, self.rewards(some))

    def state(self, learner, m=1):
        twin = copy.deepcopy(learner)
        contexts, mask = self.batch(20, 99, m)
        ahead = twin.ask(contexts, available=mask)
        values = np.nan_to_num(learner.intervals().values, nan=-1).tolist()
        return (
            learner.recommend().to_dict(),
            learner.rounds,
            learner.pending,
            values,
            ahead.actions.tolist(),
            ahead.propensities.tolist(),
        )

    def test_only_what_is_available_is_shown(self, m):
        learner = self.learner(m)
        for k in range(8):
            contexts, mask = self.batch(40, k, m)
            before = learner.exploration
            decisions = learner.ask(contexts, available=mask)
            assert decisions.available == Available.of(mask, 40, K)
            assert decisions.available.has(decisions.actions).all()
            every = before.propensities(contexts, available=mask)
            np.testing.assert_allclose(every.sum(axis=1), m)
            assert (every[~mask] == 0).all()
            expected = np.take_along_axis(every, decisions.actions.astype(np.intp), axis=1)
            np.testing.assert_allclose(expected, decisions.propensities, rtol=1e-12)
            learner.tell(decisions, self.rewards(decisions))
        contexts, mask = (np.concatenate(both) for both in zip(*map_batches(self, m), strict=True))
        assert learner.log.available == Available.of(mask, 320, K)
        np.testing.assert_array_equal(learner.log.contexts, contexts)

    def test_estimates_are_those_of_what_policies_show_among_it(self, m):
        learner = self.learner(m)
        self.play(learner, m=m, n=60)
        log, policies = learner.log, self.policies(m)
        slates = policies.actions(log.contexts, available=log.available).tolist()
        naive = importance_weighted(slates, log.actions, log.propensities, log.rewards)
        estimates, mean = learner.intervals().values, naive.mean(axis=0)
        if getattr(learner, "evidence", None) is None:
            np.testing.assert_allclose(estimates, mean, rtol=1e-12)
        else:
            stays, error = learner.evidence.survivors, naive.std(axis=0) / np.sqrt(len(log))
            assert (np.abs(estimates - mean) <= 5 * error)[stays].all()

    def test_everything_available_changes_nothing(self, m):
        free, limited = self.learner(m), self.learner(m)
        for k in range(5):
            contexts, _ = self.batch(40, k, m)
            one = free.ask(contexts)
            two = limited.ask(contexts, available=np.ones((40, K), bool))
            np.testing.assert_array_equal(one.actions, two.actions)
            np.testing.assert_allclose(one.propensities, two.propensities, rtol=1e-12)
            free.tell(one, self.rewards(one))
            limited.tell(two, self.rewards(two))
        np.testing.assert_allclose(
            free.intervals().values, limited.intervals().values, rtol=1e-9, equal_nan=True
        )

    def test_the_order_of_answers_and_their_parts_do_not_matter(self, m):
        prompt, late = self.learner(m), self.learner(m)
        for learner in (prompt, late):
            batches = []
            for k in range(4):
                contexts, mask = self.batch(25, k, m)
                batches.append(learner.ask(contexts, available=mask if k % 2 else None))
            order = [0, 1, 2, 3] if learner is prompt else [2, 3, 1, 0]
            for k in order:
                half = np.arange(25) % 2 == 1
                parts = [batches[k]] if learner is prompt else [batches[k][half], batches[k][~half]]
                for part in parts:
                    learner.tell(part, self.rewards(part))
        assert prompt.log == late.log
        assert self.state(prompt, m) == self.state(late, m)

    def test_a_pickled_one_goes_on(self, m):
        learner = self.learner(m)
        self.play(learner, m=m)
        contexts, mask = self.batch(30, 50, m)
        decisions = learner.ask(contexts, available=mask)
        copied, asked = pickle.loads(pickle.dumps((learner, decisions)))
        assert asked.available == decisions.available
        waiting = copied.open_decisions()
        assert waiting.available == decisions.available
        learner.tell(decisions, self.rewards(decisions))
        copied.tell(waiting, self.rewards(waiting))
        assert self.state(learner, m) == self.state(copied, m)

    def test_learning_from_rounds_decided_elsewhere(self, m):
        learner, fold = self.learner(m), self.learner(m)
        for k in range(8):
            exploration = fold.exploration
            contexts, mask = self.batch(25, k, m)
            decisions = learner.ask(contexts, available=mask)
            rewards = self.rewards(decisions)
            learner.tell(decisions, rewards)
            columns = {"actions": decisions.actions, "propensities": decisions.propensities}
            rounds = ps.Log(contexts=contexts, rewards=rewards, available=mask, **columns)
            answers = fold.policies.answers(contexts, mask) if k % 2 else None
            fold.learn(rounds, exploration, answers)
        assert learner.log == fold.log
        assert learner.recommend().to_dict() == fold.recommend().to_dict()
        before = self.state(fold, m)
        with pytest.raises(ps.InvalidArgumentError, match="what was available in the rounds"):
            fold.learn(rounds, exploration, fold.policies.answers(contexts))
        mask = mask.copy()
        mask[7, decisions.actions[7, 0]] = False
        mask[7, np.setdiff1d(np.arange(K), decisions.actions[7])] = True
        rounds = ps.Log(contexts=contexts, rewards=rewards, available=mask, **columns)
        with pytest.raises(ps.InvalidArgumentError, match=r"were available, got .* in row 7"):
            fold.learn(rounds, exploration)
        assert self.state(fold, m) == before

    def test_candidates_that_are_called_are_kept_as_they_answered(self, m):
        """A table and functions that look it up are the same candidates."""
        table = self.policies(m)

        def rule(policy):
            return lambda x: table.table[x, policy]

        called = ps.FunctionPolicies(
            [rule(policy) for policy in range(7)], K, slate_size=m, fallback=ORDER
        )
        one, two = self.learner(m), self.learner(m, called)
        for learner in (one, two):
            self.play(learner, m=m, batches=8, n=40)
        np.testing.assert_array_equal(one.log.actions, two.log.actions)
        assert one.recommend().to_dict() | {"policy": 0} == two.recommend().to_dict() | {
            "policy": 0
        }

    def test_nothing_changes_where_nothing_can_be_shown(self):
        learner = self.learner()
        self.play(learner)
        before = self.state(learner)
        for bad, error in (
            (np.zeros((2, K), bool), ps.InvalidArgumentError),
            ([[0]], ps.InvalidArgumentError),
            ([[0], ["hats"]], ps.InvalidArgumentError),
        ):
            with pytest.raises(error, match="available"):
                learner.ask([0, 1], available=bad)
        assert self.state(learner) == before
        stuck = self.learner(policies=ps.PolicyTable(self.policies().table, n_actions=K))
        shown = stuck.policies.table[0, :, 0]
        free = np.setdiff1d(np.arange(K), shown[:1])
        with pytest.raises(ps.PolicyFailureError, match="not available"):
            stuck.ask([0], available=[free.tolist()])
        assert stuck.pending == 0


def map_batches(contract, m):
    return [contract.batch(40, k, m) for k in range(8)]


for name, kind in LEARNERS.items():
    globals()[f"Test{name}"] = type(f"Test{name}", (AvailableContract,), {"kind": kind})


class TestPromises:
    """What was sized for all actions is enough where not all of them are available."""

    DELTA, RUNS = 0.2, 40

    def world(self, seed, m=1):
        inner = ps.worlds.SparseSynthetic(
            n_contexts=6,
            n_actions=5,
            n_policies=8,
            slate_size=m,
            profile="close",
            noise=0.3,
            rng=seed,
        )
        world = ps.worlds.Availability(inner, 0.5, sets=6, rng=seed)
        policies = ps.PolicyTable(inner.pool, n_actions=5, fallback=range(5))
        return world, policies, world.problem(epsilon=0.3, delta=self.DELTA)

    def test_intervals_of_planned_rounds_hold(self):
        missed = 0
        for seed in range(self.RUNS):
            world, policies, problem = self.world(seed)
            learner = ps.Uniform(policies, problem, rounds=150, rng=seed)
            ps.run(learner, world, 150, progress=False, rng=seed)
            found, truth = learner.intervals(), world.values(policies)
            missed += bool(((truth < found.lower) | (truth > found.upper)).any())
        assert_at_most(missed, self.RUNS, self.DELTA)

    @pytest.mark.parametrize("m", [1, 2])
    def test_the_variance_of_a_design_is_within_its_bound(self, m):
        exceeded, bounds = 0, []
        for seed in range(self.RUNS):
            world, policies, problem = self.world(seed, m)
            learner = ps.LowVarianceExploration(
                policies, problem, explore_rounds=400, estimate_rounds=1, rng=seed
            )
            ps.run(learner, world, 400, progress=False, rng=seed)
            bounds.append(learner.design.variance_bound)
            exceeded += bool(self.variances(world, policies, learner.design).max() > bounds[-1])
        assert_at_most(exceeded, self.RUNS, self.DELTA / 2)
        assert np.median(bounds) < learner.design.largest_gain  # which says nothing

    def variances(self, world, policies, design):
        """E[sum of r/W over what each policy shows], exactly; rewards are 0 or 1."""
        contexts, total = np.arange(6), 0.0
        rewards = world.world._expected_rewards(contexts)
        for one in world.sets:
            mask = np.tile(one, (6, 1))
            w = design.propensities(contexts, available=mask)
            slates = policies.actions(contexts, available=mask).astype(np.intp)
            terms = np.divide(rewards, w, out=np.zeros_like(w), where=w > 0)
            total = total + terms[contexts[:, None, None], slates].sum(axis=2).mean(axis=0)
        return total / len(world.sets)
