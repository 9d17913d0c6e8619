import re
from importlib.resources import files
from itertools import combinations

import numpy as np
import pytest

from policysieve.report.style import INK, PAGE_COLOURS, PAPER, colours, line_looks, short_names

STYLE = files("policysieve.report").joinpath("colours.css").read_text(encoding="utf-8")
LIGHT, DARK = (
    dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", block))
    for block in re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)
)
DATA = ["blue", "vermilion", "green", "purple", "azure", "ochre", "rose", "violet"]
# Linear RGB as it is seen without red, green or blue cones, by Machado, Oliveira and Fernandes.
SIGHT = {
    "full": np.eye(3),
    "no red": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "no green": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "no blue": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}


def linear(colour: str) -> list[float]:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]


def perceived(colour: str, sight: str) -> np.ndarray:
    """A colour in OKLab, where distances are about those that eyes see."""
    seen = np.clip(SIGHT[sight] @ linear(colour), 0, 1)
    cones = [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
    opponents = [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
    return np.array(opponents) @ np.cbrt(np.array(cones) @ seen)


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear(colour), strict=True))


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


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_eight_colours_are_told_apart_by_all_eyes(theme, sight):
    for a, b in combinations([*DATA, "ink"], 2):
        apart = np.linalg.norm(perceived(theme[a], sight) - perceived(theme[b], sight))
        assert apart >= 0.075, (a, b)


def test_looks():
    looks = line_looks(32)
    assert [look.colour for look in looks[:8]] == [LIGHT[name] for name in DATA] == colours(8)
    assert len({look.marker for look in looks[:8]}) == 8
    assert len({(look.colour, look.dashes) for look in looks}) == 32
    assert len({(look.colour, look.marker) for look in looks}) == 32


def test_long_names_are_shortened_where_they_are_alike():
    long = "gradient boosting, depth 3, learning rate {}, 400 rounds, early stopping"
    names = ["forest", long.format(0.1), long.format(0.3), "x" * 40]
    short = short_names(names)
    assert short[0] == "forest"
    assert len(set(short)) == 4
    assert max(map(len, short)) <= 36
    assert "rate 0.1" in short[1]
    assert "rate 0.3" in short[2]
    assert short_names(names[:2])[1].startswith("gradient boosting, depth")
    assert short_names(names[:2])[1].endswith("ly stopping")
    assert len(set(short_names(["x" * 40, "x" * 41]))) == 2  # one is the beginning of the other
