"""Tabular and tree classes, listed where they are small."""

import itertools
import pickle

import numpy as np
import pytest

import policysieve as ps
from policysieve.policies.tree_cells import tree_cells
from tests.contracts.implicit_contract import ExactContract
from tests.oracles import enumerated


class TestTabular(ExactContract):
    policies = ps.TabularPolicies(n_contexts=4, n_actions=3)
    contexts = np.arange(4)
    listed = enumerated.functions(4, 3)

    def test_size(self):
        assert self.policies.log_size == pytest.approx(np.log(3**4))
        assert self.policies.n_contexts == 4
        assert repr(self.policies) == "TabularPolicies(n_contexts=4, n_actions=3)"

    def test_policy_in_words(self):
        best = ps.TabularPolicies(n_contexts=9, n_actions=3).best([0, 8], [2, 1], [1, 1])
        assert repr(best) == "TabularPolicy(9 contexts: 2, 0, 0, 0, 0, 0, 0, 0, ...)"

    @pytest.mark.parametrize("contexts", [[4], [-1], [0.5], [[0, 1]], ["a"]])
    def test_bad_contexts(self, contexts):
        with pytest.raises(ps.InvalidArgumentError, match="row numbers"):
            self.policies.best(contexts, [0], [1.0])

    @pytest.mark.parametrize("actions", [[0.0], [3], [-1]])
    def test_bad_actions(self, actions):
        with pytest.raises(ps.InvalidArgumentError, match="actions must be whole numbers"):
            self.policies.best([0], actions, [1.0])

    def test_names_of_actions_that_have_none(self):
        with pytest.raises(ps.InvalidArgumentError, match=r"actions \(row 0\) must be a number"):
            self.policies.best([0], ["a"], [1.0])

    def test_policies_stay_frozen_when_they_travel(self):
        best = pickle.loads(pickle.dumps(self.policies.best([1], [2], [1.0])))
        with pytest.raises(ValueError, match="read-only"):
            best.chosen[0] = 1

    def test_ties_go_to_the_lower_action(self):
        best = self.policies.best([0, 0, 1], [2, 1, 2], [1.0, 1.0, 0.0])
        assert best.actions([0])[0, 0] == 1

    def test_only_rewarded_contexts_take_memory(self):
        weights = ps.TabularPolicies(n_contexts=10**6, n_actions=1000).start_weights()
        rng = np.random.default_rng(0)
        for _ in range(40):
            weights.wait(5)
            weights.add(rng.integers(10**6, size=3), rng.integers(1000, size=3), np.ones(3))
        assert weights._log_w.nbytes < 10**7
        totals = weights.totals(rng.integers(10**6, size=5))
        np.testing.assert_allclose(totals.sum(axis=1), 200)


def grid(*n_bins):
    """All rows of bins, as feature rows whose quantile bins they are."""
    rows = np.array(list(itertools.product(*(range(n) for n in n_bins))), dtype=float)
    return rows + 0.5


class TestStumps(ExactContract):
    contexts = grid(3, 4)
    policies = ps.StumpPolicies(contexts, n_actions=3, n_bins=12)
    listed = enumerated.trees(grid(3, 4).astype(int), (3, 4), 1, 3)


class TestTrees(ExactContract):
    contexts = grid(3, 2)
    policies = ps.TreePolicies(contexts, n_actions=2, depth=2, n_bins=6)
    listed = enumerated.trees(grid(3, 2).astype(int), (3, 2), 2, 2)


class TestDeepTrees(ExactContract):
    """Cells run out of splits before depth does."""

    contexts = grid(2, 3)
    policies = ps.TreePolicies(contexts, n_actions=2, depth=3, n_bins=6)
    listed = enumerated.trees(grid(2, 3).astype(int), (2, 3), 3, 2)


def test_of_equal_trees_the_smallest_is_taken():
    x = grid(6, 2)
    best = ps.TreePolicies(x, n_actions=3, depth=3, n_bins=12).best(
        x, (x[:, 0] > 4).astype(int), np.full(12, 0.1)
    )
    assert repr(best) == "TreePolicy(x[0] < 4.5 ? 0 : 1)"


class TestStumpPolicies:
    def test_are_trees_of_one_split(self):
        stumps = ps.StumpPolicies(grid(3, 4), n_actions=3)
        assert stumps.depth == 1
        assert repr(stumps) == "StumpPolicies(n_features=2, n_actions=3, depth=1, n_bins=4)"
        assert stumps.log_size == pytest.approx(np.log(2 * 5) + 2 * np.log(3))

    def test_real_valued_features(self):
        """Splits are at quantiles, and the best stump is right where it can be."""
        rng = np.random.default_rng(1)
        x = rng.normal(size=(400, 3))
        labels = (x[:, 1] >= np.median(x[:, 1])).astype(int) + 1
        best = ps.StumpPolicies(x, n_actions=3, n_bins=8).best(x, labels, np.ones(400))
        np.testing.assert_array_equal(best.actions(x)[:, 0], labels)
        assert best.nodes[0][0] == 1

    @pytest.mark.parametrize(
        ("contexts", "match"),
        [
            ([1.0, 2.0], "feature rows"),
            ([["a", "b"]], "feature rows"),
            (np.empty((0, 3)), "at least one row"),
            (np.ones((5, 2)), "differ in some feature"),
        ],
    )
    def test_bad_rows(self, contexts, match):
        with pytest.raises(ps.InvalidArgumentError, match=match):
            ps.StumpPolicies(contexts, n_actions=2)

    def test_other_features_are_refused(self):
        with pytest.raises(ps.InvalidArgumentError, match="must have 2 features"):
            ps.StumpPolicies(grid(3, 4), n_actions=2).best([[1.0]], [0], [1.0])
        best = ps.StumpPolicies(grid(3, 4), n_actions=2).best([[0.0, 0.0]], [1], [1.0])
        for width in (1, 3):
            with pytest.raises(ps.InvalidArgumentError, match="must have 2 features"):
                best.actions(np.ones((4, width)))


class TestLimits:
    def test_depth(self):
        with pytest.raises(ps.InvalidArgumentError, match="depth"):
            ps.TreePolicies(grid(3, 3), n_actions=2, depth=4)

    def test_too_many_cells(self):
        rng = np.random.default_rng(0)
        with pytest.raises(ps.InvalidArgumentError, match="too many cells"):
            ps.TreePolicies(rng.random((200, 60)), n_actions=2, depth=3)
        with pytest.raises(ps.InvalidArgumentError, match="fewer bins, fewer features"):
            ps.TreePolicies(rng.random((200, 10)), n_actions=2000, depth=2)


def test_cells_are_the_boxes_that_splits_reach():
    """Counted by following all splits from box to box."""
    n_bins = (4, 3, 2)
    boxes, frontier, sizes = {((0, 3), (0, 2), (0, 1))}, {((0, 3), (0, 2), (0, 1))}, [1]
    for _ in range(3):
        reached = set()
        for box in frontier:
            for f, (low, high) in enumerate(box):
                for t in range(low, high):
                    for side in ((low, t), (t + 1, high)):
                        reached.add((*box[:f], side, *box[f + 1 :]))
        frontier = reached - boxes
        boxes |= reached
        sizes.append(len(boxes))
    cells = tree_cells(n_bins, 3)
    assert cells.ends.tolist() == sizes
    assert len(cells) == len(boxes)
