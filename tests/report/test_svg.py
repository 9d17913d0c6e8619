import numpy as np
import pytest
from matplotlib.figure import Figure

from policysieve.report import value_intervals
from policysieve.report.style import PAGE_COLOURS, look
from policysieve.report.svg import inline_svg
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
