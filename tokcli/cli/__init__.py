"""The commands: each reads a request, calls the engine once, and writes.

What options mean, how inputs are read and outputs written, is decided here, once for all commands; large commands have
a folder. How data looks to people is left to `render/`, what it means to the engine and `analysis/`.
"""
