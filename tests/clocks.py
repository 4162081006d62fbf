"""Clocks that tests set: nobody waits for a day to pass."""

from __future__ import annotations

import time
from types import ModuleType

import pytest


def set_forward(module: ModuleType, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `time.time` of a module, which has imported `time`, be some seconds later than it is."""
    now = time.time()
    monkeypatch.setattr(module.time, "time", lambda: now + seconds)
