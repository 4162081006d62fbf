// Pieces of text on one line each, or as strings of JSON.
#pragma once

#include <span>

#include "base/bytes.h"
#include "base/id_buffer.h"
#include "views/glyphs.h"

namespace tokcli {

enum class Escapes { kLine, kJson };

// Appends the pieces of a text (UTF-8), which end at `ends`, with `between` between two of them. kLine: as `escape` of
// render/visible.py writes them; kJson: strings in quotes, as json.dumps writes them, with \u007f for U+007F. Of what is
// outside ASCII, characters that are not shown become \uNNNN or \UNNNNNNNN (kLine), or the \uNNNN of their UTF-16 (kJson).
// `is_invalid`: pieces may end in bytes that are not UTF-8, which become \xNN (kLine) or lone surrogates (kJson).
void append_escaped(Bytes text, std::span<const uint64_t> ends, bool is_invalid, Bytes between, Escapes escapes,
                    ByteBuffer* out);

}  // namespace tokcli
