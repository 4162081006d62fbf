// What several targets work with: images of vocabularies, text models of each kind, and a program for matchers.
#pragma once

#include "bpe/image_builder.h"
#include "harness.h"
#include "patterns/program.h"
#include "pipeline/batch.h"
#include "pipeline/text_model.h"

namespace fuzz {

inline std::vector<std::string> single_bytes() {
  std::vector<std::string> tokens;
  for (unsigned byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  return tokens;
}

inline std::vector<uint8_t> image_of(const Ranks& ranks) {
  std::vector<tokcli::Token> table;
  for (const auto& [token, id] : ranks) table.push_back({bytes_of(token).data(), id, static_cast<uint32_t>(token.size())});
  const uint8_t source[32] = {1, 2, 3};
  return tokcli::build_image({.tokens = table, .source = std::span<const uint8_t, 32>(source)});
}

// The image of tokens whose ids are their places.
inline std::vector<uint8_t> image_of(const std::vector<std::string>& tokens) {
  Ranks ranks;
  for (const std::string& token : tokens) ranks.emplace(token, ranks.size());
  CLAIM(ranks.size() == tokens.size());
  return image_of(ranks);
}

// The double array of a charsmap with one rule: 'z' becomes the text at the place 0.
inline std::vector<uint32_t> charsmap_units() {
  constexpr uint32_t kRoot = 256, kOfZ = kRoot ^ 'z', kValue = 600;
  std::vector<uint32_t> units(1024, 0x100u);
  units[0] = kRoot << 10;
  units[kOfZ] = (kOfZ ^ kValue) << 10 | 1u << 8 | 'z';
  units[kValue] = 1u << 31;
  return units;
}

// Fills an empty model with all that a model can have.
inline void fill(tokcli::TextModel& model, tokcli::Models::Used used) {
  const std::vector<std::string_view> keys{"<unk>", "\u2581", "a", "b", "ab", "##b", "\u2581ab", "\u4e2d", "\u4e2d\u6587"};
  std::string blob;
  std::vector<uint32_t> sizes, ids, numbers;
  for (const std::string_view key : keys) {
    blob += key;
    sizes.push_back(static_cast<uint32_t>(key.size()));
    numbers.push_back(static_cast<uint32_t>(ids.size()));
    ids.push_back(static_cast<uint32_t>(ids.size() * 3));
  }
  model.tokens.strings.build(blob, sizes);
  model.tokens.ids = ids;
  model.tokens.trie.build(keys, numbers);
  model.tokens.kept.build({"b\u2581"}, {1});
  model.spaces.kept.build({"b\u2581"}, {1});
  model.tokens.has_kept = model.spaces.has_kept = true;
  model.unknown.bytes.fill(kNone);
  model.unknown.id = 0;
  model.unknown.to_bytes = used == tokcli::Models::Used::kPairs;
  model.models.which = used;
  const std::vector<uint32_t> orders(ids.size(), 1);
  model.models.pieces.build(orders, std::vector<uint8_t>(ids.size()));
  model.models.pairs.build({{6ull << 32 | 9, 0, 12}, {3ull << 32 | 12, 1, 18}}, {true, true, "##", "</w>"});
  model.models.word_piece.build("##", 100);
  model.models.whole.build(true);
  model.models.unigram.build<float>({-9, -1, -2, -2.5, -3, -1, -4, -2, -2}, -20);
  model.sums = used == tokcli::Models::Used::kUnigram ? tokcli::Sums::kPerText32 : tokcli::Sums::kPerWord;
  model.word_cut = tokcli::WordCut::kWherePossible;
  model.pairs.build(model.tokens.strings);
  model.space = model.spaces.space = "\u2581";
  model.has_classes = used == tokcli::Models::Used::kWordPiece;
  model.steps.push_back({tokcli::Step::Kind::kSpaces, "", "", false, false});
  model.steps.push_back({tokcli::Step::Kind::kReplace, "c", "ab", false, false});
  model.steps.push_back({tokcli::Step::Kind::kChars, "", "", false, false});
  model.spaces.charsmap.open(charsmap_units(), std::string("b\0", 2));
  model.spaces.prepare();
  using Step = tokcli::CharacterStep;
  tokcli::CharacterSteps& characters = model.chars.steps();
  characters.steps = {{Step::Kind::kNmt}, {Step::Kind::kClean}, {Step::Kind::kChinese}, {Step::Kind::kForm, 3},
                      {Step::Kind::kWithout, tokcli::kBertMark}, {Step::Kind::kLower}, {Step::Kind::kForm, 0},
                      {Step::Kind::kCharsmap}, {Step::Kind::kWords, Step::kLowers | Step::kStrips}};
  characters.charsmap.open(charsmap_units(), std::string("b\0", 2));
  characters.words = tokcli::Table<tokcli::WordRange>(std::vector<tokcli::WordRange>{
      {'!', '/', tokcli::WordRange::kSign}, {0x300, 0x36F, tokcli::WordRange::kMark}, {0xE000, 0xEFFF, tokcli::WordRange::kNothing}});
  model.chars.prepare();
  model.groups.rules = {{}, {tokcli::GroupRule::Kind::kClass, tokcli::GroupRule::Behavior::kIsolated, tokcli::kPunctuationClass},
                  {tokcli::GroupRule::Kind::kCharacter, tokcli::GroupRule::Behavior::kContiguous, 'a'}};
  model.groups.prepare();
  model.raw.build({"<unk>"}, {{7, true, true, true}});
  model.has_metaspace = model.metaspace_splits = used == tokcli::Models::Used::kPairs;
  model.model = model.models.used();
}

// Encodes the texts of a batch by encoders alone.
inline tokcli::MakeEncodeText by_encoders(tokcli::EncoderPool& pool, tokcli::Splitting by = {Family::kCl100k}) {
  return [&pool, by](bool) -> tokcli::EncodeText {
    const auto encoder = std::make_shared<tokcli::EncoderPool::Lease>(pool);
    return [=](const tokcli::Text& text, tokcli::IdBuffer* out) {
      return static_cast<size_t>((*encoder)->encode(by, text.bytes(), out).count);
    };
  };
}

// Makes an empty model of the ranks of a vocabulary that outlives it: with added tokens, and in NFC.
inline void fill_ranks(tokcli::TextModel& model, tokcli::EncoderPool& encoders, Family family = Family::kCl100k) {
  model.ranks.encoders = &encoders;
  model.ranks.by = {family};
  model.models.which = tokcli::Models::Used::kRanks;
  model.space = " ";
  model.raw.build({"<a>"}, {{1 << 20, false, true, true}});
  model.steps.push_back({tokcli::Step::Kind::kChars, "", "", false, false});
  model.chars.steps().steps = {{tokcli::CharacterStep::Kind::kForm, 0}};
  model.prepare_chars();
}

// Takes out of a model what hides the places of tokens.
inline void show_places(tokcli::TextModel& model) {
  model.sums = tokcli::Sums::kPerWord;
  std::erase_if(model.steps, [](const tokcli::Step& step) { return step.kind == tokcli::Step::Kind::kSpaces; });
}

constexpr tokcli::Models::Used kModels[] = {
    tokcli::Models::Used::kPieces, tokcli::Models::Used::kPairs, tokcli::Models::Used::kWordPiece,
    tokcli::Models::Used::kWhole, tokcli::Models::Used::kUnigram};

// The ids of a text; none where it is refused.
inline Ids encode(const tokcli::TextModel& model, Bytes text, tokcli::ScratchPool& pool, size_t threads = 2) {
  const std::vector<uint8_t> raw(model.raw.tokens.size(), tokcli::AddedTokens::kFound);
  const std::vector<uint8_t> normalized(model.normalized.tokens.size());
  tokcli::IdBuffer ids;
  tokcli::Refusal refusal;
  tokcli::TextModel::Task task{text, raw, normalized, threads};
  task.ids = &ids;
  tokcli::TextWorker worker(pool);
  model.encode(task, worker, refusal);
  return !refusal.is_refused ? Ids(ids.data(), ids.data() + ids.size()) : Ids();
}

// The pattern `[^ ]+| `, as a program.
inline tokcli::Program words_or_spaces() {
  using Step = tokcli::ProgramStep;
  const std::vector<uint32_t> firsts{0, ' ', ' ' + 1};
  const std::vector<uint8_t> classes{0, 1, 0};
  std::vector<uint8_t> sets(2 * sizeof(tokcli::Program::Set));
  sets[0] = 1;
  sets[sizeof(tokcli::Program::Set)] = 2;
  const std::vector<uint32_t> steps{Step::kFork, 1, 4, 0, Step::kTake, 0, 0, 2, Step::kFork, 1, 3, 0,
                                    Step::kMatch, 1, 0, 0, Step::kTake, 1, 0, 5, Step::kMatch, 2, 0, 0};
  tokcli::Program program;
  CLAIM(program.open(firsts, classes, sets, steps, 0));
  return program;
}

}  // namespace fuzz
