"""tokcli: byte pair encoding, exact and fast; a drop-in for tiktoken's public API, and more.

>>> import tokcli
>>> enc = tokcli.get_encoding("o200k_base")
>>> enc.encode("hello world")
[24912, 2375]

tiktoken's modules are here too: `tokcli.core`, `tokcli.load`, `tokcli.model` and `tokcli.registry`.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in `typing`, which the program imports only when a Ctrl-C cannot show a traceback any more
if TYPE_CHECKING:
    from tokcli import core as core
    from tokcli import load as load
    from tokcli import model as model
    from tokcli import registry as registry
    from tokcli.engine.chunking.text_chunks import TextChunk as TextChunk
    from tokcli.engine.chunking.text_chunks import chunks as chunks
    from tokcli.engine.encoding import Encoding as Encoding
    from tokcli.errors import TokcliError as TokcliError
    from tokcli.registry.encodings import encoding_for_model as encoding_for_model
    from tokcli.registry.encodings import load_encoding as load_encoding
    from tokcli.registry.model_names import encoding_name_for_model as encoding_name_for_model
    from tokcli.registry.registered import get_encoding as get_encoding
    from tokcli.registry.registered import list_encoding_names as list_encoding_names
    from tokcli.training.train import train as train

del annotations  # `tokcli.annotations` would be no name of the package

__version__ = "0.1.0"

# The module of each public name. `import tokcli` loads none of them, because the command line pays for every import.
_HOMES = {
    "Encoding": "tokcli.engine.encoding",
    "TextChunk": "tokcli.engine.chunking.text_chunks",
    "TokcliError": "tokcli.errors",
    "chunks": "tokcli.engine.chunking.text_chunks",
    "encoding_for_model": "tokcli.registry.encodings",
    "encoding_name_for_model": "tokcli.registry.model_names",
    "get_encoding": "tokcli.registry.registered",
    "list_encoding_names": "tokcli.registry.registered",
    "load_encoding": "tokcli.registry.encodings",
    "train": "tokcli.training.train",
}
_MODULES = ("core", "load", "model", "registry")
__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> object:
    if name not in _HOMES and name not in _MODULES:
        raise AttributeError(f"module 'tokcli' has no attribute {name!r}")
    if name in _MODULES:
        value = __import__(f"tokcli.{name}", fromlist=[name])  # `importlib` would be one more import of each start
    else:
        value = getattr(__import__(_HOMES[name], fromlist=[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    own = [name for name in globals() if name.startswith("__")]
    return sorted({*own, *__all__, *_MODULES})
