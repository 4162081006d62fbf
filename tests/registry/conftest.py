"""Fixtures: a TLS server on this machine, a cache folder of the test's own, and which files were parsed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from loopback import authority, server  # noqa: F401 - fixtures

from tokcli.formats import read as vocabulary


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the cache folder of this test, which does not exist yet."""
    for name in ("TOKCLI_OFFLINE", "TOKCLI_TIMEOUT", "TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "cache"
    monkeypatch.setenv("TOKCLI_CACHE_DIR", str(folder))
    return folder


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of the files that are parsed."""
    found: list[str] = []
    parse: Callable[[Any], Any] = vocabulary.parse_sources

    def noting(sources: vocabulary.Sources) -> Any:
        found.append(str(sources.files[0][0]))
        return parse(sources)

    monkeypatch.setattr(vocabulary, "parse_sources", noting)
    return found
