"""How the name of a model may be spelled: one normal form, and what those who serve models put around a name.

Which names there are is left to the table; here is only what never says anything about the tokenizer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

LATEST = ":latest"  # the tag that Ollama adds where there is none
OLLAMA = ("ollama", "ollama_chat")  # litellm's names for it
# OpenRouter's variants of how a model is served.
_VARIANTS = re.compile(r":(?:free|beta|nitro|floor|online|thinking|extended|exacto)$")
# Amazon Bedrock's `us.anthropic.claude-opus-4-1-20250805-v1:0` is a region, a maker, the name, and its version there.
_BEDROCK = re.compile(
    r"(?:(?:us|us-gov|eu|apac|jp|au|ca|global)\.)?(?P<maker>ai21|amazon|anthropic|cohere|deepseek|google|meta|minimax|"
    r"mistral|moonshot|moonshotai|nvidia|openai|qwen|writer|xai|zai)\.(?P<name>.+?)(?P<version>(?:-v?\d+)?(?::\d+(?::\d+k)?)?)"
)
# Databricks, Fireworks, Snowflake and others put their own name, or the maker's, before that of the model.
_SERVER = re.compile(r"(?:alibaba|anthropic|databricks|fw|meta|openai|snowflake|xai|zai)-")
# How the weights are stored, for whom, and where they are served. (_gguf, :q4_K_M, -fp8-dynamic, -mlx-4bit, -maas)
_STORED = re.compile(
    r"[-_.:@](?:gguf|ggml|gptq|awq|exl[23]|mlx|onnx|hf|fp(?:4|8|16|32)|fp8-fast|bf16|f16|f32|u?int[48]|nvfp4|mxfp[48]|w[48]a(?:8|16)|"
    r"[2-8]-?bits?|(?:ud-)?i?q[1-8](?:_[a-z0-9]+)*|bnb|unsloth|dynamic|qat|quantized|maas|cloud|tput)$"
    r"|(?<=instruct)-turbo(?:-free)?$"  # Together's, of 8 bits
)
_TAG_WORDS = re.compile(r"(:.+)-(?:instruct|chat|text|base|it)$")  # of Ollama, which change no tokenizer
_DATE = re.compile(r"-20\d\d-?\d\d-?\d\d$")
DATED = "-date"  # in the table's normal form, what stands for any date
_BETWEEN = re.compile(r"[-_. ]+")
_VERSION = re.compile(r"(?<![a-z])v(?=\d)")
_DECIMAL = re.compile(r"(?<=\d)p(?=\d)")  # Fireworks' `llama-v3p1`
_DIGITS = re.compile(r"(?<=[a-z])(?=\d)")


def normal_form(name: str) -> str:
    """Return the form that all spellings of one name share: case, separators, and a v before a number do not count.

    >>> {normal_form(name) for name in ("Llama-3.1-8B", "llama3.1_8b", "llama-v3p1-8b", "LLaMA 3 1 8b")}
    {'llama-3-1-8b'}
    >>> normal_form("qwen-34b") == normal_form("qwen3-4b")
    False
    """
    plain = _DECIMAL.sub("-", _VERSION.sub("", name.lower()))
    return _DIGITS.sub("-", _BETWEEN.sub("-", plain))


def readings(typed: str) -> Iterator[str]:
    """Yield the normal forms of what a typed name may mean, from the whole name to less and less of it.

    >>> list(readings("meta-llama/Llama-3.1-8B-Instruct-FP8"))
    ['llama-3-1-8b-instruct-fp-8', 'llama-3-1-8b-instruct']
    >>> list(readings("llama3.1"))
    ['llama-3-1', 'llama-3-1:latest']
    >>> list(readings("llama3.1:8b-instruct-q4_0"))
    ['llama-3-1:8b-instruct-q-4-0', 'llama-3-1:8b-instruct', 'llama-3-1:8b']
    >>> list(readings("us.anthropic.claude-opus-4-1-20250805-v1:0"))[1:]
    ['claude-opus-4-1-20250805', 'claude-opus-4-1-date']
    """
    for name in served_names(typed):
        seen, shorter = "", name
        while shorter != seen:
            seen, form = shorter, normal_form(shorter)
            yield form
            if date := _DATE.search(form):
                yield form[: date.start()] + DATED
            shorter = _STORED.sub("", seen)
            if shorter == seen:
                shorter = _TAG_WORDS.sub(r"\1", seen)


def served_names(typed: str) -> list[str]:
    """Return what the name of a model may be, the likeliest first: in lower case, without who serves it and how.

    >>> [served_names(name) for name in ("openrouter/qwen/Qwen3-8B:free", "vertex_ai/claude-opus-4-5@20251101")]
    [['qwen3-8b'], ['claude-opus-4-5-20251101']]
    >>> [served_names(name) for name in ("ollama/llama3.1", "ft:gpt-4o-mini:acme::Ab12", "amazon.nova-pro-v1:0")]
    [['llama3.1:latest', 'llama3.1'], ['gpt-4o-mini', 'gpt-4o-mini:latest'], ['nova-pro-v1:0', 'nova-pro']]
    """
    *path, name = typed.strip().lower().split("/")
    if path and path[0] in OLLAMA and ":" not in name:
        return [name + LATEST, name]
    if name.startswith("ft:"):  # ft:BASE:ORGANIZATION::ID, as OpenAI names what was fine-tuned
        name = name.split(":")[1]
    name = _VARIANTS.sub("", name.partition(":ft-")[0]).removesuffix("@default").replace("@", "-")
    name = name.removesuffix("[1m]")  # Claude Code's mark of a window of a million tokens
    bedrock = _BEDROCK.fullmatch(name)
    if bedrock is None:
        found = [name]
        while server := _SERVER.match(found[-1]):
            found.append(found[-1][server.end() :])
        return found if path or ":" in name else [*found, name + LATEST]
    name = f"deepseek-{bedrock['name']}" if bedrock["maker"] == "deepseek" else bedrock["name"]
    return [name + bedrock["version"], name] if bedrock["version"] else [name]
