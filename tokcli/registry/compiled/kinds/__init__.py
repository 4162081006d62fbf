"""The kinds of containers: what each holds, and how it becomes a tokenizer again.

all_kinds.py has the table. The modules of the families (tokenizer.json, SentencePiece, llama.cpp) are loaded when a
container of theirs is met; they know the tokenizers of tokcli.engine, and leave files and folders to store.py.
"""
