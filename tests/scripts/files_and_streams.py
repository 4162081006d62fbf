"""Chunks, files, arrays and streams of ids."""

import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt

import tokcli

enc = tokcli.get_encoding("cl100k_base")
for chunk in tokcli.chunks(enc, "One two. Three four.", 4, overlap=1, boundary="sentence"):
    line: str = f"{chunk.start}-{chunk.end}: {chunk.text!r} {len(chunk.ids)}"
parts: list[tokcli.TextChunk] = list(tokcli.chunks(enc, "a b c", max_tokens=2))
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "text"
    path.write_text("hello world")
    total: int = enc.count_file(path) + sum(enc.count_files([path, str(path)]))
    for buffer in enc.encode_files([path]):
        ids: list[int] = buffer.tolist()
    with path.open("rb") as file:
        streamed: list[int] = [number for block in enc.encode_stream(file) for number in block]
array: npt.NDArray[np.uint32] = enc.encode_to_numpy("hello")
buffer = enc.encode_array("hello")
everything, offsets = enc.encode_array_batch(["a", "b c"])
pairs: list[tuple[int, int]] = enc.encode_with_offsets("ab a")[1]
decoder = enc.decoder(skip_special_tokens=True)
shown: str = "".join(decoder.add(number) for number in buffer) + decoder.finish()
pieces: list[str] = enc.split("hello world")
varied: list[int] = enc.encode("unrelated", dropout=0.5, seed=1)
