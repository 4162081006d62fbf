"""The tokenizers of GGUF files with llama.cpp's own rules: special tokens cut out first, then one of six models.

llama_cpp.py is the tokenizer; each model has a module, and cutter.py cuts words by the patterns in patterns.py. Reading
the files is left to `formats/`; the tables that all byte-level tokenizers share are left to `bpe/` and `tiktoken/`.
"""
