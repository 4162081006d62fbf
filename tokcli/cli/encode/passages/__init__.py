"""`encode --chunk` and `encode -n --as-text`: texts cut into passages, and the passage at one end of a text.

Where a text may be cut is left to the engine (`engine/chunking/`), and the ids that -n keeps to the folder above.
"""
