"""Keeps in the cache what reading a vocabulary file took long to find out, so that the next run only maps it.

A file becomes a container: a header (JSON) and sections, among them the image that native code works on. `load_file`
(files.py) gives the vocabulary in a file, compiled where it can be; store.py has the folder of containers, kinds/ the
kinds of them. Nothing in the cache is trusted: what does not fit is made again from the file. Reading files is left to
tokcli.formats, encoding to tokcli.engine.
"""
