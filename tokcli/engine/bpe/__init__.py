"""How one piece of text becomes tokens: byte pair encoding by ranks and by listed merges, best paths, longest matches.

bpe.py is the readable specification of merging, and what runs where the native code does not. Cutting text into pieces
is left to `pretokenizers/`, whole tokenizers to the families, the merges of a vocabulary as tables and trees to
merges.py.
"""
