"""Models as data: which tokenizer a model has, by its name. OpenAI's are in model_names.py, as tiktoken has them.

The others are families of names, each with the repository of the Hugging Face hub that holds its tokenizer; the
repositories are the makers' own. A test checks the table's form; nothing here uses the network.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import NamedTuple

from tokcli.errors import UnknownModelError, did_you_mean
from tokcli.registry.model_names import MODEL_PREFIX_TO_ENCODING, MODEL_TO_ENCODING, encoding_name_for_model, is_model
from tokcli.registry.model_windows import MODEL_TO_WINDOW, window_for_model

DATE = "2025-10"  # when the rows below were gathered
NOT_PUBLIC = ""  # in place of a tokenizer
TIKTOKEN = "tiktoken 0.14"


class ModelFamily(NamedTuple):
    """A family of models: a shell pattern of their names, in lower case, and what is known about all of them.

    `tokenizer` is a registered encoding or a repository of the hub, or NOT_PUBLIC if it is not published. `window` is
    the context window in tokens; None if it is not known or differs within the family. `source` says where the row
    comes from.
    """

    name: str
    tokenizer: str
    window: int | None
    source: str


# each row: names (the first row with one that fits counts), the tokenizer, the window
_FAMILIES = (
    ("llama-3.1* llama3.1* meta-llama-3.1*", "meta-llama/Llama-3.1-8B", 131_072),
    ("llama-3.2* llama3.2*", "meta-llama/Llama-3.2-1B", 131_072),
    ("llama-3.3* llama3.3*", "meta-llama/Llama-3.3-70B-Instruct", 131_072),
    ("llama-4* llama4*", "meta-llama/Llama-4-Scout-17B-16E-Instruct", None),
    ("llama-3* llama3* meta-llama-3*", "meta-llama/Meta-Llama-3-8B", 8_192),
    ("llama-2* llama2*", "meta-llama/Llama-2-7b-hf", 4_096),
    ("codellama*", "codellama/CodeLlama-7b-hf", 16_384),
    ("qwen3* qwen-3*", "Qwen/Qwen3-8B", None),
    ("qwen2.5* qwen-2.5*", "Qwen/Qwen2.5-7B", None),
    ("qwen2* qwen-2*", "Qwen/Qwen2-7B", None),
    ("qwq*", "Qwen/QwQ-32B", 131_072),
    ("deepseek-r1*", "deepseek-ai/DeepSeek-R1", 131_072),
    ("deepseek-v3* deepseek-chat deepseek-reasoner", "deepseek-ai/DeepSeek-V3", 131_072),
    ("deepseek-v2*", "deepseek-ai/DeepSeek-V2", 131_072),
    ("deepseek-coder*", "deepseek-ai/deepseek-coder-6.7b-base", 16_384),
    ("mistral-7b*-v0.3", "mistralai/Mistral-7B-v0.3", 32_768),
    ("mistral-7b*", "mistralai/Mistral-7B-v0.1", 32_768),
    ("mixtral-8x7b*", "mistralai/Mixtral-8x7B-v0.1", 32_768),
    ("mixtral-8x22b*", "mistralai/Mixtral-8x22B-v0.1", 65_536),
    ("mistral-nemo* open-mistral-nemo*", "mistralai/Mistral-Nemo-Base-2407", 131_072),
    ("mistral-small-24b* mistral-small-3*", "mistralai/Mistral-Small-24B-Base-2501", None),
    ("mistral-large*", "mistralai/Mistral-Large-Instruct-2411", 131_072),
    ("ministral-8b*", "mistralai/Ministral-8B-Instruct-2410", 131_072),
    ("codestral*", "mistralai/Codestral-22B-v0.1", None),
    ("gemma-3* gemma3*", "google/gemma-3-4b-it", None),
    ("gemma-2* gemma2*", "google/gemma-2-2b", 8_192),
    ("gemma-7b* gemma-1*", "google/gemma-2b", 8_192),
    ("phi-4*", "microsoft/phi-4", None),
    ("phi-3*", "microsoft/Phi-3-mini-4k-instruct", None),
    ("phi-2", "microsoft/phi-2", 2_048),
    ("command-r*", "CohereLabs/c4ai-command-r-v01", 131_072),
    ("command-a*", "CohereLabs/c4ai-command-a-03-2025", 262_144),
    ("glm-4.5*", "zai-org/GLM-4.5", 131_072),
    ("minimax-m2*", "MiniMaxAI/MiniMax-M2", None),
    ("smollm3*", "HuggingFaceTB/SmolLM3-3B", None),
    ("smollm2*", "HuggingFaceTB/SmolLM2-1.7B", 8_192),
    ("smollm*", "HuggingFaceTB/SmolLM-1.7B", 2_048),
    ("olmo-2*", "allenai/OLMo-2-1124-7B", 4_096),
    ("granite-3*", "ibm-granite/granite-3.3-8b-base", None),
    ("falcon-7b* falcon-40b*", "tiiuae/falcon-7b", 2_048),
    ("whisper-large-v3*", "openai/whisper-large-v3", 448),
    ("whisper*", "openai/whisper-large-v2", 448),
    ("bge-m3", "BAAI/bge-m3", 8_192),
    ("bge-*-en*", "BAAI/bge-base-en-v1.5", 512),
    ("all-minilm-l6*", "sentence-transformers/all-MiniLM-L6-v2", 512),
    ("multilingual-e5*", "intfloat/multilingual-e5-base", 512),
    ("nomic-embed-text*", "nomic-ai/nomic-embed-text-v1.5", 8_192),
    ("bert-base-uncased", "google-bert/bert-base-uncased", 512),
    ("roberta-base", "FacebookAI/roberta-base", 512),
    ("t5-small t5-base t5-large", "google-t5/t5-base", 512),
)
# Google's own tokenizer for using these models locally (google-genai, LocalTokenizer) is Gemma's.
_GEMINI = (("gemini-1.5*", "google/gemma-2-2b", None), ("gemini-2*", "google/gemma-3-4b-it", 1_048_576))
_NOT_PUBLIC = "claude* grok* gemini* nova-* amazon-nova* palm-2* ernie* hunyuan-t1* doubao*"


def _rows() -> Iterator[ModelFamily]:
    for names, repository, window in _FAMILIES:
        yield from (ModelFamily(name, repository, window, f"its makers' repository, {DATE}") for name in names.split())
    for name, repository, window in _GEMINI:
        yield ModelFamily(name, repository, window, f"google-genai's LocalTokenizer, {DATE}")
    for name in _NOT_PUBLIC.split():
        yield ModelFamily(name, NOT_PUBLIC, None, f"none is published, {DATE}")


@lru_cache(maxsize=1)
def families() -> tuple[ModelFamily, ...]:
    """Return a row for each family that the hub has a tokenizer for, or that is known to have none in public."""
    return tuple(_rows())


def all_models() -> list[ModelFamily]:
    """Return a row for each model and family of models that is known here; for a name, the first that fits counts."""
    known = [
        ModelFamily(name, encoding, MODEL_TO_WINDOW.get(name), TIKTOKEN) for name, encoding in MODEL_TO_ENCODING.items()
    ]
    dated = [ModelFamily(f"{name}*", encoding, None, TIKTOKEN) for name, encoding in MODEL_PREFIX_TO_ENCODING.items()]
    return [*known, *dated, *families()]


def tokenizer_for_model(name: str) -> tuple[str, str]:
    """Return the encoding or the repository that has a model's tokenizer, and a note about it, or "".

    What comes before a / (`openai/gpt-4o`) is the name of whoever serves the model, and is ignored. An unknown
    `gpt-...` has the tokenizer of the longest known name with which it begins. Raise UnknownModelError if the model is
    not known, or its tokenizer is not public.

    >>> tokenizer_for_model("gpt-4o"), tokenizer_for_model("llama-3.1-8b")[0]
    (('o200k_base', ''), 'meta-llama/Llama-3.1-8B')
    """
    bare = name.rpartition("/")[2]
    try:
        return encoding_name_for_model(bare), ""
    except UnknownModelError:
        pass
    for model in families():
        if not fnmatchcase(bare.lower(), model.name):
            continue
        if model.tokenizer != NOT_PUBLIC:
            return model.tokenizer, f"{name}: the tokenizer of {model.tokenizer}"
        raise _unknown(
            name,
            f"{name}: its tokenizer is not public",
            "Name another encoding, such as -e o200k_base; `tokcli count` estimates with --estimate.",
        )
    if bare.startswith("gpt-"):
        nearest = max((known for known in MODEL_TO_ENCODING if bare.startswith(known)), key=len, default="")
        if nearest:
            encoding = MODEL_TO_ENCODING[nearest]
            return encoding, f"{name} is not known: {encoding} is that of {nearest}, the nearest name"
    names = [*MODEL_TO_ENCODING, *(model.name.rstrip("*") for model in families())]
    what = f"no encoding is known for model {name!r}{did_you_mean(bare.lower(), names)}"
    raise _unknown(name, what, "List models with tokcli inspect-ranks --models, or name the encoding itself with -e.")


def tokenizer_of_family(name: str) -> str | None:
    """Return the tokenizer of the family that a model belongs to, as `ModelFamily` has it; None if there is none.

    >>> tokenizer_of_family("anthropic/claude-opus-5") == NOT_PUBLIC, tokenizer_of_family("gpt-4o")
    (True, None)
    """
    bare = name.rpartition("/")[2].lower()
    return next((model.tokenizer for model in families() if fnmatchcase(bare, model.name)), None)


def window_of_model(name: str) -> int:
    """Return how many tokens the context window of a model of any maker holds; raise InputError if that is not known.

    >>> window_of_model("gpt-4o"), window_of_model("Llama-3.1-70B-Instruct")
    (128000, 131072)
    """
    bare = name.rpartition("/")[2]
    found = (model.window for model in families() if fnmatchcase(bare.lower(), model.name))
    return next(found, None) or window_for_model(bare)


def names_a_model(name: str) -> bool:
    """Return whether a name is that of a model, or of a family, whether its tokenizer is public or not."""
    bare = name.rpartition("/")[2]
    return is_model(bare) or any(fnmatchcase(bare.lower(), model.name) for model in families())


def _unknown(name: str, what: str, hint: str) -> UnknownModelError:
    error = UnknownModelError(what, hint)
    error.name = name
    return error
