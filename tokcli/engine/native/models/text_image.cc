// The head of an image: see text_image.h.
#include "models/text_image.h"

#include "base/hash.h"

namespace tokcli {

namespace {

struct Head {
  char magic[8] = {'T', 'O', 'K', 'T', 'E', 'X', 'T', 'S'};
  uint32_t version = kTextImageVersion, zero = 0;
  uint64_t checksum = 0, size = 0;  // of what follows
};
static_assert(sizeof(Head) == 32);

}  // namespace

void seal(std::span<uint8_t> image) {
  Head head;
  const std::span<const uint8_t> rest = image.subspan(sizeof head);
  head.checksum = hash_lanes(rest);
  head.size = rest.size();
  std::memcpy(image.data(), &head, sizeof head);
}

std::vector<uint8_t> TextImageWriter::finish() {
  seal(out_);
  return std::move(out_);
}

TextImageReader::TextImageReader(Bytes image) : image_(image) {
  Head head;
  const Head expected;
  if (reinterpret_cast<uintptr_t>(image.data()) % TextImageWriter::kAlign != 0) fail();
  std::memcpy(&head, take(sizeof head), sizeof head);
  const Bytes rest = image.subspan(sizeof head);
  if (std::memcmp(head.magic, expected.magic, sizeof head.magic) != 0 || head.version != expected.version ||
      head.zero != 0 || head.size != rest.size() || head.checksum != hash_lanes(rest))
    fail();
}

}  // namespace tokcli
