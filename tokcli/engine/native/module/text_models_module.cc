// How Python makes a TextModel: its tables and options.
#include <algorithm>
#include <numeric>

#include "module/bindings.h"
#include "module/classes/character_names.h"
#include "module/classes/py_text_model.h"

namespace tokcli {

PyTextModel::PyTextModel(nb::handle blob, nb::handle sizes, nb::handle ids) {
  Tokens& tokens = model_.tokens;
  tokens.ids = items_of<uint32_t>(ids);
  if (!tokens.strings.build(string_of(blob), items_of<uint32_t>(sizes)) || tokens.ids.size() != tokens.strings.size())
    throw nb::value_error("tokens are distinct, and each needs a size and an id");
  model_.unknown.bytes.fill(kNone);
}
PyTextModel::PyTextModel(nb::handle image) : image_(std::make_unique<StableView>(image)) {
  const Bytes bytes = image_->bytes();
  try {
    const ReleasedGil released;
    model_.open(bytes);
  } catch (const std::invalid_argument& error) {
    throw nb::value_error(error.what());
  }
}
nb::bytes PyTextModel::image() {
  close();
  TextImageWriter writer;
  const ReadersLock::Reading reading(sizes_lock_);
  model_.fields(writer);
  return to_bytes(view_of(writer.finish()));
}

[[noreturn]] void PyTextModel::throw_in_use() { throw nb::value_error("a model that is in use cannot be changed"); }
void PyTextModel::close() {
  if (!model_.is_ready()) throw nb::value_error("there is no model yet");
  Making from = Making::kOpen;
  if (!making_.compare_exchange_strong(from, Making::kClosed) && from != Making::kClosed) throw_in_use();
}

void PyTextModel::use(Models::Used which) {
  model_.models.which = which;
  model_.model = model_.models.used();
}
void PyTextModel::build_trie() {
  Tokens& tokens = model_.tokens;
  std::vector<std::string_view> keys;
  for (uint32_t i = 0; i < tokens.strings.size(); ++i) keys.push_back(tokens.strings[i]);
  std::vector<uint32_t> numbers(keys.size());
  std::iota(numbers.begin(), numbers.end(), 0u);
  tokens.trie.build(keys, numbers);
}

// --- making it -----------------------------------------------------------------------------------------------------

void PyTextModel::set_unknown(Number<uint32_t> id, nb::handle bytes, bool joins) {
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
void PyTextModel::set_kept(nb::list texts) {
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
void PyTextModel::use_pieces(nb::handle orders, nb::handle kept) {
  const Change change(*this);
  auto all = items_of<uint32_t>(orders);
  const std::string flags = string_of(kept);
  const size_t count = model_.tokens.ids.size();
  if (all.size() != count || flags.size() != count) throw nb::value_error("each token needs an order and a flag");
  model_.models.pieces.build(std::move(all), {flags.begin(), flags.end()});
  use(Models::Used::kPieces);
}
void PyTextModel::use_pairs(nb::handle pairs, nb::handle ranks, nb::handle made, bool has_unknown, bool fuses, Number<int> whole_first,
               nb::handle prefix, nb::handle suffix) {
  const Change change(*this);
  model_.whole_first = choice_of<WholeFirst>(whole_first, 3);
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
void PyTextModel::use_word_piece(nb::handle prefix, Number<size_t> max_chars) {
  const Change change(*this);
  build_trie();
  model_.models.word_piece.build(string_of(prefix), max_chars);
  use(Models::Used::kWordPiece);
}
void PyTextModel::use_whole(bool by_character) {
  const Change change(*this);
  model_.models.whole.build(by_character);
  use(Models::Used::kWhole);
}
void PyTextModel::use_unigram(nb::handle scores, double unknown_score, Number<int> number) {
  const Change change(*this);
  const auto sums = choice_of<Sums>(number, 3);
  auto all = items_of<double>(scores);
  if (all.size() != model_.tokens.ids.size()) throw nb::value_error("each token needs a score");
  build_trie();
  Unigram& unigram = model_.models.unigram;
  if (sums == Sums::kPerText32) unigram.build<float>(std::move(all), unknown_score);
  else unigram.build<double>(std::move(all), unknown_score);
  model_.sums = sums;
  use(Models::Used::kUnigram);
}
void PyTextModel::use_ranks(nb::handle vocabulary, nb::handle by, nb::handle exact, nb::handle exceptions, bool puts_space) {
  const Change change(*this);
  if (!nb::isinstance<PyVocabulary>(vocabulary)) raise_wrong_type("Vocabulary", vocabulary);
  const Splitting splitting = splitting_of(by);
  if (!exact.is_none() && !nb::isinstance<MatcherPool>(exact)) raise_wrong_type("Pattern or None", exact);
  std::vector<uint32_t> ranges = items_of<uint32_t>(exceptions);
  if (ranges.size() % 2 != 0 || !std::is_sorted(ranges.begin(), ranges.end()))
    throw nb::value_error("ranges have a first and a last character, in order");
  model_.ranks = {&nb::cast<PyVocabulary&>(vocabulary).encoders(), splitting, std::move(ranges),
                  exact.is_none() ? nullptr : &nb::cast<MatcherPool&>(exact), puts_space};
  vocabulary_ = nb::borrow(vocabulary);
  by_ = nb::borrow(by);
  exact_ = nb::borrow(exact);
  model_.space = " ";
  use(Models::Used::kRanks);
}
void PyTextModel::set_words(Number<int> cut, nb::handle space, bool before_known) {
  const Change change(*this);
  model_.word_cut = choice_of<WordCut>(cut, 3);
  model_.space = string_of(space);
  if (model_.space.empty()) throw nb::value_error("the space is empty");
  model_.cuts_before_known = before_known;
  if (model_.word_cut == WordCut::kWherePossible) model_.pairs.build(model_.tokens.strings);
}
void PyTextModel::set_metaspace(bool splits, bool blindly, Number<int> prefix) {
  const Change change(*this);
  model_.prefix = choice_of<MetaspacePrefix>(prefix, 3);
  model_.has_metaspace = true;
  model_.metaspace_splits = splits;
  model_.prefixes_blindly = blindly;
}
void PyTextModel::set_added(bool normalized, nb::list tokens) {
  const Change change(*this);
  std::vector<std::string> texts;
  std::vector<AddedTokens::AddedToken> added;
  for (nb::handle item : own_list(tokens)) {
    if (!PyTuple_Check(item.ptr())) raise_wrong_type("tuple", item);
    const auto token = nb::borrow<nb::tuple>(item);
    if (token.size() != 5) throw nb::value_error("an added token is a text, an id, single_word, lstrip and rstrip");
    texts.push_back(string_of(token[0]));
    if (texts.back().empty()) throw nb::value_error("an added token is empty");
    if (number_of<uint32_t>(token[1]) == kNone) throw nb::value_error("the id of an added token is too large");
    const auto flag = [&](size_t i) { return nb::bool_(token[i]); };
    added.push_back({number_of<uint32_t>(token[1]), bool(flag(2)), bool(flag(3)), bool(flag(4))});
  }
  (normalized ? model_.normalized : model_.raw).build({texts.begin(), texts.end()}, std::move(added));
}
void PyTextModel::add_step(Number<int> kind, nb::handle from, nb::handle to, bool left, bool right) {
  const Change change(*this);
  Step step{choice_of<Step::Kind>(kind, 6), string_of(from), string_of(to), left, right};
  if (step.kind == Step::Kind::kReplace && step.from.empty())
    throw nb::value_error("the text to be replaced is empty");
  model_.steps.push_back(std::move(step));
}
void PyTextModel::set_spaces(nb::handle units, nb::handle texts, bool add_prefix, bool trim, bool as_suffix, bool is_llama,
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
namespace {

// In the order of CharacterStep::Kind, of GroupRule::Kind and of GroupRule::Behavior.
constexpr std::array<const char*, CharacterStep::kKinds> kStepNames{"form", "lower", "without", "nmt", "clean", "chinese", "charsmap", "words"};
constexpr std::array<const char*, 3> kGroupNames{"words", "class", "character"};
constexpr std::array<const char*, 3> kBehaviors{"Removed", "Isolated", "Contiguous"};

}  // namespace

void PyTextModel::set_characters(nb::list given, nb::handle units, nb::handle texts, nb::handle words) {
  const Change change(*this);
  CharacterSteps& made = model_.chars.steps();
  for (nb::handle step : own_list(given)) {
    const auto [name, what] = items_of_tuple<2>(step);
    CharacterStep one{static_cast<CharacterStep::Kind>(number_of_name(name, kStepNames))};
    if (one.kind == CharacterStep::Kind::kForm) one.which = number_of_name(what, kFormNames);
    if (one.kind == CharacterStep::Kind::kWithout) one.which = number_of_name(what, kClassNames);
    if (one.kind == CharacterStep::Kind::kWords) one.which = number_of<uint8_t>(what);
    made.steps.push_back(one);
  }
  const std::string all = string_of(texts);
  if (!all.empty() && all.back() != '\0')
    throw nb::value_error("the last text of a charsmap does not end with a zero");
  made.charsmap.open(items_of<uint32_t>(units), all);
  made.words = Table<WordRange>(items_of<WordRange>(words));
  if (!made.fits()) throw nb::value_error("steps for characters have known parts, and ranges are in order");
  model_.prepare_chars();
}
void PyTextModel::set_groups(nb::list given) {
  const Change change(*this);
  for (nb::handle rule : own_list(given)) {
    const auto [kind, what, behavior] = items_of_tuple<3>(rule);
    GroupRule one{static_cast<GroupRule::Kind>(number_of_name(kind, kGroupNames)),
                  static_cast<GroupRule::Behavior>(number_of_name(behavior, kBehaviors))};
    if (one.kind == GroupRule::Kind::kClass) one.which = number_of_name(what, kClassNames);
    if (one.kind == GroupRule::Kind::kCharacter) one.which = number_of<uint32_t>(what);
    model_.groups.rules.push_back(one);
  }
  if (!model_.groups.fits()) throw nb::value_error("there are too many rules for groups of characters");
  model_.groups.prepare();
  model_.has_classes = !model_.groups.rules.empty();
}

}  // namespace tokcli

using namespace tokcli;

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
      .def("use_ranks", &PyTextModel::use_ranks, nb::arg("vocabulary"), nb::arg("by"), nb::arg("exact").none(),
           nb::arg("exceptions"), nb::arg("puts_space"))
      .def("set_words", &PyTextModel::set_words)
      .def("set_metaspace", &PyTextModel::set_metaspace)
      .def("set_added", &PyTextModel::set_added)
      .def("add_step", &PyTextModel::add_step)
      .def("set_spaces", &PyTextModel::set_spaces)
      .def("set_characters", &PyTextModel::set_characters)
      .def("set_groups", &PyTextModel::set_groups)
      .def("encode", &PyTextModel::encode, nb::arg("text"), nb::arg("raw"), nb::arg("normalized"), nb::arg("threads") = 1,
           nb::arg("as_list") = false)
      .def("count", &PyTextModel::count, nb::arg("text"), nb::arg("raw"), nb::arg("normalized"), nb::arg("threads") = 1)
      .def("encode_batch", &PyTextModel::encode_batch)
      .def("encode_part", &PyTextModel::encode_part)
      .def("part_ends", &PyTextModel::part_ends)
      .def("split", &PyTextModel::split)
      .def("encode_records", &PyTextModel::encode_records);
}
