"""Completion of command lines, for bash, zsh and fish: imported only when a shell asks.

The scripts ask the program with the words typed so far; what it answers is made from the rows of the options.
"""
