// Ids and bytes of any kind: what is decoded is what a map of the tokens says, ids are printed as the standard library
// prints them and read back as they were, UTF-8 is what the Unicode standard's table says, what is not UTF-8 is found 64
// bytes at a time as it is byte by byte, and any text is found again in JSON Lines.
//
// An input: flags, how many special tokens; the rest is ids (2 or 4 bytes each), then taken as text.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>

#include "base/processor.h"
#include "input/json_texts.h"
#include "input/invalid.h"
#include "input/valid_utf8.h"
#include "samples.h"
#include "text/decimal.h"
#include "tiktoken/decoder.h"
#include "tiktoken/known_tokens.h"

using namespace fuzz;

namespace {

const std::vector<std::string>& tokens() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> made = single_bytes();
    for (size_t size = 2; size < 60; ++size) made.emplace_back(size, static_cast<char>('a' + size % 26));
    return made;
  }();
  return all;
}

// All tokens but every seventh, whose ids are no tokens.
const tokcli::Vocabulary& vocabulary() {
  static const std::vector<uint8_t> image = [] {
    Ranks ranks;
    for (uint32_t id = 0; id < tokens().size(); ++id) {
      if (id % 7 != 3) ranks.emplace(tokens()[id], id);
    }
    return image_of(ranks);
  }();
  static tokcli::Vocabulary opened;
  static const bool is_open = opened.open(image);
  CLAIM(is_open);
  return opened;
}

void check_decoding(Bytes data, size_t width, const std::map<uint32_t, std::string>& special) {
  const tokcli::IdView ids{data.data(), data.size() / width, width};
  std::string expected;
  std::optional<uint32_t> unknown;
  for (size_t i = 0; i < ids.count && !unknown; ++i) {
    const uint32_t id = ids[i];
    if (id < tokens().size() && id % 7 != 3) expected += tokens()[id];
    else if (special.contains(id)) expected += special.at(id);
    else unknown = id;
  }
  const tokcli::Decoder decoder(vocabulary(), special);
  size_t size = 0;
  CLAIM(decoder.measure(ids, &size) == unknown);
  if (unknown) return;
  CLAIM(size == expected.size());
  const std::unique_ptr<char[]> out(new char[size]);  // (exactly as much: ASan sees the first byte too many)
  decoder.write(ids, out.get(), size);
  CLAIM(std::string_view(out.get(), size) == expected);
  const std::unique_ptr<char[]> less(new char[size / 2]);
  decoder.write(ids, less.get(), size / 2);  // as where ids have changed since they were measured
}

// The same where each token is told once it is met, special ones among them.
void check_known(Bytes data, const std::map<uint32_t, std::string>& special) {
  std::vector<uint32_t> ids(data.size() / 4);
  if (!ids.empty()) std::memcpy(ids.data(), data.data(), ids.size() * 4);
  tokcli::KnownTokens known;
  for (const auto& [id, token] : special) known.add(id, token);
  const std::vector<uint32_t> missing = known.unknown(ids);
  CLAIM(known.measure(ids).has_value() == missing.empty());
  for (size_t i = 0; i < missing.size(); ++i) known.add(missing[i], tokens()[missing[i] % tokens().size()]);
  std::string expected;
  for (const uint32_t id : ids) expected += special.contains(id) ? special.at(id) : tokens()[id % tokens().size()];
  CLAIM(known.unknown(ids).empty() && known.measure(ids) == expected.size());
  const std::unique_ptr<char[]> out(new char[expected.size()]);
  known.write(ids, out.get(), expected.size());
  CLAIM(std::string_view(out.get(), expected.size()) == expected);
  const std::unique_ptr<uint64_t[]> spans(new uint64_t[2 * ids.size()]);
  known.spans(ids, 0, false, spans.get());
  CLAIM(ids.empty() || spans[2 * ids.size() - 1] == expected.size());
  known.spans(ids, 0, true, spans.get());
}

void check_decimal(Bytes data, std::string_view between) {
  const tokcli::IdView ids{data.data(), data.size() / 4, 4};
  std::vector<uint32_t> numbers;
  std::string expected;
  for (size_t i = 0; i < ids.count; ++i) {
    numbers.push_back(ids[i] >> (ids[i] & 31));  // of all sizes
    expected += (i ? std::string(between) : std::string()) + std::to_string(numbers.back());
  }
  CLAIM(tokcli::decimal_size(numbers.data(), numbers.size(), between.size()) == expected.size());
  const std::unique_ptr<char[]> out(new char[expected.size()]);
  CLAIM(tokcli::write_decimal(numbers.data(), numbers.size(), between, out.get()) == out.get() + expected.size());
  CLAIM(std::string_view(out.get(), expected.size()) == expected);
  tokcli::IdBuffer read;
  const bool separates = numbers.size() < 2 || between.find_first_not_of(" ,\t\n") == std::string::npos;
  CLAIM(tokcli::parse_decimal(bytes_of(expected), &read) == separates);
  if (read.size() > 0 && !between.empty()) CLAIM(std::ranges::equal(numbers, std::span(read.data(), read.size())));
}

// Whether a text is ids, and which, by the definition.
bool parse_slowly(std::string_view text, Ids& ids) {
  constexpr std::string_view kBetween = " ,\t\n\v\f\r";
  for (size_t at = 0; (at = text.find_first_not_of(kBetween, at)) != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_of(kBetween, at), text.size());
    const std::string item(text.substr(at, end - at));
    if (item.size() > 10 || item.find_first_not_of("0123456789") != std::string::npos || std::stoull(item) > UINT32_MAX)
      return false;
    ids.push_back(static_cast<uint32_t>(std::stoull(item)));
    at = end;
  }
  return true;
}

void check_text(Bytes text) {
  Ids expected;
  tokcli::IdBuffer ids;
  const bool are_ids = parse_slowly(chars(text), expected);
  CLAIM(tokcli::parse_decimal(text, &ids) == are_ids);
  CLAIM(!are_ids || std::ranges::equal(expected, std::span(ids.data(), ids.size())));
  std::vector<uint32_t> points;
  const size_t valid = decode_utf8(text, points);
  CLAIM(tokcli::valid_utf8(text) == valid);
  const Bytes whole = text.first(valid);
  const tokcli::CodePoints found = tokcli::points_in(whole);
  CLAIM(found.count == points.size());
  for (const uint32_t point : points) CLAIM(point <= found.most);
  const size_t unit = found.most <= 0xFF ? 1 : found.most <= 0xFFFF ? 2 : 4;
  std::vector<uint8_t> written(points.size() * unit);
  tokcli::from_utf8(whole, found.most, written.data());
  for (size_t i = 0; i < points.size(); ++i) {
    uint32_t point = 0;
    std::memcpy(&point, &written[i * unit], unit);
    CLAIM(point == points[i]);
  }
}

// Writes a string of JSON: of `text`, as the bits of `how` say for each byte, characters as they are or escaped.
std::string json_string(std::string_view text, unsigned how) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == '"' || byte == '\\' || (byte < 0x80 && (how >> i % 8 & 1))) {
      std::array<char, 8> escape;
      std::snprintf(escape.data(), escape.size(), how & 1 ? "\\u%04x" : "\\u%04X", byte);
      out += escape.data();
    } else {
      out += text[i];
    }
  }
  return out + '"';
}

// Runs of invalid bytes, and what stands in place of them, are those that are found sequence by sequence.
void check_invalid(Bytes data, bool is_whole) {
  tokcli::InvalidReader reader(data, 0, is_whole);
  size_t at = 0, last = 0, bad_sequences = 0, text = 0;
  do {
    const size_t begin = at;
    tokcli::Utf8Sequence sequence;
    while (at < data.size() && (sequence = tokcli::first_sequence(data.subspan(at))).is_character) at += sequence.size;
    const size_t bad = at;
    while (at < data.size() && !(sequence = tokcli::first_sequence(data.subspan(at))).is_character) {
      at += sequence.size;
      ++bad_sequences;
    }
    const tokcli::InvalidRun run = reader.next();
    CLAIM(run.bad == bad && run.end == at && run.is_open == (!is_whole && at == data.size()));
    if (bad < at && !run.is_open) last = at;
    text += bad - begin;
  } while (at < data.size());
  CLAIM(tokcli::last_invalid(data, is_whole) == last);
  tokcli::ByteBuffer replaced;
  CLAIM(tokcli::replace_invalid(data, SIZE_MAX, &replaced) == data.size());
  CLAIM(replaced.size() == text + 3 * bad_sequences);
  const std::string_view made(reinterpret_cast<const char*>(replaced.data()), replaced.size());
  CLAIM(tokcli::valid_utf8(bytes_of(made)) == made.size());
}

// Any bytes are read without harm; a text in UTF-8 is found as it is, and alone after a line that is cut short.
void check_json(Bytes data, unsigned how) {
  const auto find = [](Bytes lines, std::string_view name, std::string* texts, std::vector<uint64_t>* ends) {
    std::vector<uint8_t> room(lines.size());  // of just this size, so that a byte more is noticed
    ends->clear();
    if (!tokcli::find_json_texts(lines, name, "other", room.data(), ends)) return false;
    *texts = chars(Bytes(room).first(ends->back()));
    return true;
  };
  std::string found, narrow;
  std::vector<uint64_t> ends, narrow_ends;
  tokcli::limit_instructions(tokcli::Instructions::kSse2);
  const bool is_narrow = find(data, "a", &narrow, &narrow_ends);
  tokcli::limit_instructions(tokcli::Instructions::kAvx512);
  CLAIM(find(data, "a", &found, &ends) == is_narrow && (!is_narrow || (found == narrow && ends == narrow_ends)));
  const std::string_view text = chars(data.first(tokcli::valid_utf8(data)));
  const std::string string = json_string(text, how);
  std::string lines = "{\"c\": [" + string + ", {" + string + ":1e5}], \"text\" :" + string + "}\n";
  lines += "{\"text\":" + json_string("", how) + "}\n";
  CLAIM(find(bytes_of(lines), "text", &found, &ends));
  CLAIM(ends.size() == 2 && ends[0] == text.size() && ends[1] == text.size());
  CLAIM(found == text);
  const std::vector<uint8_t> cut(lines.begin(), lines.begin() + static_cast<ptrdiff_t>(how % lines.size()));
  CLAIM(cut.empty() || cut.back() == '\n' || !find(cut, "text", &found, &ends));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input{data, size};
  const uint8_t flags = input.byte();
  std::map<uint32_t, std::string> special;
  for (unsigned left = input.byte() % 4; left > 0; --left) special[input.byte() * 3u] = std::string(input.byte() % 50, 's');
  std::vector<uint8_t> rest(input.p, input.p + input.left);
  const Bytes bytes(rest);
  check_decimal(bytes, (const char*[]){" ", ",", "\n", ", ", "][", "0123456789"}[flags / 4 % 6]);
  check_text(bytes);
  check_json(bytes, flags);
  check_invalid(bytes, flags & 8);
  if (flags & 1) {  // make most of the ids tokens
    for (size_t i = 0; i < rest.size(); ++i) {
      if (i % (flags & 2 ? 4 : 2) != 0) rest[i] = i % 4 == 1 ? rest[i] & 1 : 0;
    }
  }
  check_known(rest, special);
  check_decoding(rest, flags & 2 ? 4 : 2, special);
  if (rest.size() > 1) check_decoding(bytes.subspan(1), flags & 2 ? 4 : 2, special);  // not aligned
  return 0;
}
