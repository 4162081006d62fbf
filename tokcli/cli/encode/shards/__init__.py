"""`encode --shards`: documents divided into parts, encoded, and written as files that trainers open; also read back.

What the ids are is left to the engine, and how inputs become texts to `encode_inputs.py` and
`encode_records.py` above.
"""
