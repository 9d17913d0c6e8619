import numpy as np
import pytest
from matplotlib.figure import Figure

from policysieve.report import value_intervals
from policysieve.report.style import PAGE_COLOURS, look, new_figure, new_panels, shared_legend
from policysieve.report.svg import inline_svg, narrowed
from tests.report.documents import Document
from tests.report.results import made_up_result


def test_colours_are_the_pages():
    svg = inline_svg(value_intervals(made_up_result()), "a-", "Intervals")
    assert not any(colour in svg for colour in PAGE_COLOURS)
    assert "currentColor" in svg
    assert "var(--blue)" in svg


def test_nothing_reaches_out_of_the_figure():
    svg = inline_svg(value_intervals(made_up_result()), "a-", "Intervals")
    document = Document(svg)
    assert "http" not in svg
    assert not {tag for tag, _ in document.elements} & {"style", "metadata", "script", "image"}
    assert all(name.startswith("a-") for name in document.ids)
    assert document.references == set(document.ids)


def test_another_width_keeps_the_height_and_the_figure():
    figure = value_intervals(made_up_result())
    size = figure.get_size_inches().tolist()
    wide = Document(inline_svg(figure, "w", "x")).tags("svg")[0]["viewbox"]
    narrow = Document(inline_svg(figure, "n", "x", width=4)).tags("svg")[0]["viewbox"]
    assert figure.get_size_inches().tolist() == size
    assert [float(part) / 72 for part in str(wide).split()[2:]] == pytest.approx(size, abs=0.01)
    assert [float(part) / 72 for part in str(narrow).split()[2:]] == pytest.approx(
        [4, size[1]], abs=0.01
    )


def test_text_is_text_whatever_it_says():
    with look():
        figure = Figure()
        figure.add_subplot().set_title('5 $ < 6 $ & id="x" url(#x) #1d2329')
    document = Document(inline_svg(figure, "p", '"label" <b>'))
    assert '5 $ < 6 $ & id="x" url(#x) #1d2329' in document.text_of("text")
    assert document.tags("svg")[0]["aria-label"] == '"label" <b>'


def test_pictures_are_held_inside():
    figure = Figure()
    figure.add_subplot().imshow(np.eye(3))
    (picture,) = Document(inline_svg(figure, "p", "x")).tags("image")
    assert str(picture["href"]).startswith("data:image/png;base64,")


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
