// Lists of merges, as Python has them after reading a file: texts to ids, ids to ranks.
#include <nanobind/nanobind.h>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "bpe/merge_list.h"
#include "bpe/ranked_merges.h"
#include "module/bindings.h"
#include "module/id_objects.h"

using namespace tokcli;

namespace {

// Appends a str as UTF-8, or bytes as they are. Returns false for a surrogate and for any other object.
bool add_text(PyObject* object, std::string& out) {
  if (PyBytes_Check(object)) {
    out.append(PyBytes_AS_STRING(object), static_cast<size_t>(PyBytes_GET_SIZE(object)));
    return true;
  }
  if (!PyUnicode_Check(object)) return false;
  const Text text = text_of(object);
  if (text.is_utf8) {
    out.append(static_cast<const char*>(text.data), text.size);
    return true;
  }
  const size_t begin = out.size();
  out.resize(begin + most_utf8(text));
  bool has_surrogates = false;
  out.resize(begin + to_utf8(text, reinterpret_cast<uint8_t*>(&out[begin]), &has_surrogates));
  return !has_surrogates;
}

// Texts and their ids: all texts in a row in `arena`, and where each ends there.
struct Texts {
  Texts(nb::list given, nb::handle numbers) {
    const nb::list texts = own_list(given);
    const auto count = static_cast<size_t>(PyList_GET_SIZE(texts.ptr()));
    ids = items_of<uint32_t>(numbers);
    if (ids.size() != count) throw nb::value_error("each text needs an id (uint32)");
    ends.reserve(count);
    arena.reserve(count * 12);
    for (size_t i = 0; i < count; ++i) {
      if (!add_text(PyList_GET_ITEM(texts.ptr(), static_cast<Py_ssize_t>(i)), arena))
        throw nb::value_error("a text is neither bytes nor a str that has UTF-8");
      ends.push_back(arena.size());
    }
  }
  std::string_view operator[](size_t i) const {
    const size_t begin = i ? ends[i - 1] : 0;
    return {arena.data() + begin, ends[i] - begin};
  }
  std::string arena;
  std::vector<size_t> ends;
  std::vector<uint32_t> ids;
};

// Adds a merge, "left right" or [left, right], to the reader. Returns false where it is none.
bool add_merge(PyObject* item, std::string& scratch, MergeReader& reader) {
  scratch.clear();
  if (PyList_Check(item)) {
    const nb::list parts = own_list(nb::borrow<nb::list>(item));
    item = parts.ptr();
    if (PyList_GET_SIZE(item) != 2) return false;
    if (!PyUnicode_Check(PyList_GET_ITEM(item, 0)) || !PyUnicode_Check(PyList_GET_ITEM(item, 1))) return false;
    if (!add_text(PyList_GET_ITEM(item, 0), scratch)) return false;
    const size_t size = scratch.size();
    if (!add_text(PyList_GET_ITEM(item, 1), scratch)) return false;
    return reader.add(std::string_view(scratch).substr(0, size), std::string_view(scratch).substr(size));
  }
  if (!add_text(item, scratch) || scratch.starts_with("#version")) return false;  // the first line of a file
  const size_t space = scratch.find(' ');
  if (space == std::string::npos || scratch.find(' ', space + 1) != std::string::npos) return false;
  return reader.add(std::string_view(scratch).substr(0, space), std::string_view(scratch).substr(space + 1));
}

nb::object merge_ids(nb::list given, nb::handle numbers, nb::list items, Number<size_t> prefix) {
  const Texts texts(given, numbers);
  TextTable table(texts.ids.size());
  for (size_t i = 0; i < texts.ids.size(); ++i) table.add(texts[i], texts.ids[i]);
  MergeReader reader(table, prefix);
  std::string scratch;
  for (nb::handle item : own_list(items)) {
    if (!add_merge(item.ptr(), scratch, reader)) return nb::none();
  }
  const std::optional<std::vector<Vocabulary::Merge>> merges = reader.merges();
  if (!merges) return nb::none();
  return to_bytes(*merges);
}

// Returns merges as ids (three uint32 each); their numbers have to fit a uint32 too.
std::vector<Vocabulary::Merge> merges_in(nb::handle given) {
  std::vector<Vocabulary::Merge> merges = items_of<Vocabulary::Merge>(given);
  if (merges.size() >= kNone) throw nb::value_error("there are too many merges");
  return merges;
}

nb::bytes live(nb::handle blob, nb::handle sizes, nb::handle ids, nb::handle given) {
  const TokenTable table(blob, sizes, ids);
  const std::vector<Vocabulary::Merge> merges = merges_in(given);
  std::vector<uint32_t> found;
  {
    const ReleasedGil released;
    found = live_merges(table.tokens, merges);
  }
  return to_bytes(found);
}

nb::object rank(nb::list given, nb::handle numbers, nb::handle merges, bool ignore_merges, bool drops_missing) {
  const Texts texts(given, numbers);
  const std::vector<Vocabulary::Merge> listed = merges_in(merges);
  std::optional<RankedMerges> found;
  {
    const ReleasedGil released;
    std::vector<uint8_t> blob;
    blob.reserve(texts.arena.size());  // so that it stays where it is, as tokens point into it
    std::vector<Token> tokens;
    tokens.reserve(texts.ids.size());
    for (size_t i = 0; i < texts.ids.size(); ++i) {
      const size_t begin = blob.size();
      if (add_alphabet_bytes(texts[i], blob))
        tokens.push_back({blob.data() + begin, texts.ids[i], static_cast<uint32_t>(blob.size() - begin)});
      else blob.resize(begin);
    }
    found = rank_merges(tokens, listed, ignore_merges, drops_missing);
  }
  if (!found) return nb::none();
  std::vector<uint8_t> missing;
  for (size_t byte = 0; byte < found->has_byte.size(); ++byte) {
    if (!found->has_byte[byte]) missing.push_back(static_cast<uint8_t>(byte));
  }
  return tuple_of(to_bytes(found->image), to_bytes(found->ids), to_bytes(found->whole_only),
                        to_bytes(found->merges), to_bytes(missing));
}

}  // namespace

void bind_merges(nb::module_& module) {
  module.def("live_merges", &live);
  module.def("merge_ids", &merge_ids);
  module.def("rank_merges", &rank);
}
