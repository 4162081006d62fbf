"""A precompiled charsmap replaces short clusters whole, by the clusters of Unicode 17 whatever `regex` is installed."""

from __future__ import annotations

import pytest
from support import ROOT, read_vocabulary

from tokcli.engine.pipeline.aligned import Aligned
from tokcli.engine.pipeline.normalizers import normalize
from tokcli.engine.sentencepiece.model import SentencePiece
from tokcli.engine.spec.normalizers import Precompiled


@pytest.mark.parametrize(
    ("text", "normalized"),
    [
        ("½\u0301", "1\u20442"),  # a mark goes with what it stands on
        ("½\u05c8", "1\u20442\u05c8"),  # Unicode 18 makes this a mark
        ("ﬁ\u1acf", "fi\u1acf"),  # 6 bytes: character by character
        ("\u0600½\u0301", "\u06001\u20442\u0301"),  # what goes with the next character hides its rule
        ("\x01\u0301", "\u0301"),  # nothing goes with a control character
        ("\r\n", " "),
    ],
)
def test_a_charsmap_in_a_tokenizer_json_replaces_clusters(text: str, normalized: str) -> None:
    model = read_vocabulary(ROOT / "tests" / "data" / "formats" / "unigram.model")
    assert isinstance(model, SentencePiece)
    charsmap = model.normalizer.charsmap
    aligned = Aligned(text)
    normalize([Precompiled(charsmap.blob)], aligned)
    assert aligned.text == normalized
    tokenizers = pytest.importorskip("tokenizers")
    assert tokenizers.normalizers.Precompiled(charsmap.blob).normalize_str(text) == normalized


def test_what_a_denormalizer_gets_may_be_no_utf8() -> None:
    model = read_vocabulary(ROOT / "tests" / "data" / "formats" / "bpe.model")
    assert isinstance(model, SentencePiece)
    unigram = read_vocabulary(ROOT / "tests" / "data" / "formats" / "unigram.model")
    assert isinstance(unigram, SentencePiece)
    settings = unigram.settings._replace(add_dummy_prefix=False, escape_whitespaces=False)
    model = SentencePiece(model.spec._replace(decoder=model.spec.decoder._replace(denormalizer=settings)))
    ids = [model.tables.byte_ids[byte] for byte in b"\xff\xc2\xbd\xc2\xff"]
    assert model.decode(ids) == b"\xff1\xe2\x81\x842\xc2\xff"  # the half is denormalized
