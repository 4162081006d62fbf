"""Readers and writers of vocabulary files, a module or folder per format: bytes to a checked `TokenizerSpec`, and back.

`read.py` recognises a format by its content and calls its reader; `limits.py` bounds what a file may hold. What comes
out is checked once, here, and trusted afterwards. Encoding text is the engine's work, finding and caching files the
registry's, and asking the user which format to write the command line's.
"""
