// Printing rows: see piece_rows.h.
#include "views/piece_rows.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/watch.h"
#include "text/decimal.h"

namespace tokcli {
namespace {

constexpr size_t kDigits = 20;  // of the largest number of 64 bits

void append_number(uint64_t number, ByteBuffer* out) {
  char* const first = reinterpret_cast<char*>(out->reserve(kDigits));
  out->commit(static_cast<size_t>(std::to_chars(first, first + kDigits, number).ptr - first));
}

void append_ids(std::span<const uint32_t> ids, std::string_view between, ByteBuffer* out) {
  const size_t size = decimal_size(ids.data(), ids.size(), between.size());
  write_decimal(ids.data(), ids.size(), between, reinterpret_cast<char*>(out->reserve(size)));
  out->commit(size);
}

uint64_t characters_in(Bytes text) {
  return static_cast<uint64_t>(std::count_if(text.begin(), text.end(), begins_char));
}

// What is before each value of a row, and after the last one.
struct Form {
  std::string_view number, offset, bytes, characters, alternative, no_alternative, text, ids, end;
  std::string_view between_ids, between_rows;
};
constexpr Form kTsv{.number = "", .offset = "", .bytes = "\t", .characters = "\t", .alternative = "\ta",
                    .no_alternative = "\t-", .text = "\t", .ids = "\t", .end = "\n",
                    .between_ids = " ", .between_rows = ""};
constexpr Form kObjects{.number = "{\"number\": ", .offset = ", \"offset\": ", .bytes = ", \"bytes\": ",
                        .characters = ", \"chars\": ", .alternative = ", \"alternative\": \"a",
                        .no_alternative = ", \"alternative\": null", .text = ", \"text\": ", .ids = ", \"tokens\": [",
                        .end = "]}", .between_ids = ", ", .between_rows = ", "};

}  // namespace

void append_rows(const PieceColumns& columns, uint64_t number, uint64_t offset, Escapes escapes, ByteBuffer* out) {
  const bool is_json = escapes == Escapes::kJson;
  const Form& form = is_json ? kObjects : kTsv;
  uint64_t begin = 0;
  size_t id = 0;
  Pace pace;
  for (size_t i = 0; i < columns.ends.size(); ++i) {
    const uint64_t size = columns.ends[i] - begin;
    const Bytes piece = columns.text.subspan(begin, size);
    if (i > 0) append(form.between_rows, out);
    append(form.number, out);
    append_number(number + i, out);
    if (is_json) {
      append(form.offset, out);
      append_number(offset + begin, out);
    }
    append(form.bytes, out);
    append_number(size, out);
    append(form.characters, out);
    append_number(characters_in(piece), out);
    if (columns.alternatives[i] > 0) {
      append(form.alternative, out);
      append_number(columns.alternatives[i], out);
      if (is_json) append("\"", out);
    } else {
      append(form.no_alternative, out);
    }
    append(form.text, out);
    append_escaped(piece, {&size, 1}, false, {}, escapes, out);
    append(form.ids, out);
    append_ids(columns.ids.subspan(id, columns.counts[i]), form.between_ids, out);
    append(form.end, out);
    id += columns.counts[i];
    begin = columns.ends[i];
    pace.step(size);
  }
}

}  // namespace tokcli
