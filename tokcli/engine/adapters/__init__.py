"""Adapters that turn a tokenizer of whole texts into a `Tokenizer` with batches, arrays, streams and token look-ups.

`adapted` (shortcut_tokenizer.py) chooses one of the two adapters. The rules of each tokenizer are left to its family,
the ranks and the pattern of a shortcut to shortcut/ and tiktoken/.
"""
