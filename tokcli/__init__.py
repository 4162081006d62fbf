"""tokcli: byte pair encoding, exact and fast; a drop-in for tiktoken's public API, and more.

>>> import tokcli
>>> enc = tokcli.get_encoding("o200k_base")
>>> enc.encode("hello world")
[24912, 2375]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcli.engine.encoding import Encoding as Encoding
    from tokcli.errors import TokcliError as TokcliError
    from tokcli.registry.encodings import encoding_for_model as encoding_for_model
    from tokcli.registry.encodings import get_encoding as get_encoding
    from tokcli.registry.encodings import list_encoding_names as list_encoding_names
    from tokcli.registry.encodings import load_encoding as load_encoding
    from tokcli.registry.models import encoding_name_for_model as encoding_name_for_model
    from tokcli.training.train import train as train

__version__ = "0.1.0"

# Where each public name lives: `import tokcli` loads nothing, for the command line pays for every import.
_HOMES = {
    "Encoding": "tokcli.engine.encoding",
    "TokcliError": "tokcli.errors",
    "encoding_for_model": "tokcli.registry.encodings",
    "encoding_name_for_model": "tokcli.registry.models",
    "get_encoding": "tokcli.registry.encodings",
    "list_encoding_names": "tokcli.registry.encodings",
    "load_encoding": "tokcli.registry.encodings",
    "train": "tokcli.training.train",
}
__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'tokcli' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
