"""How many pieces the models in Python keep the ids of, and how long these may be: emptied when it is full."""

CACHE_PIECES = 1 << 16
CACHE_PIECE_CHARS = 64
