import numpy as np
import pytest
from matplotlib.colors import to_hex

from policysieve.bench.classify.contestants import CEILING, CONTESTANTS
from policysieve.bench.classify.page import accuracy_by_task, tables
from policysieve.report.style import BLUE, INK
from tests.bench.results import BENCHES


def test_a_checkpoint_that_was_not_passed():
    (table,) = tables(BENCHES["classify"]).values()
    assert table.columns == ["contestant", "1,000", "2,000", "5,000", "rounds per second"]
    assert table.rows[1] == ["peer_slow", 0.2, 0.3, None, 1234]
    assert table.texts[0] == ("policysieve", "0.2500", "0.5000", "0.7500", "1,234")


def row(task, contestant, mean=(0.2, 0.4, 0.8), stops=(1000, 2000, 20_000)):
    return {
        "task": task,
        "contestant": contestant,
        "checkpoints": list(stops),
        "mean": list(mean),
        "low": [value / 2 for value in mean],
        "high": [min(1.0, 1.5 * value) for value in mean],
    }


ROWS = [row("one", name) for name in ("policysieve", "vowpal_cover", CEILING)] + [
    row("two", "vowpal_cover", (0.1,), (1000,)),
    row("two", CEILING),
]


def lines(axes):
    return {line.get_label(): line for line in axes.lines}


def test_a_panel_for_each_task():
    figure = accuracy_by_task(ROWS)
    one, two = figure.axes
    assert [axes.get_title(loc="left") for axes in (one, two)] == ["one", "two"]
    assert [axes.get_xscale() for axes in (one, two)] == ["log", "log"]
    assert list(lines(one)) == ["policysieve", "vowpal_cover", CEILING]
    assert lines(one)["vowpal_cover"].get_xydata().tolist() == [
        [1000, 0.2],
        [2000, 0.4],
        [20_000, 0.8],
    ]
    assert lines(two)["vowpal_cover"].get_xydata().tolist() == [[1000, 0.1]]
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["policysieve", "vowpal_cover", CEILING]


def test_our_band_from_the_worst_to_the_best_seed():
    one, two = accuracy_by_task(ROWS).axes
    (band,) = one.collections
    corners = {tuple(np.round(point, 9)) for point in band.get_paths()[0].vertices}
    assert {(1000, 0.1), (1000, 0.3), (20_000, 0.4), (20_000, 1.0)} <= corners
    assert len(two.collections) == 0


def test_no_two_contestants_look_alike():
    (axes,) = accuracy_by_task([row("one", name) for name in CONTESTANTS]).axes
    looks = {
        name: (to_hex(line.get_color()), line.get_linestyle()) for name, line in lines(axes).items()
    }
    assert len(set(looks.values())) == len(CONTESTANTS)
    assert looks["policysieve"] == (BLUE, "-")
    assert looks[CEILING] == (INK, "-")


@pytest.mark.parametrize(("n_tasks", "panels"), [(1, 1), (2, 2), (3, 4)])
def test_panels_without_a_task_are_hidden(n_tasks, panels):
    figure = accuracy_by_task([row(f"t{i}", CEILING) for i in range(n_tasks)])
    visible = [axes.get_visible() for axes in figure.axes]
    assert visible == [True] * n_tasks + [False] * (panels - n_tasks)
