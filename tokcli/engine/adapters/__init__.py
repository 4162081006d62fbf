"""The adapters that make a `Tokenizer` of a tokenizer of whole texts: batches, arrays, streams and look-ups of tokens.

`adapted` (shortcut_tokenizer.py) chooses between the two. The rules of the tokenizers are left to their families, the
ranks and the pattern of a shortcut to shortcut/ and tiktoken/.
"""
