"""Makes tests/data/formats: small vocabularies in several formats, and what the reference libraries make of texts.

    python tests/tools/make_formats_golden.py

Trained on the sentences below with tokenizers 0.23.3 and sentencepiece 0.2.3; nothing in them is anybody else's.
"""

from __future__ import annotations

import io
import json
from pathlib import Path

import sentencepiece
import tokenizers as hf
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, processors, trainers

TARGET = Path(__file__).resolve().parents[1] / "data" / "formats"
CORPUS = [
    "The quick brown fox jumps over the lazy dog, and the dog sleeps on.",
    "Hello, world! Hello again: it's 2024, isn't it? We'll see what they've done.",
    "Früher war alles besser, sagte der Bär; größer und schöner sowieso.",
    "東京は日本の首都です。今日はいい天気ですね。明日も晴れるでしょう。",
    "def add(a, b):\n    return a + b  # the sum of 1 and 22 and 333\n",
    "naïve café coöperate résumé Ångström ﬁne ﬂow №5 ½ ² Ⅷ",
    "Привет, мир! Как дела сегодня?",
] * 20
TEXTS = [
    "", " ", "a", "Hello, world!", "  two  spaces  ", "it's WE'LL 12345", "東京は晴れ", "naïve ﬁne №5", "tab\tnew\nline\r\n",
    "ΟΔΟΣ İstanbul ß", "<mask>word <mask> the", "<|end|>x", "e\u0301 q\u0323\u0307", "😀👨\u200d👩\u200d👧", "\u0000x\ufffd",
    "▁under ▁▁two", "Привет мир", "x<mask>y  <mask>", "the then the", "𐵀1𐵁", "a\u3000b\u00a0c", "한국어 각",
]  # fmt: skip


def trained(model: object, trainer: object, **parts: object) -> hf.Tokenizer:
    tokenizer = hf.Tokenizer(model)
    for name, part in parts.items():
        setattr(tokenizer, name, part)
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.add_tokens([AddedToken("<mask>", lstrip=True, special=True), AddedToken("the", single_word=True)])
    return tokenizer


def tokenizer_files() -> dict[str, hf.Tokenizer]:
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    byte_level = trained(
        models.BPE(),
        trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, show_progress=False),
        normalizer=normalizers.NFC(),
        pre_tokenizer=pre_tokenizers.ByteLevel(add_prefix_space=False),
        decoder=decoders.ByteLevel(),
        post_processor=processors.ByteLevel(trim_offsets=True),
    )
    plain = hf.Tokenizer(models.BPE())
    plain.pre_tokenizer, plain.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    plain.train_from_iterator(
        CORPUS, trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, show_progress=False)
    )
    plain.add_special_tokens(["<|end|>"])
    wordpiece = trained(
        models.WordPiece(unk_token="[UNK]"),
        trainers.WordPieceTrainer(vocab_size=300, special_tokens=["[UNK]", "[CLS]", "[SEP]"], show_progress=False),
        normalizer=normalizers.BertNormalizer(),
        pre_tokenizer=pre_tokenizers.BertPreTokenizer(),
        decoder=decoders.WordPiece(),
    )
    wordpiece.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    unigram = trained(
        models.Unigram(),
        trainers.UnigramTrainer(vocab_size=300, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False),
        normalizer=normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()]),
        pre_tokenizer=pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]),
        decoder=decoders.Metaspace(),
    )
    suffix = trained(
        models.BPE(unk_token="<unk>", end_of_word_suffix="</w>", fuse_unk=True),
        trainers.BpeTrainer(vocab_size=300, special_tokens=["<unk>"], end_of_word_suffix="</w>", show_progress=False),
        pre_tokenizer=pre_tokenizers.Sequence(
            [pre_tokenizers.Whitespace(), pre_tokenizers.Digits(), pre_tokenizers.UnicodeScripts()]
        ),
        decoder=decoders.BPEDecoder(),
    )
    return {"byte-level": byte_level, "plain": plain, "wordpiece": wordpiece, "unigram": unigram, "suffix": suffix}


def main() -> None:
    TARGET.mkdir(parents=True, exist_ok=True)
    golden: dict[str, list[object]] = {}
    for name, tokenizer in tokenizer_files().items():
        (TARGET / f"{name}.tokenizer.json").write_text(
            json.dumps(json.loads(tokenizer.to_str()), separators=(",", ":"))
        )
        rows = []
        for text in TEXTS:
            bare, full = (tokenizer.encode(text, add_special_tokens=add) for add in (False, True))
            decoded = tokenizer.decode(bare.ids, skip_special_tokens=False) if bare.ids else ""
            rows.append({"text": text, "ids": bare.ids, "full": full.ids, "offsets": full.offsets, "decoded": decoded})
        golden[f"{name}.tokenizer.json"] = rows
    for kind, rules in (("bpe", "identity"), ("unigram", "nmt_nfkc"), ("word", "nfkc_cf"), ("char", "identity")):
        buffer = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(CORPUS), model_writer=buffer, model_type=kind, normalization_rule_name=rules,
            vocab_size={"bpe": 450, "unigram": 420, "word": 60, "char": 120}[kind],
            byte_fallback=kind in ("bpe", "unigram"), user_defined_symbols=["<mask>", "fox j"],
            remove_extra_whitespaces=kind != "bpe", hard_vocab_limit=False, minloglevel=2, num_threads=1,
        )  # fmt: skip
        name = f"{kind}.model"
        (TARGET / name).write_bytes(buffer.getvalue())
        model = sentencepiece.SentencePieceProcessor(model_proto=buffer.getvalue())
        rows = [
            {"text": t, "ids": (ids := model.encode(t)), "decoded": model.decode(ids)} for t in TEXTS if "\0" not in t
        ]
        golden[name] = rows
    text = ",\n".join(
        f"{json.dumps(name)}: [\n" + ",\n".join(json.dumps(row) for row in rows) + "]" for name, rows in golden.items()
    )
    (TARGET / "golden.json").write_text("{" + text + "}\n")


if __name__ == "__main__":
    main()
