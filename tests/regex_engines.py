"""Other regular expression engines, as far as this machine has them: all matches of a pattern in some texts."""

from __future__ import annotations

import ctypes
import ctypes.util
import json
import shutil
import subprocess
from collections.abc import Callable, Sequence

import pytest

Matches = list[list[str]]  # of each text

_SCRIPT = """
const [pattern, texts] = JSON.parse(require("fs").readFileSync(0));
console.log(JSON.stringify(texts.map((text) => text.match(new RegExp(pattern, "gu")) || [])));
"""
_PCRE2_UTF = 0x00080000


def by_re2(pattern: str, texts: Sequence[str]) -> Matches:
    """RE2, as google-re2 wraps it."""
    compiled = pytest.importorskip("re2").compile(pattern)
    return [[match[0] for match in compiled.finditer(text)] for text in texts]


def by_javascript(pattern: str, texts: Sequence[str]) -> Matches:
    """Node.js, with the flags g and u."""
    if shutil.which("node") is None:
        pytest.skip("Node.js is not here")
    asked = json.dumps([pattern, list(texts)])
    found: Matches = json.loads(
        subprocess.run(["node", "-e", _SCRIPT], input=asked, stdout=-1, text=True, check=True).stdout
    )
    return found


def by_pcre2(pattern: str, texts: Sequence[str]) -> Matches:
    """The library of PCRE2 that grep and git use, with no option but UTF-8."""
    name = ctypes.util.find_library("pcre2-8")
    if name is None:
        pytest.skip("PCRE2 is not here")
    library, pointer, size = ctypes.CDLL(name), ctypes.c_void_p, ctypes.c_size_t
    library.pcre2_compile_8.restype = library.pcre2_match_data_create_from_pattern_8.restype = pointer
    library.pcre2_get_ovector_pointer_8.restype = ctypes.POINTER(size)
    code, place = ctypes.c_int(), size()
    data = pattern.encode()
    compiled = pointer(
        library.pcre2_compile_8(data, size(len(data)), _PCRE2_UTF, ctypes.byref(code), ctypes.byref(place), None)
    )
    assert compiled, f"PCRE2 refuses {pattern}: error {code.value} at byte {place.value}"
    match = pointer(library.pcre2_match_data_create_from_pattern_8(compiled, None))
    ends = library.pcre2_get_ovector_pointer_8(match)

    def matches(text: bytes) -> list[str]:
        found, at = [], 0
        while library.pcre2_match_8(compiled, text, size(len(text)), size(at), 0, match, None) > 0 and ends[1] > at:
            found.append(text[ends[0] : ends[1]].decode())
            at = ends[1]
        return found

    try:
        return [matches(text.encode()) for text in texts]
    finally:
        library.pcre2_match_data_free_8(match)
        library.pcre2_code_free_8(compiled)


BY_ENGINE: dict[str, Callable[[str, Sequence[str]], Matches]] = {
    "re2": by_re2,
    "js": by_javascript,
    "pcre2": by_pcre2,
}
