"""The pieces of a text, explained: their places, the alternatives and merges that made them, differences and totals.

Everything here reads a stream of chunks and keeps little of it in memory. Splitting and encoding are left to the
engine, and showing to render/.
"""
