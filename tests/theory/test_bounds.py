"""Rounds by this paper and by others: by hand, in order, and drawn."""

import re
from dataclasses import replace
from math import log

import numpy as np
import pytest
from matplotlib.figure import Figure

import policysieve as ps
from policysieve import theory
from policysieve.theory import BOUNDS

LOG_SIZE = log(1000)
L = log(1000 / 0.05)


def problem(K=100, eps=0.05, m=1, s=1.0, delta=0.05):
    return ps.Problem(n_actions=K, slate_size=m, sparsity=s, epsilon=eps, delta=delta)


@pytest.mark.parametrize(
    ("function", "settings", "expected"),
    [
        (theory.rate_uniform, {}, 100 * 400 * L),
        (theory.rate_uniform, {"s": 0.5}, 0.25 * 100 * 400 * L),
        (theory.rate_uniform, {"m": 5, "s": 3}, 9 * 20 * 400 * L),
        (theory.rate_regret, {}, 100 * 400 * L),
        (theory.rate_regret, {"m": 5, "s": 3}, 500 * 400 * L),
        (theory.rate_log_barrier, {"K": 10}, 1e9 + 400 * L),
        (theory.rate_log_barrier, {"K": 10, "m": 2, "s": 3}, 1e9 / 256 + 6 * 400 * L),
        (theory.rate_multiclass, {"K": 10}, (400 + 1e7) * L),
        (theory.rate_sparse, {}, (400 + 2000) * L),
        (theory.rate_sparse, {"s": 4}, (4 * 400 + 2000) * L),
        (theory.rate_sparse, {"m": 5, "s": 3}, (9 * 400 + 3 * 20 * 20) * L),
        (theory.rate_sparse, {"m": 2, "s": 3}, (6 * 400 + 2 * 50 * 20) * L),
        (theory.rate_lower_bound, {"s": 3}, 2000 + 3 * 400),
        (theory.lower_bound_rare_context, {}, (0.95 * 100 - 1) / 0.1),
        (theory.lower_bound_rare_context, {"m": 5, "s": 3}, (0.95 * 20 - 1) / 0.1),
        (
            theory.lower_bound_hidden_arm,
            {"s": 4},
            2 * 4 * (0.95 - 0.25) ** 2 / (-0.5 * log(1 - 16 * 0.05**2)),
        ),
    ],
)
def test_by_hand(function, settings, expected):
    assert function(problem(**settings), LOG_SIZE) == pytest.approx(expected)


@pytest.mark.parametrize("settings", [{}, {"s": 4}, {"m": 5, "s": 3}])
def test_guarantees_are_those_of_the_plan(settings):
    sizes = ps.plan(problem(**settings), 1000)
    assert theory.rounds_uniform(sizes.problem, LOG_SIZE) == sizes.uniform_rounds
    assert theory.rounds_low_variance(sizes.problem, LOG_SIZE) == sizes.total_rounds
    assert theory.rounds_by_optimization(sizes.problem, LOG_SIZE) == sizes.by_optimization_rounds
    lower = [
        bound.rounds(sizes.problem, LOG_SIZE) or 0
        for bound in BOUNDS
        if (bound.kind, bound.constants) == ("lower", "explicit")
    ]
    assert sizes.lower_bound_rounds == np.ceil(max(lower))


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("low-variance exploration", {"s": None}),
        ("exploration by optimization", {"s": None}),
        ("exploration by optimization", {"m": 2}),
        ("Erez and Koren", {"s": None}),
        ("Erez and Koren, one label", {"s": 2}),
        ("Erez and Koren, one label", {"m": 2}),
        ("this paper", {"s": None}),
        ("lower bound", {"s": None}),
        ("lower bound", {"s": 0.5}),
        ("lower bound", {"m": 2}),
        ("lower bound, rare context", {"eps": 0.6}),
        ("lower bound, rare context", {"K": 1}),
        ("lower bound, hidden arm", {"s": 1, "eps": 0.6}),
    ],
)
def test_where_a_result_does_not_apply(name, settings):
    (bound,) = [bound for bound in BOUNDS if bound.name == name]
    assert bound.rounds(problem(**settings), LOG_SIZE) is None
    assert bound.rounds(problem(K=20), LOG_SIZE) is not None


def test_two_terms_are_equal_where_epsilon_is_s_m_over_K():
    """Slope 1 in 1/epsilon above the crossover, 2 below; in K the other way round."""
    for m, s in ((1, 1.0), (1, 4.0), (5, 3.0)):
        q = problem(K=1000, m=m, s=s)
        cross = s * m / 1000

        def rate(eps, K=1000, q=q):
            return theory.rate_sparse(replace(q, epsilon=eps, n_actions=K), LOG_SIZE)

        half = s * min(s, m) / cross**2 * L
        assert rate(cross) == pytest.approx(2 * half)
        assert rate(cross / 1e4) / rate(cross / 1e3) == pytest.approx(100, rel=0.01)
        assert rate(0.9) / rate(0.45) == pytest.approx(0.5, rel=0.02)
        assert rate(1e-6, K=500) == pytest.approx(rate(1e-6), rel=0.01)


@pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: f"{bound.name}, {bound.constants}")
def test_more_precision_and_more_actions_never_cost_less(bound):
    for settings in ({}, {"s": 4}, {"m": 2, "s": 8}):
        for varied, values in (("eps", (0.2, 0.1, 0.05, 0.01)), ("K", (16, 32, 64, 256))):
            q = [problem(**{**settings, varied: value}) for value in values]
            rounds = [bound.rounds(one, LOG_SIZE) for one in q]
            if None not in rounds:
                assert rounds == sorted(rounds), (settings, varied)
        rounds = [bound.rounds(problem(**settings), log(n)) for n in (100, 1000, 1e6)]
        if None not in rounds:
            assert rounds == sorted(rounds)


def test_no_guarantee_is_below_a_lower_bound():
    for K, s, eps in ((10, 1, 0.1), (100, 4, 0.02), (1000, 1, 0.3), (50, 50, 0.05)):
        q = problem(K, eps, 1, s)
        found = {
            kind: [
                bound.rounds(q, LOG_SIZE)
                for bound in BOUNDS
                if bound.kind == kind and bound.constants == "explicit"
            ]
            for kind in ("upper", "lower")
        }
        assert min(filter(None, found["upper"])) > max(filter(None, found["lower"]))


def test_the_registry_names_each_once_with_its_source():
    assert len({bound.name for bound in BOUNDS}) == len(BOUNDS)
    assert len({bound.rounds for bound in BOUNDS}) == len(BOUNDS)
    assert all(bound.source and bound.rounds.__doc__ for bound in BOUNDS)
    for bound in BOUNDS:
        assert getattr(theory, bound.rounds.__name__) is bound.rounds


@pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: f"{bound.name}, {bound.constants}")
@pytest.mark.parametrize("bad", [-1, float("nan"), float("inf"), "many"])
def test_bad_sizes(bound, bad):
    with pytest.raises(ps.InvalidArgumentError, match="log_n_policies"):
        bound.rounds(problem(), bad)


class TestFigure:
    @staticmethod
    def lines(axes):
        return {
            line.get_label(): line.get_xydata()
            for line in axes.lines
            if not line.get_label().startswith("_")
        }

    def test_draws_every_bound(self):
        figure = theory.figure(problem(), LOG_SIZE)
        assert isinstance(figure, Figure)
        left, right = (self.lines(axes) for axes in figure.axes)
        for drawn, constants in ((left, "explicit"), (right, "rate")):
            mine = [bound for bound in BOUNDS if bound.constants == constants]
            assert list(drawn) == [bound.name for bound in mine]
            for bound in mine:
                for eps, rounds in drawn[bound.name]:
                    assert rounds == bound.rounds(problem(eps=float(eps)), LOG_SIZE)
        eps = right["this paper"][:, 0]
        assert (eps[0], eps[-1]) == (pytest.approx(0.0005), pytest.approx(0.45))

    def test_marks_the_crossover(self):
        marks = [
            line.get_xdata()[0]
            for line in theory.figure(problem(), LOG_SIZE).axes[1].lines
            if line.get_label().startswith("_")
        ]
        assert marks == [0.01]

    def test_only_what_applies(self):
        left, right = theory.figure(problem(m=5, s=None), LOG_SIZE).axes
        assert list(self.lines(left)) == [
            "uniform exploration",
            "lower bound, rare context",
            "lower bound, hidden arm",
        ]
        assert list(self.lines(right)) == ["uniform", "small regret"]

    @pytest.mark.parametrize("log_size", [0, LOG_SIZE])
    def test_nothing_is_cut_off_or_squeezed(self, log_size):
        figure = theory.figure(problem(), log_size)
        figure.draw_without_rendering()
        for axes in figure.axes:
            names = axes.get_legend().get_window_extent()
            assert names.x0 >= 0
            assert names.x1 <= figure.bbox.x1
            assert names.y1 <= figure.bbox.y1
            assert axes.get_window_extent().width > figure.bbox.width / 3

    def test_rounds_are_powers_of_ten(self):
        for axes in theory.figure(problem(), LOG_SIZE).axes:
            axes.figure.draw_without_rendering()
            shown = {text.get_position()[1]: text.get_text() for text in axes.get_yticklabels()}
            assert shown[10**6] == "10⁶"
            assert all(re.fullmatch("10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+", text) for text in shown.values())

    def test_lower_bounds_are_named_so(self):
        for bound in BOUNDS:
            assert bound.name.startswith("lower bound") == (bound.kind == "lower")
