// Vocabulary images, and ids to bytes.
#include <nanobind/nanobind.h>

#include <algorithm>
#include <optional>

#include "bpe/image_builder.h"
#include "module/bindings.h"
#include "module/classes/py_vocabulary.h"
#include "tiktoken/decoder.h"
#include "tiktoken/known_tokens.h"

using namespace tokcli;

namespace {

// Raises ValueError where merges (three ids each) are not of two tokens that together are a third, or two have the same
// parts. A token here is one that has an id in `tokens`, all of which are below kMaxId.
void check_merges(const std::vector<Vocabulary::Merge>& merges, const std::vector<Token>& tokens) {
  if (merges.size() > tokens.size()) throw nb::value_error("there are more merges than tokens");
  std::vector<std::string_view> bytes;
  for (const Token& token : tokens) {
    if (token.id >= bytes.size()) bytes.resize(std::max<size_t>(token.id + 1, 2 * bytes.size()));
    bytes[token.id] = view_of({token.bytes, token.size});
  }
  std::vector<uint64_t> pairs;
  for (const auto& [left, right, made] : merges) {
    if (std::max({left, right, made}) >= bytes.size() || bytes[left].empty() || bytes[right].empty() ||
        bytes[made].size() != bytes[left].size() + bytes[right].size() || !bytes[made].starts_with(bytes[left]) ||
        !bytes[made].ends_with(bytes[right]))
      throw nb::value_error("a merge is not of two tokens that together are a third one");
    pairs.push_back(uint64_t{left} << 32 | right);
  }
  std::sort(pairs.begin(), pairs.end());
  if (std::adjacent_find(pairs.begin(), pairs.end()) != pairs.end())
    throw nb::value_error("two merges have the same tokens");
}

nb::bytes image_of(ImageParts parts) {
  ImageBuilder builder(std::move(parts));
  // (Without large pages, since some systems clear one for milliseconds.)
  const nb::bytes made = owned<nb::bytes>(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(builder.size())));
  {
    auto* const out = reinterpret_cast<uint8_t*>(PyBytes_AS_STRING(made.ptr()));
    const ReleasedGil released;
    builder.write({out, builder.size()});
  }
  return made;
}

nb::bytes make_image(nb::handle blob, nb::handle sizes, nb::handle ids, nb::handle source, nb::handle given,
                     bool drops_missing) {
  TokenTable table(blob, sizes, ids);
  const std::string name = string_of(source);
  if (table.tokens.empty()) throw nb::value_error("there are no tokens");
  if (name.size() != 32) throw nb::value_error("the source is named by 32 bytes");
  std::vector<bool> taken;
  for (const Token& token : table.tokens) {
    if (token.id >= kMaxId) throw nb::value_error("an id is too large for an image");
    if (token.id >= taken.size()) taken.resize(std::max<size_t>(token.id + 1, 2 * taken.size()));
    if (taken[token.id]) throw nb::value_error("two tokens have the same id");
    taken[token.id] = true;
  }
  const bool has_merges = !given.is_none();
  std::vector<Vocabulary::Merge> merges;
  if (has_merges) {
    merges = items_of<Vocabulary::Merge>(given);
    check_merges(merges, table.tokens);
  }
  return image_of({.tokens = std::move(table.tokens),
                   .source = bytes_of(name).first<32>(),
                   .drops_missing = drops_missing,
                   .has_merges = has_merges,
                   .merges = merges});
}

// Reads the sections of a packed file of ranks (formats/packed_ranks.py): runs of ids, and a size for each token.
nb::bytes make_packed_image(nb::handle body, nb::handle sizes, nb::handle runs, nb::handle given, nb::handle source) {
  const StableView blob(body), size_view(sizes);
  const std::vector<std::array<uint32_t, 2>> counts = items_of<std::array<uint32_t, 2>>(runs);
  const std::string name = string_of(source);
  const bool has_lefts = !given.is_none();
  const std::string lefts = has_lefts ? string_of(given) : std::string();
  if (name.size() != 32) throw nb::value_error("the source is named by 32 bytes");
  std::vector<Token> tokens;
  tokens.reserve(size_view.bytes().size());
  size_t at = 0;
  uint32_t least = 0;  // the id of the next token, or a larger one
  for (const auto& [count, first] : counts) {
    if (first < least || first >= kMaxId || count > kMaxId - first) throw nb::value_error("an id is too large for an image");
    if (count > size_view.bytes().size() - tokens.size()) throw nb::value_error("there are more ids than tokens");
    for (least = first; least < first + count; ++least) {
      const uint8_t size = size_view.bytes()[tokens.size()];
      if (size > blob.bytes().size() - at) throw nb::value_error("a token ends after the last byte");
      tokens.push_back({blob.bytes().data() + at, least, size});
      at += size;
    }
  }
  if (tokens.empty()) throw nb::value_error("there are no tokens");
  if (tokens.size() != size_view.bytes().size()) throw nb::value_error("there are more tokens than ids");
  if (at != blob.bytes().size()) throw nb::value_error("the sizes do not add up to the bytes");
  return image_of({.tokens = std::move(tokens),
                   .source = bytes_of(name).first<32>(),
                   .has_lefts = has_lefts,
                   .lefts = bytes_of(lefts)});
}

int64_t place_of(int64_t at) {
  constexpr int64_t kMost = int64_t{1} << 62;  // to which the size of any text can be added, or taken from its negative
  if (at > kMost || at < -kMost) throw nb::value_error("no text is so long");
  return at;
}

// `Decoder` of the Python module. It keeps its vocabulary alive.
class PyDecoder {
 public:
  PyDecoder(nb::handle vocabulary, nb::dict special_tokens)
      : owner_(nb::borrow(vocabulary)), decoder_(view_in(vocabulary), tokens_in(special_tokens)) {}

  nb::bytes decode(nb::handle ids, Number<size_t> width_of_one) const {
    const size_t width = width_of_one;
    if (width != 2 && width != 4) throw nb::value_error("an id has 2 or 4 bytes");
    if (width == 4) {
      const IdsView given(ids);
      return decode_view({reinterpret_cast<const uint8_t*>(given.data()), given.size(), width});
    }
    const std::vector<uint16_t> given = items_of<uint16_t>(ids);
    return decode_view({reinterpret_cast<const uint8_t*>(given.data()), given.size(), width});
  }
  nb::bytes spans(nb::handle ids, Number<int64_t> at, bool in_chars) const {
    const IdsView given(ids);
    const int64_t before = place_of(at);
    std::optional<uint32_t> unknown;
    const nb::bytes made = written(given.size() * 2 * sizeof(uint64_t), [&](char* out) {
      unknown = decoder_.spans(view_of_ids(given), before, in_chars, reinterpret_cast<uint64_t*>(out));
    });
    if (unknown) raise_unknown_id(*unknown);
    return made;
  }

 private:
  static IdView view_of_ids(const IdsView& ids) {
    return {reinterpret_cast<const uint8_t*>(ids.data()), ids.size(), sizeof(uint32_t)};
  }
  nb::bytes decode_view(const IdView& ids) const {
    size_t size = 0;
    std::optional<uint32_t> unknown;
    {
      const ReleasedGil released;
      unknown = decoder_.measure(ids, &size);
    }
    if (unknown) raise_unknown_id(*unknown);
    return written(size, [&](char* out) { decoder_.write(ids, out, size); });
  }
  static const Vocabulary& view_in(nb::handle vocabulary) {
    if (!nb::isinstance<PyVocabulary>(vocabulary)) raise_wrong_type("Vocabulary", vocabulary);
    return nb::cast<const PyVocabulary&>(vocabulary).view();
  }
  static std::map<uint32_t, std::string> tokens_in(nb::dict special_tokens) {
    std::map<uint32_t, std::string> tokens;
    const auto own = owned<nb::dict>(PyDict_Copy(special_tokens.ptr()));  // which reading its items cannot change
    for (auto [id, token] : own) tokens[number_of<uint32_t>(id)] = string_of(token);
    return tokens;
  }
  nb::object owner_;
  Decoder decoder_;
};

// `KnownTokens` of the Python module; the GIL guards it.
class PyKnownTokens {
 public:
  void add(nb::list given_ids, nb::list given_tokens) {
    const nb::list ids = own_list(given_ids), tokens = own_list(given_tokens);
    if (nb::len(ids) != nb::len(tokens)) throw nb::value_error("each id needs its bytes");
    for (size_t i = 0; i < nb::len(ids); ++i) tokens_.add(number_of<uint32_t>(ids[i]), string_of(tokens[i]));
  }
  nb::object joined(nb::handle ids) const {
    const IdsView given(ids);
    const std::optional<size_t> size = tokens_.measure(given.items());
    if (!size) return nb::none();
    const nb::bytes made = new_bytes(*size);
    tokens_.write(given.items(), PyBytes_AS_STRING(made.ptr()), *size);
    return made;
  }
  nb::object spans(nb::handle ids, Number<int64_t> given_start, bool in_chars) const {
    const IdsView given(ids);
    const int64_t start = place_of(given_start);
    if (!tokens_.measure(given.items())) return nb::none();
    const nb::bytes made = new_bytes(given.size() * 2 * sizeof(uint64_t));
    tokens_.spans(given.items(), start, in_chars, reinterpret_cast<uint64_t*>(PyBytes_AS_STRING(made.ptr())));
    return made;
  }
  nb::bytes unknown(nb::handle ids) const { return to_bytes(tokens_.unknown(IdsView(ids).items())); }

 private:
  KnownTokens tokens_;
};

}  // namespace

void bind_vocabulary(nb::module_& module) {
  module.def("build_image", &make_image, nb::arg("blob"), nb::arg("sizes"), nb::arg("ids"), nb::arg("source"),
             nb::arg("merges") = nb::none(), nb::arg("drops_missing") = false);
  module.def("build_packed_image", &make_packed_image, nb::arg("body"), nb::arg("sizes"), nb::arg("runs"),
             nb::arg("lefts").none(), nb::arg("source"));
  nb::class_<PyVocabulary>(module, "Vocabulary")
      .def(made_of<PyVocabulary, nb::handle>())
      .def("verify", &PyVocabulary::verify)
      .def("source", &PyVocabulary::source)
      .def("encode_pieces", &PyVocabulary::encode_pieces, nb::arg("data"), nb::arg("ends"), nb::arg("is_invalid") = false,
           nb::arg("keeps_ids") = true, nb::arg("keeps_counts") = false)
      .def("encode_invalid", &PyVocabulary::encode_invalid)
      .def("parents", &PyVocabulary::parents)
      .def("unknown", &PyVocabulary::unknown)
      .def("tokens", &PyVocabulary::tokens)
      .def("decode", &PyVocabulary::decode)
      .def("decode_str", &PyVocabulary::decode_str);
  nb::class_<PyDecoder>(module, "Decoder")
      .def(made_of<PyDecoder, nb::handle, nb::dict>())
      .def("decode", &PyDecoder::decode)
      .def("spans", &PyDecoder::spans);
  nb::class_<PyKnownTokens>(module, "KnownTokens")
      .def(nb::init<>())
      .def("add", &PyKnownTokens::add)
      .def("joined", &PyKnownTokens::joined)
      .def("spans", &PyKnownTokens::spans)
      .def("unknown", &PyKnownTokens::unknown);
}
