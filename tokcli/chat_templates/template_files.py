"""Chat templates and special tokens in files: those of a folder, those beside a tokenizer's file, those in a GGUF file.

The files and which of them counts are transformers' (`_from_pretrained` in tokenization_utils_base.py): a template in a
file of its own wins over those in tokenizer_config.json.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tokcli.chat_templates.template import DEFAULT, ChatTemplates, NamedTemplate
from tokcli.errors import VocabularyError
from tokcli.formats.gguf.header import MAGIC, VOCABULARY, read_header
from tokcli.formats.gguf.reader import template_tokens
from tokcli.formats.limits import MAX_CONFIG_BYTES, open_regular_file, read_regular_file, shown_name
from tokcli.formats.strict_json import JsonNode, parse_json_strictly

JINJA, CONFIG, OLDER = "chat_template.jinja", "tokenizer_config.json", "chat_template.json"
TOKENS = "special_tokens_map.json"
TEMPLATE_FILES = (JINJA, CONFIG, OLDER, TOKENS)
MORE_TEMPLATES = "additional_chat_templates"  # a folder of NAME.jinja
MAX_MORE = 64  # templates in it
TOKENIZER = "tokenizer.json"
_JSON = re.compile(rb"\s*\{\s*[\"}]")  # how an object begins, and no template
_EXTRA = "extra_special_tokens"
_GGUF_TEMPLATE = "tokenizer.chat_template"

Files = dict[str, tuple[str, bytes]]
"""Files by the names above: what messages call each, and its bytes."""


def read_template_file(path: str) -> ChatTemplates:
    """Return the template in a file of its own, or those in a tokenizer_config.json, whatever its name.

    VocabularyError says why it cannot be read.
    """
    data = read_regular_file(path, MAX_CONFIG_BYTES)
    if _JSON.match(data):
        found = templates_in({CONFIG: (path, data)})
        if not found.by_name:
            raise VocabularyError("a JSON file without a chat_template", where=path)
        return found
    return ChatTemplates({DEFAULT: NamedTemplate(_text(data, path), path)}, {}, knows_tokens=False)


def templates_at(path: str) -> ChatTemplates:
    """Return the templates and special tokens of the tokenizer in a file or a folder.

    They are in the folder, in the GGUF file, or beside the file. Beside NAME.tokenizer.json are the files that begin
    with `NAME.`; the others are that file's only where no tokenizer.json is there.
    """
    named = Path(path)
    if named.is_dir():
        return templates_in(files_in(named))
    with open_regular_file(named) as file:
        is_gguf = file.read(len(MAGIC)) == MAGIC
    if is_gguf:
        return _templates_of_gguf(path)
    prefix = named.name.removesuffix(TOKENIZER) if named.name.endswith(f".{TOKENIZER}") else ""
    found = files_in(named.parent, prefix)
    if prefix and not found and not (named.parent / TOKENIZER).exists():
        found = files_in(named.parent)
    return templates_in(found)


def files_in(folder: Path, prefix: str = "") -> Files:
    """Return the files of a folder that may have a template or special tokens, and whose names have this prefix."""
    paths = [(name, folder / f"{prefix}{name}") for name in TEMPLATE_FILES]
    if not prefix:
        more = sorted((folder / MORE_TEMPLATES).glob("*.jinja"))[:MAX_MORE]
        paths += [(f"{MORE_TEMPLATES}/{path.name}", path) for path in more]
    return {name: (str(path), read_regular_file(path, MAX_CONFIG_BYTES)) for name, path in paths if path.exists()}


def templates_in(files: Files) -> ChatTemplates:
    """Return the templates and special tokens in files."""
    by_name = dict(_own_files(files))
    config = _object_in(files, CONFIG)
    for source in (config, _object_in(files, OLDER)):
        if not by_name and source is not None:
            by_name = dict(_templates_of(source.nullable("chat_template")))
    knows_tokens = CONFIG in files or TOKENS in files
    return ChatTemplates(by_name, _special_tokens(config, _object_in(files, TOKENS)), knows_tokens)


def _own_files(files: Files) -> Iterator[tuple[str, NamedTemplate]]:
    """Yield the templates that have a file of their own, by name."""
    for name, (shown, data) in files.items():
        if name.endswith(".jinja"):
            label = DEFAULT if name == JINJA else name.rpartition("/")[2].removesuffix(".jinja")
            yield label, NamedTemplate(_text(data, shown), shown)


def _templates_of(node: JsonNode) -> Iterator[tuple[str, NamedTemplate]]:
    """Yield the templates of a member `chat_template`: one text, or a list of names and texts."""
    if isinstance(node.value, list):
        for item in node.list():
            yield item.member("name").text(), NamedTemplate(item.member("template").text(), node.file)
    elif node.value is not None:
        yield DEFAULT, NamedTemplate(node.text(), node.file)


def _special_tokens(config: JsonNode | None, tokens: JsonNode | None) -> dict[str, str]:
    """Return the special tokens by role; special_tokens_map.json counts only where the config lists no added tokens."""
    found: dict[str, str] = {}
    sources = [config, None if config is not None and config.has("added_tokens_decoder") else tokens]
    for source in sources:
        for name, value in (source.value if source is not None else {}).items():
            text = value.get("content") if isinstance(value, dict) else value
            if name.endswith("_token") and isinstance(text, str):
                found[name] = text
            elif name == _EXTRA and isinstance(value, dict):
                found |= {role: token for role, token in value.items() if isinstance(token, str)}
    return found


def _object_in(files: Files, name: str) -> JsonNode | None:
    """Return the object in a JSON file; None if there is no such file."""
    if name not in files:
        return None
    shown, data = files[name]
    node = JsonNode(parse_json_strictly(data, shown), shown)
    node.expect(dict)
    return node


def _text(data: bytes, shown: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise VocabularyError("not UTF-8", where=shown, offset=error.start, unit="byte") from None


def _templates_of_gguf(path: str) -> ChatTemplates:
    """Return the templates of a GGUF file, and the tokens that its tokenizer puts first and last."""
    with open_regular_file(path) as file:
        values, _ = read_header(file, shown_name(path), (*VOCABULARY, _GGUF_TEMPLATE))
    by_name = dict(_named_in_gguf(values, path))
    tokens, first = template_tokens(values, shown_name(path))
    return ChatTemplates(by_name, tokens, puts_first=first)


def _named_in_gguf(values: Mapping[str, Any], path: str) -> Iterator[tuple[str, NamedTemplate]]:
    for key, value in values.items():
        if isinstance(value, bytes) and (key == _GGUF_TEMPLATE or key.startswith(f"{_GGUF_TEMPLATE}.")):
            name = key.removeprefix(_GGUF_TEMPLATE).removeprefix(".") or DEFAULT
            yield name, NamedTemplate(_text(value, path), path)
