"""Lists of file names (--files0-from) are bounded, whatever ends them."""

from __future__ import annotations

import pytest

from tokcli.cli.inputs import name_list
from tokcli.errors import InputError


@pytest.mark.parametrize("end", [b"", b"\0"])
def test_the_last_name_counts_with_and_without_a_nul_behind_it(end: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name_list, "MAX_NAMES", 2)
    assert name_list.names_in([b"a\0", b"b" + end], "list") == ["a", "b"]
    with pytest.raises(InputError, match="more than 2 names"):
        name_list.names_in([b"a\0", b"b\0c" + end], "list")
