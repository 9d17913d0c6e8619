from policysieve.bench.scaling.page import tables
from tests.bench.results import BENCHES, grown

DASH = "\N{EN DASH}"


def test_slopes_say_what_was_given_up():
    shown = tables(BENCHES["scaling"])
    first, second = shown["slopes_right"].texts
    assert first[1:] == ("Uniform", "1.0000", "0.8000", "1.2000", "1.1000", "as predicted")
    assert second[1:] == ("Sieve", DASH, DASH, DASH, DASH, "unknown")
    assert "given up: Sieve on few (1 of 3)." in shown["slopes_right"].note
    assert shown["slopes_certified"].note == ""


def test_against_the_lower_bound_at_the_largest_point():
    """Where the learner was given up there is no ratio."""
    bounds = tables(BENCHES["scaling"])["bounds"]
    assert bounds.texts == [
        ("few", "Uniform", "400", "16", "25.000"),
        ("few", "Sieve", ">999", "16", DASH),
    ]


def test_worlds_that_are_no_instance_of_a_bound():
    row = grown("few", "Sieve", (20, 40, 80), "right")
    for point in row["points"]:
        point["lower_bound"] = None
    shown = tables({"sweeps": [row], "variance": []})
    assert set(shown) == {"slopes_right", "right"}
    assert shown["right"].fold == "All points"
    assert shown["right"].rows[0] == ["few", "Sieve", 2, 20, 20, None]
