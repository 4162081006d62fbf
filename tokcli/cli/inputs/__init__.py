"""Inputs that are more than plain files: lists of names, compressed data, columns of tables; their sizes and digests.

`streams.Input` reads bytes, and leaves it to these modules what they mean. `records` cuts them into records, and `walk`
looks into folders.
"""
