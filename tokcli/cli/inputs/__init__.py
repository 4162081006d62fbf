"""Inputs that are more than plain files: lists of names, compressed data, columns of tables; their sizes and digests.

`streams.Input` reads bytes, and asks here what to make of them. `records` cuts them; folders are in `walk`.
"""
