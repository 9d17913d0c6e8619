import re
from importlib.resources import files

import pytest

from policysieve.report.style import INK, PAGE_COLOURS, PAPER

STYLE = files("policysieve.report").joinpath("page.css").read_text(encoding="utf-8")
LIGHT, DARK = (
    dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", block))
    for block in re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)
)
DATA = ["blue", "vermilion", "green", "purple"]


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(a: str, b: str) -> float:
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_text_and_data_read_on_the_paper(theme):
    for name in DATA:
        assert contrast(theme[name], theme["paper"]) >= 3, name
    for name in ("ink", "soft", "accent"):
        assert contrast(theme[name], theme["paper"]) >= 4.5, name
        assert contrast(theme[name], theme["tint"]) >= 4.5, name


def test_figures_by_themselves_look_as_on_a_light_page():
    named = {colour: use[6:-1] for colour, use in PAGE_COLOURS.items() if use.startswith("var")}
    assert {LIGHT[name]: name for name in [*DATA, "paper"]} == named
    assert LIGHT["ink"] == INK
    assert LIGHT["paper"] == PAPER
    assert DARK.keys() == LIGHT.keys()
