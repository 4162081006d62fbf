"""The Python side of native tokenizers with more stages than a pattern and ranks: their tables, by family.

Most modules build the native twins of one family from that family's tables, and hand the builder to the rules that they
make of a spec. stages.py and id_decoder.py make twins and decoders of a spec and its image instead. The native code of
tiktoken's encodings is left to `tiktoken/`.
"""
