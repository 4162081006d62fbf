// The Python face of merge_list.h: texts and merges as Python has them after reading a file.
#include <nanobind/nanobind.h>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "merge_list.h"
#include "python_views.h"

namespace nb = nanobind;
using namespace tokcli;

void bind_merges(nb::module_& module);

namespace {

// Adds a str as UTF-8, or bytes as they are; false for half a surrogate pair, and for anything else.
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
  out.resize(begin + text.size * kMostUtf8);
  const size_t size = to_utf8(text, reinterpret_cast<uint8_t*>(&out[begin]));
  if (size == kSurrogate) return false;
  out.resize(begin + size);
  return true;
}

// Texts and their ids, as many of both: each text in `arena`, and where it ends there.
struct Texts {
  Texts(nb::list texts, nb::handle numbers) {
    const BufferView view(numbers);
    const auto count = static_cast<size_t>(PyList_GET_SIZE(texts.ptr()));
    if (view.bytes().size() != count * sizeof(uint32_t)) throw nb::value_error("an id (uint32) for each text");
    ids.resize(count);
    if (count) std::memcpy(ids.data(), view.bytes().data(), view.bytes().size());
    ends.reserve(count);
    arena.reserve(count * 12);
    for (size_t i = 0; i < count; ++i) {
      if (!add_text(PyList_GET_ITEM(texts.ptr(), static_cast<Py_ssize_t>(i)), arena))
        throw nb::value_error("a text that has no UTF-8");
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

bool add_merge(PyObject* item, std::string& scratch, MergeReader& reader) {
  scratch.clear();
  if (PyList_Check(item)) {
    if (PyList_GET_SIZE(item) != 2) return false;
    if (!PyUnicode_Check(PyList_GET_ITEM(item, 0)) || !PyUnicode_Check(PyList_GET_ITEM(item, 1))) return false;
    if (!add_text(PyList_GET_ITEM(item, 0), scratch)) return false;
    const size_t size = scratch.size();
    if (!add_text(PyList_GET_ITEM(item, 1), scratch)) return false;
    return reader.add(std::string_view(scratch).substr(0, size), std::string_view(scratch).substr(size));
  }
  if (!add_text(item, scratch) || scratch.starts_with("#version")) return false;  // which is no merge
  const size_t space = scratch.find(' ');
  if (space == std::string::npos || scratch.find(' ', space + 1) != std::string::npos) return false;
  return reader.add(std::string_view(scratch).substr(0, space), std::string_view(scratch).substr(space + 1));
}

// Merges, each "left right" (str, or bytes) or [left, right], in ids, three uint32 each; None where not all of them are
// merges of these texts, or one is there twice. `prefix` characters of the right one are left out when they join.
nb::object merge_ids(nb::list given, nb::handle numbers, nb::list items, size_t prefix) {
  const Texts texts(given, numbers);
  TextTable table(texts.ids.size());
  for (size_t i = 0; i < texts.ids.size(); ++i) table.add(texts[i], texts.ids[i]);
  MergeReader reader(table, prefix);
  std::string scratch;
  for (nb::handle item : items) {
    if (!add_merge(item.ptr(), scratch, reader)) return nb::none();
  }
  const std::optional<std::vector<Vocabulary::Merge>> merges = reader.merges();
  if (!merges) return nb::none();
  return nb::bytes(merges->data(), merges->size() * sizeof(Vocabulary::Merge));
}

template <class Item>
nb::bytes bytes_of(const std::vector<Item>& items) {
  return nb::bytes(items.data(), items.size() * sizeof(Item));
}

// What `rank_merges` finds for texts in GPT-2's alphabet (others are no tokens): the image, the ids of the ranks, those
// found only whole, the merges, and the missing bytes.
nb::object rank(nb::list given, nb::handle numbers, nb::handle merges, bool finds_whole, bool drops_missing) {
  const Texts texts(given, numbers);
  const BufferView view(merges);
  std::vector<Vocabulary::Merge> listed(view.bytes().size() / sizeof(Vocabulary::Merge));
  if (listed.size() >= kNone || listed.size() * sizeof(Vocabulary::Merge) != view.bytes().size())
    throw nb::value_error("a merge has three ids");
  if (!listed.empty()) std::memcpy(listed.data(), view.bytes().data(), view.bytes().size());
  std::optional<RankedMerges> found;
  {
    const nb::gil_scoped_release release;
    std::vector<uint8_t> blob;
    blob.reserve(texts.arena.size());  // so that it stays where it is
    std::vector<Token> tokens;
    tokens.reserve(texts.ids.size());
    for (size_t i = 0; i < texts.ids.size(); ++i) {
      const size_t begin = blob.size();
      if (add_alphabet_bytes(texts[i], blob))
        tokens.push_back({blob.data() + begin, texts.ids[i], static_cast<uint32_t>(blob.size() - begin)});
      else blob.resize(begin);
    }
    found = rank_merges(tokens, listed, finds_whole, drops_missing);
  }
  if (!found) return nb::none();
  std::vector<uint8_t> missing;
  for (size_t byte = 0; byte < found->has_byte.size(); ++byte) {
    if (!found->has_byte[byte]) missing.push_back(static_cast<uint8_t>(byte));
  }
  return nb::make_tuple(bytes_of(found->image), bytes_of(found->ids), bytes_of(found->whole_only),
                        bytes_of(found->merges), bytes_of(missing));
}

}  // namespace

void bind_merges(nb::module_& module) {
  module.def("merge_ids", &merge_ids);
  module.def("rank_merges", &rank);
}
