"""Native stages by a spec: opens their image, and gives a model ranks and the patterns that cut text for them."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tokcli.engine.native_models.cut_text import CutText
from tokcli.engine.native_models.opened_stages import opened_stages
from tokcli.engine.native_models.text_model import NativeText
from tokcli.engine.pretokenizers.native_pattern import native_row
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer
from tokcli.engine.pretokenizers.row_image import row_in
from tokcli.engine.spec.added_token import AddedToken
from tokcli.engine.spec.image import LSTRIP, RSTRIP, SPECIAL, ImageSpec, RanksSpec
from tokcli.engine.stream.token_cuts import TokenCuts
from tokcli.engine.tiktoken.native_encoder import native_splitter, open_vocabulary

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tokcli.engine import _native


def use_ranks(model: _native.TextModel, ranks: RanksSpec, image: Buffer, programs: Buffer = b"") -> bool:
    """Let a model use the ranks of an image; return whether there are native forms of the patterns and of the ranks.

    `programs` (pretokenizers/row_image.py) cut text where there is no pattern; ValueError if they are damaged.
    """
    vocabulary = open_vocabulary(lambda: image)
    splitter: int | _native.Pattern | None
    if not ranks.patterns:
        splitter = row_in(programs)
    else:
        splitter = native_row(ranks.patterns) if ranks.are_in_row else native_splitter(PreTokenizer(ranks.patterns[0]))
    if vocabulary is None or splitter is None:
        return False
    exact = native_row(ranks.exact) if ranks.exact else None
    model.use_ranks(vocabulary, splitter, exact, array("I", ranks.exceptions), ranks.puts_space)
    return True


def open_stages(
    spec: ImageSpec, sections: Mapping[str, memoryview], bytes_of: Callable[[int], bytes], name: str
) -> NativeText:
    """Return the native twin of a spec, by the sections of its image; ValueError where they do not fit.

    `bytes_of` gives the bytes of an id, and `name` is what messages call the vocabulary.
    """
    image = sections.get("ranks")
    twin = opened_stages(spec, sections["stages"], image)
    if spec.ranks is not None and not (image and use_ranks(twin.model, spec.ranks, image, sections.get("exact", b""))):
        raise ValueError("ranks or patterns that native code does not take")
    if spec.cuts_by is None:
        return twin
    cuts = TokenCuts(
        [
            AddedToken(text, n, lstrip=bool(bits & LSTRIP), rstrip=bool(bits & RSTRIP), special=bool(bits & SPECIAL))
            for text, n, bits in zip(spec.added_texts, spec.added_ids, spec.added_flags, strict=True)
        ],
        spec.cuts_by,
    )
    by_bytes = bytes_of if spec.places_by_bytes else None
    return CutText(twin, cuts, puts_space=spec.puts_space, bytes_of=by_bytes, name=name)
