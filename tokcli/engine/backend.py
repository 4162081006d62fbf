"""Chooses the backend; no other module imports the native code.

The variable TOKCLI_BACKEND chooses: native, python, or auto (the default), which is native where the module was built.
"""

from __future__ import annotations

import os
from functools import lru_cache
from importlib import import_module
from mmap import mmap
from types import ModuleType
from typing import Literal

from tokcli.errors import TokcliError

VARIABLE = "TOKCLI_BACKEND"
REASON = os.path.join(os.path.dirname(__file__), "no_native.txt")  # written where the package was built without it
is_program = False  # whether the process is tokcli's own, so that its signals and its allocator may be set
_IMPORT_BYTES = 16 << 20  # must be free: running out of memory while the native module is initialised ends the process


@lru_cache(maxsize=1)
def native() -> ModuleType | None:
    """Return the native module, if it was built and is wanted.

    MemoryError where there is too little memory for it; TokcliError where TOKCLI_BACKEND is not a backend, or says
    native and the module was not built.
    """
    wanted = os.environ.get(VARIABLE, "auto") or "auto"
    if wanted not in ("auto", "native", "python"):
        raise TokcliError("no such backend", "Set it to auto, native or python.", where=f"{VARIABLE}={wanted}")
    if wanted == "python":
        return None
    try:
        mmap(-1, _IMPORT_BYTES).close()
    except OSError as error:
        raise MemoryError(str(error)) from None
    try:
        module = import_module("tokcli.engine._native")
    except ImportError as error:
        if wanted == "native":
            raise TokcliError(
                f"{VARIABLE}=native, but the native backend is not installed: {_reason(error)}",
                "Install tokcli again where there is a C++20 compiler.",
            ) from None
        return None
    if is_program:
        module.end_when_files_are_cut()
        module.keep_freed_memory()
        module.keep_spare_memory()
    return module


def is_native() -> bool:
    """Return whether there is native code, which alone has what is too large to be written twice."""
    return native() is not None


def code() -> ModuleType:
    """Return the module whose functions do the work: the native one, or `reference`, which has the small ones."""
    return native() or import_module("tokcli.engine.reference")


def missing() -> str | None:
    """Return why there is no native backend; None if there is one, or TOKCLI_BACKEND says python."""
    if os.environ.get(VARIABLE) == "python" or native() is not None:
        return None
    try:
        import_module("tokcli.engine._native")
    except ImportError as error:
        return _reason(error)
    return None


def _reason(error: ImportError) -> str:
    """Return what the build says of an import that fails, or what Python says."""
    try:
        with open(REASON, encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        is_absent = isinstance(error, ModuleNotFoundError)
        return "not built for this Python" if is_absent else f"it does not load: {error}"


def name() -> Literal["native", "python"]:
    """Return the name of the backend, which `tokcli --version` prints."""
    return "python" if native() is None else "native"
