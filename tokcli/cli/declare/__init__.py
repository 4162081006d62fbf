"""How commands are declared: a row for each option, which the parser, `--help`, man pages and completions are made of.

The rows themselves are in options.py and beside each command; what they lead to is left to request.py.
"""
