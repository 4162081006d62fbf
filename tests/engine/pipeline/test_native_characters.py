"""Native tables of characters say what those of Python say, of every code point."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import get_args

import pytest

from tokcli.engine import backend
from tokcli.engine.base.arguments import NO_ID
from tokcli.engine.native_models.text_model import CHARS, WHOLE, model_of
from tokcli.engine.unicode import classes, forms

pytestmark = [pytest.mark.skipif(backend.native() is None, reason="there are no native tables"), pytest.mark.no_cover]

POINTS = [point for point in range(0x110000) if not 0xD800 <= point < 0xE000]
CONTEXTS = ["{}", "a{}", "{}\u0323\u0301b", "\u1100{}\u11a8", "\u0915{}\u093c ", "a\u0316{}\u0301"]


def native(kind: str, name: str = "") -> Callable[[str], str | None]:
    """Return what a native normalizer makes of a text, by a model that has a token for each byte."""
    model = model_of({})
    model.set_unknown(NO_ID, array("I", range(256)), False)
    model.use_whole(True)
    model.set_words(WHOLE, b" ", False)
    model.add_step(CHARS, b"", b"", False, False)
    steps = [(kind, name)]
    model.set_characters(steps, b"", b"", b"")

    def normalize(text: str) -> str | None:
        ids = model.encode(text, b"", b"", 1, True)
        return None if ids is None else bytes(ids).decode()

    return normalize


@pytest.mark.slow
@pytest.mark.parametrize("form", get_args(forms.Form))
def test_every_character_has_the_form_that_it_has_in_python_wherever_it_is(form: forms.Form) -> None:
    normalize = native("form", form)
    for context in CONTEXTS:
        for at in range(0, len(POINTS), 256):
            text = " ".join(context.format(chr(point)) for point in POINTS[at : at + 256])
            assert normalize(text) == forms.normalize(form, text), f"{context!a} from U+{POINTS[at]:04X}"


@pytest.mark.parametrize("name", get_args(classes.Class))
def test_every_character_is_in_the_classes_that_it_is_in_in_python(name: classes.Class) -> None:
    text = "".join(map(chr, POINTS))
    assert native("without", name)(text) == classes.without(name, text)


def test_every_character_has_the_lower_case_that_it_has_in_python() -> None:
    text = "".join(map(chr, POINTS))
    assert native("lower")(text) == "".join(map(classes.lower_character, text))


def test_many_marks_are_put_in_order_in_linear_time() -> None:
    run = "\u0301\u0323\u0327" * 300_000
    made = native("form", "NFD")(f"e{run}e")
    assert made == "e" + "\u0327" * 300_000 + "\u0323" * 300_000 + "\u0301" * 300_000 + "e"


def test_steps_that_there_are_not_are_refused() -> None:
    for kind, name in (("shape", ""), ("form", "NFX"), ("without", "CONTROL")):
        with pytest.raises(ValueError, match="name"):
            native(kind, name)
    assert native("lower")("A\ud800") == "a\ufffd"
