// Checking arguments and releasing the GIL around encoding: see py_vocabulary.h; _native.pyi says what each call
// promises.
#include "module/classes/py_vocabulary.h"

#include <algorithm>

#include "input/records.h"
#include "module/classes/decoding.h"

namespace tokcli {
namespace {

// Raises what a result says of its text.
void raise(const Result& result) {
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

// --- pieces ------------------------------------------------------------------------------------------------------------

nb::tuple PyVocabulary::encode_pieces(nb::handle data, nb::handle given, bool is_invalid, bool keeps_ids,
                                      bool keeps_counts) {
  if (is_invalid && keeps_counts) throw nb::value_error("pieces among invalid bytes are joined, and have no counts");
  const StableView text(data);
  const PieceEnds ends(given, text.bytes());
  IdBuffer ids;
  std::vector<uint32_t> counts;
  IdBuffer* const out = keeps_ids ? &ids : nullptr;
  Result result;
  {
    const ReleasedGil released;
    EncoderPool::Lease encoder(pool_);
    result = is_invalid
                 ? encoder->encode_invalid(text.bytes(), {ends.items().begin(), ends.items().end()}, out)
                 : encoder->encode_split(text.bytes(), ends.items(), out, keeps_counts ? &counts : nullptr);
  }
  raise(result);
  return tuple_of(keeps_ids ? nb::cast(std::move(ids)) : nb::none(),
                        keeps_counts ? nb::object(to_bytes(counts)) : nb::none(), result.count);
}

// --- records with bytes that are not UTF-8 ---------------------------------------------------------------------------

nb::object PyVocabulary::encode_invalid(nb::handle data, nb::handle given_ends, Number<size_t> given_size, nb::handle by,
                                      bool keeps_ids) {
  const Splitting splitting = splitting_of(by);
  const size_t separator_size = given_size;
  const StableView view(data);
  const Bytes text = view.bytes();
  const std::vector<uint64_t> ends = items_of<uint64_t>(given_ends);
  IdBuffer ids;
  std::vector<uint64_t> offsets{0};
  std::vector<uint32_t> counts;
  Result all;
  {
    const ReleasedGil released;
    EncoderPool::Lease encoder(pool_);
    if (keeps_ids) ids.reserve(text.size() / 3);  // once for all records: growing with each copies again and again
    visit_records(text, ends, separator_size, [&](Bytes record) {
      const Result result = encoder->encode_invalid(splitting, record, keeps_ids ? &ids : nullptr);
      all.missing_byte |= result.missing_byte;
      all.left_out |= result.left_out;
      if (keeps_ids) offsets.push_back(offsets.back() + result.count);
      else counts.push_back(static_cast<uint32_t>(std::min<uint64_t>(result.count, UINT32_MAX)));
    });
  }
  raise(all);
  if (!keeps_ids) return to_bytes(counts);
  return tuple_of(nb::cast(std::move(ids)), to_bytes(offsets));
}

// --- decoding --------------------------------------------------------------------------------------------------------

nb::bytes PyVocabulary::decode(nb::handle ids) const { return bytes_of_ids(vocabulary_, ids); }
nb::object PyVocabulary::decode_str(nb::handle ids) const { return text_of_ids(vocabulary_, ids); }

}  // namespace tokcli
