"""Locks that survive a fork: in the child, no other thread is left to release them.

A fork copies only the thread that calls it. A lock that another thread held at that moment would stay held in the child
for ever, so each lock is reset there; what it guards is in order, as the other thread was stopped between two steps.
"""

from __future__ import annotations

import os
import sys
import threading
from functools import cached_property
from importlib import _bootstrap
from typing import Any
from weakref import WeakSet

_locks: WeakSet[Any] = WeakSet()


def new_lock() -> threading.RLock:
    """Return a reentrant lock, which is released in the child of a fork."""
    lock = threading.RLock()
    _locks.add(lock)
    return lock


def _open_all() -> None:
    """Release the locks of `new_lock` and, before Python 3.12, the lock that each `cached_property` has."""
    for lock in _locks:
        lock._at_fork_reinit()
    _open_imports()
    if sys.version_info >= (3, 12):
        return
    for name, module in list(sys.modules.items()):
        if name.startswith("tokcli.") and module is not None:
            for kind in list(vars(module).values()):
                members: list[Any] = list(vars(kind).values()) if isinstance(kind, type) else []
                for value in members:
                    if isinstance(value, cached_property):
                        setattr(value, "lock", threading.RLock())  # noqa: B010 - which no later Python has


def _open_imports() -> None:
    """Forget imports of tokcli and regex that other threads began: none will end, and Python waits for their locks."""
    locks: dict[str, Any] = getattr(_bootstrap, "_module_locks", {})
    for name, reference in list(locks.items()):
        owner = getattr(reference(), "owner", None)
        if name.partition(".")[0] in ("tokcli", "regex") and owner not in (None, threading.get_ident()):
            del locks[name]
            sys.modules.pop(name, None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_open_all)
