import pytest

from policysieve.report.style import look, new_figure, new_panels, shared_legend
from policysieve.report.svg import narrowed


def drawn(count, columns, names=("one",)):
    with look():
        figure, panels = new_panels(count, columns=columns, height=2.0)
        for axes in panels:
            for name in names:
                axes.plot([1, 2], [1, 2], label=name)
        shared_legend(figure, panels)
    return figure


def state(figure):
    return (
        tuple(figure.get_size_inches()),
        [axes.get_subplotspec().get_geometry() for axes in figure.axes],
        [(one.get_visible(), one.get_in_layout()) for one in figure.legends],
    )


@pytest.mark.parametrize(
    ("count", "columns", "shape"), [(1, 1, (1, 1)), (2, 2, (2, 1)), (4, 3, (2, 2)), (5, 3, (3, 2))]
)
def test_one_column_less_and_back_again(count, columns, shape):
    figure = drawn(count, columns)
    before = state(figure)
    with narrowed(figure, 4.0):
        shown = [axes for axes in figure.axes if axes.get_visible()]
        assert [axes.get_subplotspec().get_geometry()[:2] for axes in shown] == [shape] * count
        height = before[0][1] * shape[0] / before[1][0][0]
        assert tuple(figure.get_size_inches()) == pytest.approx((4.0, height))
    assert state(figure) == before


def test_names_fit():
    names = [f"a rather long name of a learner {i}" for i in range(6)]
    figure = drawn(2, 2, names)
    with look(), narrowed(figure, 4.4):
        old, new = figure.legends
        assert not old.get_visible()
        assert new.get_window_extent().width <= figure.bbox.width
        assert [text.get_text() for text in new.get_texts()] == names
    assert figure.legends == [old]


def test_a_failure_leaves_the_figure_as_it_was():
    figure = drawn(2, 2)
    before = state(figure)
    with pytest.raises(OSError, match="full"), narrowed(figure, 4.0):
        raise OSError("disk full")
    assert state(figure) == before


def test_axes_that_are_in_no_grid():
    with look():
        figure, axes = new_figure(2.0)
        axes.remove()
        figure.add_axes((0.1, 0.1, 0.8, 0.8))
    with narrowed(figure, 4.0):
        assert tuple(figure.get_size_inches()) == (4.0, 2.0)
