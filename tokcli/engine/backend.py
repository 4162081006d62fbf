"""Which backend runs: the only importer of the native module.

TOKCLI_BACKEND=native|python|auto (the default) chooses; `native` is an error where the module was not built.
"""

from __future__ import annotations

import os
from functools import lru_cache
from importlib import import_module
from types import ModuleType
from typing import Literal

from tokcli.errors import TokcliError

VARIABLE = "TOKCLI_BACKEND"


@lru_cache(maxsize=1)
def native() -> ModuleType | None:
    """The native module, or None where it was not built or not wanted."""
    wanted = os.environ.get(VARIABLE, "auto") or "auto"
    if wanted not in ("auto", "native", "python"):
        raise TokcliError(f"{VARIABLE}={wanted}: no such backend", "Set it to auto, native or python.")
    if wanted == "python":
        return None
    try:
        return import_module("tokcli.engine._native")
    except ImportError as error:
        if wanted == "native":
            raise TokcliError(
                f"{VARIABLE}=native, but the native backend is not here: {error}",
                "Install again where there is a C++20 compiler.",
            ) from None
        return None


def name() -> Literal["native", "python"]:
    """The word that `tokcli --version` prints."""
    return "python" if native() is None else "native"
