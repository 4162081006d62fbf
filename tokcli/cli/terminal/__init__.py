"""The terminal: which colours it takes, what a screen shows, the pager for what is taller, and single keys.

What is shown is made elsewhere (`render/` and the commands); where bytes go, `streams` knows. Modules here that import
rich do so at their top: a command imports them only when it writes to a terminal, or in colour.
"""
