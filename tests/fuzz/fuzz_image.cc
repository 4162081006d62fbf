// Hostile images: whatever stands in one, it is refused or used within its bounds. Nothing here looks at the checksum
// before using an image, so this is also what happens to one whose checksum was made to fit.
//
// An input: which image, how many changes, how many bytes are cut off; eight bytes for each change; a text.
#include <algorithm>

#include "harness.h"

using namespace fuzz;

namespace {

std::vector<uint8_t> image_of(std::string_view text, size_t longest) {
  Ranks ranks;
  for (unsigned byte = 0; byte < 256; ++byte) ranks.emplace(std::string(1, static_cast<char>(byte)), byte);
  for (size_t start = 0; start < text.size(); ++start) {
    for (size_t size = 2; size <= longest && start + size <= text.size(); ++size)
      ranks.emplace(text.substr(start, size), ranks.size());
  }
  std::vector<tokcli::Token> tokens;
  for (const auto& [token, id] : ranks) tokens.push_back({bytes_of(token).data(), id, static_cast<uint32_t>(token.size())});
  const uint8_t source[32] = {1, 2, 3};
  return tokcli::Vocabulary::build(tokens, std::span<const uint8_t, 32>(source));
}

const std::vector<uint8_t>& base(unsigned which) {
  static const std::vector<uint8_t> images[] = {
      image_of("", 0), image_of("ab the abcab", 20), image_of("international 中文字 abababababab", 30)};
  return images[which % std::size(images)];
}

void use(const tokcli::Vocabulary& vocabulary, Bytes text) {
  std::string_view token;
  size_t sum = vocabulary.source()[0];
  const auto read = [&](uint32_t id) {
    if (vocabulary.token(id, &token)) sum += static_cast<size_t>(std::ranges::count(token, 'a'));
  };
  for (uint32_t id = 0; id < std::min<uint32_t>(vocabulary.id_count(), 3000); ++id) read(id);
  for (const uint32_t id : {vocabulary.id_count() - 1, vocabulary.id_count(), tokcli::kMaxId, kNone - 1, kNone}) read(id);
  tokcli::Encoder encoder(vocabulary);
  for (int number = 0; number < tokcli::kFamilies; ++number) {
    const auto family = static_cast<Family>(number);
    for (const uint32_t id : encode(encoder, family, tokcli::Text::of(text)).ids) read(id);
    (void)encoder.encode(family, tokcli::Text::of(text), nullptr);
  }
  tokcli::IdBuffer ids;
  const size_t made = encoder.encode_piece(text, &ids).count;
  CLAIM(made == ids.size() && made == encoder.encode_piece(text, nullptr).count);
  CLAIM(sum != SIZE_MAX);  // so that the reads are made
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input{data, size};
  const uint8_t which = input.byte(), changes = input.byte() % 32;
  const uint8_t cut = input.byte();
  const std::vector<uint8_t>& original = base(which);
  std::vector<uint8_t> image = original;
  for (int i = 0; i < changes; ++i) change(image, input);
  if (which & 0x80) image.resize(image.size() - cut * image.size() / 256);
  image.shrink_to_fit();
  const std::vector<uint8_t> text(input.p, input.p + input.left);
  tokcli::Vocabulary vocabulary;
  if (!vocabulary.open(image)) {
    CLAIM(image != original);
    return 0;
  }
  CLAIM(vocabulary.verify() == (image == original));
  use(vocabulary, text);
  return 0;
}
