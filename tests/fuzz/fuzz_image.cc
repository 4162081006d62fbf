// Hostile images: whatever stands in one, it is refused or used within its bounds. Nothing here looks at the checksum
// before using an image, so this is also what happens to one whose checksum was made to fit.
//
// An input: which image, how many changes, how much is cut off, family; eight bytes for each change; a text. Every other
// change is planned: a word in a certain table, made of ids, borders and numbers just outside of what is there.
#include <algorithm>

#include "samples.h"

using namespace fuzz;

namespace {

std::vector<uint8_t> parts_of(std::string_view text, size_t longest) {
  Ranks ranks;
  for (const std::string& token : single_bytes()) ranks.emplace(token, ranks.size());
  for (size_t start = 0; start < text.size(); ++start) {
    for (size_t size = 2; size <= longest && start + size <= text.size(); ++size)
      ranks.emplace(text.substr(start, size), ranks.size());
  }
  return image_of(ranks);
}

// An image, and a copy that is changed and put back: a copy for each input would take most of the time.
struct Base {
  std::vector<uint8_t> whole, image = whole;
};

Base& base(unsigned which) {
  static Base images[] = {{parts_of("", 0)}, {parts_of("ab the abcab", 20)},
                          {parts_of("international 中文字 abababababab", 30)}};
  return images[which % std::size(images)];
}

// Writes to a table what could stand there, or nearly. Returns the place, as `change` does.
size_t plant(std::vector<uint8_t>& image, Input& input) {
  constexpr size_t kOffsets = 64, kTables = 12;  // of the header: where each table is, then how long each is
  const size_t table = input.byte() % kTables;
  uint64_t offset, length;
  uint32_t ids;
  std::memcpy(&offset, &image[kOffsets + 8 * table], 8);
  std::memcpy(&length, &image[kOffsets + 8 * (kTables + table)], 8);
  std::memcpy(&ids, &image[28], 4);
  const auto number = [&]() -> uint64_t {
    const uint8_t how = input.byte();
    const uint64_t choices[] = {how, ids - 1, ids, ids + how, (1u << 21) - 1, 1u << 21, UINT32_MAX, length, image.size()};
    return choices[how % std::size(choices)];
  };
  const uint64_t words[] = {number(), number() << 42 | number() << 21 | number(), UINT64_MAX, number() << 32 | number()};
  const size_t place = input.word() % 4096;
  const uint64_t word = words[input.byte() % std::size(words)];
  const size_t width = table == 5 ? 8 : input.byte() % 2 ? 4 : 8;
  const size_t at = offset + place % std::max<size_t>(length / width, 1) * width;
  if (at >= image.size() || width > image.size() - at) return image.size();
  std::memcpy(&image[at], &word, width);
  return at;
}

void use(const tokcli::Vocabulary& vocabulary, Family family, Bytes text) {
  std::string_view token;
  size_t sum = vocabulary.source()[0];
  const auto read = [&](uint32_t id) {
    if (vocabulary.token(id, &token)) sum += static_cast<size_t>(std::ranges::count(token, 'a'));
  };
  for (uint32_t id = 0; id < std::min<uint32_t>(vocabulary.id_count(), 3000); ++id) read(id);
  for (const uint32_t id : {vocabulary.id_count() - 1, vocabulary.id_count(), tokcli::kMaxId, kNone - 1, kNone}) read(id);
  tokcli::Encoder encoder(vocabulary);
  for (const uint32_t id : encode(encoder, family, text).ids) read(id);
  (void)encoder.encode({family}, text, nullptr);
  for (const uint32_t id : vocabulary.parents()) read(id);
  tokcli::IdBuffer ids;
  const size_t made = encoder.encode_piece(text, &ids).count;
  CLAIM(made == ids.size() && made == encoder.encode_piece(text, nullptr).count);
  CLAIM(sum != SIZE_MAX);  // so that the reads are made
}

void open_and_use(const std::vector<uint8_t>& image, bool is_whole, bool verifies, Family family, Bytes text) {
  tokcli::Vocabulary vocabulary;
  if (!vocabulary.open(image)) {
    CLAIM(!is_whole);
    return;
  }
  if (verifies) CLAIM(vocabulary.verify() == is_whole);
  use(vocabulary, family, text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input{data, size};
  const uint8_t which = input.byte(), changes = input.byte() % 32;
  const uint8_t cut = input.byte(), family = input.byte() % tokcli::kFamilies;
  Base& base = ::base(which);
  std::vector<size_t> places;
  for (int i = 0; i < changes; ++i) places.push_back(i % 2 ? plant(base.image, input) : change(base.image, input));
  const std::vector<uint8_t> text(input.p, input.p + input.left);
  if ((which & 0xC0) == 0xC0) {  // in memory of the size that is left
    const auto end = base.image.begin() + static_cast<std::ptrdiff_t>((255u - cut) * base.image.size() / 256);
    open_and_use({base.image.begin(), end}, false, false, static_cast<Family>(family), text);
  } else {
    const bool verifies = cut % 16 == 0;  // all of the image is read
    open_and_use(base.image, verifies && base.image == base.whole, verifies, static_cast<Family>(family), text);
  }
  for (const size_t at : places)
    std::memcpy(base.image.data() + at, base.whole.data() + at, std::min<size_t>(base.image.size() - at, 8));
  return 0;
}
