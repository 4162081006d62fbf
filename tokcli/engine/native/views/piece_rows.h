// The pieces of a text as the rows of `split --table`: tab-separated values, or objects of JSON.
#pragma once

#include <span>

#include "base/bytes.h"
#include "base/id_buffer.h"
#include "views/escapes.h"

namespace tokcli {

// A text (UTF-8) as columns: where its pieces end, which alternative made each (0: none is known), and the ids of all,
// `counts` of them for each piece. The caller has checked that the columns fit each other.
struct PieceColumns {
  Bytes text;
  std::span<const uint64_t> ends;
  std::span<const uint16_t> alternatives;
  std::span<const uint32_t> ids, counts;
};

// Appends a row for each piece: its number (the first has `number`), the offset of its first byte (that of the text is
// `offset`; in JSON only), its bytes, characters, alternative, text and ids. Rows end with a newline (kLine), or have
// ", " between them (kJson). Texts are as append_escaped writes them.
void append_rows(const PieceColumns& columns, uint64_t number, uint64_t offset, Escapes escapes, ByteBuffer* out);

}  // namespace tokcli
