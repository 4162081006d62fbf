"""Files that are counted in parts give the counts of the whole, wherever the parts begin."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import hard_text

from tokcli.engine.pretokenizers.known_patterns import CL100K, O200K, R50K
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer
from tokcli.errors import InputError
from tokcli.training import cluster
from tokcli.training.corpus_counter import CorpusCounter
from tokcli.training.counts_file import CountsFile


@pytest.mark.parametrize("pat_str", [O200K, CL100K, R50K])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=40)
@given(text=hard_text(60), size=st.integers(1, 40))
def test_parts_of_a_file_count_as_the_whole(pat_str: str, text: str, size: int, tmp_path: Path) -> None:
    import io

    pytest.importorskip("fsspec")
    path = tmp_path / "x"
    path.write_bytes(text.encode())
    about = CorpusCounter(PreTokenizer(pat_str)).about
    total: Counter[bytes] = Counter()
    cut = cluster.cut_into_slices(str(path), len(text.encode()), size)
    for part in cut:
        data = cluster.count_slice(part, about, 5)
        counting = CorpusCounter(PreTokenizer(pat_str))
        counting.add_blocks(CountsFile(io.BytesIO(data), "x").blocks())
        total.update(dict(counting.finish().items()))
    whole = CorpusCounter(PreTokenizer(pat_str))
    whole.add_stream([text.encode()])
    assert total == dict(whole.finish().items())


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32", "utf-32-be"])
@pytest.mark.parametrize("errors", ["strict", "replace"])
def test_text_with_a_mark_of_utf_16_is_named(encoding: str, errors: str, tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    path = tmp_path / "x"
    path.write_bytes(("hello" if encoding[-1].isdigit() else "\ufeffhello").encode(encoding))
    about = {**CorpusCounter(PreTokenizer(O200K)).about, "errors": errors}
    with pytest.raises(InputError, match="UTF-16 or UTF-32 text") as caught:
        cluster.count_slice(cluster.CorpusSlice(str(path)), about, 5)
    assert (caught.value.where, "without --dask" in caught.value.hint) == (str(path), True)
