"""Names from public lists: each is answered by its own tokenizer, estimated on request only, or refused; none is guessed."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import ok

from tokcli.errors import UnknownModelError
from tokcli.registry.models.estimates import estimate_for_model
from tokcli.registry.models.lookup import find_model, place_of, tokenizer_for_model

FILE = Path(__file__).parents[2] / "data" / "models" / "names.txt"
ROWS = [line.split("\t") for line in FILE.read_text("utf-8").splitlines() if not line.startswith("#")]
LISTS = ("litellm", "openrouter", "ollama", "hub", "typed")


def answer(name: str) -> str:
    """Return how a name is answered, in the words of the file."""
    found = find_model(name)
    try:
        place, about = tokenizer_for_model(name)
    except UnknownModelError:
        return "estimate" if found is not None and ":" in found.tokenizer else "refused"
    assert found is not None
    assert place == place_of(found.tokenizer)
    assert (about == "") == (place.count("/") == 0 and not found.prefix)
    return f"{place} noted" if found.prefix else place


@pytest.mark.parametrize("kind", LISTS)
def test_each_name_is_answered_as_it_has_to_be(kind: str) -> None:
    rows = {name: how for found, name, how in ROWS if found == kind}
    assert {name: answer(name) for name in rows} == rows


def test_there_are_more_than_300_names_of_each_kind_some() -> None:
    names = [name for _, name, _ in ROWS]
    assert len(names) == len(set(names)) > 300
    assert {kind for kind, _, _ in ROWS} == {*LISTS}
    kinds = [how if how in ("refused", "estimate") else "exact" for _, _, how in ROWS]
    assert all(kinds.count(kind) > 15 for kind in ("exact", "estimate", "refused"))


def test_models_that_can_be_estimated_have_a_factor_and_its_source() -> None:
    for _, name, how in ROWS:
        if how == "estimate":
            found = estimate_for_model(name)
            assert found is not None
            assert found.low < found.factor < found.high
            assert found.source


def test_the_command_says_by_which_repository_a_name_was_answered() -> None:
    assert ok("count", "-m", "azure/eu/gpt-5.5", "-t", "hello world") == b"2\n"
