"""The names of `tiktoken.model`, so that programs written for it need only change the package's name."""

from __future__ import annotations

from tokcli.registry.encodings import encoding_for_model as encoding_for_model
from tokcli.registry.model_names import MODEL_PREFIX_TO_ENCODING as MODEL_PREFIX_TO_ENCODING
from tokcli.registry.model_names import MODEL_TO_ENCODING as MODEL_TO_ENCODING
from tokcli.registry.model_names import encoding_name_for_model as encoding_name_for_model

__all__ = ["MODEL_PREFIX_TO_ENCODING", "MODEL_TO_ENCODING", "encoding_for_model", "encoding_name_for_model"]
