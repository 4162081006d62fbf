"""The terminal: its colours, tables and lines on the screen, the pager for what is taller, progress, and single keys.

What is shown is made in `render/` and the commands; where bytes go is decided in `streams`. Modules here that import
rich do so at their top: a command imports them only when it writes to a terminal, or in colour.
"""
