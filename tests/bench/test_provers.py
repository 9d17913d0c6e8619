"""Who races to a certificate, against twins."""

import numpy as np
import pytest

from policysieve.bench import provers
from policysieve.bench.provers import PROVERS
from policysieve.bench.racers import VOTERS
from policysieve.bench.rounds import Game, Task
from tests.bench.test_rounds import tiny
from tests.contracts.world_contract import all_rewards
from tests.oracles.capped_proofs import Fold


def game(seed, slate_size=1, epsilon=0.2):
    return Game.of(Task("tiny", "", lambda one: tiny(one, slate_size), epsilon=epsilon), seed)


@pytest.mark.parametrize("slate_size", [1, 2, 3])
def test_functions_prove_what_the_table_proves(slate_size):
    for seed in range(2):
        names = ("Sieve", "SieveOnFunctions")
        one, two = (PROVERS[name](game(seed, slate_size), 5000) for name in names)
        assert one == two
        assert one[1] is not None


@pytest.mark.parametrize("slate_size", [1, 3])
def test_all_rewards_are_asked_for_a_slate_at_a_time(slate_size):
    """Also where the last slate overlaps another: 4 actions, 3 to a slate."""
    world = game(0, slate_size).world
    draw = world.draw(50, 0)
    np.testing.assert_array_equal(
        provers._all_rewards(draw, 4, slate_size), all_rewards(world, draw)
    )


@pytest.mark.parametrize(("slate_size", "seed"), [(1, 0), (1, 1), (2, 0)])
def test_revealed_labels_against_the_exact_twin(slate_size, seed):
    """The certificate's twin, told that every action was shown, and that it had to be."""
    leader, rounds = PROVERS["AllLabelsRevealed"](game(seed, slate_size), 2000)
    assert rounds is not None
    twin = game(seed, slate_size)
    q = twin.problem
    fold = Fold(6, slate_size, 4, q.sparsity, q.epsilon, q.delta)
    stop = 0
    while not (stop and fold.proof().certified):
        start, stop = stop, fold.next_look
        draw = twin.world.draw(stop - start, twin.rng)
        slates = twin.policies.actions(draw.contexts).tolist()
        rewards = all_rewards(twin.world, draw).tolist()
        for said, row in zip(slates, rewards, strict=True):
            fold.take(said, dict.fromkeys(range(4), 1.0), dict(enumerate(row)))
    assert (fold.proof().leader, stop) == (leader, rounds)


def test_no_bandit_beats_revealed_labels():
    for seed in range(3):
        revealed = PROVERS["AllLabelsRevealed"](game(seed), 5000)[1]
        same = [name for name in PROVERS if name not in VOTERS]  # policies to choose from
        others = [PROVERS[name](game(seed), 5000)[1] for name in same]
        assert revealed == min(others)
