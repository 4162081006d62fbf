"""`tokcli count`: one number, a line for each of many inputs, or the tree of the folders in which they are.

Which files a folder holds is decided in walk/, and what a token is in the engine.
"""
