"""What is shown while something runs, on a terminal and elsewhere."""

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from policysieve.cli.live import BoundChart, live_bounds, run_bar, training_bar
from policysieve.experiment import Proof, make_experiment
from tests.experiment.configurations import small
from tests.terminal import on_terminal


@pytest.fixture(scope="module")
def experiment():
    return make_experiment(small(run__seeds=[4], run__rounds=200))


def proof(rounds, bound, epsilon=0.05):
    return Proof(rounds=rounds, suboptimality_bound=bound, certified=bound <= epsilon, survivors=1)


def drawn(chart, width=80):
    console = Console(width=width, file=io.StringIO(), force_terminal=False)
    console.print(chart)
    return console.file.getvalue().splitlines()


class TestChart:
    def chart(self):
        chart = BoundChart(epsilon=0.05, highest=1.0, rounds=10_000)
        for rounds, bound in [(100, 1.0), (1000, 0.2), (4000, 0.04)]:
            chart.add("Sieve", proof(rounds, bound))
        chart.add("Uniform", proof(100, 1.0))
        chart.add("Uniform", proof(10_000, 0.0))
        return chart

    def test_says_where_everyone_is(self):
        text = "\n".join(drawn(self.chart()))
        assert re.search(r"Sieve +4,000 rounds: within 0.040, 0.05 proved after 4,000", text)
        assert re.search(r"Uniform +10,000 rounds: within 0.000, 0.05 proved after 10,000", text)
        assert "10,000 rounds" in text

    def test_says_when_the_proof_is_expected(self):
        chart = self.chart()
        chart.add("Exp4", replace(proof(500, 0.2), expected=4321))
        chart.add("Late", replace(proof(500, 0.01), expected=4321))
        text = "\n".join(drawn(chart))
        assert re.search(r"Exp4 +500 rounds: within 0.200, proof expected after about 4,300", text)
        assert text.count("expected") == 1

    def test_lines_run_from_the_upper_left_to_the_lower_right(self):
        lines = drawn(self.chart())
        plot = [line[7:] for line in lines if line[6:7] in ("┤", "│")]
        columns = [
            [x for x, sign in enumerate(line) if "\u2800" < sign <= "\u28ff"] for line in plot
        ]
        assert columns[0][0] == 0
        assert columns[-1][-1] == len(plot[0]) - 1
        assert all(columns)
        assert [line[:6].strip() for line in lines if "┤" in line] == ["1", "0.05"]

    @pytest.mark.parametrize("width", [30, 50, 200])
    def test_any_width_will_do(self, width):
        assert max(map(len, drawn(self.chart(), width))) <= min(width, 80)

    @pytest.mark.parametrize("points", [[], [(1, 1.0)]])
    def test_one_round_or_none(self, points):
        chart = BoundChart(epsilon=0.05, highest=1.0, rounds=1)
        for point in points:
            chart.add("Sieve", proof(*point))
        assert drawn(chart)


def test_bounds_on_a_terminal(experiment, monkeypatch):
    terminal = on_terminal(monkeypatch)
    with live_bounds(experiment, quiet=False) as tell:
        experiment.run(tell)
    shown = terminal.getvalue()
    assert "\x1b[" in shown
    assert "Uniform" in shown
    assert "200 rounds: within" in shown


def test_bounds_elsewhere_are_lines(experiment, capsys):
    with live_bounds(experiment, quiet=False) as tell:
        for news in [
            ("Sieve", 4, proof(100, 1.0)),
            ("Sieve", 4, proof(200, 0.9)),
            ("Sieve", 4, proof(300, 0.5)),
            ("Sieve", 4, proof(400, 0.05)),
            ("Sieve", 4, proof(500, 0.01)),
            ("Uniform", 4, replace(proof(100, 0.8), expected=12_345)),
        ]:
            tell(*news)
    assert capsys.readouterr().out.splitlines() == [
        "Sieve: 100 rounds, within 1.000 of the best",
        "Sieve: 300 rounds, within 0.500 of the best",
        "Sieve: 400 rounds, within 0.050 of the best, proved",
        "Uniform: 100 rounds, within 0.800 of the best, proof expected after about 12,000",
    ]


def test_a_bar_for_all_runs(experiment, monkeypatch):
    terminal = on_terminal(monkeypatch)
    with run_bar(experiment, quiet=False) as tell:
        experiment.run(tell)
    assert "Uniform, seed 4" in terminal.getvalue()


def test_a_bar_for_training(monkeypatch):
    terminal = on_terminal(monkeypatch)
    assert list(training_bar(quiet=False)(range(3))) == [0, 1, 2]
    assert "Training" in terminal.getvalue()


def test_quiet_is_quiet(experiment, monkeypatch):
    terminal = on_terminal(monkeypatch)
    for show in (live_bounds, run_bar):
        with show(experiment, quiet=True) as tell:
            experiment.run(tell)
    assert list(training_bar(quiet=True)(range(3))) == [0, 1, 2]
    assert terminal.getvalue() == ""
