// Views of pieces and tokens: escaped texts, rows, totals, lines of tokens, stacks.
#include <nanobind/nanobind.h>

#include <algorithm>
#include <numeric>

#include "module/bindings.h"
#include "module/id_objects.h"
#include "views/piece_rows.h"
#include "views/piece_totals.h"
#include "views/stacks.h"
#include "views/token_lines.h"
#include "views/token_rows.h"

using namespace tokcli;

namespace {

nb::bytes escape_pieces(nb::handle data, nb::handle given, nb::handle given_between, bool is_json, bool is_invalid) {
  const StableView text(data), between(given_between);
  const PieceEnds given_pieces(given, text.bytes());
  const std::span<const uint64_t> ends = given_pieces.items();
  ByteBuffer out;
  {
    const ReleasedGil released;
    append_escaped(text.bytes(), ends, is_invalid, between.bytes(), is_json ? Escapes::kJson : Escapes::kLine, &out);
  }
  return to_bytes(view_of({out.data(), out.size()}));
}

// Returns the strings of a list of bytes.
std::vector<std::string> strings_of(nb::list given) {
  std::vector<std::string> found;
  for (nb::handle item : own_list(given)) found.push_back(string_of(item));
  return found;
}

// Returns the ends of the tokens of a text (uint64), of which some may be empty.
std::vector<uint64_t> token_ends(nb::handle given, Bytes text) {
  std::vector<uint64_t> ends = items_of<uint64_t>(given);
  if (!std::is_sorted(ends.begin(), ends.end()) || (ends.empty() ? 0 : ends.back()) != text.size())
    throw nb::value_error("the ends of the tokens do not ascend to the end of the text");
  return ends;
}

nb::tuple token_lines(nb::handle data, nb::handle given_ends, nb::list given_codes, bool spaces, Number<uint64_t> number,
                      bool ended_line) {
  const StableView text(data);
  const std::vector<uint64_t> ends = token_ends(given_ends, text.bytes());
  const std::vector<std::string> codes = strings_of(given_codes);
  TokenPlace place{number, ended_line};
  ByteBuffer out;
  {
    const ReleasedGil released;
    place = append_token_lines(text.bytes(), ends, codes, spaces, place, &out);
  }
  return tuple_of(to_bytes(view_of({out.data(), out.size()})), place.number, place.ended_line);
}

// `TokenRows` of the Python module. It keeps the GIL: a part of a stream takes some milliseconds.
class PyTokenRows {
 public:
  PyTokenRows(Number<size_t> width, bool has_ids, bool isolates, nb::list codes)
      : rows_(width, has_ids, isolates, strings_of(codes)) {}
  nb::bytes add(nb::handle data, nb::handle given_ends, nb::handle given_ids) {
    const StableView text(data);
    const std::vector<uint64_t> ends = token_ends(given_ends, text.bytes());
    const std::vector<uint32_t> ids = items_of<uint32_t>(given_ids);
    if (ids.size() != ends.size()) throw nb::value_error("each token has one id");
    ByteBuffer out;
    rows_.add(text.bytes(), ends, ids, &out);
    return to_bytes(view_of({out.data(), out.size()}));
  }
  nb::bytes finish() {
    ByteBuffer out;
    rows_.finish(&out);
    return to_bytes(view_of({out.data(), out.size()}));
  }

 private:
  TokenRows rows_;
};

// `Stacks` of the Python module, which never changes.
class PyStacks {
 public:
  PyStacks(nb::handle data, nb::list tracks, nb::handle room, nb::handle label_code, nb::list codes, bool isolates)
      : text_(data), stacks_(tracks_in(tracks, text_.bytes()),
                {room.is_none() ? 0 : number_of<size_t>(room), !room.is_none(), string_of(label_code), strings_of(codes), isolates}) {}

  nb::tuple rows(Number<size_t> given_begin, Number<size_t> given_enough) const {
    const size_t begin = given_begin, enough = given_enough;
    if (begin > text_.bytes().size()) throw nb::value_error("the text ends before the row begins");
    ByteBuffer out;
    size_t next;
    {
      const ReleasedGil released;
      next = stacks_.append_rows(text_.bytes(), begin, enough, &out);
    }
    return tuple_of(to_bytes(view_of({out.data(), out.size()})), next);
  }

 private:
  static std::vector<Track> tracks_in(nb::list given, Bytes text) {
    std::vector<Track> tracks;
    for (nb::handle item : own_list(given)) {
      if (!PyTuple_Check(item.ptr()) || PyTuple_GET_SIZE(item.ptr()) != 2)
        throw nb::value_error("a track is a tuple of a label and spans");
      const auto track = nb::borrow<nb::tuple>(item);
      const std::vector<uint64_t> spans = items_of<uint64_t>(track[1]);
      if (spans.size() % 2) throw nb::value_error("a span is two numbers");
      for (size_t i = 0; i < spans.size(); i += 2) {
        if (spans[i] > spans[i + 1] || spans[i + 1] > text.size()) throw nb::value_error("a span is not within the text");
      }
      tracks.emplace_back(string_of(track[0]), spans, text.size());
    }
    return tracks;
  }
  StableView text_;
  Stacks stacks_;
};

void check_sizes(size_t pieces, size_t alternatives, const std::vector<uint32_t>& counts) {
  if (alternatives != pieces || counts.size() != pieces)
    throw nb::value_error("each piece has one alternative and one number of ids");
}

nb::bytes piece_rows(nb::handle data, nb::handle given_ends, nb::handle given_alternatives, nb::handle given_ids,
                     nb::handle given_counts, Number<uint64_t> number, Number<uint64_t> offset, bool is_json) {
  const StableView text(data);
  const IdsView ids(given_ids);
  const PieceEnds given_pieces(given_ends, text.bytes());
  const std::span<const uint64_t> ends = given_pieces.items();
  const std::vector<uint16_t> alternatives = items_of<uint16_t>(given_alternatives);
  const std::vector<uint32_t> counts = items_of<uint32_t>(given_counts);
  check_sizes(ends.size(), alternatives.size(), counts);
  if (std::accumulate(counts.begin(), counts.end(), uint64_t{0}) != ids.size())
    throw nb::value_error("the pieces do not have as many ids as there are");
  const uint64_t first_number = number, first_offset = offset;
  ByteBuffer out;
  {
    const ReleasedGil released;
    append_rows({text.bytes(), ends, alternatives, ids.items(), counts}, first_number, first_offset,
                is_json ? Escapes::kJson : Escapes::kLine, &out);
  }
  return to_bytes(view_of({out.data(), out.size()}));
}

nb::tuple piece_totals(nb::handle data, nb::handle given_ends, nb::handle given_alternatives, nb::handle given_counts,
                       Number<size_t> least, Number<size_t> wanted, Number<size_t> kept) {
  const StableView text(data);
  const PieceEnds given_pieces(given_ends, text.bytes());
  const std::span<const uint64_t> ends = given_pieces.items();
  const std::vector<uint16_t> alternatives = items_of<uint16_t>(given_alternatives);
  const std::vector<uint32_t> counts = items_of<uint32_t>(given_counts);
  check_sizes(ends.size(), alternatives.size(), counts);
  const size_t least_size = least, wanted_pieces = wanted, kept_bytes = kept;
  AlternativeTotals totals;
  std::vector<SplitPiece> split;
  std::vector<uint64_t> longest;
  {
    const ReleasedGil released;
    totals = alternative_totals(ends, alternatives);
    split = split_pieces(text.bytes(), ends, counts);
    longest = long_pieces(text.bytes(), ends, least_size, wanted_pieces, kept_bytes);
  }
  auto several = owned<nb::list>(PyList_New(0));
  for (const SplitPiece& piece : split)
    several.append(tuple_of(to_bytes(piece.bytes.substr(0, kept_bytes)), piece.ids, piece.times));
  return tuple_of(to_bytes(totals.pieces), to_bytes(totals.bytes), several, to_bytes(longest));
}

}  // namespace

void bind_views(nb::module_& module) {
  module.def("escape_pieces", &escape_pieces, nb::arg("data"), nb::arg("ends"), nb::arg("between"),
             nb::arg("is_json"), nb::arg("is_invalid") = false);
  module.def("token_lines", &token_lines);
  nb::class_<PyTokenRows>(module, "TokenRows")
      .def(made_of<PyTokenRows, Number<size_t>, bool, bool, nb::list>(), nb::arg("width"), nb::arg("has_ids"),
           nb::arg("isolates"), nb::arg("codes"))
      .def("add", &PyTokenRows::add, nb::lock_self())
      .def("finish", &PyTokenRows::finish, nb::lock_self());
  nb::class_<PyStacks>(module, "Stacks")
      .def(made_of<PyStacks, nb::handle, nb::list, nb::handle, nb::handle, nb::list, bool>(),
           nb::arg("text"), nb::arg("tracks"), nb::arg("room").none(), nb::arg("label_code"), nb::arg("codes"),
           nb::arg("isolates"))
      .def("rows", &PyStacks::rows);
  module.def("piece_rows", &piece_rows);
  module.def("piece_totals", &piece_totals);
}
