import pytest

from policysieve.bench.speed.playing import KINDS
from policysieve.bench.speed.sieve import Case, recommending, sieve


def test_ratios_are_those_of_the_measured_times():
    cases = (
        Case("clusters", 40, 0.3, until_certified=True, repeats=2),
        Case("close", 30, 0.01, batch=1),
    )
    result = sieve(cases=cases, rounds=400)
    certified, all_rounds = result["cases"]
    assert certified["certified"]
    assert certified["rounds"] < 400
    assert (all_rounds["rounds"], all_rounds["survivors"]) == (400, 30)
    assert not all_rounds["certified"]
    for case in result["cases"]:
        ratio = case["rounds_per_second"] / case["uniform_rounds_per_second"]
        assert case["ratio"] == pytest.approx(ratio)
        assert 0 < case["share"] < 1
        pauses = case["longest_ask_seconds"] + case["longest_tell_seconds"]
        assert 0 < pauses < case["rounds"] / case["rounds_per_second"]


def test_recommendations():
    result = recommending(n_policies=30, rounds=300, calls=3)
    assert tuple(result) == KINDS
    for one in result.values():
        assert 0 < one["median_seconds"] <= one["longest_seconds"]
        assert 1 <= one["survivors"] <= 30
