// Spans of tokens: for each token two numbers, its first character (or byte) in a text and the one after its last. The
// twin of engine/stream/spans.py.
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/id_buffer.h"

namespace tokcli {

using Spans = GrowingBuffer<uint64_t>;  // two numbers for each token

// Writes `id TAB start TAB end NEWLINE` for each id, or, without ids, `[start, end]` for each span, with ", " between
// two of them, and returns the end of the text. `spans` has two numbers (uint64) for each id, to which `shift` is added.
char* write_spans(std::span<const uint32_t> ids, Bytes spans, uint64_t shift, char* out);
// Returns how many bytes of memory write_spans may use.
size_t most_span_text(bool has_ids, Bytes spans, uint64_t shift);

// Turns spans in the characters of a text into spans in its bytes; what is after the last character ends with the text.
// Characters begin at every byte that is not a continuation byte, so that any bytes are a text.
void to_byte_spans(Bytes text, std::span<uint64_t> spans);

// Turns spans in a text that was changed into spans in the text before, and adds `shift`. `breaks` are pairs of a place in
// the changed text and its origin in the other, in ascending order, the first place 0: up to the next pair, places and
// their origins ascend together.
void map_spans(std::span<const uint64_t> breaks, uint64_t shift, std::span<uint64_t> spans);

// Takes the white space at the ends of tokens out of their spans: `blanks` has the number of characters at the beginning
// and at the end of each. `keeps_first`: one character stays at the beginning of the text.
void trim_spans(std::span<uint64_t> spans, std::span<const uint32_t> blanks, bool keeps_first);

}  // namespace tokcli
