"""The decoders of a tokenizer.json for tokens that come a few at a time, each a step with as little memory as it needs.

A step gives for all tokens, whichever come together, what its decoder gives for all of them at once. Where a decoder
looks at the whole text, there is no step, and ids are held until the end.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from tokcli.engine.base.arguments import MAX_CHARACTER
from tokcli.engine.pipeline.decoders import apply, byte_of, decoded, texts_of
from tokcli.engine.spec import decoders as spec
from tokcli.engine.spec.decoders import Decoder
from tokcli.engine.spec.json_form import of_json
from tokcli.engine.spec.patterns import Characters, LiteralText
from tokcli.engine.stream.decoding import ByteDecoder, KnownBytes, Place, WholeDecoder
from tokcli.engine.stream.utf8 import cut_at_end
from tokcli.engine.tokens import check_growth, most_made_of

_JOINING = (spec.ByteLevelDecoder, spec.Fuse, spec.Spaced)  # after these, the tokens are one text
# Decoders that make the same of every token but the first, and those that leave a text as it is.
_BY_TOKEN = (*_JOINING, spec.ByteFallback, spec.MetaspaceDecoder, spec.WordPieceDecoder)
_IN_TEXT = (spec.Fuse, spec.Spaced)
_SHORT = 4  # characters that replace others, at most, where nothing checks the growth of a text

Step = Callable[[list[str], bool], list[str]]  # the next tokens, and whether they are the last -> texts


class StepDecoders:
    """Makes decoders of ids that come a few at a time, by the texts of their tokens; they share what they have found.

    UnknownTokenError for an id without a text.
    """

    def __init__(self, texts: Mapping[int, str], decoders: Sequence[Decoder]) -> None:
        self._texts, self._decoders = texts, decoders
        self._is_apart = _is_apart(decoders)
        self._behind = KnownBytes(lambda ids: behind_others(texts_of(ids, texts), decoders))

    def stream(self) -> ByteDecoder:
        """Return a decoder."""
        texts, decoders = self._texts, self._decoders
        steps = _steps_of(decoders)
        if steps is None:
            return WholeDecoder(lambda ids: decoded(ids, texts, decoders))
        stream = _Steps(texts, steps)
        return _ApartOnceBegun(stream, self._behind.joined) if self._is_apart else stream


def decoders_in(written: str) -> tuple[Decoder, ...]:
    """Return the decoders in the JSON that an image keeps of them."""
    found: tuple[Decoder, ...] = of_json(tuple[Decoder, ...], json.loads(written))
    return found


class _ApartOnceBegun:
    """Decodes ids by `begin` until there is text; from then on the bytes of an id are the same, whatever is beside it.

    `behind` joins these bytes.
    """

    def __init__(self, begin: ByteDecoder, behind: Callable[[Sequence[int]], bytes]) -> None:
        self._begin, self._behind = begin, behind
        self._begun = self._has_ids = False

    @property
    def place(self) -> Place:
        """Where the next id is; see `ByteDecoder`. The ids before the first that has text may change its own."""
        if self._begun:
            return "behind"
        return "between" if self._has_ids else "beginning"

    def add(self, ids: Sequence[int]) -> bytes:
        """Return the bytes of these ids."""
        whole = self._behind(ids)  # UnknownTokenError, before anything has changed
        if self._begun:
            return whole
        self._has_ids |= len(ids) > 0
        out, at = b"", 0
        while at < len(ids) and not out:
            out = self._begin.add(ids[at : at + 1])
            at += 1
        if not out:
            return b""
        self._begun = True
        return out + self._begin.finish() + self._behind(ids[at:])

    def finish(self) -> bytes:
        """Return the bytes of a text that has not begun yet."""
        return b"" if self._begun else self._begin.finish()


def _is_apart(found: Sequence[Decoder]) -> bool:
    """Return whether decoders with steps make the same of a token wherever it is, but at the beginning of the text.

    False, too, for a decoder that may make much of a token, which `check_growth` looks at.
    """
    is_joined = False
    for decoder in found:
        if isinstance(decoder, spec.StripDecoder):
            is_alike = not is_joined or decoder.stop == 0
        elif isinstance(decoder, spec.ReplaceDecoder):
            is_alike = not is_joined and len(decoder.content) <= _SHORT
        else:
            is_alike = isinstance(decoder, _IN_TEXT if is_joined else _BY_TOKEN)
        if not is_alike:
            return False
        is_joined |= isinstance(decoder, _JOINING)
    return True


def behind_others(texts: list[str], decoders: Sequence[Decoder]) -> list[bytes]:
    """Return the bytes of each token behind others, by decoders that make the same of it wherever it is.

    >>> behind_others(["a", "##b"], [spec.WordPieceDecoder("##", cleanup=True)])
    [b' a', b'b']
    """
    texts = ["-", *texts]  # the first is one that is before them
    is_joined = False
    for decoder in decoders:
        if isinstance(decoder, spec.ByteLevelDecoder):
            texts = [apply(decoder, [text])[0] for text in texts]
        elif isinstance(decoder, spec.ByteFallback):
            texts = [text if byte_of(text) is None else apply(decoder, [text])[0] for text in texts]
        elif isinstance(decoder, spec.Spaced):
            texts = texts if is_joined else [f" {text}" for text in texts]
        elif not is_joined and not isinstance(decoder, spec.Fuse):
            texts = apply(decoder, texts)
        is_joined |= isinstance(decoder, _JOINING)
    return [text.encode("utf-8", "surrogateescape") for text in texts[1:]]


class _Steps:
    """Decodes ids by one step after the other."""

    place: Place = "between"

    def __init__(self, texts: Mapping[int, str], steps: list[Step]) -> None:
        self._texts, self._steps = texts, steps

    def add(self, ids: Sequence[int]) -> bytes:
        """Return the bytes that later ids do not change."""
        return self._run(texts_of(ids, self._texts), ends=False)

    def finish(self) -> bytes:
        """Return the bytes that were held."""
        return self._run([], ends=True)

    def _run(self, tokens: list[str], *, ends: bool) -> bytes:
        most = most_made_of(sum(map(len, tokens)))
        for step in self._steps:
            tokens = step(tokens, ends)
            check_growth(sum(map(len, tokens)), most, "decoder")
        return "".join(tokens).encode("utf-8", "surrogateescape")


def _steps_of(found: Sequence[Decoder]) -> list[Step] | None:
    """Return the steps of decoders that run one after the other; None where one of them needs the whole text."""
    steps: list[Step] = []
    is_joined = False  # whether the tokens were joined: what comes together is then a part of one text
    for number, decoder in enumerate(found):
        # such a step may give a token in parts: whatever follows must not look at single tokens
        gives_parts = isinstance(decoder, (spec.ByteFallback, spec.BpeSuffix))
        if gives_parts and not all(isinstance(after, spec.Fuse) for after in found[number + 1 : number + 2]):
            return None
        step = _step_in_text(decoder) if is_joined else _step_of(decoder)
        if step is None:
            return None
        steps.append(step)
        is_joined |= isinstance(decoder, _JOINING)
    return steps


def _step_of(decoder: Decoder) -> Step | None:
    """Return the step of a decoder that gets tokens one by one."""
    if isinstance(decoder, (spec.ReplaceDecoder, spec.StripDecoder, spec.Fuse)):
        return lambda tokens, _: apply(decoder, tokens)  # what becomes of a token depends on that token alone
    if isinstance(decoder, (spec.MetaspaceDecoder, spec.WordPieceDecoder, spec.Ctc)):
        return _AfterOne(decoder)
    if isinstance(decoder, spec.ByteLevelDecoder):
        return _Bytes(decoder)
    if isinstance(decoder, spec.ByteFallback):
        return _Fallback(decoder)
    if isinstance(decoder, spec.BpeSuffix):
        return _Suffix(decoder)
    return _Spaced() if isinstance(decoder, spec.Spaced) else None


def _step_in_text(decoder: Decoder) -> Step | None:
    """Return the step of a decoder that gets one text, in parts; None where it would have to see all of it."""
    if isinstance(decoder, (spec.Fuse, spec.Spaced)):
        return lambda tokens, _: tokens
    if isinstance(decoder, spec.StripDecoder):
        return _Strip(decoder)
    if isinstance(decoder, spec.ReplaceDecoder):
        pattern = decoder.pattern
        is_local = isinstance(pattern, Characters) or (isinstance(pattern, LiteralText) and len(pattern.text) == 1)
        return (lambda tokens, _: apply(decoder, tokens)) if is_local else None
    if isinstance(decoder, spec.MetaspaceDecoder) and len(decoder.replacement) == 1:
        instead = "" if decoder.is_prepended else " "
        return lambda tokens, _: [token.replace(decoder.replacement, instead) for token in tokens]
    return None


class _AfterOne:
    """The step of a decoder for which a token depends on the one before it, and on whether it is the first."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder, self._last = decoder, list[str]()

    def __call__(self, tokens: list[str], ends: bool) -> list[str]:
        del ends
        made = apply(self._decoder, [*self._last, *tokens])[len(apply(self._decoder, self._last)) :]
        self._last = tokens[-1:] or self._last
        return made


class _Bytes:
    """The step of the byte-level decoder: what is at the end of its text may be a part of a character."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder, self._held = decoder, b""

    def __call__(self, tokens: list[str], ends: bool) -> list[str]:
        data = self._held + "".join(apply(self._decoder, tokens)).encode("utf-8", "surrogateescape")
        at = len(data) - (0 if ends else cut_at_end(data))
        self._held = data[at:]
        return [data[:at].decode("utf-8", "surrogateescape")]


class _Fallback:
    """The step of the decoder of tokens that stand for bytes: those at the end may be a part of a character."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder, self._held = decoder, list[str]()

    def __call__(self, tokens: list[str], ends: bool) -> list[str]:
        tokens, run = self._held + tokens, b""
        for token in tokens[: -MAX_CHARACTER - 1 : -1]:
            if (byte := byte_of(token)) is None:
                break
            run = bytes([byte]) + run
        at = len(tokens) - (0 if ends else cut_at_end(run))
        self._held = tokens[at:]
        return apply(self._decoder, tokens[:at])


class _Suffix:
    """The step of the decoder of words that end with a suffix: a space, unless nothing follows."""

    def __init__(self, decoder: spec.BpeSuffix) -> None:
        self._decoder, self._held = decoder, list[str]()

    def __call__(self, tokens: list[str], ends: bool) -> list[str]:
        tokens = self._held + tokens
        if ends:
            return apply(self._decoder, tokens)
        *before, last = tokens or [""]
        at = last.find(self._decoder.suffix)
        self._held = [] if at < 0 else [last[at:]]
        return [*apply(self._decoder, [*before, ""])[:-1], last if at < 0 else last[:at]]


class _Spaced:
    """The step of a file without a decoder: a space between tokens."""

    def __init__(self) -> None:
        self._begun = False

    def __call__(self, tokens: list[str], ends: bool) -> list[str]:
        del ends
        first = " " if self._begun and tokens else ""
        self._begun |= bool(tokens)
        return [first + " ".join(tokens)]


class _Strip:
    """The step of the decoder that drops characters at the beginning and at the end of a text."""

    def __init__(self, decoder: spec.StripDecoder) -> None:
        self._content, self._start, self._stop = decoder
        self._held = ""

    def __call__(self, tokens: list[str], ends: bool) -> list[str]:
        text = self._held + "".join(tokens)
        begin = 0
        while begin < min(self._start, len(text)) and text[begin] == self._content:
            begin += 1
        self._start = self._start - begin if begin == len(text) else 0
        end = len(text)
        while end > max(len(text) - self._stop, begin) and text[end - 1] == self._content:
            end -= 1
        self._held = "" if ends else text[end:]
        return [text[begin:end]]
