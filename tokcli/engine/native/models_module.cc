// The Python face of the models that are not byte-level; module.cc has the rest. A model is made once, from checked tables;
// after that its rules for characters grow under a lock, and any number of threads encode.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <mutex>
#include <numeric>
#include <shared_mutex>

#include "python_views.h"
#include "text_model.h"

namespace nb = nanobind;
using namespace tokcli;

void bind_text_models(nb::module_& module);

namespace {

template <class T>
std::vector<T> items_of(nb::handle buffer) {
  const BufferView view(buffer);
  if (view.bytes().size() % sizeof(T)) throw nb::value_error("not a buffer of such items");
  std::vector<T> out(view.bytes().size() / sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), view.bytes().data(), view.bytes().size());
  return out;
}

std::string string_of(nb::handle buffer) {
  const BufferView view(buffer);
  return std::string(view_of(view.bytes()));
}

nb::bytes to_bytes(std::string_view text) { return nb::bytes(text.data(), text.size()); }

class PyTextModel {
 public:
  PyTextModel(nb::handle blob, nb::handle sizes, nb::handle ids) {
    Tokens& tokens = model_.tokens;
    tokens.ids = items_of<uint32_t>(ids);
    if (!tokens.strings.build(string_of(blob), items_of<uint32_t>(sizes)) || tokens.ids.size() != tokens.strings.size())
      throw nb::value_error("distinct tokens, a size and an id for each");
    model_.unknown.bytes.fill(kNothing);
  }
  // What `image` gave, in a buffer that has to stay as it is.
  explicit PyTextModel(nb::handle image) : image_(std::make_unique<BufferView>(image)) {
    const Bytes bytes = image_->bytes();
    try {
      const nb::gil_scoped_release release;
      model_.open(bytes);
    } catch (const std::invalid_argument& error) {
      throw nb::value_error(error.what());
    }
  }
  // All of it but the runs that it has learned.
  nb::bytes image() {
    if (model_.model == nullptr) throw nb::value_error("there is no model yet");
    ImageWriter writer;
    const std::shared_lock lock(rules_mutex_);
    model_.parts(writer);
    return to_bytes(view_of(writer.finish()));
  }

  // --- making it -----------------------------------------------------------------------------------------------------

  void set_unknown(uint32_t id, nb::handle bytes, bool joins) {
    Unknown& unknown = model_.unknown;
    unknown.id = id;
    model_.joins_unknown = joins;
    const auto given = items_of<uint32_t>(bytes);
    if (given.empty()) return;
    if (given.size() != 256) throw nb::value_error("an id for each byte");
    unknown.to_bytes = true;
    std::copy(given.begin(), given.end(), unknown.bytes.begin());
  }
  void set_kept(nb::list texts) {
    std::vector<std::string> held;
    for (nb::handle text : texts) held.push_back(string_of(text));
    std::vector<std::string_view> keys(held.begin(), held.end());
    model_.tokens.kept.build(keys, std::vector<uint32_t>(keys.size(), 1));
    model_.spaces.kept.build(keys, std::vector<uint32_t>(keys.size(), 1));
    model_.tokens.has_kept = model_.spaces.has_kept = !keys.empty();
  }
  void use_pieces(nb::handle orders, nb::handle kept) {
    auto all = items_of<uint32_t>(orders);
    const std::string flags = string_of(kept);
    const size_t count = model_.tokens.ids.size();
    if (all.size() != count || flags.size() != count) throw nb::value_error("one of each for each token");
    model_.models.pieces.build(std::move(all), {flags.begin(), flags.end()});
    use(Models::Used::kPieces);
  }
  void use_pairs(nb::handle pairs, nb::handle ranks, nb::handle made, bool has_unknown, bool fuses, bool whole_first,
                 nb::handle prefix, nb::handle suffix) {
    model_.whole_first = whole_first;
    const auto all = items_of<uint64_t>(pairs);
    const auto order = items_of<uint32_t>(ranks), results = items_of<uint32_t>(made);
    if (all.size() != order.size() || all.size() != results.size()) throw nb::value_error("one of each for each merge");
    std::vector<PairBpeModel::Merge> merges(all.size());
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i] == UINT64_MAX || order[i] == kNothing) throw nb::value_error("an id is too large");
      merges[i] = {all[i], order[i], results[i]};
    }
    model_.models.pairs.build(merges, {fuses, has_unknown, string_of(prefix), string_of(suffix)});
    use(Models::Used::kPairs);
  }
  void use_word_piece(nb::handle prefix, size_t max_chars) {
    build_trie();
    model_.models.word_piece.build(string_of(prefix), max_chars);
    use(Models::Used::kWordPiece);
  }
  void use_whole(bool by_character) {
    model_.models.whole.build(by_character);
    use(Models::Used::kWhole);
  }
  // `kind`: of sums (1, 2: through all the text, of 32 or 64 bits), or 0: of each word.
  void use_unigram(nb::handle scores, double unknown_score, int kind) {
    auto all = items_of<double>(scores);
    if (all.size() != model_.tokens.ids.size() || kind < 0 || kind > 2) throw nb::value_error("a score for each token");
    build_trie();
    model_.models.sums.build(std::move(all), unknown_score);
    model_.kind = static_cast<Kind>(kind);
    use(Models::Used::kUnigram);
  }
  void set_words(int words, nb::handle space, bool before_known) {
    if (words < 0 || words > 2) throw nb::value_error("no such way to cut");
    model_.words = static_cast<Words>(words);
    model_.space = string_of(space);
    if (model_.space.empty()) throw nb::value_error("a space is not empty");
    model_.cuts_before_known = before_known;
    if (model_.words == Words::kWherePossible) model_.pairs.build(model_.tokens.strings);
  }
  void set_metaspace(bool splits, bool blindly, int prefix) {
    if (prefix < 0 || prefix > 2) throw nb::value_error("no such prefix");
    model_.has_metaspace = true;
    model_.metaspace_splits = splits;
    model_.prefixes_blindly = blindly;
    model_.prefix = static_cast<Prefix>(prefix);
  }
  void set_added(bool normalized, nb::list tokens) {  // (text, id, single_word, lstrip, rstrip)
    AddedTokens& added = normalized ? model_.normalized : model_.raw;
    std::vector<std::string> held;
    std::vector<uint32_t> numbers;
    for (nb::handle item : tokens) {
      const auto token = nb::cast<nb::tuple>(item);
      held.push_back(string_of(token[0]));
      if (held.back().empty()) throw nb::value_error("an empty token");
      added.begins[static_cast<uint8_t>(held.back()[0])] = true;
      numbers.push_back(static_cast<uint32_t>(added.tokens.size()));
      added.tokens.push_back({nb::cast<uint32_t>(token[1]), nb::cast<bool>(token[2]), nb::cast<bool>(token[3]),
                              nb::cast<bool>(token[4])});
    }
    added.trie.build({held.begin(), held.end()}, numbers);
  }
  void add_step(int kind, nb::handle from, nb::handle to, bool left, bool right) {
    if (kind < 0 || kind > 5) throw nb::value_error("no such step");
    Step step{static_cast<Step::Kind>(kind), string_of(from), string_of(to), left, right};
    if (step.kind == Step::Kind::kReplace && step.from.empty())
      throw nb::value_error("an empty text is found everywhere");
    model_.steps.push_back(std::move(step));
  }
  void set_spaces(nb::handle units, nb::handle texts, bool add_prefix, bool trim, bool as_suffix, bool is_llama,
                  nb::handle space) {
    SpaceRules& rules = model_.spaces;
    const std::string all = string_of(texts);
    if (!all.empty() && all.back() != '\0') throw nb::value_error("the last text does not end");
    rules.charsmap.open(items_of<uint32_t>(units), all);
    rules.add_prefix = add_prefix;
    rules.trim = trim;
    rules.as_suffix = as_suffix;
    rules.is_llama = is_llama;
    rules.space = string_of(space);
    if (rules.space.empty()) throw nb::value_error("a space is not empty");
    rules.prepare();
    model_.steps.push_back({Step::Kind::kSpaces, "", "", false, false});
  }
  void use_classes() { model_.has_classes = true; }

  // --- what is learned on the way ------------------------------------------------------------------------------------

  // Of code points: what each becomes (None: it is not safe by itself), and its class; of runs what they become.
  void learn(nb::dict chars, nb::dict classes, nb::dict runs) {
    std::vector<std::pair<uint32_t, std::string>> rules;
    std::vector<uint32_t> unsafe;
    for (auto [c, text] : chars) {
      if (text.is_none()) unsafe.push_back(nb::cast<uint32_t>(c));
      else rules.emplace_back(nb::cast<uint32_t>(c), string_of(text));
    }
    std::vector<std::pair<uint32_t, uint16_t>> found;
    for (auto [c, value] : classes) found.emplace_back(nb::cast<uint32_t>(c), nb::cast<uint16_t>(value));
    std::vector<std::pair<std::string, std::string>> texts;
    for (auto [run, text] : runs) texts.emplace_back(string_of(run), string_of(text));
    const nb::gil_scoped_release release;
    const std::unique_lock lock(rules_mutex_);
    for (const auto& [c, text] : rules) model_.chars.set(c, text);
    for (const uint32_t c : unsafe) model_.chars.set_unsafe(c);
    for (const auto& [c, value] : found) model_.classes.set(c, value | TextModel::kAsked);
    for (const auto& [run, text] : texts) model_.chars.set_run(run, text);
  }

  // --- encoding ------------------------------------------------------------------------------------------------------

  // The ids; (code points, code points, runs) that have to be learned first; None where only Python can do it.
  nb::object encode(nb::handle text, nb::handle raw, nb::handle normalized) {
    return made(text, raw, normalized, [&](IdBuffer ids) { return ints_.list_of(ids.data(), ids.size()); });
  }
  nb::object encode_ids(nb::handle text, nb::handle raw, nb::handle normalized) {
    return made(text, raw, normalized, [&](IdBuffer ids) { return nb::cast(std::move(ids)); });
  }
  nb::object count(nb::handle text, nb::handle raw, nb::handle normalized) {
    return made(text, raw, normalized, [&](IdBuffer ids) { return nb::int_(ids.size()); });
  }

 private:
  static constexpr size_t kIdle = 8, kMostUnits = size_t{1} << 28;  // waiting scratches; of a text

  template <class Make>
  nb::object made(nb::handle object, nb::handle raw, nb::handle normalized, const Make& make) {
    if (!model_.model) throw nb::value_error("there is no model yet");
    const Text text = text_of(object);
    const std::string raw_states = string_of(raw), normalized_states = string_of(normalized);
    if (raw_states.size() != model_.raw.tokens.size() || normalized_states.size() != model_.normalized.tokens.size())
      throw nb::value_error("a state for each added token");
    IdBuffer ids;
    Needs needs;
    if (text.size > kMostUnits) return nb::none();
    {
      const nb::gil_scoped_release release;
      std::vector<uint8_t> utf8;
      Bytes bytes = text.bytes();
      if (!text.is_utf8) {
        utf8.resize(text.size * (text.unit == 1 ? 2 : text.unit == 2 ? 3 : 4) + kMostUtf8);
        const size_t size = to_utf8(text, utf8.data());
        if (size == kSurrogate) needs.is_for_python = true;
        bytes = {utf8.data(), size == kSurrogate ? 0 : size};
      }
      if (!needs.is_for_python) {
        auto scratch = lease();
        const std::shared_lock lock(rules_mutex_);
        model_.encode(bytes, bytes_of(raw_states), bytes_of(normalized_states), *scratch, &ids, needs);
        give_back(std::move(scratch));
      }
    }
    if (needs.empty()) return make(std::move(ids));
    if (needs.is_for_python) return nb::none();
    nb::list chars, classes, runs;
    for (const uint32_t c : needs.chars) chars.append(c);
    for (const uint32_t c : needs.classes) classes.append(c);
    for (const std::string& run : needs.runs) runs.append(to_bytes(run));
    return nb::make_tuple(chars, classes, runs);
  }

  std::unique_ptr<TextScratch> lease() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<TextScratch>();
    auto scratch = std::move(idle_.back());
    idle_.pop_back();
    return scratch;
  }
  void give_back(std::unique_ptr<TextScratch> scratch) {
    const std::lock_guard lock(mutex_);
    if (idle_.size() < kIdle) idle_.push_back(std::move(scratch));
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

  std::unique_ptr<BufferView> image_;  // what the tables of the model lie in, if it was opened
  TextModel model_;
  Ints ints_;
  std::shared_mutex rules_mutex_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<TextScratch>> idle_;
};

}  // namespace

void bind_text_models(nb::module_& module) {
  nb::class_<PyTextModel>(module, "TextModel")
      .def(nb::init<nb::handle, nb::handle, nb::handle>())
      .def(nb::init<nb::handle>())
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
      .def("learn", &PyTextModel::learn)
      .def("encode", &PyTextModel::encode)
      .def("encode_ids", &PyTextModel::encode_ids)
      .def("count", &PyTextModel::count);
}
