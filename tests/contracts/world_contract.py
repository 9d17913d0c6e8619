"""What every world promises.

A test class inherits `WorldContract`, names the class as `kind`, and gives a `world` fixture.
"""

import numpy as np
import pytest

from policysieve.errors import InvalidArgumentError, UnknownValueError
from policysieve.policies import FunctionPolicies

N_ROUNDS = 300


def arithmetic_policies(n_actions, slate_size, n_policies=5):
    """Policies that are a fixed function of whatever numbers a context has."""

    def policy(i):
        def actions(contexts):
            flat = np.asarray(contexts, dtype=float).reshape(len(contexts), -1)
            code = np.floor(np.abs(flat.sum(axis=1)) * 997).astype(np.int64)
            first = (code * (2 * i + 1) + i) % n_actions
            return (first[:, None] + np.arange(slate_size)) % n_actions

        return actions

    return FunctionPolicies(
        [policy(i) for i in range(n_policies)], n_actions=n_actions, slate_size=slate_size
    )


def random_slates(world, n, seed):
    order = np.random.default_rng(seed).random((n, world.n_actions)).argsort(axis=1)
    return order[:, : world.slate_size]


def all_rewards(world, draw):
    """The whole reward vector of each round, (n, K), asked for slate by slate."""
    full = np.full((len(draw), world.n_actions), np.nan)
    for start in range(0, world.n_actions, world.slate_size):
        slate = (start + np.arange(world.slate_size)) % world.n_actions
        full[:, slate] = draw.rewards(np.tile(slate, (len(draw), 1)))
    return full


class WorldContract:
    kind: type
    knows_values = True
    may_refuse = False  # whether a row of rewards may be NaN

    @pytest.fixture
    def world(self):
        raise NotImplementedError("give a world")

    def start_over(self, world):
        """Bring a world that moves on back to its start."""

    def test_its_kind(self, world):
        assert type(world) is self.kind

    def test_draws_are_reproducible(self, world):
        slates = random_slates(world, N_ROUNDS, 1)
        first = world.draw(N_ROUNDS, 7)
        first_rewards = first.rewards(slates)
        self.start_over(world)
        second = world.draw(N_ROUNDS, np.random.default_rng(7))
        np.testing.assert_array_equal(first.contexts, second.contexts)
        np.testing.assert_array_equal(first_rewards, second.rewards(slates))

    def test_a_generator_moves_on(self, world):
        rng = np.random.default_rng(7)
        first = world.draw(N_ROUNDS, rng)
        state = rng.bit_generator.state
        world.draw(1, rng)
        assert state != rng.bit_generator.state
        assert len(first) == N_ROUNDS

    def test_rewards_have_the_shape_of_the_slates_and_lie_in_the_unit_interval(self, world):
        draw = world.draw(N_ROUNDS, 3)
        rewards = draw.rewards(random_slates(world, N_ROUNDS, 2))
        assert len(draw) == len(draw.contexts) == N_ROUNDS
        assert rewards.shape == (N_ROUNDS, world.slate_size)
        assert rewards.dtype == np.float64
        told = ~np.isnan(rewards).any(axis=1)
        assert self.may_refuse or told.all()
        assert ((rewards[told] >= 0) & (rewards[told] <= 1)).all()

    def test_asking_again_gives_the_same_rewards(self, world):
        draw = world.draw(N_ROUNDS, 3)
        slates = random_slates(world, N_ROUNDS, 2)
        first = draw.rewards(slates)
        all_rewards(world, draw)
        np.testing.assert_array_equal(draw.rewards(slates), first)
        np.testing.assert_array_equal(draw.rewards(slates[:, ::-1])[:, ::-1], first)

    def test_all_rewards_of_a_round_sum_to_at_most_the_sparsity(self, world):
        full = all_rewards(world, world.draw(N_ROUNDS, 5))
        assert (np.nansum(full, axis=1) <= world.sparsity + 1e-9).all()
        assert self.may_refuse or np.nansum(full) > 0

    def test_contexts_cannot_be_changed(self, world):
        with pytest.raises(ValueError, match="read-only"):
            world.draw(2, 0).contexts[...] = 0

    def test_no_rounds(self, world):
        draw = world.draw(0, 0)
        assert len(draw) == 0
        empty = np.empty((0, world.slate_size), dtype=int)
        assert draw.rewards(empty).shape == (0, world.slate_size)

    def test_values_are_the_mean_rewards(self, world):
        policies = arithmetic_policies(world.n_actions, world.slate_size)
        if not self.knows_values:
            with pytest.raises(UnknownValueError, match="estimate it"):
                world.values(policies)
            return
        values = world.values(policies)
        assert values.shape == (len(policies),)
        n = 20_000
        draw = world.draw(n, 11)
        slates = policies.actions(draw.contexts)
        cap = min(world.sparsity, world.slate_size)
        for policy, value in enumerate(values):
            mean = draw.rewards(slates[:, policy]).sum(axis=1).mean()
            # Bernstein, with variance <= cap * value: fails with probability below 1e-9.
            log_term = np.log(2e9)
            limit = np.sqrt(2 * cap * value * log_term / n) + cap * log_term / (3 * n)
            assert abs(mean - value) <= limit

    @pytest.mark.parametrize("n", [-1, 1.5, "3", None, True])
    def test_bad_numbers_of_rounds_are_refused(self, world, n):
        with pytest.raises(InvalidArgumentError, match="n must be a whole number >= 0"):
            world.draw(n, 0)

    def test_a_bad_seed_is_refused(self, world):
        with pytest.raises(InvalidArgumentError, match="rng must be"):
            world.draw(1, "seed")

    def test_bad_actions_are_refused_and_change_nothing(self, world):
        draw = world.draw(4, 3)
        k, m = world.n_actions, world.slate_size
        good = random_slates(world, 4, 2)
        before = draw.rewards(good)
        too_large, negative = good.copy(), good.copy()
        too_large[2, 0], negative[1, -1] = k, -1
        bad = [
            (too_large, rf"actions must lie in \[0, {k - 1}\], got .* in row 2"),
            (negative, "actions must be numbered from 0, got .* in row 1"),
            (good.astype(float), "actions must be whole numbers, got dtype float64"),
            (good.astype(bool), "actions must be whole numbers, got dtype bool"),
            (good[:3], "actions must have shape"),
            (good[:, :0], "actions must have shape"),
            (np.concatenate([good, good], axis=1), "different|must have shape"),
            (np.tile(np.arange(k), (4, 2))[:, : m + 1], "different|must have shape"),
            (np.full((4, 1), 2**40), "actions must be"),
            (good[:, :, None], "actions must have shape"),
            (0, "actions must have shape"),
            ([[0], [0, 1], [0], [0]], "ragged"),
            (None, "actions must have shape"),
        ]
        if m > 1:
            bad += [
                (np.repeat(good[:, :1], m, axis=1), "different, got .* in row 0 .4 such rows"),
                (good[:, 0], "actions must have shape"),
                (good[:, :-1], "actions must have shape"),
            ]
        for actions, message in bad:
            with pytest.raises(InvalidArgumentError, match=message):
                draw.rewards(actions)
        np.testing.assert_array_equal(draw.rewards(good), before)

    def test_only_single_actions_may_be_flat(self, world):
        draw = world.draw(4, 3)
        good = random_slates(world, 4, 2)
        if world.slate_size > 1:
            with pytest.raises(InvalidArgumentError, match="actions must have shape"):
                draw.rewards(good[:, 0])
            return
        np.testing.assert_array_equal(draw.rewards(good[:, 0].tolist()), draw.rewards(good))

    def test_policies_for_another_problem_are_refused(self, world):
        k, m = world.n_actions, world.slate_size
        for policies, name in [
            (arithmetic_policies(k + 1, m), f"n_actions={k}, got n_actions={k + 1}"),
            (arithmetic_policies(k, m + 1 if m < k else m - 1), f"slate_size={m}, got slate_size="),
            (np.zeros((3, 2), dtype=int), "policies must be a policy class.* got ndarray"),
        ]:
            with pytest.raises(InvalidArgumentError, match=name):
                world.values(policies)

    def test_its_problem(self, world):
        problem = world.problem(epsilon=0.01, delta=0.1)
        assert (problem.n_actions, problem.slate_size) == (world.n_actions, world.slate_size)
        assert (problem.sparsity, problem.epsilon, problem.delta) == (world.sparsity, 0.01, 0.1)

    def test_its_repr_is_short(self, world):
        text = repr(world)
        assert f"n_actions={world.n_actions}" in text
        assert len(text) < 200
        assert repr(world.draw(2, 0)).startswith("Draw(2 rounds")
