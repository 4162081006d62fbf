"""Keeps in the cache what takes long to find out of a vocabulary file, so that the next run only maps it into memory.

A file becomes a container: its header is the `ImageSpec`, as JSON, and its sections are what native code works on.
`load_file` (files.py) gives the vocabulary in a file, compiled if possible; store.py manages the folder of containers,
packing.py makes one, and opening.py makes a tokenizer of one. Nothing in the cache is trusted: what does not fit is
made again from the file. Reading files is left to tokcli.formats, encoding to tokcli.engine.
"""
