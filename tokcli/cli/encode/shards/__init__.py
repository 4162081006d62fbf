"""`encode --shards`: documents dealt, encoded and written as files of ids that trainers open, and read back.

What the ids are is left to the engine, and how inputs become texts to `encode_inputs.py` above.
"""
