"""How one piece of text becomes tokens: byte pair encoding by ranks and by listed merges, and the best path.

bpe.py is the readable specification of merging, and runs where the native code does not; merges.py has the merges of a
vocabulary as a table. Cutting text into pieces is left to `pretokenizers/`, whole tokenizers to the families.
"""
