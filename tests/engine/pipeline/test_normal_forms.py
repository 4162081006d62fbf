"""Normal forms are those of tokenizers, on the road to ids and on that to offsets."""

from __future__ import annotations

import json
import time
import unicodedata
from functools import cache
from pathlib import Path
from typing import get_args

import pytest
import unicodedata2
from support import took_less

from tokcli.engine.stream.chunks import Chunk
from tokcli.engine.unicode import forms
from tokcli.registry.encodings import load_encoding


@cache
def canonical_pairs() -> list[str]:
    """Return the two halves of each character of Unicode 16.0 that decomposes canonically into two."""
    parts = (unicodedata2.decomposition(chr(point)).split() for point in range(0x110000))
    return ["".join(chr(int(half, 16)) for half in both) for both in parts if len(both) == 2 and both[0][0] != "<"]


def with_places(form: forms.Form, text: str) -> str:
    changes = forms.changes(form, text)
    return text if changes is None else "".join(char for char, _ in changes)


@pytest.mark.parametrize("form", get_args(forms.Form))
def test_all_canonical_pairs_of_all_planes_are_composed_as_tokenizers_composes_them(form: forms.Form) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    normalize = getattr(tokenizers.normalizers, form)().normalize_str
    assert len(canonical_pairs()) > 1000
    for first, second in canonical_pairs():
        for text in (f"a{first}{second}b", f"{first}\u0316{second}", f"{first}{second}{second}"):
            expected = normalize(text)
            assert forms.normalize(form, text) == expected, ascii(text)
            assert with_places(form, text) == expected, ascii(text)


def test_a_byte_level_file_gives_the_same_ids_with_and_without_offsets(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    pattern = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    top = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, byte_level]},
        "decoder": byte_level,
        "model": {"type": "BPE", "vocab": {char: n for n, char in enumerate(alphabet)}, "merges": []},
    }
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(top))
    encoding, reference = load_encoding(path), tokenizers.Tokenizer.from_file(str(path))
    for pair in canonical_pairs():
        text = f"a{pair}b"
        expected = reference.encode(text).ids
        assert encoding.encode_ordinary(text) == expected, ascii(text)
        assert encoding.tokenizer.encode_spans(Chunk(text, 0)).ids.tolist() == expected, ascii(text)


MARKS = ["\u0301\u0323\u0327", "\u0344\u0323", "\u0f73", "\uff9e\u0323", "\u0903\u0323\u0301", "\u0301\u0323e\u0327"]


@pytest.mark.parametrize("form", get_args(forms.Form))
@pytest.mark.parametrize("run", MARKS, ids=ascii)
def test_long_runs_of_marks_are_sorted_as_short_ones_are(form: forms.Form, run: str) -> None:
    for text in (f"a{run * 100}b", f"{run * 50}\u1161{run * 100}", f"\u0378{run * 100}\u0378{run * 100}e"):
        expected = "".join(
            part if at % 2 else unicodedata.normalize(form, part) for at, part in enumerate(forms.inert().split(text))
        )
        assert forms.normalize(form, text) == with_places(form, text) == expected


@pytest.mark.clock
@pytest.mark.parametrize("form", get_args(forms.Form))
@pytest.mark.parametrize("run", MARKS, ids=ascii)
def test_a_hundred_thousand_marks_are_sorted_in_time(form: forms.Form, run: str) -> None:
    """Python's unicodedata takes a minute for them, which Ctrl-C does not end."""
    began = time.process_time()
    forms.normalize(form, "a" + run * (100_000 // len(run)))
    assert time.process_time() - began < 3


@pytest.mark.clock
def test_a_long_text_is_normalized_as_fast_as_its_parts() -> None:
    """Looking for characters that stay as they are took a microsecond for each character."""
    text = forms.normalize("NFD", "Où étiez-vous l’été passé à la forêt ? ") * 50_000
    began = time.process_time()
    assert len(forms.normalize("NFC", text)) < len(text)
    assert took_less(began, 1.2)


def test_unassigned_characters_in_long_texts_stay_as_they_are() -> None:
    text = "e\u0301 " * 100
    assert forms.normalize("NFC", f"{text}\U0001e6e0") == "\u00e9 " * 100 + "\U0001e6e0"
    assert forms.normalize("NFC", text) == "\u00e9 " * 100


def test_what_python_knows_to_be_assigned_is_not_inert_unless_it_came_later() -> None:
    bounds = forms.boundaries(forms.inert_ranges())
    points = (point for point in range(0x110000) if not 0x30000 <= point < 0xE0000 and not 0xF0100 <= point < 0x10FF00)
    assert [c for c in map(chr, points) if forms._is_inert(c) != forms.contains(bounds, c)] == []
