"""The colours of the pages, measured: WCAG's contrasts in both themes, for normal and for three kinds of colour-blind eyes.

The eyes are those of Machado, Oliveira and Fernandes (2009), at full severity: a matrix each, on linear RGB.
"""

from __future__ import annotations

import math
import re
from functools import cache
from itertools import pairwise

import pytest
from support import ROOT

from tokcli.render.colours import PALETTE

EYES = {
    "normal": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
THEMES = ("light", "dark")
FILLS = [f"t{number}" for number in range(6)]
LINES = [f"e{number}" for number in range(6)]
TEXT, PARTS = 4.5, 3.0  # WCAG 2.2: 1.4.3 (AA) for text, 1.4.11 for what is no text
Linear = tuple[float, ...]


@cache
def colours(theme: str) -> dict[str, str]:
    """The colours of theme.css by name; the dark theme changes those of the light one."""
    style = (ROOT / "tokcli" / "render" / "pages" / "theme.css").read_text()
    light, dark = style.split("@media (prefers-color-scheme: dark)", 1)
    named = re.compile(r"--([a-z0-9-]+): #([0-9a-fA-F]{3,6});")
    found = {name: code * 2 if len(code) == 3 else code for name, code in named.findall(light)}
    if theme == "dark":
        found |= dict(named.findall(dark.split("\n}\n", 1)[0]))
    return found


def linear(code: str) -> Linear:
    values = (int(code[at : at + 2], 16) / 255 for at in (0, 2, 4))
    return tuple(value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in values)


def seen(theme: str, name: str, eyes: str) -> Linear:
    """A colour of a theme as some eyes see it."""
    own = linear(colours(theme)[name])
    mixed = (sum(weight * value for weight, value in zip(row, own)) for row in EYES[eyes])
    return tuple(min(max(value, 0.0), 1.0) for value in mixed)


def luminance(colour: Linear) -> float:
    return 0.2126 * colour[0] + 0.7152 * colour[1] + 0.0722 * colour[2]


def contrast(theme: str, left: str, right: str, eyes: str) -> float:
    dark, light = sorted(luminance(seen(theme, name, eyes)) for name in (left, right))
    return (light + 0.05) / (dark + 0.05)


def lab(colour: Linear) -> tuple[float, float, float]:
    """A colour in CIELAB, under the white of sRGB."""
    red, green, blue = colour
    x = (0.4124564 * red + 0.3575761 * green + 0.1804375 * blue) / 0.95047
    z = (0.0193339 * red + 0.1191920 * green + 0.9503041 * blue) / 1.08883
    a, b, c = (t ** (1 / 3) if t > 216 / 24389 else (24389 / 27 * t + 16) / 116 for t in (x, luminance(colour), z))
    return 116 * b - 16, 500 * (a - b), 200 * (b - c)


each_theme = pytest.mark.parametrize("theme", THEMES)
each_eyes = pytest.mark.parametrize("eyes", EYES)


@each_eyes
@each_theme
def test_text_can_be_read_on_every_fill(theme: str, eyes: str) -> None:
    assert min(contrast(theme, "text", fill, eyes) for fill in FILLS) >= TEXT
    assert contrast(theme, "on-strong", "strong", eyes) >= TEXT


@each_eyes
@each_theme
def test_the_chosen_token_stands_out_from_every_fill_and_from_the_page(theme: str, eyes: str) -> None:
    assert min(contrast(theme, "strong", other, eyes) for other in [*FILLS, "page", "raised"]) >= PARTS


@each_eyes
@each_theme
def test_neighbours_differ_in_colour_and_in_lightness(theme: str, eyes: str) -> None:
    fills = [lab(seen(theme, fill, eyes)) for fill in [*FILLS, FILLS[0]]]
    assert min(math.dist(left, right) for left, right in pairwise(fills)) >= 10
    assert min(abs(left[0] - right[0]) for left, right in pairwise(fills)) >= 5


@each_eyes
@each_theme
def test_any_two_alternatives_differ_in_their_fills(theme: str, eyes: str) -> None:
    fills = [lab(seen(theme, fill, eyes)) for fill in FILLS]
    assert min(math.dist(left, right) for at, left in enumerate(fills) for right in fills[:at]) >= 5


@each_eyes
@each_theme
def test_the_line_below_a_token_shows_where_it_ends(theme: str, eyes: str) -> None:
    """The gap between two lines has the colour of the page."""
    assert min(contrast(theme, line, "page", eyes) for line in LINES) >= PARTS


@each_theme
def test_the_line_below_a_token_can_be_told_from_its_fill(theme: str) -> None:
    assert min(contrast(theme, line, fill, "normal") for line, fill in zip(LINES, FILLS)) >= PARTS


@each_eyes
@each_theme
def test_words_and_controls_have_contrast(theme: str, eyes: str) -> None:
    words = [("text", "page"), ("text", "raised"), ("soft", "page"), ("soft", "raised"), ("accent", "page")]
    words += [("accent", "tint"), ("page", "accent"), ("alarm", "page")]
    assert min(contrast(theme, *pair, eyes) for pair in words) >= TEXT
    assert min(contrast(theme, *pair, eyes) for pair in [("edge", "page"), ("accent", "raised")]) >= PARTS


def hue(code: str) -> float:
    _, a, b = lab(linear(code))
    return math.degrees(math.atan2(b, a))


@each_theme
@pytest.mark.parametrize("number", range(6))
def test_the_fills_have_the_hues_of_the_terminal(theme: str, number: int) -> None:
    for name in (FILLS[number], LINES[number]):
        apart = abs(hue(colours(theme)[name]) - hue(PALETTE[number][1:]))
        assert min(apart, 360 - apart) <= 30


def test_a_theme_has_every_colour_of_the_other_but_none_twice() -> None:
    assert colours("light").keys() == colours("dark").keys()
    assert len({colours("light")[name] for name in FILLS}) == len(FILLS)
