// Encoding with a TextModel: see py_text_model.h.
#include "module/classes/py_text_model.h"

#include <algorithm>

#include "input/records.h"
#include "input/valid_utf8.h"
#include "text/utf8.h"

namespace tokcli {
namespace {

constexpr size_t kMostUnits = size_t{1} << 28;  // of a text

nb::object both(IdBuffer ids, Spans spans) {
  return tuple_of(nb::cast(std::move(ids)), nb::cast(std::move(spans)));
}

// Throws std::invalid_argument where a record begins or ends within a character of its text.
void check_whole(Bytes record, Bytes text) {
  for (const uint8_t* at : {record.data(), record.data() + record.size()}) {
    if (at < text.data() + text.size() && !begins_char(*at))
      throw std::invalid_argument("a character begins in one record and ends in another");
  }
}

}  // namespace

// Calls work(UTF-8, states, states, refusal) without the GIL, and make() unless the text is refused then. `measures`: the work
// needs to know how long tokens are.
template <class Work, class Make>
nb::object PyTextModel::ask(nb::handle object, nb::handle raw, nb::handle normalized, const Work& work, const Make& make,
                            bool measures) {
  close();
  const AnyText given(object);
  const Text& text = given.text();
  const StableView raw_states(raw), normalized_states(normalized);
  const auto fit = [](const StableView& states, const AddedTokens& added) {
    return states.bytes().size() == added.tokens.size();
  };
  if (!fit(raw_states, model_.raw) || !fit(normalized_states, model_.normalized))
    throw nb::value_error("each added token needs a state");
  Refusal refusal;
  if (text.size > kMostUnits) return nb::none();
  {
    const ReleasedGil released;
    ByteBuffer utf8;
    Bytes bytes = text.bytes();
    if (given.is_buffer() && valid_utf8(bytes) != bytes.size()) throw std::invalid_argument("the text is not UTF-8");
    if (!text.is_utf8) {
      uint8_t* const room = utf8.reserve(text.size * (text.unit == 1 ? 2 : text.unit == 2 ? 3 : 4) + kMostUtf8);
      const size_t size = to_utf8(text, room);
      if (size == kSurrogate) refusal.is_refused = true;
      bytes = {room, size == kSurrogate ? 0 : size};
    }
    if (!refusal.is_refused) {
      if (measures) measure_tokens();
      const ReadersLock::Reading reading(sizes_lock_);
      work(bytes, raw_states.bytes(), normalized_states.bytes(), refusal);
    }
  }
  return refusal.is_refused ? nb::none() : nb::object(make());
}

// Calls make(ids, count). Without `kKeepsIds`, the ids are counted only.
template <bool kKeepsIds, class Make>
nb::object PyTextModel::encode_with(nb::handle text, nb::handle raw, nb::handle normalized, size_t threads, const Make& make,
                                    Spans* spans, Ends ends, double* sum) {
  IdBuffer ids;
  size_t count = 0;
  const auto encode = [&](Bytes bytes, Bytes raw_states, Bytes normalized_states, Refusal& refusal) {
    count = model_.encode(bytes, raw_states, normalized_states, pool_, threads, kKeepsIds ? &ids : nullptr, refusal, spans,
                          ends, sum);
    if (spans == nullptr || refusal.is_refused) return;
    if (spans->size() == 2 * ids.size()) to_char_spans(bytes, {spans->data(), spans->size()});
    else refusal.is_refused = true;
  };
  return ask(text, raw, normalized, encode, [&] { return make(std::move(ids), count); }, spans != nullptr);
}

// Finds out how long tokens are, when places are first asked for.
void PyTextModel::measure_tokens() {
  if (is_measured_) return;
  const std::lock_guard lock(sizes_lock_);
  if (is_measured_) return;
  const Models::Used which = model_.models.which;
  const bool is_plain = which != Models::Used::kPairs || model_.models.pairs.is_plain();
  const BriefLock writing;
  if (is_plain) model_.tokens.measure(model_.unknown);
  is_measured_ = true;
}

// --- encoding ------------------------------------------------------------------------------------------------------

nb::object PyTextModel::encode(nb::handle text, nb::handle raw, nb::handle normalized, Number<size_t> threads, bool as_list) {
  const auto make = [&](IdBuffer ids, size_t) {
    return as_list ? nb::object(list_of(ints_, ids.data(), ids.size())) : nb::cast(std::move(ids));
  };
  return encode_with(text, raw, normalized, threads, make);
}
nb::object PyTextModel::count(nb::handle text, nb::handle raw, nb::handle normalized, Number<size_t> threads) {
  return encode_with<false>(text, raw, normalized, threads, [&](IdBuffer, size_t count) { return nb::int_(count); });
}
nb::object PyTextModel::encode_part(nb::handle text, nb::handle raw, nb::handle normalized, Number<size_t> threads, bool begins,
                                    bool ends, double sum, bool keeps_spans) {
  Spans spans;
  const auto make = [&](IdBuffer ids, size_t) {
    const auto after = owned(PyFloat_FromDouble(sum));
    return tuple_of(nb::cast(std::move(ids)), after, keeps_spans ? nb::cast(std::move(spans)) : nb::none());
  };
  return encode_with(text, raw, normalized, threads, make, keeps_spans ? &spans : nullptr, {begins, ends}, &sum);
}
nb::object PyTextModel::part_ends(nb::handle text, nb::handle raw, nb::handle normalized, Number<size_t> given_size) {
  const size_t size = given_size;
  if (size == 0) throw nb::value_error("parts have a size");
  std::vector<uint64_t> found;
  const auto cut = [&](Bytes bytes, Bytes raw_states, Bytes, Refusal&) {
    found = model_.part_ends(bytes, raw_states, size);
  };
  return ask(text, raw, normalized, cut, [&] { return to_bytes(found); });
}
nb::object PyTextModel::find_tokens(nb::handle text, nb::handle raw, nb::handle normalized) {
  IdBuffer ids;
  Spans spans;
  const auto find = [&](Bytes bytes, Bytes raw_states, Bytes normalized_states, Refusal&) {
    model_.find_tokens(bytes, raw_states, normalized_states, [&](Bytes token, uint32_t id) {
      *ids.reserve(1) = id;
      ids.commit(1);
      uint64_t* const to = spans.reserve(2);
      to[0] = static_cast<uint64_t>(token.data() - bytes.data());
      to[1] = to[0] + token.size();
      spans.commit(2);
    });
    to_char_spans(bytes, {spans.data(), spans.size()});
  };
  return ask(text, raw, normalized, find, [&] { return both(std::move(ids), std::move(spans)); });
}
nb::object PyTextModel::find_in_records(nb::handle data, nb::handle given_ends, Number<size_t> given_size, nb::handle raw,
                                        nb::handle normalized) {
  const std::vector<uint64_t> ends = items_of<uint64_t>(given_ends);
  const size_t separator_size = given_size;
  std::vector<FoundToken> found;
  const auto find = [&](Bytes text, Bytes raw_states, Bytes normalized_states, Refusal&) {
    const auto add = [&](Bytes token, uint32_t id) {
      const auto begin = static_cast<uint64_t>(token.data() - text.data());
      found.push_back({begin, begin + token.size(), id});
    };
    visit_records(text, ends, separator_size, [&](Bytes record) {
      check_whole(record, text);
      model_.find_tokens(record, raw_states, normalized_states, add);
    });
  };
  return ask(data, raw, normalized, find, [&] { return to_bytes(found); });
}

// Calls done(number of ids) after each record, whose ids are appended to `ids`, unless that is null; then make().
template <class Done, class Make>
nb::object PyTextModel::each_record(nb::handle data, nb::handle given_ends, size_t separator_size, nb::handle raw,
                                    nb::handle normalized, nb::handle before, IdBuffer* ids, const Done& done,
                                    const Make& make) {
  const std::vector<uint64_t> ends = items_of<uint64_t>(given_ends);
  const std::string prefix = string_of(before);
  if (valid_utf8(bytes_of(prefix)) != prefix.size()) throw nb::value_error("what is put before records is not UTF-8");
  const auto encode = [&](Bytes text, Bytes raw_states, Bytes normalized_states, Refusal& refusal) {
    std::string whole;
    if (ids != nullptr) ids->reserve(text.size() / 3);  // once for all records
    visit_records(text, ends, separator_size, [&](Bytes record) {
      check_whole(record, text);
      if (refusal.is_refused) return;
      if (!prefix.empty() && !record.empty()) record = bytes_of(whole.assign(prefix).append(view_of(record)));
      done(model_.encode(record, raw_states, normalized_states, pool_, 1, ids, refusal));
    });
  };
  return ask(data, raw, normalized, encode, make);
}
nb::object PyTextModel::encode_records(nb::handle data, nb::handle ends, Number<size_t> separator_size, nb::handle raw,
                                       nb::handle normalized, nb::handle before, bool keeps_ids) {
  if (!keeps_ids) {
    std::vector<uint32_t> counts;
    const auto add = [&](size_t count) { counts.push_back(static_cast<uint32_t>(count)); };
    return each_record(data, ends, separator_size, raw, normalized, before, nullptr, add, [&] { return to_bytes(counts); });
  }
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

}  // namespace tokcli
