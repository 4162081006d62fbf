"""The table of models has the form that its first lines promise, and no name in it has two tokenizers."""

from __future__ import annotations

import re

import pytest

from tokcli.registry.catalog import CATALOG
from tokcli.registry.models.estimates import MEASURED
from tokcli.registry.models.lookup import place_of
from tokcli.registry.models.spelling import normal_form, readings
from tokcli.registry.models.table import CLOSED, ModelRow, table
from tokcli.registry.network.hub_files import parse_id

ROWS = table().rows


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.names[0])
def test_a_row_has_a_tokenizer_a_source_and_a_date(row: ModelRow) -> None:
    kind, _, measured = row.tokenizer.partition(":")
    if kind == CLOSED:
        assert not measured or measured in MEASURED
    for word in row.names:
        for model in row.models(word):
            tokenizer = table().repositories.get(model.tokenizer, model.tokenizer)
            assert row.is_closed or tokenizer in CATALOG or parse_id(tokenizer) is not None
    assert row.window is None or row.window > 0
    assert row.group
    assert row.source
    assert re.fullmatch(r"20\d\d-\d\d", row.date)


def test_no_name_is_in_two_rows() -> None:
    seen: dict[str, str] = {}
    for row in ROWS:
        for word in row.names:
            for model in row.models(word):
                form = normal_form(model.name)
                assert form not in seen, (model.name, model.tokenizer, seen[form])
                seen[form] = model.tokenizer


def test_names_are_in_lower_case_and_are_read_as_themselves() -> None:
    for form, model in table().models().items():
        assert model.name == model.name.lower().replace("-date", "-DATE")
        assert next(iter(readings(model.name))) == form, model.name


def test_a_repository_of_a_row_for_each_name_is_spelled_as_the_row_has_it() -> None:
    found = table().find(normal_form("all-MiniLM-L6-v2"))
    assert found is not None
    assert (found.name, found.tokenizer) == ("all-minilm-l6-v2", "sentence-transformers/all-MiniLM-L6-v2")


def test_what_is_taken_off_a_name_never_leads_from_one_row_to_another() -> None:
    """Such as -it, -fp8 or a date: where the longer name has a row, the shorter one has its own reason to be there."""
    models = table().models()
    for model in models.values():
        for form in readings(model.name):
            if form in models and place_of(models[form].tokenizer) != place_of(model.tokenizer):
                assert any(re.fullmatch(known, model.name) for known in DIFFERENT), (model.name, models[form].name)


# The name alone is the large or the older model, and :latest the small or the newer one; a tag is older than the one without its end, or is a
# fine-tuned model's.
DIFFERENT = (
    "deepseek-r1|deepseek-v2|starcoder|solar-pro|command-r|command-r-plus",
    r"mistral:7b-(?:instruct|text)(?:-q\d.*|-fp16)?",
    "mixtral:8x22b-text|starcoder2:15b-instruct",
)
