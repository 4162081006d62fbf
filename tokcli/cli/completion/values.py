"""The values that an option or argument may have, by what its row says that it completes."""

from __future__ import annotations

import os
from typing import NamedTuple

import click

from tokcli.cli.declare.option import Argument, Option
from tokcli.registry.catalog import CATALOG
from tokcli.registry.models.lookup import find_model, model_names, place_of
from tokcli.registry.models.table import CLOSED, table

DEFAULT_ENCODING = "o200k_base"
PATHS = {"folder": "folder", **dict.fromkeys(("file", "encoding", "encoding or model", "encodings"), "file")}
ESTIMATED = "with --estimate"
RESERVED = "<|reserved_"  # a thousand special tokens that nobody types


class Value(NamedTuple):
    """A word that may be typed, and what it does in one sentence, or ""."""

    text: str
    help: str = ""


def values_of(row: Option | Argument, typed: str, encoding: str, model: str) -> tuple[list[Value], str]:
    """Return the values of an option of which some is typed, and whether it may be a "file" or a "folder".

    Special tokens are those of the encoding, or of the model if there is one.
    """
    paths = PATHS.get(row.completes or "", "")
    if isinstance(row.type, click.Choice):
        return [Value(choice) for choice in row.type.choices], paths
    if row.completes in ("encoding", "encoding or model", "encodings", "pattern"):
        return _encodings(row.completes, typed), paths
    if row.completes == "model":
        return _models(), paths
    if row.completes == "special token":
        return [Value(name) for name in _special_tokens(encoding, model) if not name.startswith(RESERVED)], paths
    return [Value("local", "Work in processes of this computer.")] if row.completes == "cluster" else [], paths


def _encodings(completes: str, typed: str) -> list[Value]:
    """Return the registered encodings; or, where none begins so, the tokenizers or models that may be named instead."""
    if completes == "pattern" or any(name.startswith(typed) for name in CATALOG):
        return [Value(name) for name in CATALOG]
    if completes == "encoding":
        return [Value(name, repository) for name, repository in table().repositories.items()]
    return [model for model in _models() if model.help != ESTIMATED]


def _models() -> list[Value]:
    """Return the models that have a tokenizer in public, with it, and those whose tokens can be estimated."""
    found = []
    for name in model_names():
        model = find_model(name)
        if model is not None and (model.row is None or not model.row.is_closed):
            found.append(Value(name, place_of(model.tokenizer)))
        elif model is not None and model.tokenizer != CLOSED:
            found.append(Value(name, ESTIMATED))
    return found


def _special_tokens(encoding: str, model: str) -> list[str]:
    """Return the special tokens of a registered encoding; of others they are in files, which nobody waits for."""
    found = find_model(model) if model else None
    name = encoding or os.environ.get("TOKCLI_ENCODING") or DEFAULT_ENCODING
    if model:
        name = "" if found is None else place_of(found.tokenizer)
    return list(CATALOG[name].special_tokens) if name in CATALOG else []
