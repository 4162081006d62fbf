"""`encode --dropout`, `--alpha` and `--nbest`: ids that are drawn at random, and the N best segmentations of a text."""

from __future__ import annotations

from random import Random, SystemRandom

from tokcli.cli import streams
from tokcli.cli.encode.encode_options import EncodeRequest
from tokcli.cli.inputs.records import batches_of
from tokcli.cli.json_stream import line
from tokcli.cli.record import SEPARATOR, Record, has_pair
from tokcli.engine.base.arguments import NONE
from tokcli.engine.encoding import Encoding
from tokcli.engine.sampling.sampler import BestPaths, drawn, dropped, way_of
from tokcli.engine.tokens import Tokens
from tokcli.errors import InputError

SEED_BITS = 32  # of a seed that nobody gave: it has to be short enough to be typed again


def begin_drawing(request: EncodeRequest) -> None:
    """Give the request a tokenizer whose ids are drawn at random; without --seed, a note names the seed."""
    asked, encoding = request.options, request.plain_encoding
    rules = encoding.tokenizer.rules
    if asked.errors == "bytes" and rules is not None and rules.is_byte_level:
        raise InputError(
            f"--errors bytes and --dropout are for files of ranks, and {encoding.name} is none", "Use --errors replace."
        )
    seed = asked.seed
    if seed is None:
        seed = SystemRandom().getrandbits(SEED_BITS)
        if asked.dropout != 0:
            request.note(f"--seed {seed} gives the same ids again.")
    if asked.dropout is not None:
        tokenizer = dropped(encoding.tokenizer, asked.dropout, Random(seed))
    else:
        tokenizer = drawn(encoding.tokenizer, asked.alpha or 0, Random(seed), asked.nbest)
    request.encoding = Encoding.of(encoding.name, tokenizer)


def check_model(request: EncodeRequest) -> None:
    """Raise InputError where the options are for another kind of model than that of the encoding."""
    asked, name = request.options, request.encoding.name
    way = way_of(request.encoding.tokenizer)
    if asked.dropout is not None and way != "dropout":
        what = f"--dropout skips the merges of BPE, and {name} is another model"
    elif asked.dropout is None and way != "paths":
        what = f"{'--nbest' if asked.alpha is None else '--alpha'} is for Unigram, and {name} is another model"
    else:
        return
    hints = {"dropout": "It is BPE: use --dropout P.", "paths": "It is Unigram: use --alpha A, or --nbest N."}
    raise InputError(what, hints.get(way, "It segments each text in one way."))


def write_best(request: EncodeRequest) -> None:
    """Write the N best segmentations of each input or record, the best first: a line of ids each, or JSON."""
    request.note_template()
    with request.open_output("nbest") as output:
        writer = BestWriter(request, output)
        for source in request.texts:
            if request.options.records is None:
                writer.write(source)
                continue
            for unparsed in batches_of(source, request.options, takes_words=False):
                batch = unparsed.parse()
                output.answer(batch.objects)
                for record in batch.records():
                    writer.write(record)
                batch.finish(output)
        output.flush()
    if writer.given_up:
        request.note(f"only the best segmentation of {writer.given_up} was found: too many others are nearly as good.")


class BestWriter:
    """Writes the N best segmentations of texts; `given_up` names the first text for which only one was found."""

    def __init__(self, request: EncodeRequest, output: streams.Output) -> None:
        asked, tokenizer = request.options, request.encoding.tokenizer
        self._request, self._output = request, output
        if tokenizer.rules is None:
            raise InputError(f"{request.encoding.name} has no paths")
        self._paths = BestPaths(request.encoding.name, tokenizer.rules, asked.nbest or 1)
        self._end = SEPARATOR[asked.records or "lines"]
        self.given_up = ""

    def write(self, source: streams.Input | Record) -> None:
        """Write the N best segmentations of one text."""
        asked, tokenizer = self._request.options, self._request.encoding.tokenizer
        with streams.naming(source.shown):
            if has_pair(source):
                raise InputError("--nbest is for single texts, and this record has a text_pair")
            chunk = tokenizer.read_whole(source.blocks(), self._request.read_options)
            best = [[]] if chunk is None else self._paths.segmentations(chunk.text, chunk.allowed or NONE)
        if chunk is not None and self._paths.gave_up:
            self.given_up = self.given_up or source.shown
        lists = [self._request.finished([Tokens(ids)]).ids.tolist() for ids in best]
        if asked.as_json:
            self._output.write(line({"nbest": lists}))
        else:
            between = ", " if asked.form == "json" else " "
            for ids in lists:
                text = between.join(map(str, ids))
                self._output.write((f"[{text}]" if asked.form == "json" else text).encode() + self._end)
