"""GGUF files of llama.cpp: `header.py` reads the key-values, `reader.py` makes a tokenizer of them.

`special_tokens.py` holds what llama.cpp knows of tokens by their text. Tensors are never read, and what the tokenizer
does with text is engine/llama_cpp's business.
"""
