"""GGUF files of llama.cpp: `header.py` reads the key-values, `reader.py` makes a tokenizer of them.

`special_tokens.py` lists the tokens that llama.cpp recognises by their text. Tensors are never read, and what the
tokenizer does with text is left to engine/llama_cpp.
"""
