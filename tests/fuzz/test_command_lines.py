"""Random command lines keep the rule of all runs: a status of the contract, few and harmless words, whole files."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_lines import Fuzzer


@pytest.fixture(autouse=True)
def _at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKCLI_OFFLINE", "1")
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_random_command_lines_keep_the_rule(seed: int, tmp_path: Path) -> None:
    assert list(Fuzzer(tmp_path, seed).broken(60, forked=True)) == []


def test_processes_of_their_own_keep_the_rule(tmp_path: Path) -> None:
    assert list(Fuzzer(tmp_path, 3).broken(8, forked=False)) == []


@pytest.mark.soak
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_many_random_command_lines_keep_the_rule(tmp_path: Path) -> None:
    assert list(Fuzzer(tmp_path, 4).broken(1500, forked=True)) == []
