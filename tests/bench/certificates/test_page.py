from policysieve.bench.certificates.page import rounds_by_method, tables
from tests.bench.results import BENCHES


def test_rounds_by_method():
    """Hollow at the limit where there was no certificate."""
    figure = rounds_by_method(BENCHES["certificates"]["power"])
    axes = figure.axes[0]
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == ["10 actions, low-variance", "30 actions, low-variance"]
    points = [(*line.get_xydata()[0], line.get_markerfacecolor() == "none") for line in axes.lines]
    assert sorted((rounds, round(place), hollow) for rounds, place, hollow in points) == [
        (1000, 0, False),
        (3000, 1, False),
        (9000, 0, True),
        (9000, 1, True),
    ]
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["betting", "empirical bernstein"]


def test_tables():
    shown = tables(BENCHES["certificates"])
    assert shown["power"].texts[0] == ("low variance", "10", "1,000", ">9,000")
    assert shown["false"].texts[0][1:] == (
        "Two arms, the better one ahead by a little more than epsilon",
        "200",
        "4",
        "3",
        "300",
        "80",
    )
    assert shown["floors"].texts[0] == ("stitched", "greedy", "200", "6", "3", "300", "80")
    assert shown["unmet"].texts[0][1:4] == ("the smallest of them as floor", "200", "299")
