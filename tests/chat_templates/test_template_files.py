"""Where templates and special tokens are found, and which of them count: as transformers has it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from gguf_files import UINT32, llama
from support import ROOT

from tokcli.chat_templates.template import ChatTemplates, NamedTemplate
from tokcli.chat_templates.template_files import read_template_file, templates_at
from tokcli.errors import VocabularyError

TOKENIZER = ROOT / "tests" / "data" / "formats" / "byte-level.tokenizer.json"


def folder(path: Path, tokenizer: str = "tokenizer.json", **files: Any) -> Path:
    """A folder with a tokenizer and other files: their names with `_` for the last dot, and texts or JSON."""
    path.mkdir(exist_ok=True)
    (path / tokenizer).write_bytes(TOKENIZER.read_bytes())
    for name, content in files.items():
        stem, _, suffix = name.rpartition("_")
        (path / f"{stem}.{suffix}").write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def texts(found: ChatTemplates) -> dict[str, str]:
    return {name: one.text for name, one in found.by_name.items()}


def test_a_template_is_in_the_configuration(tmp_path: Path) -> None:
    made = folder(tmp_path, tokenizer_config_json={"chat_template": "A", "bos_token": "<s>", "model_max_length": 9})
    for path in (made, made / "tokenizer.json"):
        found = templates_at(str(path))
        assert texts(found) == {"default": "A"}
        assert found.special_tokens == {"bos_token": "<s>"}
        assert found.by_name["default"].shown == str(made / "tokenizer_config.json")


def test_one_of_several_is_for_tools(tmp_path: Path) -> None:
    named = [{"name": name, "template": f"{{{{ {name} }}}}"} for name in ("default", "tool_use", "rag")]
    found = templates_at(str(folder(tmp_path, tokenizer_config_json={"chat_template": named})))
    assert found.choose(has_tools=False).text == "{{ default }}"
    assert found.choose(has_tools=True).text == "{{ tool_use }}"


def test_without_a_default_the_others_are_named(tmp_path: Path) -> None:
    named = [{"name": "rag", "template": "C"}]
    found = templates_at(str(folder(tmp_path, tokenizer_config_json={"chat_template": named})))
    with pytest.raises(VocabularyError, match="'rag'"):
        found.choose(has_tools=True)


def test_a_file_of_its_own_wins(tmp_path: Path) -> None:
    made = folder(
        tmp_path,
        chat_template_jinja="J",
        tokenizer_config_json={"chat_template": "A"},
        chat_template_json={"chat_template": "O"},
    )
    assert texts(templates_at(str(made))) == {"default": "J"}
    (made / "chat_template.jinja").unlink()
    assert texts(templates_at(str(made))) == {"default": "A"}
    (made / "tokenizer_config.json").unlink()
    assert texts(templates_at(str(made))) == {"default": "O"}
    (made / "chat_template.json").unlink()
    assert texts(templates_at(str(made))) == {}


def test_more_templates_are_in_a_folder(tmp_path: Path) -> None:
    made = folder(tmp_path, chat_template_jinja="J")
    (made / "additional_chat_templates").mkdir()
    (made / "additional_chat_templates" / "tool_use.jinja").write_text("T")
    assert texts(templates_at(str(made))) == {"default": "J", "tool_use": "T"}


def test_special_tokens_are_texts_or_objects_with_one(tmp_path: Path) -> None:
    config = {
        "chat_template": "A", "bos_token": {"__type": "AddedToken", "content": "<s>", "lstrip": False}, "eos_token": None,
        "add_bos_token": True, "image_token": "<image>", "extra_special_tokens": {"audio_token": "<audio>"},
    }  # fmt: skip
    tokens = {"bos_token": "<b>", "eos_token": {"content": "</s>"}}
    made = folder(tmp_path, tokenizer_config_json=config, special_tokens_map_json=tokens)
    own = {"bos_token": "<s>", "image_token": "<image>", "audio_token": "<audio>"}
    assert templates_at(str(made)).special_tokens == own | {"bos_token": "<b>", "eos_token": "</s>"}
    folder(tmp_path, tokenizer_config_json=config | {"added_tokens_decoder": {}})
    assert templates_at(str(made)).special_tokens == own


def test_files_beside_a_named_tokenizer_have_its_name(tmp_path: Path) -> None:
    made = folder(tmp_path, "a.tokenizer.json")
    (made / "b.tokenizer.json").write_bytes(TOKENIZER.read_bytes())
    (made / "a.tokenizer_config.json").write_text('{"chat_template": "A"}')
    assert texts(templates_at(str(made / "a.tokenizer.json"))) == {"default": "A"}
    assert texts(templates_at(str(made / "b.tokenizer.json"))) == {}
    (made / "tokenizer_config.json").write_text('{"chat_template": "B"}')
    assert texts(templates_at(str(made / "b.tokenizer.json"))) == {"default": "B"}
    (made / "tokenizer.json").write_bytes(TOKENIZER.read_bytes())
    assert texts(templates_at(str(made / "b.tokenizer.json"))) == {}


def test_a_gguf_file_has_templates_and_the_ids_of_special_tokens(tmp_path: Path) -> None:
    path = llama(
        tmp_path / "a.gguf", eos_token_id=(0, UINT32), **{"/chat_template": "A", "/chat_template.tool_use": "B"}
    )
    found = templates_at(str(path))
    assert texts(found) == {"default": "A", "tool_use": "B"}
    assert found.special_tokens == {"bos_token": "<s>", "eos_token": "<unk>", "unk_token": "<unk>"}
    assert texts(templates_at(str(llama(tmp_path / "b.gguf")))) == {}


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"tokenizer_config_json": "{"}, "not JSON"),
        ({"tokenizer_config_json": "[]"}, "expected an object"),
        ({"tokenizer_config_json": {"chat_template": 1}}, "chat_template: expected text, found 1"),
        ({"tokenizer_config_json": {"chat_template": [{"name": "a"}]}}, r"chat_template\[0\].template: expected text"),
        ({"chat_template_json": {"chat_template": ["a"]}}, r"chat_template\[0\]: expected an object"),
        ({"chat_template_jinja": ""}, None),
    ],
)
def test_what_is_wrong_in_a_file_is_told_with_its_name(files: dict[str, Any], said: str | None, tmp_path: Path) -> None:
    made = folder(tmp_path, **files)
    if said is None:
        assert texts(templates_at(str(made))) == {"default": ""}
        return
    with pytest.raises(VocabularyError, match=said) as raised:
        templates_at(str(made))
    assert str(made) in str(raised.value)


def test_a_template_that_is_no_utf8_is_refused(tmp_path: Path) -> None:
    made = folder(tmp_path)
    (made / "chat_template.jinja").write_bytes(b"ab\xff")
    with pytest.raises(VocabularyError, match="not UTF-8 at byte 2"):
        templates_at(str(made))


def test_a_named_file_is_a_template_or_a_configuration_with_one(tmp_path: Path) -> None:
    for name, content in (("a", "{{ x }}"), ("b", '{"chat_template": "{{ x }}", "bos_token": "<s>"}'), ("c", "{}")):
        (tmp_path / name).write_text(content)
    assert texts(read_template_file(str(tmp_path / "a"))) == {"default": "{{ x }}"}
    found = read_template_file(str(tmp_path / "b"))
    assert texts(found) == {"default": "{{ x }}"}
    assert found.special_tokens == {"bos_token": "<s>"}
    with pytest.raises(VocabularyError, match="without a chat_template"):
        read_template_file(str(tmp_path / "c"))


def test_a_file_that_is_no_template_is_named() -> None:
    with pytest.raises(VocabularyError, match=r"x\.jinja: not a chat template"):
        ChatTemplates({"default": NamedTemplate("version https://git-lfs", "x.jinja")}, {}).choose(has_tools=False)
