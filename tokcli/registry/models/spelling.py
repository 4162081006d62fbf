"""How the name of a model may be spelled: one normal form, and what those who serve models put around a name.

Which names there are is left to the table; here is only what never says anything about the tokenizer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

LATEST = ":latest"  # the tag that Ollama adds where there is none
OLLAMA = ("ollama", "ollama_chat")  # litellm's names for it
# Patterns are compiled when a name comes as far as to them: most are found in the table before that.
# OpenRouter's variants of how a model is served.
_VARIANTS = r":(?:free|beta|nitro|floor|online|thinking|extended|exacto)$"
# Amazon Bedrock's `us.anthropic.claude-opus-4-1-20250805-v1:0` is a region, a maker, the name, and its version there.
_BEDROCK_REGIONS = {"us", "us-gov", "eu", "apac", "jp", "au", "ca", "global"}
_BEDROCK_MAKERS = {
    *("ai21", "amazon", "anthropic", "cohere", "deepseek", "google", "meta", "minimax", "mistral", "moonshot"),
    *("moonshotai", "nvidia", "openai", "qwen", "writer", "xai", "zai"),
}
_BEDROCK_VERSION = r"(?<=.)(?:(?:-v?\d+)(?::\d+(?::\d+k)?)?|:\d+(?::\d+k)?)$"
# Databricks, Fireworks, Snowflake and others put their own name, or the maker's, before that of the model.
_SERVERS = ("alibaba-", "anthropic-", "databricks-", "fw-", "meta-", "openai-", "snowflake-", "xai-", "zai-")
# How the weights are stored, for whom, and where they are served. (_gguf, :q4_K_M, -fp8-dynamic, -mlx-4bit, -maas)
_STORED = (
    r"[-_.:@](?:gguf|ggml|gptq|awq|exl[23]|mlx|onnx|hf|fp(?:4|8|16|32)|fp8-fast|bf16|f16|f32|u?int[48]|nvfp4|mxfp[48]|w[48]a(?:8|16)|"
    r"[2-8]-?bits?|(?:ud-)?i?q[1-8](?:_[a-z0-9]+)*|bnb|unsloth|dynamic|qat|quantized|maas|cloud|tput)$"
    r"|(?<=instruct)-turbo(?:-free)?$"  # Together's, of 8 bits
)
_TAG_WORDS = r"(:.+)-(?:instruct|chat|text|base|it)$"  # of Ollama, which change no tokenizer
_DATE = r"-20\d\d-?\d\d-?\d\d$"
DATED = "-date"  # in the table's normal form, what stands for any date
# What does not count: the kind of separator, a v before a number, and the p of Fireworks' `llama-v3p1`.
_BETWEEN, _VERSION, _DECIMAL, _DIGITS = r"[-_. ]+", r"(?<![a-z])v(?=\d)", r"(?<=\d)p(?=\d)", r"(?<=[a-z])(?=\d)"


def normal_form(name: str) -> str:
    """Return the form that all spellings of one name share: case, separators, and a v before a number do not count.

    >>> {normal_form(name) for name in ("Llama-3.1-8B", "llama3.1_8b", "llama-v3p1-8b", "LLaMA 3 1 8b")}
    {'llama-3-1-8b'}
    >>> normal_form("qwen-34b") == normal_form("qwen3-4b")
    False
    """
    plain = name.lower()
    if "v" in plain:
        plain = re.sub(_VERSION, "", plain)
    if "p" in plain:
        plain = re.sub(_DECIMAL, "-", plain)
    return re.sub(_DIGITS, "-", re.sub(_BETWEEN, "-", plain))


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
            if "-20" in form and (date := re.search(_DATE, form)):
                yield form[: date.start()] + DATED
            shorter = re.sub(_STORED, "", seen)
            if shorter == seen:
                shorter = re.sub(_TAG_WORDS, r"\1", seen)


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
    name = name.partition(":ft-")[0]
    if ":" in name:
        name = re.sub(_VARIANTS, "", name)
    name = name.removesuffix("@default").replace("@", "-")
    name = name.removesuffix("[1m]")  # Claude Code's mark of a window of a million tokens
    if bedrock := _names_at_bedrock(name):
        return bedrock
    found = [name]
    while server := next(filter(found[-1].startswith, _SERVERS), ""):
        found.append(found[-1][len(server) :])
    return found if path or ":" in name else [*found, name + LATEST]


def _names_at_bedrock(name: str) -> list[str]:
    """Return what a name of Amazon Bedrock's may be, the likeliest first; nothing if it is none."""
    maker, _, rest = name.partition(".")
    if maker in _BEDROCK_REGIONS:
        maker, _, rest = rest.partition(".")
    if maker not in _BEDROCK_MAKERS or not rest:
        return []
    version = re.search(_BEDROCK_VERSION, rest)
    prefix = "deepseek-" if maker == "deepseek" else ""
    return [prefix + rest, prefix + rest[: version.start()]] if version else [prefix + rest]
