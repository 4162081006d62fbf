"""Numbers with a point or an exponent, as Hugging Face's tokenizers reads them from JSON: not always to the nearest.

Its parser (serde_json, without the feature float_roundtrip) makes digits a whole number of 64 bits, and then divides.
The last bit that this gets wrong decides between two ways of the same score in a Unigram model.
"""

from __future__ import annotations

_TOO_LARGE = 1 << 64
_SHORT = 20  # characters, of which 19 digits fit into 64 bits
_POWERS = [float(f"1e{power}") for power in range(_SHORT)]
_LARGEST_POWER = 308  # of ten, in serde_json's table


def serde_float(text: str) -> float:
    """The number in a JSON text; infinity or zero where it is out of range.

    >>> serde_float("-8.1e0"), serde_float("-7.2233899651048645"), float("-7.2233899651048645")
    (-8.1, -7.223389965104864, -7.2233899651048645)
    """
    whole, _, fraction = text.partition(".")
    if len(text) <= _SHORT and fraction.isdecimal() and (number := int(whole + fraction)):
        return number / _POWERS[len(fraction)]
    mantissa, _, written = text.lower().partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("-")
    exponent = -len(fraction) + (max(-9999, min(9999, int(written))) if written else 0)
    number = int(digits)
    if number >= _TOO_LARGE:  # the digits that no longer fit are left out, in a whole number counted
        for size in (20, 19):
            number = int(digits.lstrip("0")[:size])
            if number < _TOO_LARGE:
                break
        exponent += len(digits.lstrip("0")) - size
    value = float(number)
    while exponent < -_LARGEST_POWER and value:
        value, exponent = value / 1e308, exponent + _LARGEST_POWER
    if value:
        value = float("inf") if exponent > _LARGEST_POWER else _scaled(value, exponent)
    return -value if text[0] == "-" else value


def _scaled(value: float, exponent: int) -> float:
    return value * float(f"1e{exponent}") if exponent >= 0 else value / float(f"1e{-exponent}")
