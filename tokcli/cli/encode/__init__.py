"""`tokcli encode`: its options, the writers of ids, and ids that are drawn at random.

encode.py is the command. What people look at is in `views/`; encoding is left to the engine.
"""
