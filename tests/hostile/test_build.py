"""What builds the package is what its developers have seen: releases that are named exactly."""

from __future__ import annotations

import re

from support import ROOT


def test_each_requirement_of_the_build_is_one_release() -> None:
    requires = re.search(
        r"^\[build-system\]\nrequires = \[(.*)\]$", (ROOT / "pyproject.toml").read_text(), re.MULTILINE
    )
    assert requires is not None
    for requirement in requires[1].split(", "):
        assert re.fullmatch(r'"[a-z-]+==[0-9]+(\.[0-9]+)+"', requirement)
