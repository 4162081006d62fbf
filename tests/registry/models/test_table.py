"""The table of models has the form that its first lines promise, and no name in it has two tokenizers."""

from __future__ import annotations

import re

import pytest

from tokcli.registry.catalog import CATALOG
from tokcli.registry.models.estimates import MEASURED
from tokcli.registry.models.spelling import normal_form, readings
from tokcli.registry.models.table import CLOSED, ModelRow, expanded, table
from tokcli.registry.network.hub_files import parse_id

ROWS = table().rows


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.names[0])
def test_a_row_has_a_tokenizer_a_source_and_a_date(row: ModelRow) -> None:
    kind, _, measured = row.tokenizer.partition(":")
    if kind == CLOSED:
        assert not measured or measured in MEASURED
    else:
        assert row.tokenizer in CATALOG or parse_id(table().repositories.get(row.tokenizer, row.tokenizer)) is not None
    assert row.window is None or row.window > 0
    assert row.group
    assert row.source
    assert re.fullmatch(r"20\d\d-\d\d", row.date)


def test_no_name_is_in_two_rows() -> None:
    seen: dict[str, ModelRow] = {}
    for row in ROWS:
        for names in row.names:
            for name in expanded(names):
                assert normal_form(name) not in seen, (name, row.tokenizer, seen[normal_form(name)].tokenizer)
                seen[normal_form(name)] = row


def test_names_are_in_lower_case_and_are_read_as_themselves() -> None:
    for form, (name, _) in table().models().items():
        assert name == name.lower().replace("-date", "-DATE")
        assert next(iter(readings(name))) == form, name


def test_what_is_taken_off_a_name_never_leads_from_one_row_to_another() -> None:
    """Such as -it, -fp8 or a date: where the longer name has a row, the shorter one has its own reason to be there."""
    models = table().models()
    for name, row in models.values():
        for form in readings(name):
            if form in models and models[form][1].tokenizer != row.tokenizer:
                assert name in DIFFERENT, (name, models[form][0])


DIFFERENT = {"deepseek-r1", "deepseek-v2"}  # the names alone are the large ones, with :latest a small one
