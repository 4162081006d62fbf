"""The worked examples in docstrings are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import tokcli

MODULES = ["tokcli", *(m.name for m in pkgutil.walk_packages(tokcli.__path__, "tokcli.") if "_native" not in m.name)]


@pytest.mark.parametrize("name", [name for name in MODULES if name != "tokcli.__main__"])
def test_the_examples_in_docstrings_are_true(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
