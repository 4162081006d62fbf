// Tokenizers that are not byte-level. A TextModel is made once, from checked tables; after that its rules for
// characters grow under a lock, and any number of threads encode.
#include <nanobind/nanobind.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <numeric>
#include <optional>

#include "base/fork.h"
#include "input/valid_utf8.h"
#include "module/bindings.h"
#include "module/id_objects.h"
#include "pipeline/text_model.h"

using namespace tokcli;

namespace {

class PyTextModel {
 public:
  PyTextModel(nb::handle blob, nb::handle sizes, nb::handle ids) {
    Tokens& tokens = model_.tokens;
    tokens.ids = items_of<uint32_t>(ids);
    if (!tokens.strings.build(string_of(blob), items_of<uint32_t>(sizes)) || tokens.ids.size() != tokens.strings.size())
      throw nb::value_error("tokens are distinct, and each needs a size and an id");
    model_.unknown.bytes.fill(kNone);
  }
  // Opens what image() returned, in a buffer that has to stay as it is.
  // (A file that is mapped is copied: what was checked once may not be changed or cut off afterwards.)
  explicit PyTextModel(nb::handle image) : image_(std::make_unique<StableView>(image)) {
    const Bytes bytes = image_->bytes();
    try {
      const ReleasedGil released;
      model_.open(bytes);
    } catch (const std::invalid_argument& error) {
      throw nb::value_error(error.what());
    }
  }
  nb::bytes image() {
    close();
    TextImageWriter writer;
    const ReadersLock::Reading reading(rules_lock_);
    model_.fields(writer);
    return to_bytes(view_of(writer.finish()));
  }

  // --- making it -----------------------------------------------------------------------------------------------------

  void set_unknown(Number<uint32_t> id, nb::handle bytes, bool joins) {
    const Change change(*this);
    Unknown& unknown = model_.unknown;
    unknown.id = id;
    model_.joins_unknown = joins;
    const auto given = items_of<uint32_t>(bytes);
    if (given.empty()) return;
    if (given.size() != 256) throw nb::value_error("each of the 256 bytes needs an id");
    unknown.to_bytes = true;
    std::copy(given.begin(), given.end(), unknown.bytes.begin());
  }
  void set_kept(nb::list texts) {
    const Change change(*this);
    std::vector<std::string> held;
    for (nb::handle text : own_list(texts)) held.push_back(string_of(text));
    std::vector<std::string_view> keys(held.begin(), held.end());
    model_.tokens.kept.build(keys, std::vector<uint32_t>(keys.size(), 1));
    model_.spaces.kept.build(keys, std::vector<uint32_t>(keys.size(), 1));
    model_.tokens.has_kept = model_.spaces.has_kept = !keys.empty();
    model_.spaces.spans_spaces |=
        std::any_of(keys.begin(), keys.end(), [](std::string_view text) { return text.find(' ', 1) != text.npos; });
  }
  void use_pieces(nb::handle orders, nb::handle kept) {
    const Change change(*this);
    auto all = items_of<uint32_t>(orders);
    const std::string flags = string_of(kept);
    const size_t count = model_.tokens.ids.size();
    if (all.size() != count || flags.size() != count) throw nb::value_error("each token needs an order and a flag");
    model_.models.pieces.build(std::move(all), {flags.begin(), flags.end()});
    use(Models::Used::kPieces);
  }
  void use_pairs(nb::handle pairs, nb::handle ranks, nb::handle made, bool has_unknown, bool fuses, bool whole_first,
                 nb::handle prefix, nb::handle suffix) {
    const Change change(*this);
    model_.whole_first = whole_first;
    const auto all = items_of<uint64_t>(pairs);
    const auto order = items_of<uint32_t>(ranks), results = items_of<uint32_t>(made);
    if (all.size() != order.size() || all.size() != results.size())
      throw nb::value_error("each merge needs a pair, a rank and an id");
    std::vector<PairBpeModel::PairMerge> merges(all.size());
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i] == UINT64_MAX || order[i] == kNone) throw nb::value_error("an id is too large");
      merges[i] = {all[i], order[i], results[i]};
    }
    model_.models.pairs.build(merges, {fuses, has_unknown, string_of(prefix), string_of(suffix)});
    use(Models::Used::kPairs);
  }
  void use_word_piece(nb::handle prefix, Number<size_t> max_chars) {
    const Change change(*this);
    build_trie();
    model_.models.word_piece.build(string_of(prefix), max_chars);
    use(Models::Used::kWordPiece);
  }
  void use_whole(bool by_character) {
    const Change change(*this);
    model_.models.whole.build(by_character);
    use(Models::Used::kWhole);
  }
  void use_unigram(nb::handle scores, double unknown_score, Number<int> number) {
    const Change change(*this);
    const auto sums = choice_of<Sums>(number, 3);
    auto all = items_of<double>(scores);
    if (all.size() != model_.tokens.ids.size()) throw nb::value_error("each token needs a score");
    build_trie();
    Unigram& unigram = model_.models.unigram;
    if (sums == Sums::kPerText32) unigram.build<float>(std::move(all), unknown_score, model_.tokens.strings);
    else unigram.build<double>(std::move(all), unknown_score, model_.tokens.strings);
    model_.sums = sums;
    use(Models::Used::kUnigram);
  }
  void set_words(Number<int> cut, nb::handle space, bool before_known) {
    const Change change(*this);
    model_.word_cut = choice_of<WordCut>(cut, 3);
    model_.space = string_of(space);
    if (model_.space.empty()) throw nb::value_error("the space is empty");
    model_.cuts_before_known = before_known;
    if (model_.word_cut == WordCut::kWherePossible) model_.pairs.build(model_.tokens.strings);
  }
  void set_metaspace(bool splits, bool blindly, Number<int> prefix) {
    const Change change(*this);
    model_.prefix = choice_of<MetaspacePrefix>(prefix, 3);
    model_.has_metaspace = true;
    model_.metaspace_splits = splits;
    model_.prefixes_blindly = blindly;
  }
  void set_added(bool normalized, nb::list tokens) {
    const Change change(*this);
    std::vector<std::string> texts;
    std::vector<AddedTokens::AddedToken> added;
    for (nb::handle item : own_list(tokens)) {
      if (!PyTuple_Check(item.ptr())) raise_wrong_type("tuple", item);
      const auto token = nb::borrow<nb::tuple>(item);
      if (token.size() != 5) throw nb::value_error("an added token is a text, an id, single_word, lstrip and rstrip");
      texts.push_back(string_of(token[0]));
      if (texts.back().empty()) throw nb::value_error("an added token is empty");
      const auto flag = [&](size_t i) { return nb::bool_(token[i]); };
      added.push_back({number_of<uint32_t>(token[1]), bool(flag(2)), bool(flag(3)), bool(flag(4))});
    }
    (normalized ? model_.normalized : model_.raw).build({texts.begin(), texts.end()}, std::move(added));
  }
  void add_step(Number<int> kind, nb::handle from, nb::handle to, bool left, bool right) {
    const Change change(*this);
    Step step{choice_of<Step::Kind>(kind, 6), string_of(from), string_of(to), left, right};
    if (step.kind == Step::Kind::kReplace && step.from.empty())
      throw nb::value_error("the text to be replaced is empty");
    model_.steps.push_back(std::move(step));
  }
  void set_spaces(nb::handle units, nb::handle texts, bool add_prefix, bool trim, bool as_suffix, bool is_llama,
                  nb::handle space) {
    const Change change(*this);
    SpaceRules& rules = model_.spaces;
    const std::string all = string_of(texts);
    if (!all.empty() && all.back() != '\0')
      throw nb::value_error("the last text of a charsmap does not end with a zero");
    rules.charsmap.open(items_of<uint32_t>(units), all);
    {
      const ReleasedGil released;
      rules.spans_spaces |= rules.charsmap.spans_spaces();
    }
    rules.add_prefix = add_prefix;
    rules.trim = trim;
    rules.as_suffix = as_suffix;
    rules.is_llama = is_llama;
    rules.space = string_of(space);
    if (rules.space.empty()) throw nb::value_error("the space is empty");
    rules.prepare();
    model_.steps.push_back({Step::Kind::kSpaces, "", "", false, false});
  }
  void use_classes() {
    const Change change(*this);
    model_.has_classes = true;
  }
  void set_dropping_moves() {
    const Change change(*this);
    model_.chars.set_dropping_moves();
  }

  // --- what is learned from Python -----------------------------------------------------------------------------------

  void learn(nb::handle given_chars, nb::handle given_classes, nb::handle given_runs) {
    const nb::dict chars = dict_of(given_chars), classes = dict_of(given_classes), runs = dict_of(given_runs);
    std::vector<std::pair<uint32_t, std::string>> rules;
    std::vector<uint32_t> unsafe;
    for (auto [c, text] : chars) {
      if (text.is_none()) unsafe.push_back(number_of<uint32_t>(c));
      else rules.emplace_back(number_of<uint32_t>(c), string_of(text));
    }
    std::vector<std::pair<uint32_t, uint16_t>> found;
    for (auto [c, value] : classes) found.emplace_back(number_of<uint32_t>(c), number_of<uint16_t>(value));
    std::vector<std::pair<std::string, std::string>> texts;
    for (auto [run, text] : runs) texts.emplace_back(string_of(run), string_of(text));
    const ReleasedGil released;
    const std::lock_guard lock(rules_lock_);
    const BriefLock writing;
    for (const auto& [c, text] : rules) model_.chars.set(c, text);
    for (const uint32_t c : unsafe) model_.chars.set_unsafe(c);
    for (const auto& [c, value] : found) model_.classes.set(c, value | TextModel::kKnown);
    for (const auto& [run, text] : texts) model_.chars.set_run(run, text);
  }

  // Where the characters of runs come from: buffers of uint32, which CharRules::set_origins takes.
  void learn_origins(nb::handle given) {
    std::vector<std::pair<std::string, std::vector<uint32_t>>> found;
    for (auto [run, origins] : dict_of(given)) found.emplace_back(string_of(run), items_of<uint32_t>(origins));
    const ReleasedGil released;
    const std::lock_guard lock(rules_lock_);
    const BriefLock writing;
    for (auto& [run, origins] : found) model_.chars.set_origins(run, std::move(origins));
  }

  // --- encoding ------------------------------------------------------------------------------------------------------

  // Each of these takes a str, or a buffer of UTF-8 (ValueError: it is none). It returns what it promises; or three lists
  // of what has to be learned first; or None where only Python can encode the text.
  nb::object encode(nb::handle text, nb::handle raw, nb::handle normalized, Number<size_t> threads) {
    const auto make = [&](IdBuffer ids, size_t) { return ints_.list_of(ids.data(), ids.size()); };
    return encode_with(text, raw, normalized, threads, make);
  }
  nb::object encode_ids(nb::handle text, nb::handle raw, nb::handle normalized, Number<size_t> threads) {
    return encode_with(text, raw, normalized, threads, [&](IdBuffer ids, size_t) { return nb::cast(std::move(ids)); });
  }
  nb::object count(nb::handle text, nb::handle raw, nb::handle normalized, Number<size_t> threads) {
    return encode_with<false>(text, raw, normalized, threads, [&](IdBuffer, size_t count) { return nb::int_(count); });
  }
  // A list of the ids and the spans of their characters (uint64, two for each).
  nb::object encode_spans(nb::handle text, nb::handle raw, nb::handle normalized, Number<size_t> threads) {
    Spans spans;
    const auto make = [&](IdBuffer ids, size_t) { return both(std::move(ids), std::move(spans)); };
    return encode_with(text, raw, normalized, threads, make, &spans);
  }
  // The same of the added tokens that are found in the text as given.
  nb::object find_tokens(nb::handle text, nb::handle raw, nb::handle normalized) {
    IdBuffer ids;
    Spans spans;
    const auto find = [&](Bytes bytes, Bytes raw_states, Bytes, Needs& needs) {
      model_.find_tokens(bytes, raw_states, ids, needs, spans);
      if (needs.empty()) to_char_spans(bytes, {spans.data(), spans.size()});
    };
    return ask(text, raw, normalized, find, [&] { return both(std::move(ids), std::move(spans)); });
  }

 private:
  static constexpr size_t kMostUnits = size_t{1} << 28;  // of a text

  // One call at a time makes the model, and none once a text was encoded: encoding reads without a lock what was made.
  enum class Making : uint8_t { kOpen, kChanging, kClosed };
  class Change {
   public:
    explicit Change(PyTextModel& model) : making_(model.making_) {
      Making from = Making::kOpen;
      if (!making_.compare_exchange_strong(from, Making::kChanging)) throw_in_use();
    }
    ~Change() { making_ = Making::kOpen; }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;

   private:
    std::atomic<Making>& making_;
  };
  [[noreturn]] static void throw_in_use() { throw nb::value_error("a model that is in use cannot be changed"); }
  void close() {
    if (!model_.model) throw nb::value_error("there is no model yet");
    Making from = Making::kOpen;
    if (!making_.compare_exchange_strong(from, Making::kClosed) && from != Making::kClosed) throw_in_use();
  }

  static nb::list both(IdBuffer ids, Spans spans) {
    return nb::list(nb::make_tuple(nb::cast(std::move(ids)), nb::cast(std::move(spans))));
  }

  // Calls make(ids, count). Without `kKeepsIds`, the ids are counted only.
  template <bool kKeepsIds = true, class Make>
  nb::object encode_with(nb::handle text, nb::handle raw, nb::handle normalized, size_t threads, const Make& make,
                         Spans* spans = nullptr) {
    IdBuffer ids;
    size_t count = 0;
    const auto encode = [&](Bytes bytes, Bytes raw_states, Bytes normalized_states, Needs& needs) {
      count = model_.encode(bytes, raw_states, normalized_states, pool_, threads, kKeepsIds ? &ids : nullptr, needs, spans);
      if (spans == nullptr || !needs.empty()) return;
      if (spans->size() == 2 * ids.size()) to_char_spans(bytes, {spans->data(), spans->size()});
      else needs.is_for_python = true;
    };
    return ask(text, raw, normalized, encode, [&] { return make(std::move(ids), count); }, spans != nullptr);
  }

  // Calls work(UTF-8, states, states, needs) without the GIL, and make() where nothing is needed afterwards. `measures`: the
  // work needs to know how long tokens are.
  template <class Work, class Make>
  nb::object ask(nb::handle object, nb::handle raw, nb::handle normalized, const Work& work, const Make& make,
                 bool measures = false) {
    close();
    std::optional<StableView> given;
    if (!PyUnicode_Check(object.ptr())) given.emplace(object);
    const Text text = given ? Text::of(given->bytes()) : text_of(object);
    const std::string raw_states = string_of(raw), normalized_states = string_of(normalized);
    if (raw_states.size() != model_.raw.tokens.size() || normalized_states.size() != model_.normalized.tokens.size())
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
        work(bytes, bytes_of(raw_states), bytes_of(normalized_states), needs);
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

  // Finds out how long tokens are, when places are first asked for.
  void measure_tokens() {
    if (is_measured_) return;
    const std::lock_guard lock(rules_lock_);
    if (is_measured_) return;
    const Models::Used which = model_.models.which;
    const bool is_plain = which != Models::Used::kPairs || model_.models.pairs.is_plain();
    const BriefLock writing;
    if (is_plain) model_.tokens.measure(model_.unknown);
    is_measured_ = true;
  }

  void use(Models::Used which) {
    model_.models.which = which;
    model_.model = model_.models.used();
  }
  void build_trie() {
    Tokens& tokens = model_.tokens;
    std::vector<std::string_view> keys;
    for (uint32_t i = 0; i < tokens.strings.size(); ++i) keys.push_back(tokens.strings[i]);
    std::vector<uint32_t> numbers(keys.size());
    std::iota(numbers.begin(), numbers.end(), 0u);
    tokens.trie.build(keys, numbers);
  }

  std::unique_ptr<StableView> image_;  // holds the image that the model was opened from, if it was
  TextModel model_;
  std::atomic<Making> making_{Making::kOpen};
  IntCache ints_;
  ReadersLock rules_lock_;
  std::atomic<bool> is_measured_{false};
  ScratchPool pool_{TextScratch::Source{}};
};

}  // namespace

void bind_text_models(nb::module_& module) {
  nb::class_<PyTextModel>(module, "TextModel")
      .def(made_of<PyTextModel, nb::handle, nb::handle, nb::handle>())
      .def(made_of<PyTextModel, nb::handle>())
      .def("image", &PyTextModel::image)
      .def("set_unknown", &PyTextModel::set_unknown)
      .def("set_kept", &PyTextModel::set_kept)
      .def("use_pieces", &PyTextModel::use_pieces)
      .def("use_pairs", &PyTextModel::use_pairs)
      .def("use_word_piece", &PyTextModel::use_word_piece)
      .def("use_whole", &PyTextModel::use_whole)
      .def("use_unigram", &PyTextModel::use_unigram)
      .def("set_words", &PyTextModel::set_words)
      .def("set_metaspace", &PyTextModel::set_metaspace)
      .def("set_added", &PyTextModel::set_added)
      .def("add_step", &PyTextModel::add_step)
      .def("set_spaces", &PyTextModel::set_spaces)
      .def("use_classes", &PyTextModel::use_classes)
      .def("set_dropping_moves", &PyTextModel::set_dropping_moves)
      .def("learn", &PyTextModel::learn)
      .def("learn_origins", &PyTextModel::learn_origins)
      .def("encode", &PyTextModel::encode, nb::arg("text"), nb::arg("raw"), nb::arg("normalized"), nb::arg("threads") = 1)
      .def("encode_ids", &PyTextModel::encode_ids, nb::arg("text"), nb::arg("raw"), nb::arg("normalized"),
           nb::arg("threads") = 1)
      .def("encode_spans", &PyTextModel::encode_spans, nb::arg("text"), nb::arg("raw"), nb::arg("normalized"),
           nb::arg("threads") = 1)
      .def("find_tokens", &PyTextModel::find_tokens)
      .def("count", &PyTextModel::count, nb::arg("text"), nb::arg("raw"), nb::arg("normalized"), nb::arg("threads") = 1);
}
