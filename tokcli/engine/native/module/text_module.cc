// Splitting by the pattern of a family, or by any pattern that has a program (`Pattern`); UTF-8, the ends of records, and
// the texts of JSON Lines.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <optional>

#include "input/json_texts.h"
#include "input/invalid.h"
#include "input/valid_utf8.h"
#include "models/longest_match.h"
#include "module/bindings.h"
#include "module/classes/py_vocabulary.h"
#include "text/utf8.h"

using namespace tokcli;

namespace {

size_t valid_size(nb::handle text) {
  const StableView view(text);
  const ReleasedGil released;
  return valid_utf8(view.bytes());
}

size_t count_chars(nb::handle text) {
  const StableView view(text);
  const ReleasedGil released;
  const Bytes bytes = view.bytes();
  return static_cast<size_t>(std::count_if(bytes.begin(), bytes.end(), begins_char));
}

std::unique_ptr<LongestMatch> make_match(nb::list given) {
  const nb::list texts = own_list(given);
  std::vector<std::string_view> views;
  for (nb::handle text : texts) {
    if (!PyBytes_CheckExact(text.ptr())) raise_wrong_type("bytes", text);
    views.emplace_back(PyBytes_AS_STRING(text.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(text.ptr())));
  }
  return std::make_unique<LongestMatch>(views);
}

nb::bytes find_longest(const LongestMatch& match, nb::handle data, Number<size_t> size, Number<size_t> most) {
  const StableView view(data);
  const Bytes searched = view.bytes().first(std::min<size_t>(size, view.bytes().size()));
  const size_t wanted = most;
  std::vector<uint64_t> places;
  {
    const ReleasedGil released;
    places = match.find(searched, wanted);
  }
  return to_bytes(places);
}

nb::bytes find_numbered(const LongestMatch& match, nb::handle data, nb::handle given) {
  const StableView view(data);
  const std::vector<uint64_t> numbers = items_of<uint64_t>(given);
  if (numbers.size() != match.size()) throw nb::value_error("each text needs a number");
  std::vector<uint64_t> places;
  {
    const ReleasedGil released;
    places = match.find_numbered(view.bytes(), numbers);
  }
  return to_bytes(places);
}

nb::tuple replaced(nb::handle data, Number<size_t> limit) {
  const StableView view(data);
  const size_t most = limit;
  ByteBuffer out;
  size_t taken;
  {
    const ReleasedGil released;
    out.reserve(std::min(most, view.bytes().size()));
    taken = replace_invalid(view.bytes(), most, &out);
  }
  return tuple_of(to_bytes(view_of({out.data(), out.size()})), taken);
}

nb::bytes ends_of_records(nb::handle data, Number<uint8_t> separator) {
  const StableView view(data);
  return to_bytes(record_ends(view.bytes(), separator));
}

nb::object json_texts(nb::handle lines, const nb::bytes& name, const nb::bytes& other) {
  const StableView view(lines);
  const std::string_view names[] = {{name.c_str(), name.size()}, {other.c_str(), other.size()}};
  std::vector<uint64_t> ends;
  bool are_plain;
  nb::bytes texts = written(view.bytes().size(), [&](char* out) {
    are_plain = find_json_texts(view.bytes(), names[0], names[1], reinterpret_cast<uint8_t*>(out), &ends);
  });
  if (!are_plain) return nb::none();
  const size_t size = ends.back();
  return tuple_of(resized(std::move(texts), size), to_bytes(ends));
}

nb::bytes split(nb::handle text, Number<int> number) {
  std::optional<StableView> view;
  if (!PyUnicode_Check(text.ptr())) view.emplace(text);
  const Bytes bytes = view ? view->bytes() : utf8_of(text);
  const Family family = family_of(number);
  std::vector<uint64_t> ends;
  const FindEnds find_ends = finder(family, instructions());
  constexpr size_t kRoom = 256;
  std::array<const uint8_t*, kRoom + kWindow> found;
  {
    const ReleasedGil released;
    for (const uint8_t *p = bytes.data(), *end = p + bytes.size(); p < end;) {
      const size_t count = find_ends(p, end, found.data(), kRoom, nullptr);
      work_done(static_cast<size_t>(found[count - 1] - p));
      for (size_t i = 0; i < count; ++i) ends.push_back(static_cast<uint64_t>(found[i] - bytes.data()));
      p = found[count - 1];
    }
  }
  return to_bytes(ends);
}

nb::object split_among_invalid(nb::handle given, Number<size_t> start, nb::handle by, bool is_whole) {
  const StableView view(given);
  const size_t begin = start;
  if (begin > view.bytes().size()) throw nb::value_error("the data ends before its beginning");
  std::vector<uint64_t> ends;
  bool is_split;
  const Splitting splitting = splitting_of(by);
  {
    const ReleasedGil released;
    is_split = split_invalid(splitting, view.bytes(), begin, is_whole, &ends);
  }
  return is_split ? nb::object(to_bytes(ends)) : nb::none();
}

nb::object invalid_size(nb::handle data, bool is_whole) {
  const StableView view(data);
  size_t size;
  {
    const ReleasedGil released;
    size = last_invalid(view.bytes(), is_whole);
  }
  return nb::int_(size);
}

std::unique_ptr<MatcherPool> make_pattern(nb::handle firsts, nb::handle classes, nb::handle sets, nb::handle steps,
                                          Number<uint32_t> start) {
  Program program;
  const StableView class_view(classes), set_view(sets);
  const std::vector<uint32_t> first_items = items_of<uint32_t>(firsts), step_items = items_of<uint32_t>(steps);
  if (!program.open(first_items, class_view.bytes(), set_view.bytes(), step_items, start))
    throw nb::value_error("not the program of a pattern");
  Patterns patterns;
  patterns.programs.push_back(std::move(program));
  return std::make_unique<MatcherPool>(std::move(patterns));
}

// Makes the patterns of a list, none of which is a row, to one. `cuts` has a byte for each, or none: then all of them cut
// around their matches.
MatcherPool* make_row(nb::list given, nb::handle cuts, bool ends_words) {
  Patterns row{{}, {}, true, ends_words};
  const nb::list items = own_list(given);
  for (const nb::handle item : items) {
    if (!nb::isinstance<MatcherPool>(item)) raise_wrong_type("Pattern", item);
    const MatcherPool& one = nb::cast<const MatcherPool&>(item);
    if (one.source().is_row) throw nb::value_error("a row of rows");
    row.programs.push_back(one.source().programs[0]);
  }
  if (row.programs.empty()) throw nb::value_error("a row of no patterns");
  row.cuts.assign(row.programs.size(), Cut::kAround);
  const StableView cut_view(cuts);
  const Bytes cut = cut_view.bytes();
  if (!cut.empty() && cut.size() != row.cuts.size()) throw nb::value_error("each pattern cuts in one way");
  for (size_t i = 0; i < cut.size(); ++i) {
    if (cut[i] > static_cast<uint8_t>(Cut::kBeforeThrees)) throw nb::value_error("not a way to cut");
    row.cuts[i] = static_cast<Cut>(cut[i]);
  }
  return std::make_unique<MatcherPool>(std::move(row)).release();
}

nb::tuple split_by_pattern(MatcherPool& pattern, nb::handle given, Number<size_t> from, bool is_whole, bool with_alternatives) {
  const StableView view(given);
  const Bytes text = view.bytes();
  const size_t begin = from;
  if (begin > text.size()) throw nb::value_error("the text ends before its beginning");
  std::vector<uint64_t> ends;
  std::vector<uint16_t> alternatives;
  bool has_failed;
  {
    const ReleasedGil released;
    const MatcherPool::Lease matcher(pattern);
    matcher->begin(text, is_whole);
    constexpr size_t kRoom = 1024;
    std::array<const uint8_t*, kRoom> found;
    std::array<uint16_t, kRoom> numbers;
    ends.reserve((text.size() - begin) / 4);  // enough for most texts: growing copies
    for (const uint8_t* p = text.data() + begin;;) {
      const size_t count = matcher->find(p, found.data(), with_alternatives ? numbers.data() : nullptr, kRoom);
      for (size_t i = 0; i < count; ++i) ends.push_back(static_cast<uint64_t>(found[i] - text.data()) - begin);
      if (with_alternatives) alternatives.insert(alternatives.end(), numbers.data(), numbers.data() + count);
      if (count < kRoom) break;
      work_done(static_cast<size_t>(found[count - 1] - p));
      p = found[count - 1];
    }
    has_failed = matcher->has_failed();
  }
  return tuple_of(to_bytes(ends), to_bytes(alternatives), !has_failed);
}

// Returns where each match begins and ends (uint64), in characters; None where the search takes too much work.
nb::object find_matches(MatcherPool& pattern, nb::handle given) {
  if (pattern.source().is_row) throw nb::value_error("a row of patterns finds no matches");
  const Bytes text = utf8_of(given);
  std::vector<uint64_t> spans;
  bool has_failed;
  {
    const ReleasedGil released;
    const MatcherPool::Lease matcher(pattern);
    matcher->begin_search(text);
    constexpr size_t kRoom = 1024;
    std::array<const uint8_t*, kRoom> found;
    std::array<uint16_t, kRoom> numbers;
    uint64_t place = 0;
    for (const uint8_t* p = text.data();;) {
      const size_t count = matcher->find(p, found.data(), numbers.data(), kRoom);
      if (count > 0) work_done(static_cast<size_t>(found[count - 1] - p));
      for (size_t i = 0; i < count; ++i) {
        const uint64_t begin = place;
        for (; p < found[i]; ++p) place += begins_char(*p);
        if (numbers[i] > 0) spans.insert(spans.end(), {begin, place});
      }
      if (count < kRoom) break;
    }
    has_failed = matcher->has_failed();
  }
  return has_failed ? nb::none() : nb::object(to_bytes(spans));
}

const char* set_instructions(const std::string& most) {
  static constexpr std::array<const char*, 4> kNames{"portable", "sse2", "avx2", "avx512"};
  const auto found = std::find(kNames.begin(), kNames.end(), most);
  if (found == kNames.end()) throw nb::value_error("instructions are portable, sse2, avx2 or avx512");
  limit_instructions(static_cast<Instructions>(found - kNames.begin()));
  return kNames[static_cast<size_t>(instructions())];
}

}  // namespace

void bind_text(nb::module_& module) {
  module.def("valid_utf8", &valid_size);
  module.def("count_chars", &count_chars);
  module.def("replace_invalid", &replaced, nb::arg("data"), nb::arg("limit") = std::numeric_limits<int64_t>::max());
  module.def("record_ends", &ends_of_records);
  module.def("json_texts", &json_texts);
  module.def("split", &split);
  module.def("split_invalid", &split_among_invalid);
  module.def("invalid_size", &invalid_size);
  module.def("set_instructions", &set_instructions);
  nb::class_<LongestMatch>(module, "LongestMatch")
      .def(made_by(&make_match))
      .def("find", &find_longest)
      .def("find_numbered", &find_numbered);
  nb::class_<MatcherPool>(module, "Pattern")
      .def(made_by(&make_pattern))
      .def_static("row", &make_row, nb::arg("patterns"), nb::arg("cuts") = nb::bytes("", 0),
                  nb::arg("ends_words") = false, nb::rv_policy::take_ownership)
      .def("find", &find_matches)
      .def("split", &split_by_pattern, nb::arg("text"), nb::arg("start") = 0, nb::arg("is_whole") = true,
           nb::arg("with_alternatives") = false);
}
