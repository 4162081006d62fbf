"""The colours of tokens and of a pattern's alternatives, on every kind of terminal and for colour-blind eyes.

Neighbouring tokens differ in colour; an alternative has the same one in every view of `split`, for rich and in plain
strings.
"""

from __future__ import annotations

from functools import lru_cache

from rich.color import Color, ColorSystem, ColorType
from rich.style import Style

# Colours of Okabe and Ito, in the order that keeps neighbours furthest apart for normal and colour-blind eyes (the
# least CIELAB distance of neighbours is 36, under Machado's models of all three kinds), also when a terminal of 256 or
# of 16 colours rounds them. The text on them is black: contrast 5.4 or more, whatever the terminal's own colours.
PALETTE = ("#56B4E9", "#E69F00", "#009E73", "#F0E442", "#CC79A7", "#D55E00")
_OF_SIXTEEN = {"#D55E00": 9}  # bright red: rounding would give it the colour of the second one


class Background(Color):
    """A colour of PALETTE that stays different from the others on a terminal with only 16 colours."""

    def downgrade(self, system: ColorSystem) -> Color:  # type: ignore[override]
        """Return the colour that a terminal with this system of colours shows instead."""
        number = _OF_SIXTEEN.get(self.name) if system == ColorSystem.STANDARD else None
        return super().downgrade(system) if number is None else Color.from_ansi(number)


BACKGROUNDS = tuple(Background(colour, ColorType.TRUECOLOR, triplet=Color.parse(colour).triplet) for colour in PALETTE)
STYLES = tuple(Style(color="#000000", bgcolor=colour) for colour in BACKGROUNDS)


# A seventh alternative has the first one's colour again, so it is underlined, and a thirteenth one in italics.
_ROUNDS = ({}, {"underline": True}, {"italic": True}, {"underline": True, "italic": True})  # type: ignore[var-annotated]
_SYSTEMS = {"standard": ColorSystem.STANDARD, "256": ColorSystem.EIGHT_BIT, "truecolor": ColorSystem.TRUECOLOR}


@lru_cache(maxsize=256)
def style_of(alternative: str) -> Style:
    """Return the style of an alternative by its name: black on a colour of its own, and no style for `-`.

    >>> style_of("a1").bgcolor == style_of("a7").bgcolor, style_of("a1") == style_of("a7")
    (True, False)
    """
    if not (alternative[1:].isascii() and alternative[1:].isdecimal()):
        return Style()
    turn, index = divmod(int(alternative[1:]) - 1, len(BACKGROUNDS))
    return Style(color="#000000", bgcolor=BACKGROUNDS[index], **_ROUNDS[turn % len(_ROUNDS)])


class Painter:
    """Puts the escape codes of colours around text; `system` is rich's name of a colour system, if there is colour."""

    def __init__(self, system: str | None) -> None:
        self._system = _SYSTEMS[system] if system is not None else None

    def __call__(self, text: str, alternative: str) -> str:
        """Return a text, which is already sanitized, in the colour of an alternative."""
        if self._system is None or not text:
            return text
        return style_of(alternative).render(text, color_system=self._system)
