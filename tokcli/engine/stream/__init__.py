"""Streams: bytes of any length become chunks that encode one by one, and ids become bytes again.

Here are UTF-8 with its errors, special tokens found in text, the places where text is cut (asked of a pre-tokenizer),
ids as text and as binary data, and threads that share the chunks. What the ids of a chunk are is left to the
tokenizers; files and standard streams are left to the command line.
"""
