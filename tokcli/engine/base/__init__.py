"""What every room of the engine may use: checks of arguments, locks that survive a fork, time limits, longest matches.

Nothing here knows what a token is; that is left to the rooms above.
"""
