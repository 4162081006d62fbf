// Checking arguments and releasing the GIL around encoding: see py_vocabulary.h; _native.pyi says what each call
// promises.
#include "module/classes/py_vocabulary.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "input/records.h"
#include "module/classes/batches.h"
#include "module/classes/decoding.h"

namespace tokcli {
namespace {

// Raises what a result says of its text; `text` is the str that it was made from, if it was one.
void raise(const Result& result, nb::handle text = {}) {
  if (result.surrogate) utf8_of(text);  // this raises UnicodeEncodeError, which names the place
  if (result.missing_byte) throw nb::key_error("a byte of the text is no token of this vocabulary");
  if (result.left_out) throw nb::key_error("the pattern does not split all of the text");
}

}  // namespace

// --- what the image holds --------------------------------------------------------------------------------------------

bool PyVocabulary::verify() const {
  const ReleasedGil released;
  return vocabulary_.verify();
}

nb::bytes PyVocabulary::source() const { return to_bytes(view_of(vocabulary_.source())); }

nb::bytes PyVocabulary::parents() const {
  std::vector<uint32_t> found;
  {
    const ReleasedGil released;
    found = vocabulary_.parents();
  }
  return to_bytes(found);
}

nb::bytes PyVocabulary::unknown(nb::handle ids) const {
  const IdsView given(ids);
  std::vector<uint32_t> found;
  std::string_view token;
  std::copy_if(given.items().begin(), given.items().end(), std::back_inserter(found),
               [&](uint32_t id) { return !vocabulary_.token(id, &token); });
  return to_bytes(found);
}

nb::list PyVocabulary::tokens() const {
  nb::list out = owned<nb::list>(PyList_New(static_cast<Py_ssize_t>(vocabulary_.id_count())));
  for (uint32_t id = 0; id < vocabulary_.id_count(); ++id) {
    std::string_view token;
    PyObject* item = vocabulary_.token(id, &token)
                         ? PyBytes_FromStringAndSize(token.data(), static_cast<Py_ssize_t>(token.size()))
                         : Py_NewRef(Py_None);
    if (item == nullptr) throw nb::python_error();
    PyList_SET_ITEM(out.ptr(), static_cast<Py_ssize_t>(id), item);
  }
  return out;
}

// --- one text --------------------------------------------------------------------------------------------------------

Outcome PyVocabulary::run(nb::handle text, nb::handle by, int threads, IdBuffer* out) {
  const Splitting splitting = splitting_of(by);
  const AnyText given(text);
  Outcome outcome;
  {
    const ReleasedGil released;
    outcome = pool_.encode(splitting, given.text(), threads, out);
  }
  raise(outcome.result, text);
  return outcome;
}

nb::object PyVocabulary::count(nb::handle text, nb::handle by, Number<int> threads) {
  return nb::cast(run(text, by, threads, nullptr).result.count);
}

nb::object PyVocabulary::encode(nb::handle text, nb::handle by, bool as_list, Number<int> threads) {
  if (as_list) return list_of_text(text, by);
  IdBuffer ids;
  run(text, by, threads, &ids);
  return nb::cast(std::move(ids));
}

nb::object PyVocabulary::list_of_text(nb::handle text, nb::handle by) {
  const Splitting splitting = splitting_of(by);
  const AnyText given(text);
  IdList list(ints_);
  IdBuffer ids;
  Outcome outcome;
  {
    ReleasedGil released;
    outcome = pool_.encode_parts(splitting, given.text(), &ids, [&](size_t all) {
      released.with_gil([&] { list.append({ids.data(), ids.size()}, all); });
    });
  }
  raise(outcome.result, text);
  list.append({ids.data(), ids.size()}, 0);
  return list.take();
}

nb::tuple PyVocabulary::encode_pieces(nb::handle data, nb::handle given, bool is_noise, bool keeps_ids, bool keeps_counts) {
  if (is_noise && keeps_counts) throw nb::value_error("pieces among noise are joined, and have no counts of their own");
  const StableView text(data);
  std::vector<uint64_t> ends = piece_ends(given, text.bytes());
  IdBuffer ids;
  std::vector<uint32_t> counts;
  IdBuffer* const out = keeps_ids ? &ids : nullptr;
  Result result;
  {
    const ReleasedGil released;
    EncoderPool::Lease encoder(pool_);
    result = is_noise ? encoder->encode_noise(text.bytes(), std::move(ends), out)
                      : encoder->encode_split(text.bytes(), ends, out, keeps_counts ? &counts : nullptr);
  }
  raise(result);
  return tuple_of(keeps_ids ? nb::cast(std::move(ids)) : nb::none(),
                        keeps_counts ? nb::object(to_bytes(counts)) : nb::none(), result.count);
}

// --- many texts ------------------------------------------------------------------------------------------------------

nb::object PyVocabulary::encode_batch(nb::list given, nb::handle by, bool as_lists, Number<int> threads) {
  if (as_lists) return lists_of_texts(given, by, threads);
  const ListOfTexts texts(given);
  const Splitting splitting = splitting_of(by);
  const int wanted = threads;
  IdBuffer ids;
  std::vector<uint64_t> offsets(texts.views.size() + 1);
  Outcome outcome;
  {
    const ReleasedGil released;
    std::vector<size_t> sizes(texts.views.size());
    outcome = pool_.encode_batch(splitting, texts.views, wanted, &ids, sizes.data());
    std::partial_sum(sizes.begin(), sizes.end(), offsets.begin() + 1, std::plus<uint64_t>());
  }
  raise(outcome.result, outcome.result.is_good() ? nb::handle() : texts.items[outcome.failed]);
  return tuple_of(nb::cast(std::move(ids)), to_bytes(offsets));
}

nb::object PyVocabulary::lists_of_texts(nb::list given, nb::handle by, int threads) {
  const ListOfTexts texts(given);
  const Splitting splitting = splitting_of(by);
  TakenShares taken(ints_, true);
  std::vector<BatchShare> shares;
  {
    ReleasedGil released;
    shares = pool_.encode_shares(splitting, texts.views, threads,
                                 [&](std::span<BatchShare> ready) { released.with_gil([&] { taken.add(ready); }); });
  }
  for (const BatchShare& share : shares) {
    if (!share.failure.is_good()) raise(share.failure, texts.items[share.failed]);
  }
  return taken.take();
}

// --- records in one buffer -------------------------------------------------------------------------------------------

// Calls done(number of ids) after each record; its ids are appended to `ids`, unless that is null. Returns false where a
// token is not in one record.
template <class Done>
bool PyVocabulary::each_record(nb::handle data, nb::handle given_ends, size_t separator_size, const Splitting& by,
                               bool is_noise, nb::handle given_tokens, IdBuffer* ids, const Done& done) {
  const StableView view(data);
  const Bytes text = view.bytes();
  const std::vector<uint64_t> ends = items_of<uint64_t>(given_ends);
  const std::vector<FoundToken> tokens = items_of<FoundToken>(given_tokens);
  auto token = tokens.begin();
  bool are_inside = true;
  Result all;
  {
    const ReleasedGil released;
    EncoderPool::Lease encoder(pool_);
    if (ids != nullptr) ids->reserve(text.size() / 3);  // once for all records: growing with each copies again and again
    uint64_t count = 0;
    const auto encode = [&](Bytes part) {
      const Result result = is_noise ? encoder->encode_noise(by, part, ids) : encoder->encode(by, Text::of(part), ids);
      all.missing_byte |= result.missing_byte;
      all.left_out |= result.left_out;
      count += result.count;
    };
    visit_records(text, ends, separator_size, [&](Bytes record) {
      auto at = static_cast<uint64_t>(record.data() - text.data());
      const uint64_t end = at + record.size();
      count = 0;
      for (; are_inside && token != tokens.end() && token->begin < end; at = (token++)->end) {
        are_inside = at <= token->begin && token->begin <= token->end && token->end <= end && token->id < kNone;
        if (!are_inside) return;
        encode(text.subspan(at, token->begin - at));
        if (ids != nullptr) {
          *ids->reserve(1) = static_cast<uint32_t>(token->id);
          ids->commit(1);
        }
        ++count;
      }
      encode(text.subspan(at, end - at));
      done(count);
    });
  }
  raise(all);
  return are_inside && token == tokens.end();
}

nb::object PyVocabulary::encode_records(nb::handle data, nb::handle ends, Number<size_t> separator_size, nb::handle by,
                                        bool is_noise, nb::handle tokens, bool keeps_ids) {
  const Splitting splitting = splitting_of(by);
  if (!keeps_ids) {
    std::vector<uint32_t> counts;
    const auto add = [&](uint64_t count) {
      counts.push_back(static_cast<uint32_t>(std::min<uint64_t>(count, UINT32_MAX)));
    };
    const bool is_done = each_record(data, ends, separator_size, splitting, is_noise, tokens, nullptr, add);
    return is_done ? nb::object(to_bytes(counts)) : nb::none();
  }
  IdBuffer ids;
  std::vector<uint64_t> offsets{0};
  const auto add = [&](uint64_t count) { offsets.push_back(offsets.back() + count); };
  if (!each_record(data, ends, separator_size, splitting, is_noise, tokens, &ids, add)) return nb::none();
  return tuple_of(nb::cast(std::move(ids)), to_bytes(offsets));
}

// --- decoding --------------------------------------------------------------------------------------------------------

nb::bytes PyVocabulary::decode(nb::handle ids) const { return bytes_of_ids(vocabulary_, ids); }
nb::object PyVocabulary::decode_str(nb::handle ids) const { return text_of_ids(vocabulary_, ids); }

}  // namespace tokcli
