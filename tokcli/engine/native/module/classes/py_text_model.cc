// Encoding with a TextModel: see py_text_model.h.
#include "module/classes/py_text_model.h"

#include <algorithm>
#include <iterator>

#include "input/records.h"
#include "input/valid_utf8.h"
#include "module/classes/batches.h"
#include "text/utf8.h"

namespace tokcli {
namespace {

// Returns the UTF-8 of a text, in `room` where it is not UTF-8 already.
Bytes as_utf8(const Text& text, ByteBuffer& room) {
  if (text.is_utf8) return text.bytes();
  uint8_t* const to = room.reserve(most_utf8(text));
  return {to, to_utf8(text, to)};
}

// Throws std::invalid_argument where a record begins or ends within a character of its text.
void check_whole(Bytes record, Bytes text) {
  for (const uint8_t* at : {record.data(), record.data() + record.size()}) {
    if (at < text.data() + text.size() && !begins_char(*at))
      throw std::invalid_argument("a character begins in one record and ends in another");
  }
}

}  // namespace

void PyTextModel::check_states(const StatesView& raw, const StatesView& normalized) const {
  if (raw.bytes().size() != model_.raw.tokens.size() || normalized.bytes().size() != model_.normalized.tokens.size())
    throw nb::value_error("each added token needs a state");
}

// Calls work(UTF-8, how many parts of the text as many bytes are). Throws std::invalid_argument for a buffer of anything but
// UTF-8 (ranks take any bytes). With `in_parts`, a long str is turned into
// UTF-8 part by part, if the model takes parts. Needs no GIL.
template <class Work>
void PyTextModel::read(const AnyText& given, bool in_parts, Refusal& refusal, const Work& work) {
  constexpr size_t kPart = size_t{1} << 15;  // units: what is made of them is still in the L2 cache when it is read again
  const Text& text = given.text();
  ByteBuffer room;
  if (model_.model != nullptr && given.is_buffer() && valid_utf8(text.bytes()) != text.size)
    throw std::invalid_argument("the text is not UTF-8");
  const size_t most = in_parts && !text.is_utf8 && model_.takes_parts() ? kPart : SIZE_MAX;
  for (size_t at = 0; !refusal.is_refused; ) {
    const size_t end = most < text.size - at ? next_cut(text, at + most) : text.size;
    room.clear();
    work(as_utf8(text.part(at, end), room), static_cast<double>(text.size) / std::max<size_t>(end, 1));
    if ((at = end) >= text.size) return;
  }
}

// Returns make(), or None for a text that only Python can encode; raises GrowthError where too much would be made of it.
template <class Make>
nb::object PyTextModel::made(const Refusal& refusal, const Make& make) const {
  if (!refusal.is_refused) return make();
  if (refusal.most == 0) return nb::none();
  const char* const part = model_.has_space_rules() ? "charsmap" : "normalizer or pre-tokenizer";
  const nb::object error = nb::module_::import_("tokcli.errors").attr("GrowthError").attr("of")(part, refusal.most);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  throw nb::python_error();
}

// Calls work(UTF-8, states, states, refusal) without the GIL, and make() unless the text is refused then. `measures`: the work
// needs to know how long tokens are. `in_parts`: the text may come part by part.
template <class Work, class Make>
nb::object PyTextModel::ask(nb::handle object, nb::handle raw, nb::handle normalized, const Work& work, const Make& make,
                            bool measures, bool in_parts) {
  close();
  const AnyText given(object);
  const StatesView raw_states(raw), normalized_states(normalized);
  check_states(raw_states, normalized_states);
  Refusal refusal;
  {
    const ReleasedGil released;
    read(given, in_parts, refusal, [&](Bytes bytes, double) {
      if (measures) measure_tokens();
      if (model_.model == nullptr) return work(bytes, raw_states.bytes(), normalized_states.bytes(), refusal);
      const ReadersLock::Reading reading(sizes_lock_);  // of sizes, which models of words have
      work(bytes, raw_states.bytes(), normalized_states.bytes(), refusal);
    });
  }
  return made(refusal, make);
}

// Does what a task asks, of which the text and the states are not set yet; then calls make(count).
template <class Make>
nb::object PyTextModel::encode_with(nb::handle text, nb::handle raw, nb::handle normalized, const TextModel::Task& given,
                                    const Make& make) {
  size_t count = 0;
  Spans* const spans = given.spans;
  TextWorker worker(pool_);
  if (given.ids != nullptr && PyUnicode_Check(text.ptr()))  // once for all parts, enough for most texts
    given.ids->reserve(static_cast<size_t>(PyUnicode_GET_LENGTH(text.ptr())) / 3);
  const auto encode = [&](Bytes bytes, Bytes raw_states, Bytes normalized_states, Refusal& refusal) {
    TextModel::Task task = given;
    task.text = bytes;
    task.raw_states = raw_states;
    task.normalized_states = normalized_states;
    count += model_.encode(task, worker, refusal);
    if (spans == nullptr || refusal.is_refused) return;
    if (spans->size() != 2 * given.ids->size()) refusal.add({true});
  };
  return ask(text, raw, normalized, encode, [&] { return make(count); }, spans != nullptr, spans == nullptr && given.threads == 1);
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
  IdBuffer ids;
  TextModel::Task task;
  task.ids = &ids;
  task.threads = threads;
  constexpr Py_ssize_t kLong = 1 << 15;  // of a shorter text, the ids need little memory anyway
  if (as_list && model_.ranks.encoders != nullptr && PyUnicode_Check(text.ptr()) && PyUnicode_GET_LENGTH(text.ptr()) >= kLong)
    return list_of_ranks(text, raw, normalized, task);
  return encode_with(text, raw, normalized, task, [&](size_t) {
    return as_list ? nb::object(list_of(ints_, ids.data(), ids.size())) : nb::cast(std::move(ids));
  });
}
// (Part by part, so that the ids need little memory.)
nb::object PyTextModel::list_of_ranks(nb::handle text, nb::handle raw, nb::handle normalized, TextModel::Task task) {
  close();
  const AnyText given(text);
  const StatesView raw_states(raw), normalized_states(normalized);
  check_states(raw_states, normalized_states);
  constexpr size_t kTogether = size_t{1} << 16;  // ids that are taken at once
  constexpr double kSpare = 1.05;                // times the ids that a text seems to have
  double last_parts = 1;
  IdList list(ints_);
  Refusal refusal;
  {
    ReleasedGil released;
    struct Taker {
      ReleasedGil& released;
      IdList& list;
      IdBuffer& ids;
    } taker{released, list, *task.ids};
    const EncoderPool::TakeIds take = [by = &taker](size_t all) {  // (a pointer needs no memory of its own)
      by->released.with_gil([&] { by->list.append({by->ids.data(), by->ids.size()}, all); });
    };
    TextWorker worker(pool_);
    task.raw_states = raw_states.bytes();
    task.normalized_states = normalized_states.bytes();
    if (task.threads == 1) task.take = &take;
    size_t count = 0;
    read(given, task.threads == 1, refusal, [&](Bytes bytes, double parts) {
      if (task.ids->size() >= kTogether) {
        take(static_cast<size_t>(static_cast<double>(count) * kSpare * last_parts));
        task.ids->clear();
      }
      task.text = bytes;
      count += model_.encode(task, worker, refusal);
      last_parts = parts;
    });
  }
  return made(refusal, [&] {
    list.append({task.ids->data(), task.ids->size()}, 0);
    return list.take();
  });
}
nb::object PyTextModel::count(nb::handle text, nb::handle raw, nb::handle normalized, Number<size_t> threads) {
  TextModel::Task task;
  task.threads = threads;
  return encode_with(text, raw, normalized, task, [&](size_t count) { return nb::int_(count); });
}
nb::object PyTextModel::encode_batch(nb::list given, nb::handle raw, nb::handle normalized, Number<size_t> given_threads,
                                     bool as_lists) {
  close();
  const ListOfTexts texts(given);
  const StatesView raw_states(raw), normalized_states(normalized);
  check_states(raw_states, normalized_states);
  const size_t threads = given_threads;
  TakenShares taken(ints_, as_lists);
  const auto make = [&](bool of_several) -> EncodeText {
    const auto worker = std::make_shared<TextWorker>(pool_);
    if (of_several && model_.ranks.encoders != nullptr) {
      worker->encoder.emplace(*model_.ranks.encoders);
      (*worker->encoder)->make_pages();
    }
    const auto utf8 = std::make_shared<ByteBuffer>();
    return [=, this, &raw_states, &normalized_states](const Text& text, IdBuffer* ids) -> size_t {
      TextModel::Task task;
      const size_t before = ids->size();
      Refusal refusal;
      utf8->clear();
      task.text = as_utf8(text, *utf8);
      task.raw_states = raw_states.bytes();
      task.normalized_states = normalized_states.bytes();
      task.ids = ids;
      const size_t count = model_.encode(task, *worker, refusal);
      if (!refusal.is_refused) return count;
      ids->cut(before);
      return kRefused;
    };
  };
  {
    ReleasedGil released;
    const ReadersLock::Reading reading(sizes_lock_);
    encode_in_shares(texts.views, threads, make,
                     [&](std::span<BatchShare> ready) { released.with_gil([&] { taken.add(ready); }); });
  }
  return taken.take();
}
nb::object PyTextModel::encode_part(nb::handle text, nb::handle raw, nb::handle normalized, Number<size_t> threads, bool begins,
                                    bool ends, double sum, bool keeps_spans) {
  IdBuffer ids;
  Spans spans;
  IdBuffer blanks;
  TextModel::Task task;
  task.ids = &ids;
  task.threads = threads;
  task.ends = {begins, ends};
  task.sum = &sum;
  const bool counts_blanks = keeps_spans && model_.ranks.encoders != nullptr;
  if (keeps_spans) task.spans = &spans;
  if (counts_blanks) task.blanks = &blanks;
  return encode_with(text, raw, normalized, task, [&](size_t) {
    const auto after = owned(PyFloat_FromDouble(sum));
    return tuple_of(nb::cast(std::move(ids)), after, keeps_spans ? nb::cast(std::move(spans)) : nb::none(),
                    counts_blanks ? nb::cast(std::move(blanks)) : nb::none());
  });
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
nb::object PyTextModel::split(nb::handle text, nb::handle raw, nb::handle normalized, Number<size_t> given_threads) {
  const size_t threads = given_threads;
  std::vector<uint64_t> ends;
  const auto find_ends = [&](Bytes bytes, Bytes raw_states, Bytes normalized_states, Refusal& refusal) {
    TextWorker worker(pool_);
    TextModel::Task task;
    task.text = bytes;
    task.raw_states = raw_states;
    task.normalized_states = normalized_states;
    task.threads = threads;
    Spans found;
    task.piece_ends = &found;
    model_.encode(task, worker, refusal);
    if (refusal.is_refused || bytes.empty()) return;
    std::unique_copy(found.data(), found.data() + found.size(), std::back_inserter(ends));
    // what comes after the last piece, and was left out, belongs to it
    if (ends.empty()) ends.push_back(0);
    ends.back() = bytes.size();
  };
  return ask(text, raw, normalized, find_ends, [&] { return to_bytes(ends); });
}
// Calls done(number of ids) after each record; then make(). Ids, spans and blanks are appended to what `kept` names.
template <class Done, class Make>
nb::object PyTextModel::each_record(nb::handle data, nb::handle given_ends, size_t separator_size, nb::handle raw,
                                    nb::handle normalized, nb::handle before, const Kept& kept, const Done& done,
                                    const Make& make) {
  const std::vector<uint64_t> ends = items_of<uint64_t>(given_ends);
  const std::string prefix = string_of(before);
  if (valid_utf8(bytes_of(prefix)) != prefix.size()) throw nb::value_error("what is put before records is not UTF-8");
  const auto encode = [&](Bytes text, Bytes raw_states, Bytes normalized_states, Refusal& refusal) {
    std::string whole;
    if (kept.ids != nullptr) kept.ids->reserve(text.size() / 3);  // once for all records
    TextWorker worker(pool_);
    TextModel::Task task;
    task.raw_states = raw_states;
    task.normalized_states = normalized_states;
    task.ids = kept.ids;
    task.spans = kept.spans;
    task.blanks = kept.blanks;
    visit_records(text, ends, separator_size, [&](Bytes record) {
      check_whole(record, text);
      if (refusal.is_refused) return;
      if (!prefix.empty() && !record.empty()) record = bytes_of(whole.assign(prefix).append(view_of(record)));
      task.text = record;
      done(model_.encode(task, worker, refusal));
      if (kept.spans != nullptr && !refusal.is_refused && kept.spans->size() != 2 * kept.ids->size()) refusal.add({true});
    });
    refusal.most = 0;  // Python encodes the records one by one, and names the one of which too much is made
  };
  return ask(data, raw, normalized, encode, make, kept.spans != nullptr);
}
nb::object PyTextModel::encode_records(nb::handle data, nb::handle ends, Number<size_t> separator_size, nb::handle raw,
                                       nb::handle normalized, nb::handle before, bool keeps_ids, bool keeps_spans) {
  if (!keeps_ids) {
    std::vector<uint32_t> counts;
    const auto add = [&](size_t count) { counts.push_back(static_cast<uint32_t>(count)); };
    return each_record(data, ends, separator_size, raw, normalized, before, {}, add, [&] { return to_bytes(counts); });
  }
  IdBuffer ids, blanks;
  Spans offsets, spans;
  const bool counts_blanks = keeps_spans && model_.ranks.encoders != nullptr;
  *offsets.reserve(1) = 0;
  offsets.commit(1);
  const auto add = [&](size_t) {
    *offsets.reserve(1) = ids.size();
    offsets.commit(1);
  };
  const auto make = [&] {
    if (!keeps_spans) return tuple_of(nb::cast(std::move(ids)), nb::cast(std::move(offsets)));
    return tuple_of(nb::cast(std::move(ids)), nb::cast(std::move(offsets)), nb::cast(std::move(spans)),
                    counts_blanks ? nb::cast(std::move(blanks)) : nb::none());
  };
  const Kept kept{&ids, keeps_spans ? &spans : nullptr, counts_blanks ? &blanks : nullptr};
  return each_record(data, ends, separator_size, raw, normalized, before, kept, add, make);
}

}  // namespace tokcli
