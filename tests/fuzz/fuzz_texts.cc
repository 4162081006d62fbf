// Hostile images of models that are not byte-level: whatever stands in one, it is refused or used within its bounds. The
// checksum is made to fit, so that everything else is looked at.
//
// An input: which model, how many changes, how many bytes are cut off; eight bytes for each change; a text.
#include <algorithm>
#include <stdexcept>

#include "harness.h"
#include "text_ids.h"
#include "text_model.h"

using namespace fuzz;
using tokcli::Models;
using tokcli::TextModel;

namespace {

constexpr std::string_view kTokens[] = {"<unk>", "\u2581", "a", "b", "ab", "##b", "\u2581ab", "\u4e2d", "\u4e2d\u6587"};

// A model of each kind, with all that a model can have.
std::vector<uint8_t> image_of(Models::Used used) {
  TextModel model;
  std::string blob;
  std::vector<uint32_t> sizes, ids, numbers;
  std::vector<std::string_view> keys(std::begin(kTokens), std::end(kTokens));
  for (const std::string_view token : keys) {
    blob += token;
    sizes.push_back(static_cast<uint32_t>(token.size()));
    numbers.push_back(static_cast<uint32_t>(ids.size()));
    ids.push_back(static_cast<uint32_t>(ids.size() * 3));
  }
  model.tokens.strings.build(blob, sizes);
  model.tokens.ids = ids;
  model.tokens.trie.build(keys, numbers);
  model.tokens.kept.build({"b\u2581"}, {1});
  model.spaces.kept.build({"b\u2581"}, {1});
  model.tokens.has_kept = model.spaces.has_kept = true;
  model.unknown.bytes.fill(tokcli::kNothing);
  model.unknown.id = 0;
  model.unknown.to_bytes = used == Models::Used::kPairs;
  model.models.which = used;
  const std::vector<uint32_t> orders(ids.size(), 1);
  model.models.pieces.build(orders, std::vector<uint8_t>(ids.size()));
  model.models.pairs.build({{6ull << 32 | 9, 0, 12}, {3ull << 32 | 12, 1, 18}}, {true, true, "##", "</w>"});
  model.models.word_piece.build("##", 100);
  model.models.whole.build(true);
  model.models.sums.build({-9, -1, -2, -2.5, -3, -1, -4, -2, -2}, -20);
  model.kind = used == Models::Used::kUnigram ? tokcli::Kind::kSums32 : tokcli::Kind::kWord;
  model.words = tokcli::Words::kWherePossible;
  model.pairs.build(model.tokens.strings);
  model.space = model.spaces.space = "\u2581";
  model.has_classes = used == Models::Used::kWordPiece;
  model.steps.push_back({tokcli::Step::Kind::kSpaces, "", "", false, false});
  model.steps.push_back({tokcli::Step::Kind::kReplace, "a", "ab", false, false});
  model.steps.push_back({tokcli::Step::Kind::kChars, "", "", false, false});
  for (uint32_t c = 0; c < 256; ++c) {
    model.chars.set(c, c == 'c' ? "b" : c < 128 ? std::string(1, static_cast<char>(c)) : "\u4e2d");
    model.classes.set(c, static_cast<uint16_t>(TextModel::kAsked | (c == ' ' ? TextModel::kRemoved : c % 3)));
  }
  for (const uint32_t c : {0x2581u, 0x4e2du, 0x6587u}) {
    model.chars.set(c, "\u6587");
    model.classes.set(c, TextModel::kAsked);
  }
  model.raw.tokens.push_back({7, true, true, true});
  model.raw.trie.build({"<unk>"}, {0});
  model.raw.begins['<'] = true;
  model.has_metaspace = model.metaspace_splits = used == Models::Used::kPairs;
  tokcli::ImageWriter writer;
  model.parts(writer);
  return writer.finish();
}

const std::vector<uint8_t>& base(unsigned which) {
  static const std::vector<uint8_t> images[] = {image_of(Models::Used::kPieces), image_of(Models::Used::kPairs),
                                                image_of(Models::Used::kWordPiece), image_of(Models::Used::kWhole),
                                                image_of(Models::Used::kUnigram)};
  return images[which % std::size(images)];
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input{data, size};
  const std::vector<uint8_t>& whole = base(input.byte());
  std::vector<uint8_t> image = whole;
  const unsigned changes = input.byte() % 8;
  const size_t cut = input.byte();
  for (unsigned i = 0; i < changes; ++i) change(image, input);
  if (cut >= 128) image.resize(image.size() - std::min<size_t>(cut - 127, image.size() - 32));
  tokcli::seal(image);
  TextModel model;
  try {
    model.open(image);
  } catch (const std::invalid_argument&) {
    CLAIM(image != whole);
    return 0;
  }
  const Bytes text{input.p, input.left};
  if (tokcli::valid_utf8(text) != text.size()) return 0;
  const std::vector<uint8_t> raw(model.raw.tokens.size(), TextModel::kFound), normalized(model.normalized.tokens.size());
  tokcli::TextScratch scratch;
  for (int again = 0; again < 2; ++again) {  // the second time from the cache
    tokcli::IdBuffer ids;
    tokcli::Needs needs;
    model.encode(text, raw, normalized, scratch, &ids, needs);
  }
  return 0;
}
