"""Charts are well-formed, within their frame, and break no strict policy."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policysieve.service.dashboard.charts import Axis, Chart, axis_of

TAGS = ("svg", "line", "text", "rect", "title", "path", "circle")
NUMBERS = st.floats(-1e9, 1e9, allow_nan=False)


def parts(svg):
    return list(ElementTree.fromstring(str(svg)).iter())


def chart(**options):
    return Chart(Axis(0, 10), Axis(0, 1), height=100, label="a & <b>", **options)


def test_a_chart_is_one_element_that_says_what_it_shows():
    svg = (
        chart()
        .grid()
        .stretch(7, 9, "ahead", "then")
        .band([(0, 0, 1), (5, 0.2, 0.8)], "band")
        .line([(0, 1), (5, 0.5)], "line", steps=True)
        .level(0.2, "goal")
        .bar(1, 2, 0.5, "bar")
        .dot(5, 0.5, "dot")
        .hint(0, 5, "<here>")
        .svg()
    )
    found = parts(svg)
    assert found[0].attrib["aria-label"] == "a & <b>"
    assert not any("style" in one.attrib or one.tag == "style" for one in found)
    assert {one.tag for one in found} <= set(TAGS)
    assert [one.text for one in found if one.tag == "title"] == ["then", "<here>"]


def test_steps_hold_until_the_next_point():
    path = next(
        p for p in parts(chart().line([(0, 1), (5, 0.5)], "l", steps=True).svg()) if "d" in p.attrib
    )
    assert path.attrib["d"] == "M0.0 0.0L500.0 0.0L500.0 50.0"


@given(NUMBERS, NUMBERS, NUMBERS)
def test_every_value_lies_within_the_scale(one, two, three):
    axis = axis_of([one, two])
    assert 0 <= axis.at(three) <= 1
    assert axis.at(one) in (0.0, 1.0) or axis.low < one < axis.high


@given(st.floats(1e-9, 1e9), st.floats(1e-9, 1e9))
def test_ticks_are_few_and_on_the_scale(one, two):
    axis = axis_of([one, two])
    ticks = axis.ticks(5)
    assert 1 <= len(ticks) <= 7
    span = axis.high - axis.low
    assert all(axis.low - 0.01 * span <= tick <= axis.high + 0.01 * span for tick in ticks)
    assert ticks == sorted(ticks)


@pytest.mark.parametrize(("values", "log"), [((1, 100), True), ((1, 10), False), ((0, 99), False)])
def test_a_wide_range_is_drawn_on_a_log_scale(values, log):
    assert axis_of(values).log is log


def test_a_scale_of_one_value_or_none_is_a_scale():
    for values in ([], [3.0], [0.0], [-2.0, -2.0]):
        axis = axis_of(values)
        assert axis.low < axis.high
        assert axis.ticks()
