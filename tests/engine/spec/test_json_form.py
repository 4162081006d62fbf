"""A spec becomes JSON and is read again; whatever is no spec is refused by the types of its fields."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tokcli.engine.spec.image import DecodingSpec, ImageSpec, RanksSpec
from tokcli.engine.spec.json_form import of_json, to_json

SPEC = ImageSpec(
    7, ("<a>", "\u4e2d"), (5, 7), (1, 8), ranks=RanksSpec(4, ("a|b",), exceptions=(3, 9), form="NFC"),
    decoding=DecodingSpec("one", keeps_space=(2,), steps="{}"), other_bytes={3: b"\xff", 6: b""},
    template_ids=((5,), ()), trimming="all but the first", file_notes=("a note",), cuts_by="ascii", puts_space=True,
)  # fmt: skip
WRONG: list[Any] = [None, -1, 1 << 32, True, 1.5, "x", "all of it", [], [1], ["x"], [-1], [1 << 32], [[]], [[], [], []], {}, {"a": "b"}, {"3": 1}, {"3": "x"}]  # fmt: skip


def test_what_is_written_is_read_again() -> None:
    for spec in (SPEC, ImageSpec(0, (), (), ())):
        assert of_json(ImageSpec, json.loads(json.dumps(to_json(spec)))) == spec


def places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place, *(found for key, item in inner for found in places(item, (*place, key)))]


def put(value: Any, place: tuple[Any, ...], item: Any) -> Any:
    if not place:
        return item
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[place[0]] = put(copy[place[0]], place[1:], item)
    return copy


def test_whatever_is_no_spec_is_refused_or_gives_a_spec_of_these_types() -> None:
    good = to_json(SPEC)
    refused = 0
    for place in places(good):
        for item in WRONG:
            made = put(good, place, item)
            try:
                read = of_json(ImageSpec, made)
            except ValueError:
                refused += 1
            else:  # of the right type by chance: then it is what was put there
                assert to_json(read) == made, (place, item)
    assert refused > 400


@pytest.mark.parametrize("name", ImageSpec._fields)
def test_a_member_that_lacks_or_is_too_much_is_refused(name: str) -> None:
    good = to_json(SPEC)
    with pytest.raises(ValueError, match="ImageSpec"):
        of_json(ImageSpec, {key: value for key, value in good.items() if key != name})
    with pytest.raises(ValueError, match="ImageSpec"):
        of_json(ImageSpec, {**good, f"{name}_": good[name]})
