"""The race in tables."""

from policysieve.cli.samples import print_samples


def test_small_ratios_are_not_rounded_to_nothing(capsys):
    summary = {
        "right": {},
        "right_mean": None,
        "right_means": {"Uniform": None},
        "proved": {},
        "proved_mean": {"Uniform": 0.5, "plan": 0.00123},
    }
    settings = {"most": 1000, "most_to_prove": 9000}
    print_samples(
        {"settings": settings, "summary": summary, "picking": [], "proving": [], "skipped": {}}
    )
    assert capsys.readouterr().out.splitlines() == [
        "To be right, against Uniform: unknown in the geometric mean.",
        "To certify, against Uniform: 0.50 in the geometric mean.",
        "To certify, against plan: 0.0012 in the geometric mean.",
    ]
