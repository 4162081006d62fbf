"""The Python side of native tokenizers that are not byte-level: their tables, and what they learn about characters.

Each module builds the native twins of one family from that family's tables, and registers itself with
`engine/twins.py` when it is imported. Whether a twin is used is left to the family; the native code of byte-level
encodings is left to `tiktoken/`.
"""
