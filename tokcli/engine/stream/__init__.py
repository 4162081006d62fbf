"""Streams: bytes of any length become chunks that encode one by one, and ids become bytes again.

The modules decode UTF-8 and treat its errors, find special tokens, cut text where a pre-tokenizer allows it, read and
write ids as text and as binary data, and share chunks among threads. Encoding a chunk is left to the tokenizers; files
and standard streams are left to the command line.
"""
