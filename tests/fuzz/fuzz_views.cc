// Views of any bytes: whatever is in them, and wherever tokens cut them, what is shown is whole characters without
// controls; and a stream is shown alike however it comes in parts.
//
// An input: flags, the width, how many tokens there are and the size of each, and the bytes.
#include <array>
#include <numeric>

#include "harness.h"
#include "input/invalid.h"
#include "input/valid_utf8.h"
#include "views/piece_rows.h"
#include "views/piece_totals.h"
#include "views/stacks.h"
#include "views/token_lines.h"
#include "views/token_rows.h"

using namespace fuzz;
using tokcli::ByteBuffer;
using Places = std::vector<uint64_t>;

namespace {

// What was written: whole characters, and of ASCII's controls only newlines and what begins a colour.
std::string checked(const ByteBuffer& out) {
  const Bytes bytes{out.data(), out.size()};
  CLAIM(tokcli::valid_utf8(bytes) == bytes.size());
  CLAIM(std::all_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte >= 32 || byte == '\n' || byte == 27; }));
  return std::string(chars(bytes));
}

struct Sample {
  Bytes data;
  Places ends;    // of tokens, of which some are empty
  Places pieces;  // of whole characters, none empty, up to the first bytes that are none, which end the last one
  std::vector<std::string> codes;
  size_t width;
  bool flag;
};

// The lines and the rows of tokens that come one by one, or all at once.
std::array<std::string, 2> show_tokens(const Sample& s, bool one_by_one) {
  const size_t some = one_by_one ? 1 : s.ends.size();
  const Ids ids(some, 1234);
  tokcli::TokenPlace place;
  tokcli::TokenRows rows(s.width, s.flag, !s.flag, s.codes);
  ByteBuffer of_lines, of_rows;
  for (size_t i = 0; i < s.ends.size(); i += some) {
    const uint64_t begin = i > 0 ? s.ends[i - 1] : 0;
    Places ends(&s.ends[i], &s.ends[i] + some);
    for (uint64_t& end : ends) end -= begin;
    const Bytes part = s.data.subspan(begin, ends.back());
    place = append_token_lines(part, ends, s.codes, s.flag, place, &of_lines);
    rows.add(part, ends, ids, &of_rows);
  }
  rows.finish(&of_rows);
  return {checked(of_lines), checked(of_rows)};
}

// The rows of tokens above one token, asked for `enough` bytes at a time.
std::string show_stacks(const Sample& s, size_t enough) {
  Places spans, all{0, s.data.size()};
  for (size_t i = 0; i < s.ends.size(); ++i) spans.insert(spans.end(), {i > 0 ? s.ends[i - 1] : 0, s.ends[i]});
  std::vector<tokcli::Track> tracks{{"one ", spans, s.data.size()}, {"two ", all, s.data.size()}};
  const tokcli::Stacks stacks(std::move(tracks), {s.width, s.flag, "", s.codes, !s.flag});
  ByteBuffer out;
  for (size_t at = 0, next; at < s.data.size(); at = next) {
    next = stacks.append_rows(s.data, at, enough, &out);
    CLAIM(next > at && next <= s.data.size());
  }
  return checked(out);
}

void show_pieces(const Sample& s, tokcli::Escapes escapes) {
  const std::vector<uint16_t> alternatives(s.pieces.size(), s.flag);
  const Ids counts(s.pieces.size(), 2), ids(2 * s.pieces.size(), 99999);
  ByteBuffer rows, out;
  append_rows({s.data, s.pieces, alternatives, ids, counts}, 1, 0, escapes, &rows);
  append_escaped(s.data, s.pieces, true, bytes_of("|\n"), escapes, &out);
  const std::string escaped = checked(out);
  CLAIM(static_cast<size_t>(std::count(escaped.begin(), escaped.end(), '\n')) == std::max<size_t>(s.pieces.size(), 1) - 1);
  uint64_t times = 0;
  for (const tokcli::SplitPiece& piece : tokcli::split_pieces(s.data, s.pieces, counts)) times += piece.times;
  CLAIM(times == s.pieces.size());
  const auto totals = tokcli::alternative_totals(s.pieces, alternatives).bytes;
  CLAIM(std::accumulate(totals.begin(), totals.end(), uint64_t{0}) == s.data.size());
  CLAIM(tokcli::long_pieces(s.data, s.pieces, 0, s.width, s.width).size() <= s.pieces.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<std::string> codes{"\x1b[31m", "\x1b[32m"};
  Input input{data, size};
  const uint8_t flags = input.byte(), width = input.byte(), tokens = input.byte() % 32;
  Places ends;
  for (unsigned i = 0; i < tokens; ++i) ends.push_back(input.byte() % 24 + (i ? ends.back() : 0));
  const Bytes bytes{input.p, input.left};
  for (uint64_t& end : ends) end = std::min<uint64_t>(end, bytes.size());
  if (!bytes.empty()) ends.push_back(bytes.size());
  const tokcli::InvalidRun run = tokcli::InvalidReader(bytes, 0, true).next();
  Places pieces;
  for (const uint64_t end : ends) {
    if (end > (pieces.empty() ? 0 : pieces.back()) && end < run.bad && (bytes[end] & 0xC0) != 0x80) pieces.push_back(end);
  }
  if (run.end > 0) pieces.push_back(run.end);
  Sample sample{bytes, ends, pieces, flags & 1 ? codes : std::vector<std::string>(), width, (flags & 2) != 0};
  CLAIM(show_tokens(sample, true) == show_tokens(sample, false));
  CLAIM(show_stacks(sample, 1) == show_stacks(sample, SIZE_MAX));
  CLAIM(tokcli::fitting(bytes, width, 32) < std::max<size_t>(bytes.size(), 1));
  sample.data = bytes.first(run.end);
  show_pieces(sample, flags & 4 ? tokcli::Escapes::kJson : tokcli::Escapes::kLine);
  return 0;
}
