from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_hex

from policysieve.report import (
    bound_by_learner,
    suboptimality_by_learner,
)
from policysieve.report.style import BLUE
from tests.report.documents import Document
from tests.report.results import made_up_experiment, no_rounds
from tests.report.test_run_report import draw, labels, line

PLOTS = [bound_by_learner, suboptimality_by_learner]


def report(result, path, **options) -> Document:
    result.report(path, **options)
    return Document(path.read_text(encoding="utf-8"))


def without_rounds(names=("Sieve",)):
    result = made_up_experiment(*names, n_seeds=1)
    (learner,) = result.learners
    (one,) = learner.seeds
    nothing = [replace(one.proofs[0], rounds=0, suboptimality_bound=1.0, certified=False)]
    one = replace(one, result=no_rounds(), proofs=tuple(nothing))
    return replace(result, learners=(replace(learner, seeds=(one,)),))


class TestFigures:
    @pytest.mark.parametrize("plot", PLOTS)
    @pytest.mark.parametrize(
        "result",
        [
            pytest.param(made_up_experiment("Sieve", "Uniform"), id="usual"),
            pytest.param(made_up_experiment("Sieve", n_seeds=1), id="one of one"),
            pytest.param(made_up_experiment(*"abcdef"), id="many"),
            pytest.param(without_rounds(), id="no rounds"),
        ],
    )
    def test_can_be_drawn(self, plot, result):
        assert draw(plot(result)).startswith(b"\x89PNG")

    def test_the_line_is_the_median_in_a_band_of_all_seeds(self):
        result = made_up_experiment("Sieve", "Uniform")
        figure = bound_by_learner(result)
        assert labels(figure) == ["Sieve", "Uniform", "epsilon 0.1"]
        # Each seed keeps its last bound when the others play on.
        ends = [20_000, 20_100, 20_200]
        stops = [100, 1000, 10_000, *ends]
        bounds = [[(10 + s) / min(n, end) ** 0.5 for s, end in enumerate(ends)] for n in stops]
        bounds[3] = [10 / 20_000**0.5, 11 / 100, 12 / 100]  # the others have not looked again yet
        bounds[4] = [10 / 20_000**0.5, 11 / 20_100**0.5, 12 / 100]
        drawn = line(figure, "Sieve")
        np.testing.assert_allclose(drawn[:, 0], stops)
        np.testing.assert_allclose(drawn[:, 1], np.median(bounds, axis=1))
        band = figure.axes[0].collections[0].get_paths()[0].get_extents()
        assert band.y1 == pytest.approx(max(bounds[0]))
        assert band.y0 == pytest.approx(min(bounds[-1]))
        assert len(figure.axes[0].collections) == 2

    def test_no_two_lines_look_alike(self):
        lines = bound_by_learner(made_up_experiment(*"abcdefghij")).axes[0].lines
        looks = [
            (one.get_color(), one.get_linestyle()) for one in lines if len(one.get_label()) < 2
        ]
        assert len(looks) == len(set(looks)) == 10

    def test_one_seed_has_no_band(self):
        assert not bound_by_learner(made_up_experiment("Sieve", n_seeds=1)).axes[0].collections

    def test_diamonds_mark_the_first_proof_of_each_seed(self):
        result = made_up_experiment("Sieve", "Uniform")
        (marks,) = [
            one for one in bound_by_learner(result).axes[0].lines if one.get_marker() == "D"
        ]
        assert to_hex(marks.get_markeredgecolor()) == BLUE
        assert marks.get_xdata().tolist() == [10_000, 20_100, 20_200]

    def test_tiny_bounds_stay_on_the_axis(self):
        result = made_up_experiment("Sieve", n_seeds=1)
        (learner,) = result.learners
        (one,) = learner.seeds
        proofs = (*one.proofs[:-1], replace(one.proofs[-1], suboptimality_bound=0.0))
        zero = replace(result, learners=(replace(learner, seeds=(replace(one, proofs=proofs),)),))
        figure = bound_by_learner(zero)
        assert line(figure, "Sieve")[-1, 1] == figure.axes[0].get_ylim()[0] == pytest.approx(0.01)

    def test_the_truth_is_that_of_the_recommendations(self):
        result = made_up_experiment("Sieve")
        figure = suboptimality_by_learner(result)
        gap = result.learners[0].seeds[0].result.suboptimality
        assert set(line(figure, "Sieve")[:, 1]) == {gap}
        assert figure.axes[0].get_ylim()[0] == 0


class TestReport:
    def test_says_what_came_out(self, tmp_path):
        result = made_up_experiment("Sieve", "Uniform", descriptions=True)
        document = report(result, tmp_path / "r.html")
        policy = result.learners[0].recommendation.policy
        assert document.text_of("h1") == ["Sieve and Uniform compared"]
        assert document.text_of("dd")[:4] == [
            "20,100",
            "rounds to prove epsilon 0.1, median",
            "not proved",
            "epsilon 0.1, in 30,000 rounds",
        ]
        (statement,) = [text for text in document.text_of("p") if "recommends" in text]
        assert statement.startswith(f"Sieve recommends policy {policy} (kind {policy}) with seed 0")
        assert len(document.tags("svg")) == 2 * 3
        assert len(document.tags("tr")) == (1 + 2) + (1 + 15) + (1 + 6)
        assert "3 of 3" in document.text_of("td")
        names = document.text_of("dt")
        assert {"world.kind", "learner[1].kind", "run.seeds", "numpy"} <= set(names)
        assert "0, 1, 2" in document.text_of("dd")

    def test_one_learner_with_one_seed_does_not_talk_of_seeds(self, tmp_path):
        document = report(made_up_experiment("Sieve", n_seeds=1), tmp_path / "r.html")
        assert document.text_of("h1") == ["Sieve"]
        words = " ".join(document.text_of("p") + document.text_of("figcaption"))
        assert "over seeds" not in words
        assert "with seed" not in words
        assert "by seeds" not in document.text_of("th")

    def test_says_why_the_bound_of_a_sieve_falls_late(self, tmp_path):
        def says_so(*names):
            texts = report(made_up_experiment(*names), tmp_path / "r.html").text_of("p")
            return any("eliminates these late" in text for text in texts)

        assert says_so("Uniform", "Sieve")
        assert not says_so("Uniform", "Exp4")

    def test_many_learners_are_counted(self, tmp_path):
        document = report(made_up_experiment(*"abcd"), tmp_path / "r.html")
        assert document.text_of("h1") == ["4 learners compared"]

    def test_without_the_truth_none_is_shown(self, tmp_path):
        document = report(made_up_experiment("Sieve", truth=False), tmp_path / "r.html")
        assert len(document.tags("svg")) == 2 * 2
        assert not [text for text in document.text_of("th") if "true" in text or text == "worst"]

    def test_no_rounds(self, tmp_path):
        document = report(without_rounds(), tmp_path / "r.html")
        words = " ".join(text for tag, text in document.texts if tag != "style")
        assert "nan" not in words.lower()
        assert "No rounds were played." in document.text_of("text")

    def test_a_title_of_its_own_and_the_same_bytes_again(self, tmp_path):
        result = made_up_experiment("Sieve", "Uniform")
        for name in ("a", "b"):
            result.report(tmp_path / name, title="Mine & yours")
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
        assert Document((tmp_path / "a").read_text()).text_of("h1") == ["Mine & yours"]
