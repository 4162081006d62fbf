"""Counting, encoding and decoding, as a README shows it."""

import tokcli

enc = tokcli.get_encoding("o200k_base")
assert enc.decode(enc.encode("hello world")) == "hello world"
ids: list[int] = enc.encode("<|endoftext|>", allowed_special={"<|endoftext|>"})
more: list[int] = enc.encode("a <|endoftext|>", allowed_special="all", disallowed_special=())
count: int = enc.count("one two")
counts: dict[str, int] = {text: enc.count(text) for text in ("a", "b c")}
batches: list[list[int]] = enc.encode_batch(["a", "b"], num_threads=2)
texts: list[str] = enc.decode_batch(batches)
text, offsets = enc.decode_with_offsets(ids)
first: int = offsets[0]
stable, ways = enc.encode_with_unstable("hello fanta")
assert all(way[:1] for way in ways) or stable
assert enc.n_vocab > enc.eot_token > 0 and enc.is_special_token(enc.eot_token)
name: str = enc.name
specials: set[str] = enc.special_tokens_set
assert sorted(specials)[0].startswith("<|"), name
assert tokcli.encoding_for_model("gpt-4o") is enc
assert tokcli.encoding_name_for_model("gpt-4") in tokcli.list_encoding_names()
try:
    enc.encode("<|endoftext|>")
except ValueError as error:
    message: str = str(error)
    assert "endoftext" in message
