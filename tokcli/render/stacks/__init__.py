"""One text under several encodings: rows of aligned lines, and the table under them.

Encoding the text, and finding where each token lies in it, is left to the command.
"""
