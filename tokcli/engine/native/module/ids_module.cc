// Ids in buffers, as decimal text, and as rows of tables.
#include <nanobind/nanobind.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <span>

#include "module/bindings.h"
#include "module/id_objects.h"
#include "text/decimal.h"
#include "text/spans.h"

using namespace tokcli;

namespace {

// `Ids` and `Spans` hand over what was written, without a copy. An object that was not made here (Ids.__new__) has nothing
// to show.
template <class T>
int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  if (!nb::inst_ready(self)) {
    view->obj = nullptr;
    PyErr_Format(PyExc_BufferError, "these %s were not made by the native module", sizeof(T) == sizeof(uint32_t) ? "Ids" : "Spans");
    return -1;
  }
  GrowingBuffer<T>* items = nb::inst_ptr<GrowingBuffer<T>>(self);
  static T none = 0;  // a buffer of no bytes still points somewhere
  void* data = items->size() ? items->data() : &none;
  return PyBuffer_FillInfo(view, self, data, static_cast<Py_ssize_t>(items->size() * sizeof(T)), 1, flags);
}
template <class T>
PyType_Slot buffer_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer<T>)}, {0, nullptr}};

std::string_view view_in(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

nb::bytes format_ids(nb::handle given, const nb::bytes& between) {
  const IdsView ids(given);
  const std::string_view separator = view_in(between);
  // as many at a time as take about a millisecond
  constexpr size_t kAtOnce = size_t{1} << 18;
  const auto each = [&](const auto& visit) {
    for (size_t at = 0; at < ids.size(); at += kAtOnce) {
      visit(ids.data() + at, std::min(ids.size() - at, kAtOnce));
      work_done(kAtOnce);
    }
  };
  size_t size = 0;
  {
    const ReleasedGil released;
    each([&](const uint32_t* first, size_t some) {
      size += (size ? separator.size() : 0) + decimal_size(first, some, separator.size());
    });
  }
  return written(size, [&](char* out) {
    each([&](const uint32_t* first, size_t some) {
      if (first != ids.data()) out = std::copy(separator.begin(), separator.end(), out);
      out = write_decimal(first, some, separator, out);
    });
  });
}

// Returns where records begin and end among ids (uint64); ValueError where these places do not ascend within the ids.
std::vector<uint64_t> record_bounds(nb::handle offsets, size_t ids) {
  std::vector<uint64_t> bounds = items_of<uint64_t>(offsets);
  if (bounds.empty()) throw nb::value_error("there are no offsets");
  if (!std::is_sorted(bounds.begin(), bounds.end()) || bounds.back() > ids)
    throw nb::value_error("the offsets do not ascend within the ids");
  return bounds;
}

nb::tuple format_records(nb::handle given, nb::handle offsets, const nb::bytes& between, const nb::bytes& joint,
                         Number<uint64_t> most) {
  const IdsView ids(given);
  const std::vector<uint64_t> bounds = record_bounds(offsets, ids.size());
  const uint64_t limit = most;
  const std::string_view separator = view_in(between), joining = view_in(joint);
  const auto each = [&](const auto& visit) {
    Pace pace;
    for (size_t i = 0; i + 1 < bounds.size(); ++i) {
      const auto some = static_cast<size_t>(std::min(bounds[i + 1] - bounds[i], limit));
      visit(i, ids.data() + bounds[i], some);
      pace.step(some + 1);
    }
  };
  bool was_cut = false;
  size_t size = 0;
  {
    const ReleasedGil released;
    each([&](size_t i, const uint32_t* first, size_t some) {
      was_cut |= some < bounds[i + 1] - bounds[i];
      size += (i ? joining.size() : 0) + decimal_size(first, some, separator.size());
    });
  }
  const nb::bytes text = written(size, [&](char* out) {
    each([&](size_t i, const uint32_t* first, size_t some) {
      if (i) out = std::copy(joining.begin(), joining.end(), out);
      out = write_decimal(first, some, separator, out);
    });
  });
  return tuple_of(text, was_cut);
}

// A column of a table: numbers, and the lines that they name, if there are any.
struct Column {
  Column(nb::handle given, nb::handle given_lines) : numbers(given), has_lines(!given_lines.is_none()) {
    if (!has_lines) return;
    text = string_of(given_lines);
    for (size_t at = 0, end; at < text.size(); at = end + 1) {
      end = std::min(text.find('\n', at), text.size());
      lines.push_back(std::string_view(text).substr(at, end - at));
    }
    if (std::any_of(numbers.items().begin(), numbers.items().end(), [&](uint32_t n) { return n >= lines.size(); }))
      throw nb::value_error("a number in a column has no line");
  }
  IdsView numbers;
  bool has_lines;
  std::string text;
  std::vector<std::string_view> lines;
};

nb::bytes format_rows(nb::list given) {
  std::vector<std::unique_ptr<Column>> columns;
  for (nb::handle item : own_list(given)) {
    if (!PyTuple_Check(item.ptr())) raise_wrong_type("tuple", item);
    const auto pair = nb::borrow<nb::tuple>(item);
    if (pair.size() != 2) throw nb::value_error("a column is a tuple of numbers and lines");
    columns.push_back(std::make_unique<Column>(pair[0], pair[1]));
    if (columns.back()->numbers.size() != columns[0]->numbers.size())
      throw nb::value_error("the columns are not of the same length");
  }
  std::string out;
  {
    const ReleasedGil released;
    std::array<char, 10> digits;
    const size_t rows = columns.empty() ? 0 : columns[0]->numbers.size();
    Pace pace;
    for (size_t row = 0; row < rows; ++row) {
      pace.step(columns.size());
      for (const auto& column : columns) {
        const uint32_t number = column->numbers.data()[row];
        if (column->has_lines) out += column->lines[number];
        else if (number != kNone) out.append(digits.data(), std::to_chars(digits.begin(), digits.end(), number).ptr);
        out += '\t';
      }
      out.back() = '\n';
    }
  }
  return to_bytes(out);
}

constexpr size_t kSpanBytes = 2 * sizeof(uint64_t);

nb::bytes format_spans(nb::handle given, nb::handle numbers, Number<uint64_t> given_shift) {
  std::optional<IdsView> ids;
  if (!given.is_none()) ids.emplace(given);
  const StableView spans(numbers);
  const uint64_t shift = given_shift;
  if (spans.bytes().size() % kSpanBytes != 0 || (ids && ids->size() != spans.bytes().size() / kSpanBytes))
    throw nb::value_error("each id needs two numbers");
  const auto own_ids = ids ? ids->items() : std::span<const uint32_t>();
  size_t size = 0;
  nb::bytes text = written(most_span_text(!own_ids.empty(), spans.bytes(), shift), [&](char* out) {
    size = static_cast<size_t>(write_spans(own_ids, spans.bytes(), shift, out) - out);
  });
  return resized(std::move(text), size);
}

// Returns spans after `change(spans)`.
template <class Change>
nb::bytes changed_spans(const StableView& given, const Change& change) {
  const Bytes bytes = given.bytes();
  if (bytes.size() % kSpanBytes != 0) throw nb::value_error("a span is two numbers of 8 bytes");
  return written(bytes.size(), [&](char* out) {
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<uint8_t*>(out));
    change(std::span(reinterpret_cast<uint64_t*>(out), bytes.size() / sizeof(uint64_t)));
  });
}

nb::bytes byte_spans(nb::handle text, nb::handle numbers) {
  const StableView view(text);
  return changed_spans(StableView(numbers), [&](std::span<uint64_t> spans) { to_byte_spans(view.bytes(), spans); });
}

nb::bytes mapped_spans(nb::handle numbers, nb::handle pairs, Number<uint64_t> given_shift) {
  const std::vector<uint64_t> breaks = items_of<uint64_t>(pairs);
  const uint64_t shift = given_shift;
  if (breaks.size() % 2 != 0) throw nb::value_error("a break is a place and its origin");
  return changed_spans(StableView(numbers), [&](std::span<uint64_t> spans) { map_spans(breaks, shift, spans); });
}

nb::bytes trimmed_spans(nb::handle numbers, nb::handle blanks, bool keeps_first) {
  const StableView spans(numbers);
  const std::vector<uint32_t> counts = items_of<uint32_t>(blanks);
  if (counts.size() != spans.bytes().size() / sizeof(uint64_t))
    throw nb::value_error("each span needs two numbers of blanks");
  return changed_spans(spans, [&](std::span<uint64_t> own) { trim_spans(own, counts, keeps_first); });
}

nb::object parse_ids(nb::handle text) {
  const StableView view(text);
  IdBuffer ids;
  bool are_ids;
  {
    const ReleasedGil released;
    are_ids = parse_decimal(view.bytes(), &ids);
  }
  return are_ids ? nb::cast(std::move(ids)) : nb::none();
}

// Writes ids as they are kept in files, of `T`, each record's followed by `extra` where there is one; and the end of
// each record, counted in ids from `begin`.
template <class T>
void write_packed(std::span<const uint32_t> ids, std::span<const uint64_t> bounds, uint64_t begin,
                  std::optional<uint32_t> extra, char* out, uint64_t* ends) {
  const auto put = [&](uint32_t id) {
    const auto kept = static_cast<T>(id);
    std::memcpy(out, &kept, sizeof kept);
    out += sizeof kept;
  };
  Pace pace;
  for (size_t i = 0; i + 1 < bounds.size(); ++i) {
    const auto record = ids.subspan(bounds[i], bounds[i + 1] - bounds[i]);
    std::for_each(record.begin(), record.end(), put);
    if (extra) put(*extra);
    begin += record.size() + extra.has_value();
    *ends++ = begin;
    pace.step(record.size() + 1);
  }
}

nb::bytes narrow_ids(nb::handle given) {
  const IdsView ids(given);
  const std::array<uint64_t, 2> all{0, ids.size()};
  uint64_t end;
  return written(ids.size() * sizeof(uint16_t),
                 [&](char* out) { write_packed<uint16_t>(ids.items(), all, 0, std::nullopt, out, &end); });
}

nb::tuple pack_records(nb::handle given, nb::handle offsets, Number<uint64_t> begin, nb::handle extra, bool is_narrow) {
  const IdsView ids(given);
  const std::vector<uint64_t> bounds = record_bounds(offsets, ids.size());
  const uint64_t first = begin;
  std::optional<uint32_t> special;
  if (!extra.is_none()) special = number_of<uint32_t>(extra);
  const size_t records = bounds.size() - 1;
  const size_t count = static_cast<size_t>(bounds.back() - bounds.front()) + (special ? records : 0);
  std::vector<uint64_t> ends(records);
  const nb::bytes packed = written(count * (is_narrow ? sizeof(uint16_t) : sizeof(uint32_t)), [&](char* out) {
    const auto write = is_narrow ? write_packed<uint16_t> : write_packed<uint32_t>;
    write(ids.items(), bounds, first, special, out, ends.data());
  });
  return tuple_of(packed, to_bytes(ends));
}

}  // namespace

void bind_ids(nb::module_& module) {
  nb::class_<IdBuffer>(module, "Ids", nb::type_slots(buffer_slots<uint32_t>));
  nb::class_<Spans>(module, "Spans", nb::type_slots(buffer_slots<uint64_t>));
  module.def("format_ids", &format_ids);
  module.def("format_records", &format_records);
  module.def("format_rows", &format_rows);
  module.def("format_spans", &format_spans, nb::arg("ids").none(), nb::arg("spans"), nb::arg("shift") = 0);
  module.def("byte_spans", &byte_spans);
  module.def("mapped_spans", &mapped_spans);
  module.def("trimmed_spans", &trimmed_spans);
  module.def("parse_ids", &parse_ids);
  module.def("narrow_ids", &narrow_ids);
  module.def("pack_records", &pack_records, nb::arg("ids"), nb::arg("offsets"), nb::arg("begin"),
             nb::arg("extra").none(), nb::arg("is_narrow"));
}
