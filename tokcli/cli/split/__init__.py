"""`tokcli split`: its options, and a module for each view that explains or measures a pattern.

split.py is the command; a view is loaded only when it is asked for. What the views show comes from `analysis/`, and
`render/split` lays it out.
"""
