"""What every folder of the engine may use: argument checks, locks that survive a fork, time limits, longest matches.

Nothing here knows what a token is; that is left to the other folders.
"""
