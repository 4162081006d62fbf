"""Folders as inputs (`-r`): which files they hold, as ripgrep finds them, and which of those are text.

What is done with the files is left to the commands.
"""
