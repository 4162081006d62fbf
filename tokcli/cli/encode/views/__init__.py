"""The views of `tokcli encode`: coloured tokens, their merges, pages and pictures, and encodings compared.

Each is loaded only when it is asked for, as most need rich. How tokens and merges look is left to `render/`.
"""
