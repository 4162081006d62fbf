"""`tokcli encode`: its options, the writers of ids, and the views of `--visualise`, `--compare` and `--html`.

encode.py is the command; a view is loaded only when it is asked for. Encoding is left to the engine, how tokens and
merges look to `render/`.
"""
