"""Finds vocabularies by name and makes each an `Encoding`: registered names, models, files, urls and repositories.

The package knows the catalog of registered encodings and of models, the network and its cache (network/), and what is
kept of files that were read once (compiled/). It leaves the file formats to tokcli.formats, and text and ids to
tokcli.engine. It also has the public names of tiktoken.registry, which load nothing until they are used:

>>> import tokcli.registry
>>> tokcli.registry.get_encoding("gpt2").name
'gpt2'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcli.registry.registered import ENCODING_CONSTRUCTORS as ENCODING_CONSTRUCTORS
    from tokcli.registry.registered import ENCODINGS as ENCODINGS
    from tokcli.registry.registered import get_encoding as get_encoding
    from tokcli.registry.registered import list_encoding_names as list_encoding_names

__all__ = ["ENCODINGS", "ENCODING_CONSTRUCTORS", "get_encoding", "list_encoding_names"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'tokcli.registry' has no attribute {name!r}")
    from tokcli.registry import registered  # which, as any module here, loads this one first

    return getattr(registered, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
