import io
from dataclasses import replace
from math import inf, nan

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

from policysieve.errors import InvalidArgumentError
from policysieve.evidence import ValueIntervals
from policysieve.exploration import ExploringCost, Loss
from policysieve.policies import CandidateUsage, Usage
from policysieve.problem import Problem
from policysieve.report import (
    cost_over_rounds,
    estimate_over_rounds,
    suboptimality_over_rounds,
    value_intervals,
)
from tests.report.documents import Document
from tests.report.results import made_up_result, no_rounds

PLOTS = [value_intervals, estimate_over_rounds, suboptimality_over_rounds, cost_over_rounds]


def report(result, path, **options) -> Document:
    result.report(path, **options)
    return Document(path.read_text(encoding="utf-8"))


def test_the_report_says_what_came_out(tmp_path):
    result = made_up_result()
    document = report(result, tmp_path / "run.html")
    best = result.recommendation
    assert document.text_of("h1") == [f"Uniform recommends policy {best.policy}"]
    assert best.guarantee in document.text_of("p")
    facts = document.text_of("dd")
    assert facts[0] == f"policy {best.policy}"
    assert f"{best.value:.4g}" in facts
    assert "the bound is at most epsilon" in facts
    assert len(document.tags("svg")) == 2 * 3
    assert len(document.tags("tr")) == 1 + 15 + 1 + len(result.history)
    assert "true value" in document.text_of("th")
    assert "true distance" in document.text_of("th")
    assert {"n_actions", "epsilon", "delta", "seed", "numba"} <= set(document.text_of("dt"))
    assert document.text_of("code") == ["policysieve.run"]


def test_the_result_writes_its_own_report(tmp_path):
    figures = tmp_path / "figures"
    made_up_result().report(tmp_path / "run.html", title="Mine & yours", figures=figures)
    assert {path.stem for path in figures.iterdir()} == {"leaders", "estimate", "suboptimality"}
    html = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert Document(html).text_of("title") == ["Mine & yours"]


def test_the_same_result_gives_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        made_up_result().report(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_without_the_truth_none_is_shown(tmp_path):
    document = report(made_up_result(truth=False), tmp_path / "run.html")
    assert not [text for text in document.text_of("th") if "true" in text]
    assert "not known" in document.text_of("dd")
    assert not [text for text in document.text_of("figcaption") if "true" in text]


@pytest.mark.parametrize("history", [True, False])
def test_a_run_without_rounds_has_a_report(tmp_path, history):
    document = report(no_rounds(history=history), tmp_path / "run.html")
    assert "nan" not in " ".join(text for tag, text in document.texts if tag != "style").lower()
    assert len(document.tags("svg")) == 2 * 3
    assert document.text_of("text").count("No rounds were played.") == 2 * 2


def test_costs_are_shown_as_such(tmp_path):
    problem = Problem(
        n_actions=9, epsilon=4, delta=0.1, reward_range=(-10, 90), objective="minimize"
    )
    made = made_up_result()
    scale, truth = problem.scale, problem.scale.value(made.true_values)
    costly = replace(
        made,
        problem=problem,
        intervals=made.intervals.in_units(scale),
        true_values=truth,
        recommendation=made.recommendation.in_units(scale),
        suboptimality=scale.distance(made.suboptimality),
    )
    assert [row["policy"] for row in costly.leaders()] == [row["policy"] for row in made.leaders()]
    document = report(costly, tmp_path / "run.html")
    assert any("lowest first" in text for text in document.text_of("figcaption"))
    assert "lowest estimates of expected cost per round" in (tmp_path / "run.html").read_text()
    assert "expected cost per round" in document.text_of("text")
    assert {"[-10, 90]", "minimize"} <= set(document.text_of("dd"))
    line = next(one for one in estimate_over_rounds(costly).axes[0].lines if one.get_ls() == "--")
    assert line.get_ydata()[0] == pytest.approx(truth[made.recommendation.policy])


def test_slates_and_unknown_sparsity(tmp_path):
    problem = Problem(n_actions=1000, slate_size=3, sparsity=None, epsilon=0.5, delta=0.1)
    document = report(replace(made_up_result(), problem=problem), tmp_path / "run.html")
    assert "1,000 actions, 3 shown in each of 10,000 rounds" in document.text_of("p")[1]
    assert "not known" in document.text_of("dd")


def labels(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def tick_labels(figure: Figure) -> list[str]:
    return [label.get_text() for label in figure.axes[0].get_yticklabels()]


def line(figure: Figure, label: str) -> np.ndarray:
    (found,) = [one for one in figure.axes[0].lines if one.get_label() == label]
    return found.get_xydata()


def draw(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=40)
    return buffer.getvalue()


@pytest.mark.parametrize("plot", PLOTS)
@pytest.mark.parametrize(
    "result",
    [
        pytest.param(made_up_result(), id="usual"),
        pytest.param(made_up_result(truth=False), id="unknown truth"),
        pytest.param(made_up_result(stops=(500,)), id="one checkpoint"),
        pytest.param(made_up_result(1), id="one policy"),
        pytest.param(no_rounds(), id="no rounds"),
        pytest.param(no_rounds(history=False), id="no history"),
    ],
)
def test_every_figure_can_be_drawn(plot, result):
    assert draw(plot(result)).startswith(b"\x89PNG")


@pytest.mark.parametrize("plot", PLOTS)
def test_figures_leave_the_users_settings_alone(plot):
    with matplotlib.rc_context({"axes.facecolor": "red", "font.size": 30, "axes.grid": True}):
        before = dict(matplotlib.rcParams)
        disturbed = draw(plot(made_up_result()))
        assert dict(matplotlib.rcParams) == before
    assert disturbed == draw(plot(made_up_result()))


def test_intervals_are_those_of_the_leaders_best_first():
    result = made_up_result()
    figure = value_intervals(result, count=7)
    leaders = result.leaders(7)
    assert tick_labels(figure) == [f"policy {leader['policy']}" for leader in leaders]
    assert line(figure, "recommended").tolist() == [[leaders[0]["value"], 0]]
    assert line(figure, "true value")[:, 0].tolist() == [row["true_value"] for row in leaders]
    bottom, top = figure.axes[0].get_ylim()
    assert top < bottom


def test_the_recommended_policy_is_shown_even_when_it_does_not_lead():
    result = made_up_result()
    last = int(result.intervals.values.argmin())
    result = replace(result, recommendation=replace(result.recommendation, policy=last))
    figure = value_intervals(result, count=5)
    assert tick_labels(figure)[5:] == [f"policy {last}"]
    assert line(figure, "recommended").tolist() == [[result.intervals.values[last], 5]]


def test_policies_without_an_estimate_still_have_intervals():
    result = made_up_result(4)
    values = result.intervals.values.copy()
    values[1] = nan
    limits = ValueIntervals(values, result.intervals.lower, result.intervals.upper)
    assert len(tick_labels(value_intervals(replace(result, intervals=limits)))) == 4


@pytest.mark.parametrize("count", [0, 2.5, True])
def test_intervals_need_a_count(count):
    with pytest.raises(InvalidArgumentError, match="count"):
        value_intervals(made_up_result(), count=count)


def test_the_estimate_is_that_of_each_checkpoint():
    result = made_up_result()
    figure = estimate_over_rounds(result)
    looks = [checkpoint.recommendation for checkpoint in result.history]
    assert line(figure, "estimate").tolist() == [[look.rounds, look.value] for look in looks]
    assert figure.axes[0].get_xscale() == "log"
    assert set(labels(figure)) == {"interval", "estimate", "true value"}
    assert "true value" not in labels(estimate_over_rounds(made_up_result(truth=False)))


def test_rounds_that_do_not_range_widely_are_on_a_linear_scale():
    assert estimate_over_rounds(made_up_result(stops=(1, 2, 5))).axes[0].get_xscale() == "linear"


def test_suboptimality_shows_truth_bound_and_epsilon():
    result = made_up_result()
    figure = suboptimality_over_rounds(result)
    assert labels(figure) == ["true", "bound", "epsilon 0.1"]
    assert line(figure, "epsilon 0.1")[:, 1].tolist() == [0.1, 0.1]
    bounds = [look.recommendation.suboptimality_bound for look in result.history]
    assert line(figure, "bound")[:, 1].tolist() == bounds
    assert figure.axes[0].get_ylim()[0] == 0
    assert labels(suboptimality_over_rounds(made_up_result(truth=False))) == [
        "bound",
        "epsilon 0.1",
    ]


def test_several_runs_are_told_apart_also_with_the_same_learner():
    runs = [made_up_result(learner=name) for name in ("Uniform", "Other", "Uniform")]
    figure = suboptimality_over_rounds(iter(runs))
    assert labels(figure)[-1] == "epsilon 0.1"
    assert labels(figure)[:-1] == [
        f"{name}: {what}"
        for name in ("Uniform", "Other", "Uniform 2")
        for what in ("true", "bound")
    ]
    draw(figure)


def test_what_is_not_finite_is_left_out():
    result = made_up_result(stops=(100, 1000, 10_000))
    first, middle, last = result.history
    endless = replace(first.recommendation, suboptimality_bound=inf, value=nan)
    unknown = replace(middle, suboptimality=None)
    result = replace(result, history=(replace(first, recommendation=endless), unknown, last))
    figure = suboptimality_over_rounds(result)
    assert line(figure, "bound")[:, 0].tolist() == [1000, 10_000]
    assert line(figure, "true")[:, 0].tolist() == [100, 10_000]
    assert line(estimate_over_rounds(result), "estimate")[:, 0].tolist() == [1000, 10_000]


def test_no_runs_give_a_figure_that_says_so():
    (text,) = suboptimality_over_rounds([]).axes[0].texts
    assert text.get_text() == "No rounds were played."


def test_policies_are_shown_by_their_names(tmp_path):
    plain = made_up_result(4)
    names = ("forest", "logreg & co", "bayes", "a model " * 9)
    best = plain.recommendation
    result = replace(
        plain,
        recommendation=replace(best, name=names[best.policy]),
        intervals=replace(plain.intervals, names=names),
        problem=replace(plain.problem, n_actions=2, actions=("shoes", "hats")),
    )
    document = report(result, tmp_path / "run.html")
    assert document.text_of("h1") == [f"Uniform recommends {names[best.policy]}"]
    rows = [text for text in document.text_of("th") if text in names]
    assert set(names) <= {*rows, "a model " * 9}
    assert "shoes, hats" in document.text_of("dd")
    labels = [label.get_text() for label in value_intervals(result).axes[0].get_yticklabels()]
    assert {"forest", "logreg & co", "bayes"} < set(labels)
    assert max(map(len, labels)) <= 36


def test_what_the_candidates_cost_is_there_if_any_were_called(tmp_path):
    result = made_up_result()
    heading = "What the candidates cost"
    assert heading not in report(result, tmp_path / "none.html").text_of("h2")
    one, other = (
        CandidateUsage(policy=p, name=name, calls=10 + p, contexts=20, seconds=p + 0.5, hits=3)
        for p, name in enumerate(["<short>", "long"])
    )
    document = report(replace(result, usage=Usage((one, other))), tmp_path / "run.html")
    assert heading in document.text_of("h2")
    rows = document.text_of("th")
    assert rows[-3:] == ["all", "long", "<short>"]  # the dearest first
    assert document.text_of("td")[-3 * 7 :][:2] == ["21", "40"]


def with_cost(result, max_loss=None):
    """The same, with what exploring has cost."""

    def lost(rounds):
        return Loss(
            policy_name="policy 3",
            estimate=rounds / 50,
            lower=rounds / 100,
            upper=rounds / 20,
            rounds=rounds,
        )

    history = tuple(replace(one, lost=lost(one.recommendation.rounds)) for one in result.history)
    cost = ExploringCost(
        rounds=result.rounds,
        explored=result.rounds // 2,
        earned=1234.5,
        today=history[-1].lost,
        best=replace(history[-1].lost, policy_name="the best policy"),
        guarantee="With probability at least 0.95, exploring has cost something.",
    )
    problem = replace(result.problem, against=3, traffic=0.5, max_loss=max_loss)
    return replace(result, history=history, cost=cost, problem=problem)


def test_what_exploring_has_cost_is_there(tmp_path):
    document = report(with_cost(made_up_result(), max_loss=900.0), tmp_path / "run.html")
    assert "What exploring costs" in document.text_of("h2")
    assert "With probability at least 0.95, exploring has cost something." in document.text_of("p")
    assert "Cost of exploring" in document.text_of("dt")
    assert {"traffic", "max_loss"} <= set(document.text_of("dt"))
    assert len(document.tags("svg")) == 2 * 4
    assert "the best policy" in document.text_of("td") + document.text_of("th")


def test_the_cost_is_that_of_each_checkpoint():
    result = with_cost(made_up_result(), max_loss=900.0)
    (axes,) = result.plot("cost").axes
    line = next(one for one in axes.lines if one.get_label() == "estimate")
    assert line.get_ydata().tolist() == [one.lost.estimate for one in result.history]
    assert "limit 900" in [one.get_label() for one in axes.lines]
