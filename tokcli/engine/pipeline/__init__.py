"""The tokenizers of tokenizer.json files at run time, in Hugging Face's words: normalizers, pre-tokenizers, models ...

`Pipeline` calls the parts in order; each kind of part has a module, BPE is in `bpe/pairs.py`. Reading and checking the
file is left to `formats/huggingface/`, running it natively to `bindings/`.
"""
