// Encoding with a TextModel, and what it learns from Python: see py_text_model.h.
#include "module/classes/py_text_model.h"

#include <algorithm>
#include <deque>

#include "input/records.h"
#include "input/valid_utf8.h"
#include "text/utf8.h"

namespace tokcli {
namespace {

constexpr size_t kMostUnits = size_t{1} << 28;  // of a text

nb::object both(IdBuffer ids, Spans spans) {
  return nb::list(nb::make_tuple(nb::cast(std::move(ids)), nb::cast(std::move(spans))));
}

// Throws std::invalid_argument where a record begins or ends within a character of its text.
void check_whole(Bytes record, Bytes text) {
  for (const uint8_t* at : {record.data(), record.data() + record.size()}) {
    if (at < text.data() + text.size() && !begins_char(*at))
      throw std::invalid_argument("a character begins in one record and ends in another");
  }
}

// Returns texts that are in a row; ValueError where their sizes (uint32) are not those of whole characters of UTF-8.
std::vector<std::string_view> cut_up(Bytes row, nb::handle given_sizes) {
  std::vector<std::string_view> made;
  const auto sizes = items_of<uint32_t>(given_sizes);
  made.reserve(sizes.size());
  size_t at = 0;
  for (const uint32_t size : sizes) {
    if (size > row.size() - at) throw nb::value_error("a text ends after all of them");
    made.emplace_back(view_of(row.subspan(at, size)));
    at += size;
    if (at < row.size() && !begins_char(row[at])) throw nb::value_error("a text ends within a character");
  }
  if (at != row.size() || valid_utf8(row) != row.size()) throw nb::value_error("the texts are not UTF-8, or have no sizes");
  return made;
}

}  // namespace

// Calls work(UTF-8, states, states, needs) without the GIL, and make() where nothing is needed afterwards. `measures`: the
// work needs to know how long tokens are.
template <class Work, class Make>
nb::object PyTextModel::ask(nb::handle object, nb::handle raw, nb::handle normalized, const Work& work, const Make& make,
                            bool measures) {
  close();
  std::optional<StableView> given;
  if (!PyUnicode_Check(object.ptr())) given.emplace(object);
  const Text text = given ? Text::of(given->bytes()) : text_of(object);
  const StableView raw_states(raw), normalized_states(normalized);
  const auto fit = [](const StableView& states, const AddedTokens& added) {
    return states.bytes().size() == added.tokens.size();
  };
  if (!fit(raw_states, model_.raw) || !fit(normalized_states, model_.normalized))
    throw nb::value_error("each added token needs a state");
  Needs needs;
  if (text.size > kMostUnits) return nb::none();
  {
    const ReleasedGil released;
    ByteBuffer utf8;
    Bytes bytes = text.bytes();
    if (given && valid_utf8(bytes) != bytes.size()) throw std::invalid_argument("the text is not UTF-8");
    if (!text.is_utf8) {
      uint8_t* const room = utf8.reserve(text.size * (text.unit == 1 ? 2 : text.unit == 2 ? 3 : 4) + kMostUtf8);
      const size_t size = to_utf8(text, room);
      if (size == kSurrogate) needs.is_for_python = true;
      bytes = {room, size == kSurrogate ? 0 : size};
    }
    if (!needs.is_for_python) {
      if (measures) measure_tokens();
      const ReadersLock::Reading reading(rules_lock_);
      work(bytes, raw_states.bytes(), normalized_states.bytes(), needs);
    }
  }
  if (needs.empty()) return make();
  if (needs.is_for_python) return nb::none();
  nb::list chars, classes, runs;
  for (const uint32_t c : needs.chars) chars.append(c);
  for (const uint32_t c : needs.classes) classes.append(c);
  for (const std::string& run : needs.runs) runs.append(to_bytes(run));
  return nb::make_tuple(chars, classes, runs);
}

// Calls make(ids, count). Without `kKeepsIds`, the ids are counted only.
template <bool kKeepsIds, class Make>
nb::object PyTextModel::encode_with(nb::handle text, nb::handle raw, nb::handle normalized, size_t threads, const Make& make,
                                    Spans* spans, Ends ends, double* sum) {
  IdBuffer ids;
  size_t count = 0;
  const auto encode = [&](Bytes bytes, Bytes raw_states, Bytes normalized_states, Needs& needs) {
    count = model_.encode(bytes, raw_states, normalized_states, pool_, threads, kKeepsIds ? &ids : nullptr, needs, spans,
                          ends, sum);
    if (spans == nullptr || !needs.empty()) return;
    if (spans->size() == 2 * ids.size()) to_char_spans(bytes, {spans->data(), spans->size()});
    else needs.is_for_python = true;
  };
  return ask(text, raw, normalized, encode, [&] { return make(std::move(ids), count); }, spans != nullptr);
}

// Finds out how long tokens are, when places are first asked for.
void PyTextModel::measure_tokens() {
  if (is_measured_) return;
  const std::lock_guard lock(rules_lock_);
  if (is_measured_) return;
  const Models::Used which = model_.models.which;
  const bool is_plain = which != Models::Used::kPairs || model_.models.pairs.is_plain();
  const BriefLock writing;
  if (is_plain) model_.tokens.measure(model_.unknown);
  is_measured_ = true;
}

// --- what is learned from Python -----------------------------------------------------------------------------------

struct PyTextModel::Rules {
  std::vector<std::pair<uint32_t, std::string_view>> chars;
  std::vector<uint32_t> unsafe;
  std::vector<std::pair<uint32_t, uint16_t>> classes;
  std::vector<std::pair<std::string_view, std::string_view>> runs;
};

void PyTextModel::learn_all(const Rules& rules) {
  const ReleasedGil released;
  const std::lock_guard lock(rules_lock_);
  const BriefLock writing;
  for (const auto& [c, text] : rules.chars) model_.chars.set(c, text);
  for (const uint32_t c : rules.unsafe) model_.chars.set_unsafe(c);
  for (const auto& [c, value] : rules.classes) model_.classes.set(c, value | TextModel::kKnown);
  for (const auto& [run, text] : rules.runs) model_.chars.set_run(run, text);
}

void PyTextModel::learn(nb::handle given_chars, nb::handle given_classes, nb::handle given_runs) {
  const nb::dict chars = dict_of(given_chars), classes = dict_of(given_classes), runs = dict_of(given_runs);
  Rules rules;
  std::deque<std::string> texts;
  const auto text_of = [&](nb::handle text) -> std::string_view { return texts.emplace_back(string_of(text)); };
  for (auto [c, text] : chars) {
    if (text.is_none()) rules.unsafe.push_back(number_of<uint32_t>(c));
    else rules.chars.emplace_back(number_of<uint32_t>(c), text_of(text));
  }
  for (auto [c, value] : classes) rules.classes.emplace_back(number_of<uint32_t>(c), number_of<uint16_t>(value));
  for (auto [run, text] : runs) rules.runs.emplace_back(text_of(run), text_of(text));
  learn_all(rules);
}

void PyTextModel::learn_packed(nb::handle chars, nb::handle sizes, nb::handle texts, nb::handle unsafe,
                               nb::handle classed, nb::handle classes, nb::handle run_sizes, nb::handle run_texts) {
  Rules rules{{}, items_of<uint32_t>(unsafe), {}, {}};
  const auto points = items_of<uint32_t>(chars), class_points = items_of<uint32_t>(classed);
  const auto values = items_of<uint16_t>(classes);
  const StableView texts_view(texts), run_texts_view(run_texts);
  const auto made = cut_up(texts_view.bytes(), sizes), runs = cut_up(run_texts_view.bytes(), run_sizes);
  const bool are_few = std::all_of(values.begin(), values.end(), [](uint16_t v) { return v < TextModel::kKnown; });
  if (made.size() != points.size() || values.size() != class_points.size() || runs.size() % 2 || !are_few)
    throw nb::value_error("each character and run needs what it becomes, or its class");
  rules.chars.reserve(points.size());
  rules.classes.reserve(values.size());
  for (size_t i = 0; i < points.size(); ++i) rules.chars.emplace_back(points[i], made[i]);
  for (size_t i = 0; i < values.size(); ++i) rules.classes.emplace_back(class_points[i], values[i]);
  for (size_t i = 0; i < runs.size(); i += 2) rules.runs.emplace_back(runs[i], runs[i + 1]);
  learn_all(rules);
}

void PyTextModel::learn_origins(nb::handle given) {
  std::vector<std::pair<std::string, std::vector<uint32_t>>> found;
  for (auto [run, origins] : dict_of(given)) found.emplace_back(string_of(run), items_of<uint32_t>(origins));
  const ReleasedGil released;
  const std::lock_guard lock(rules_lock_);
  const BriefLock writing;
  for (auto& [run, origins] : found) model_.chars.set_origins(run, std::move(origins));
}

// --- encoding ------------------------------------------------------------------------------------------------------

nb::object PyTextModel::encode(nb::handle text, nb::handle raw, nb::handle normalized, Number<size_t> threads) {
  const auto make = [&](IdBuffer ids, size_t) { return list_of(ints_, ids.data(), ids.size()); };
  return encode_with(text, raw, normalized, threads, make);
}
nb::object PyTextModel::encode_ids(nb::handle text, nb::handle raw, nb::handle normalized, Number<size_t> threads) {
  return encode_with(text, raw, normalized, threads, [&](IdBuffer ids, size_t) { return nb::cast(std::move(ids)); });
}
nb::object PyTextModel::count(nb::handle text, nb::handle raw, nb::handle normalized, Number<size_t> threads) {
  return encode_with<false>(text, raw, normalized, threads, [&](IdBuffer, size_t count) { return nb::int_(count); });
}
nb::object PyTextModel::encode_spans(nb::handle text, nb::handle raw, nb::handle normalized, Number<size_t> threads,
                                     bool begins, bool ends) {
  Spans spans;
  const auto make = [&](IdBuffer ids, size_t) { return both(std::move(ids), std::move(spans)); };
  return encode_with(text, raw, normalized, threads, make, &spans, {begins, ends});
}
nb::object PyTextModel::encode_next(nb::handle text, nb::handle raw, nb::handle normalized, Number<size_t> threads,
                                    bool begins, double sum, bool keeps_spans) {
  Spans spans;
  const auto make = [&](IdBuffer ids, size_t) {
    nb::list made;
    made.append(nb::cast(std::move(ids)));
    made.append(sum);
    if (keeps_spans) made.append(nb::cast(std::move(spans)));
    return made;
  };
  return encode_with(text, raw, normalized, threads, make, keeps_spans ? &spans : nullptr, {begins, true}, &sum);
}
nb::object PyTextModel::part_ends(nb::handle text, nb::handle raw, nb::handle normalized, Number<size_t> given_size) {
  const size_t size = given_size;
  if (size == 0) throw nb::value_error("parts have a size");
  std::vector<uint64_t> found;
  const auto cut = [&](Bytes bytes, Bytes raw_states, Bytes, Needs& needs) {
    found = model_.part_ends(bytes, raw_states, size, needs);
  };
  return ask(text, raw, normalized, cut, [&] { return to_bytes(found); });
}
nb::object PyTextModel::find_tokens(nb::handle text, nb::handle raw, nb::handle normalized) {
  IdBuffer ids;
  Spans spans;
  const auto find = [&](Bytes bytes, Bytes raw_states, Bytes normalized_states, Needs& needs) {
    model_.find_tokens(bytes, raw_states, normalized_states, needs, [&](Bytes token, uint32_t id) {
      *ids.reserve(1) = id;
      ids.commit(1);
      uint64_t* const to = spans.reserve(2);
      to[0] = static_cast<uint64_t>(token.data() - bytes.data());
      to[1] = to[0] + token.size();
      spans.commit(2);
    });
    if (needs.empty()) to_char_spans(bytes, {spans.data(), spans.size()});
  };
  return ask(text, raw, normalized, find, [&] { return both(std::move(ids), std::move(spans)); });
}
nb::object PyTextModel::find_in_records(nb::handle data, nb::handle given_ends, Number<size_t> given_size, nb::handle raw,
                                        nb::handle normalized) {
  const std::vector<uint64_t> ends = items_of<uint64_t>(given_ends);
  const size_t separator_size = given_size;
  std::vector<FoundToken> found;
  const auto find = [&](Bytes text, Bytes raw_states, Bytes normalized_states, Needs& needs) {
    const auto add = [&](Bytes token, uint32_t id) {
      const auto begin = static_cast<uint64_t>(token.data() - text.data());
      found.push_back({begin, begin + token.size(), id});
    };
    visit_records(text, ends, separator_size, [&](Bytes record) {
      check_whole(record, text);
      model_.find_tokens(record, raw_states, normalized_states, needs, add);
    });
  };
  return ask(data, raw, normalized, find, [&] { return to_bytes(found); });
}

// Calls done(number of ids) after each record, whose ids are appended to `ids`, unless that is null; then make(). What any
// of the records needs is learned for all of them together.
template <class Done, class Make>
nb::object PyTextModel::each_record(nb::handle data, nb::handle given_ends, size_t separator_size, nb::handle raw,
                                    nb::handle normalized, nb::handle before, IdBuffer* ids, const Done& done,
                                    const Make& make) {
  const std::vector<uint64_t> ends = items_of<uint64_t>(given_ends);
  const std::string prefix = string_of(before);
  if (valid_utf8(bytes_of(prefix)) != prefix.size()) throw nb::value_error("what is put before records is not UTF-8");
  const auto encode = [&](Bytes text, Bytes raw_states, Bytes normalized_states, Needs& needs) {
    Needs more;
    std::string whole;
    if (ids != nullptr) ids->reserve(text.size() / 3);  // once for all records
    visit_records(text, ends, separator_size, [&](Bytes record) {
      check_whole(record, text);
      if (needs.is_for_python) return;
      if (!prefix.empty() && !record.empty()) record = bytes_of(whole.assign(prefix).append(view_of(record)));
      done(model_.encode(record, raw_states, normalized_states, pool_, 1, ids, more));
      if (more.empty()) return;
      needs.add(more);
      more = Needs();
    });
  };
  return ask(data, raw, normalized, encode, make);
}
nb::object PyTextModel::encode_records(nb::handle data, nb::handle ends, Number<size_t> separator_size, nb::handle raw,
                                       nb::handle normalized, nb::handle before) {
  IdBuffer ids;
  Spans offsets;
  *offsets.reserve(1) = 0;
  offsets.commit(1);
  const auto add = [&](size_t) {
    *offsets.reserve(1) = ids.size();
    offsets.commit(1);
  };
  const auto make = [&] { return both(std::move(ids), std::move(offsets)); };
  return each_record(data, ends, separator_size, raw, normalized, before, &ids, add, make);
}
nb::object PyTextModel::count_records(nb::handle data, nb::handle ends, Number<size_t> separator_size, nb::handle raw,
                                      nb::handle normalized, nb::handle before) {
  std::vector<uint32_t> counts;
  const auto add = [&](size_t count) { counts.push_back(static_cast<uint32_t>(count)); };
  const auto make = [&] { return to_bytes(counts); };
  return each_record(data, ends, separator_size, raw, normalized, before, nullptr, add, make);
}

}  // namespace tokcli
