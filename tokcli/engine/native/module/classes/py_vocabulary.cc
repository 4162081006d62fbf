// Checking arguments and releasing the GIL around encoding: see py_vocabulary.h; _native.pyi says what each call
// promises.
#include "module/classes/py_vocabulary.h"

#include <algorithm>
#include <array>

#include "input/records.h"
#include "input/valid_utf8.h"

namespace tokcli {
namespace {

constexpr size_t kShortPiece = size_t{1} << 12;            // bytes: at most some 0.1 ms
constexpr size_t kPiecesBetweenSignals = size_t{1} << 12;
constexpr size_t kIdsBetweenSignals = size_t{1} << 20;     // (a multiple of those that are decoded at once)

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

Outcome PyVocabulary::run(const Splitting& by, const Text& text, int threads, const TextCheck* check, IdBuffer* out,
                          nb::handle given) {
  Outcome outcome;
  {
    const ReleasedGil released;
    outcome = pool_.encode(by, text, threads, check, out);
  }
  raise(outcome.result, given);
  return outcome;
}

nb::object PyVocabulary::count(nb::handle text, nb::handle by, Number<int> threads, const TextCheck* check) {
  const Outcome outcome = run(splitting_of(by), text_of(text), threads, check, nullptr, text);
  return outcome.is_refused ? nb::none() : nb::cast(outcome.result.count);
}

nb::object PyVocabulary::encode(nb::handle text, nb::handle by, const TextCheck* check) {
  IdBuffer ids;
  if (run(splitting_of(by), text_of(text), 1, check, &ids, text).is_refused) return nb::none();
  return ints_.list_of(ids.data(), ids.size());
}

nb::object PyVocabulary::encode_str(nb::handle text, nb::handle by, Number<int> threads, const TextCheck* check) {
  IdBuffer ids;
  if (run(splitting_of(by), text_of(text), threads, check, &ids, text).is_refused) return nb::none();
  return nb::cast(std::move(ids));
}

nb::object PyVocabulary::count_buffer(nb::handle data, nb::handle by, Number<int> threads) {
  const StableView view(data);
  return nb::cast(run(splitting_of(by), Text::of(view.bytes()), threads, nullptr, nullptr).result.count);
}

IdBuffer PyVocabulary::encode_buffer(nb::handle data, nb::handle by, Number<int> threads) {
  const StableView view(data);
  IdBuffer ids;
  run(splitting_of(by), Text::of(view.bytes()), threads, nullptr, &ids);
  return ids;
}

uint64_t PyVocabulary::run_split(nb::handle data, nb::handle given, bool is_noise, IdBuffer* out,
                                 std::vector<uint32_t>* counts) {
  const StableView text(data);
  std::vector<uint64_t> ends = piece_ends(given, text.bytes());
  Result result;
  {
    const ReleasedGil released;
    EncoderPool::Lease encoder(pool_);
    result = is_noise ? encoder->encode_noise(text.bytes(), std::move(ends), out)
                      : encoder->encode_split(text.bytes(), ends, out, counts);
  }
  raise(result);
  return result.count;
}

nb::object PyVocabulary::count_split(nb::handle data, nb::handle ends, bool is_noise) {
  return nb::cast(run_split(data, ends, is_noise, nullptr));
}

IdBuffer PyVocabulary::encode_split(nb::handle data, nb::handle ends, bool is_noise) {
  IdBuffer ids;
  run_split(data, ends, is_noise, &ids);
  return ids;
}

nb::tuple PyVocabulary::encode_each(nb::handle data, nb::handle ends) {
  IdBuffer ids;
  std::vector<uint32_t> counts;
  run_split(data, ends, false, &ids, &counts);
  return nb::make_tuple(nb::cast(std::move(ids)), to_bytes(counts));
}

// --- pieces, which are not split -------------------------------------------------------------------------------------

// Short pieces keep the GIL: to release it and to take it back costs as much as to encode one.
Result PyVocabulary::run_piece(Bytes piece, IdBuffer* out) {
  EncoderPool::Lease encoder(pool_);
  if (piece.size() <= kShortPiece) return encoder->encode_piece(piece, out);
  const ReleasedGil released;
  return encoder->encode_piece(piece, out);
}

nb::list PyVocabulary::encode_piece(nb::handle piece) {
  const StableView view(piece);
  IdBuffer ids;
  raise(run_piece(view.bytes(), &ids));
  return ints_.list_of(ids.data(), ids.size());
}

nb::bytes PyVocabulary::count_pieces(nb::list given) {
  const nb::list pieces = own_list(given);
  std::vector<uint32_t> counts;
  counts.reserve(pieces.size());
  for (nb::handle piece : pieces) {
    const StableView view(piece);
    const Result result = run_piece(view.bytes(), nullptr);
    raise(result);
    counts.push_back(static_cast<uint32_t>(result.count));
    if (counts.size() % kPiecesBetweenSignals == 0) check_signals();
  }
  return to_bytes(counts);
}

// --- many texts ------------------------------------------------------------------------------------------------------

std::vector<BatchShare> PyVocabulary::run_batch(nb::list given, const Splitting& by, int threads, const TextCheck* check,
                                                bool all_or_none, const EncoderPool::TakeShares& take) {
  const nb::list texts = own_list(given);
  std::vector<Text> all;
  all.reserve(texts.size());
  for (nb::handle text : texts) all.push_back(text_of(text));
  std::vector<BatchShare> shares;
  {
    ReleasedGil released;
    EncoderPool::TakeShares take_with_gil;
    if (take) take_with_gil = [&](std::span<BatchShare> ready) { released.with_gil([&] { take(ready); }); };
    shares = pool_.encode_batch(by, all, threads, check, all_or_none, take_with_gil);
  }
  for (const BatchShare& share : shares) {
    if (!share.failure.is_good()) raise(share.failure, texts[share.failed]);
  }
  return shares;
}

nb::object PyVocabulary::encode_batch(nb::list texts, nb::handle by, Number<int> threads, const TextCheck* check) {
  std::vector<BatchShare> shares = run_batch(texts, splitting_of(by), threads, check, true);
  for (const BatchShare& share : shares) {
    if (share.has_refused) return nb::none();
  }
  std::vector<uint64_t> offsets{0};
  IdBuffer all = std::move(shares[0].ids);
  for (size_t i = 0; i < shares.size(); ++i) {
    for (const size_t size : shares[i].sizes) offsets.push_back(offsets.back() + size);
    if (i > 0) all.append(shares[i].ids);
  }
  return nb::make_tuple(nb::cast(std::move(all)), to_bytes(offsets));
}

nb::list PyVocabulary::encode_batch_lists(nb::list texts, nb::handle by, Number<int> threads,
                                          const TextCheck* check) {
  nb::list out;
  run_batch(texts, splitting_of(by), threads, check, false, [&](std::span<BatchShare> ready) {
    for (BatchShare& share : ready) {
      const uint32_t* ids = share.ids.data();
      for (const size_t size : share.sizes) {
        if (size == BatchShare::kRefused) {
          out.append(nb::none());
          continue;
        }
        out.append(ints_.list_of(ids, size));
        ids += size;
      }
      share.ids = IdBuffer();  // its memory serves the shares that other threads encode meanwhile
      check_signals();
    }
  });
  return out;
}

// --- records in one buffer -------------------------------------------------------------------------------------------

// Calls done(number of ids) after each record; its ids are appended to `ids`, unless that is null. Returns false where a
// token is not in one record.
template <class Done>
bool PyVocabulary::each_record(nb::handle data, nb::handle given_ends, size_t separator_size, const Splitting& by,
                               bool is_noise, nb::handle given_tokens, bool puts_space, IdBuffer* ids, const Done& done) {
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
    std::string spaced;
    const auto encode = [&](Bytes part) {
      if (puts_space && !part.empty() && part[0] != ' ') part = bytes_of(spaced.assign(1, ' ').append(view_of(part)));
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
                                        bool is_noise, nb::handle tokens, bool puts_space) {
  IdBuffer ids;
  std::vector<uint64_t> offsets{0};
  const auto add = [&](uint64_t count) { offsets.push_back(offsets.back() + count); };
  if (!each_record(data, ends, separator_size, splitting_of(by), is_noise, tokens, puts_space, &ids, add))
    return nb::none();
  return nb::make_tuple(nb::cast(std::move(ids)), to_bytes(offsets));
}

nb::object PyVocabulary::count_records(nb::handle data, nb::handle ends, Number<size_t> separator_size, nb::handle by,
                                       bool is_noise, nb::handle tokens, bool puts_space) {
  std::vector<uint32_t> counts;
  const auto add = [&](uint64_t count) {
    counts.push_back(static_cast<uint32_t>(std::min<uint64_t>(count, UINT32_MAX)));
  };
  if (!each_record(data, ends, separator_size, splitting_of(by), is_noise, tokens, puts_space, nullptr, add))
    return nb::none();
  return to_bytes(counts);
}

// --- decoding --------------------------------------------------------------------------------------------------------

// Returns the bytes of an id that is given as any object; raises what is wrong with it.
[[gnu::noinline, gnu::cold]] std::string_view PyVocabulary::token_of(nb::handle item) const {
  PyErr_Clear();  // of a first attempt, which says less
  const uint32_t id = number_of<uint32_t>(item);
  std::string_view token;
  if (!vocabulary_.token(id, &token)) raise_unknown_id(id);
  return token;
}

// Returns the bytes of ids. Tokens are found 64 at a time, and copied once all of them have been asked for. (Profile: a
// third faster than one by one with a large vocabulary.) Short ones are copied as 16 bytes, whatever their size.
ByteBuffer PyVocabulary::decoded(nb::handle given) const {
  constexpr size_t kAtOnce = 64, kShort = 16;
  // A list is read in place: while its items are ints, nothing below runs Python code, which could change it. Any other
  // sequence, and a list with other items, is copied to a tuple first.
#ifndef Py_GIL_DISABLED
  const bool is_list = PyList_CheckExact(given.ptr());
#else
  const bool is_list = false;
#endif
  nb::object items = nb::borrow(given);
  if (!is_list && !PyTuple_CheckExact(given.ptr())) {
    items = owned(PySequence_Tuple(given.ptr()));
  }
  PyObject* const* ids = PySequence_Fast_ITEMS(items.ptr());
  auto count = static_cast<size_t>(PySequence_Fast_GET_SIZE(items.ptr()));
  ByteBuffer out;
  out.reserve(count * 4 + kShort);  // most texts have 3 to 5 bytes an id; what is not written costs no memory
  std::array<std::string_view, kAtOnce> tokens;
  for (size_t i = 0; i < count;) {
    if (i % kIdsBetweenSignals == kIdsBetweenSignals - kAtOnce) {
      check_signals();  // a handler may change the list
      ids = PySequence_Fast_ITEMS(items.ptr());
      count = static_cast<size_t>(PySequence_Fast_GET_SIZE(items.ptr()));
      if (i >= count) break;
    }
    const size_t some = std::min(count - i, kAtOnce);
    size_t bytes = 0;
    for (size_t k = 0; k < some; ++k) {
      PyObject* const item = ids[i + k];
      if (PyLong_Check(item)) [[likely]] {
        const unsigned long id = PyLong_AsUnsignedLong(item);
        if (id > UINT32_MAX || !vocabulary_.token(static_cast<uint32_t>(id), &tokens[k])) [[unlikely]]
          tokens[k] = token_of(item);
      } else {
        if (is_list) return decoded(owned(PyList_AsTuple(given.ptr())));
        tokens[k] = token_of(item);
      }
      __builtin_prefetch(tokens[k].data());
      bytes += tokens[k].size();
    }
    uint8_t* const begin = out.reserve(bytes + kShort);
    uint8_t* to = begin;
    for (size_t k = 0; k < some; ++k) {
      if (tokens[k].size() <= kShort && vocabulary_.may_read(tokens[k].data(), kShort)) [[likely]]
        std::memcpy(to, tokens[k].data(), kShort);
      else std::memcpy(to, tokens[k].data(), tokens[k].size());
      to += tokens[k].size();
    }
    out.commit(static_cast<size_t>(to - begin));
    i += some;
  }
  return out;
}

nb::bytes PyVocabulary::decode(nb::handle ids) const {
  const ByteBuffer bytes = decoded(ids);
  const nb::bytes made = new_bytes(bytes.size());
  if (bytes.size() > 0) std::memcpy(PyBytes_AS_STRING(made.ptr()), bytes.data(), bytes.size());
  return made;
}

// CPython widens its string with the first character that needs more room, and copies what is there; here the text is
// measured first. (Profile: three times as fast for code with a few characters outside ASCII.)
nb::object PyVocabulary::decode_str(nb::handle ids) const {
  const ByteBuffer buffer = decoded(ids);
  const Bytes bytes{buffer.data(), buffer.size()};
  const CodePoints points = points_in(bytes);
  PyObject* made;
  if (points.most > 0x7F && valid_utf8(bytes) != bytes.size()) {
    made = PyUnicode_DecodeUTF8(view_of(bytes).data(), static_cast<Py_ssize_t>(bytes.size()), "replace");
  } else {
    made = PyUnicode_New(static_cast<Py_ssize_t>(points.count), points.most);
    if (made != nullptr && points.count > 0) {
      use_large_pages(PyUnicode_DATA(made), points.count * PyUnicode_KIND(made));
      from_utf8(bytes, points.most, PyUnicode_DATA(made));
    }
  }
  return owned(made);
}

}  // namespace tokcli
