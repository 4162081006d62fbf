"""The values that an option or argument may have, by what its row says that it completes."""

from __future__ import annotations

import os
from typing import NamedTuple

import click

from tokcli.cli.declare.option import Argument, Option
from tokcli.errors import UnknownModelError
from tokcli.registry.catalog import CATALOG
from tokcli.registry.model_names import encoding_name_for_model
from tokcli.registry.models.lookup import find_model, model_names, place_of
from tokcli.registry.models.table import CLOSED

DEFAULT_ENCODING = "o200k_base"
PATHS = {"file": "file", "folder": "folder", "encoding": "file", "encodings": "file"}
RESERVED = "<|reserved_"  # a thousand special tokens that nobody types


class Value(NamedTuple):
    """A word that may be typed, and what it does in one sentence, or ""."""

    text: str
    help: str = ""


def values_of(row: Option | Argument, encoding: str = "", model: str = "") -> tuple[list[Value], str]:
    """Return the values of an option beside this encoding or model, and whether it may be a "file" or a "folder"."""
    paths = PATHS.get(row.completes or "", "")
    if isinstance(row.type, click.Choice):
        return [Value(choice) for choice in row.type.choices], paths
    if row.completes in ("encoding", "encodings", "pattern"):
        return [Value(name) for name in CATALOG], paths
    if row.completes == "model":
        return _models(), paths
    if row.completes == "special token":
        return [Value(name) for name in _special_tokens(encoding, model) if not name.startswith(RESERVED)], paths
    return [Value("local", "Work in processes of this computer.")] if row.completes == "cluster" else [], paths


def _models() -> list[Value]:
    """Return the models that have a tokenizer in public, with it, and those whose tokens can be estimated."""
    found = []
    for name in model_names():
        model = find_model(name)
        if model is not None and (model.row is None or not model.row.is_closed):
            found.append(Value(name, place_of(model.tokenizer)))
        elif model is not None and model.tokenizer != CLOSED:
            found.append(Value(name, "with --estimate"))
    return found


def _special_tokens(encoding: str, model: str) -> list[str]:
    """Return the special tokens of a registered encoding; of others they are in files, which nobody waits for."""
    name = encoding or os.environ.get("TOKCLI_ENCODING") or DEFAULT_ENCODING
    if model:
        try:
            name = encoding_name_for_model(model)
        except UnknownModelError:
            return []
    return list(CATALOG[name].special_tokens) if name in CATALOG else []
