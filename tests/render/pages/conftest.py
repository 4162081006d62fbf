"""One browser for the tests of pages, and a tab for each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import chromium
import pytest


@pytest.fixture(scope="module")
def browser() -> Iterator[chromium.Browser]:
    with chromium.running() as running:
        yield running


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture
def tab(browser: chromium.Browser) -> Iterator[chromium.Tab]:
    """A tab that, in the end, has asked for the files opened in it and no more, and has never complained."""
    one = chromium.Tab(browser)
    yield one
    assert one.complaints() == []
    assert one.requests() == one.opened
    shown = one.value("performance.getEntriesByName('shown')[0].startTime")
    print(
        f"\n  shown {shown:.0f} ms after it was asked for; nothing in the console; no request but for the file itself"
    )
