"""How many tokens the context window of a model holds: what it reads and what it writes, together. Data only.

The figures are those of platform.openai.com/docs/models on 2025-10-17, as pages that quote it had them; those of older
models are from earlier pages.
"""

from __future__ import annotations

from tokcli.errors import InputError, did_you_mean

# each row: the tokens of a window, and the models that have it
_WINDOWS = (
    (1_047_576, "gpt-4.1 gpt-4.1-mini gpt-4.1-nano"),
    (400_000, "gpt-5 gpt-5-mini gpt-5-nano"),
    (200_000, "o1 o1-pro o3 o3-mini o3-pro o4-mini"),
    (131_072, "gpt-oss-20b gpt-oss-120b"),
    (128_000, "gpt-5-chat-latest gpt-4.5-preview gpt-4o gpt-4o-mini chatgpt-4o-latest o1-mini o1-preview"),
    (128_000, "gpt-4-turbo gpt-4-turbo-preview gpt-4-1106-preview gpt-4-0125-preview gpt-4-vision-preview"),
    (32_768, "gpt-4-32k"),
    (16_385, "gpt-3.5 gpt-3.5-turbo gpt-3.5-turbo-1106 gpt-3.5-turbo-0125 gpt-3.5-turbo-16k gpt-35-turbo"),
    (16_384, "davinci-002 babbage-002"),
    (8_192, "gpt-4 text-embedding-3-small text-embedding-3-large text-embedding-ada-002"),
    (4_097, "text-davinci-003 text-davinci-002"),
    (4_096, "gpt-3.5-turbo-instruct gpt-3.5-turbo-0301 gpt-3.5-turbo-0613 gpt-35-turbo-0301 gpt-35-turbo-0613"),
    (2_049, "text-davinci-001 text-curie-001 text-babbage-001 text-ada-001 davinci curie babbage ada"),
    (1_024, "gpt2 gpt-2"),
)
MODEL_TO_WINDOW = {model: tokens for tokens, models in _WINDOWS for model in models.split()}
_DATES = ("-20", "-0314", "-0613")  # what comes after the model's name in that of a dated version


def window_for_model(model: str) -> int:
    """Return how many tokens the context window of a model holds; raise InputError if that is not known.

    A dated version that is not in the table itself, and a fine-tuned one, have the window of their model.

    >>> window_for_model("gpt-4o"), window_for_model("gpt-4o-2024-11-20"), window_for_model("gpt-4-0613")
    (128000, 128000, 8192)
    """
    base = model.split(":")[1] if model.startswith("ft:") else model  # ft:BASE:ORGANIZATION::ID
    for name in (base, *(base.partition(date)[0] for date in _DATES)):
        if name in MODEL_TO_WINDOW:
            return MODEL_TO_WINDOW[name]
    raise InputError(
        f"the context window of model {model!r} is not known{did_you_mean(model, MODEL_TO_WINDOW)}",
        "Say how many tokens it holds with --window N.",
    )
