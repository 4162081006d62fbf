// Encoding bytes that are not all UTF-8: see encoder.h.
#include <algorithm>
#include <utility>

#include "input/valid_utf8.h"
#include "tiktoken/encoder.h"

namespace tokcli {
namespace {

bool is_white(char c) { return c == ' ' || c == '\n' || c == '\t'; }

}  // namespace

Result Encoder::encode_invalid(Bytes data, std::vector<uint64_t> ends, IdBuffer* out) {
  Result result;
  if (out) out->reserve(data.size());  // nearly as many ids as bytes
  result.missing_byte = vocabulary_.drops_missing() || !join_spaces(data, &ends);
  return result.missing_byte ? result : encode_split(data, ends, out);
}

// Bytes that are not UTF-8 end a piece, and no piece after them joins one before. So these are encoded some at a time,
// whose ends stay in the processor's caches. (Of 1 MB of noise, those of all took 5 MB of memory, and a sixth of the time.)
Result Encoder::encode_invalid(const Splitting& by, Bytes data, IdBuffer* out) {
  constexpr size_t kSome = 1 << 14;
  Result all;
  std::vector<uint64_t> ends;
  if (out) out->reserve(data.size());
  for (bool is_text = false; !is_text && !data.empty();) {
    ends.clear();
    if (!split_invalid(by, data, 0, true, &ends, kSome)) {
      all.left_out = true;
      break;
    }
    is_text = ends.empty();  // up to the end
    const Bytes some = is_text ? data : data.first(ends.back());
    const Result result = is_text ? encode(by, some, out) : encode_invalid(some, ends, out);
    all.add(result);
    if (!result.is_good()) break;
    data = data.subspan(some.size());
  }
  return all;
}

// Bytes that are not UTF-8 are merged with the last tokens before them, as in tiktoken's `_encode_bytes`: with those of
// the last piece and, where that begins with a token of white space, with all such tokens before it too. Moves the ends
// of the pieces so that the bytes of these tokens are one piece. Returns false where a byte is no token.
bool Encoder::join_spaces(Bytes data, std::vector<uint64_t>* ends) {
  const auto find_tokens = [&](Bytes text) {
    piece_ids_.clear();
    return encode_piece(text, &piece_ids_).is_good() && piece_ids_.size() > 0;
  };
  std::vector<uint64_t> joined;
  joined.reserve(ends->size());
  uint64_t begin = 0;
  for (const uint64_t end : *ends) {
    const Bytes piece = data.subspan(begin, end - begin);
    begin = end;
    const size_t text = is_white(static_cast<char>(piece[0])) && piece.back() >= 0x80 ? valid_utf8(piece) : piece.size();
    if (text < piece.size() && !find_tokens(piece.first(text))) return false;
    bool joins = text < piece.size() && is_space(piece_ids_.data()[0]);
    while (joins && !joined.empty() && is_white(static_cast<char>(data[joined.back() - 1]))) {
      const uint64_t last = joined.back();
      joined.pop_back();
      uint64_t at = joined.empty() ? 0 : joined.back();
      if (!find_tokens(data.subspan(at, last - at))) return false;
      size_t kept = piece_ids_.size();
      while (kept > 0 && is_space(piece_ids_.data()[kept - 1])) --kept;
      joins = kept == 0;
      for (size_t i = 0; i < kept; ++i) {  // the other tokens of that piece
        std::string_view token;
        if (!vocabulary_.token(piece_ids_.data()[i], &token)) return false;
        joined.push_back(at += token.size());
      }
      if (at > last) return false;  // the image is wrong
    }
    joined.push_back(end);
  }
  *ends = std::move(joined);
  return true;
}

// Says whether a token is nothing but white space that a pattern may split in more than one way.
bool Encoder::is_space(uint32_t id) const {
  std::string_view token;
  return vocabulary_.token(id, &token) && std::all_of(token.begin(), token.end(), is_white);
}

}  // namespace tokcli
