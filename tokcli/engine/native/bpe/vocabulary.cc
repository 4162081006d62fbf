// Building, opening and reading vocabulary images: see vocabulary.h.
#include "bpe/vocabulary.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <stdexcept>

#include "bpe/merge.h"

namespace tokcli {
namespace {

constexpr char kMagic[8] = {'T', 'O', 'K', 'I', 'M', 'A', 'G', 'E'};
constexpr size_t kAlign = 64;  // a cache line
constexpr size_t kTries = 128;  // places that are tried for a token or bucket, on average at most: it is one or two
// The sections of an image, in their order after the header. Each is aligned to a cache line.
enum Section { kStarts, kBlob, kFilter, kShort, kLong, kMerges, kBuckets, kBytes, kBytePairs, kSections };

uint8_t filter_bit(uint64_t hash, unsigned shift) { return static_cast<uint8_t>(1u << (hash >> (shift - 3) & 7)); }

size_t aligned(size_t size) { return (size + kAlign - 1) / kAlign * kAlign; }

}  // namespace

struct Vocabulary::Header {
  char magic[8];
  uint64_t size, checksum;  // of the whole image; the checksum is made with 0 in its own place
  uint32_t version, id_count, empty_id, longest, short_bits, long_bits, merge_bits, bucket_bits, drops_missing, unused;
  uint64_t offset[kSections], length[kSections];
  uint8_t source[32];
};

uint64_t Vocabulary::checksum_of(Header header, std::span<const uint8_t> rest) {
  header.checksum = 0;
  return mix(hash_lanes({reinterpret_cast<const uint8_t*>(&header), sizeof header}), hash_lanes(rest));
}

// Returns the size in bytes of each section.
std::array<size_t, kSections> Vocabulary::lengths_of(const Header& header, size_t blob_size) {
  const size_t shorts = size_t{1} << header.short_bits;
  return {(header.id_count + size_t{1}) * sizeof(uint32_t),
          blob_size,
          shorts,
          shorts * sizeof(ShortSlot),
          (size_t{1} << header.long_bits) * sizeof(LongSlot),
          (size_t{1} << header.merge_bits) * sizeof(uint64_t),
          (size_t{1} << header.bucket_bits) * sizeof(uint32_t),
          256 * sizeof(uint32_t),
          256 * 256 * sizeof(uint32_t)};
}

// Returns the header of an image of these tokens: the sizes of its tables, and where each section is.
Vocabulary::Header Vocabulary::layout_of(std::span<const Token> tokens) {
  Header header{};
  std::memcpy(header.magic, kMagic, 8);
  header.version = kImageVersion;
  header.empty_id = kNone;
  size_t short_count = 0, long_count = 0, blob_size = 0;
  for (const Token& token : tokens) {
    header.id_count = std::max(header.id_count, token.id + 1);
    header.longest = std::max(header.longest, token.size);
    blob_size += token.size;
    ++(token.size <= kShortBytes ? short_count : long_count);
    if (token.size == 0) header.empty_id = token.id;
  }
  // Tables of short tokens are at most four fifths full, as the filter answers most lookups that find nothing; those of
  // long ones at most two thirds. (A smaller image is opened sooner.)
  header.short_bits = static_cast<uint32_t>(std::bit_width(short_count * 5 / 4 + 1));
  header.long_bits = static_cast<uint32_t>(std::bit_width(long_count * 3 / 2 + 1));
  header.merge_bits = static_cast<uint32_t>(std::bit_width(tokens.size() * 5 / 4));  // at most four fifths full
  header.bucket_bits = header.merge_bits > 3 ? header.merge_bits - 2 : 1;
  const std::array<size_t, kSections> lengths = lengths_of(header, blob_size);
  header.size = aligned(sizeof(Header));
  for (size_t i = 0; i < kSections; ++i) {
    header.offset[i] = header.size;
    header.length[i] = lengths[i];
    header.size += aligned(lengths[i]);
  }
  return header;
}

// Fills all tables but those of merges.
void Vocabulary::add_tokens(std::span<uint8_t> image, const Header& header, std::span<const Token> tokens) {
  auto* starts = reinterpret_cast<uint32_t*>(&image[header.offset[kStarts]]);
  uint8_t* blob = image.data() + header.offset[kBlob];
  uint8_t* filter = &image[header.offset[kFilter]];
  auto* shorts = reinterpret_cast<ShortSlot*>(&image[header.offset[kShort]]);
  auto* longs = reinterpret_cast<LongSlot*>(&image[header.offset[kLong]]);
  auto* bytes = reinterpret_cast<uint32_t*>(&image[header.offset[kBytes]]);
  for (uint32_t i = 0; i < 256; ++i) bytes[i] = header.id_count + i;
  for (const Token& token : tokens) starts[token.id + 1] = token.size;
  std::partial_sum(starts, starts + header.id_count + 1, starts);
  const unsigned shift = 64 - header.short_bits;
  const size_t short_mask = (size_t{1} << header.short_bits) - 1, long_mask = (size_t{1} << header.long_bits) - 1;
  // An image has the same hashes everywhere, so somebody may choose tokens that all fall on one place.
  size_t tries_left = (tokens.size() + kTries) * kTries;
  const auto next = [&](size_t slot, size_t mask) {
    if (tries_left-- == 0) throw std::invalid_argument("too many tokens have the same hash");
    return (slot + 1) & mask;
  };
  Pace pace;
  for (const Token& token : tokens) {
    pace.step(token.size + 8);
    std::copy_n(token.bytes, token.size, blob + starts[token.id]);
    if (token.size == 1) bytes[token.bytes[0]] = token.id;
    if (token.size == 0) continue;
    if (token.size <= kShortBytes) {
      const Key key = key_of(token.bytes, token.size, token.size);
      const uint64_t hash = hash_of(key);
      size_t slot = hash >> shift;
      filter[slot] |= filter_bit(hash, shift);
      while (shorts[slot].size_and_id) slot = next(slot, short_mask);
      shorts[slot] = slot_of(key, token.id);
    } else {
      const uint64_t hash = hash_bytes(token.bytes, token.size);
      size_t slot = hash & long_mask;
      while (longs[slot].id) slot = next(slot, long_mask);
      longs[slot] = {static_cast<uint32_t>(hash >> 32), token.id + 1};
    }
  }
}

std::vector<uint8_t> Vocabulary::build(std::span<const Token> tokens, std::span<const uint8_t, 32> source,
                                       std::span<const Merge> merges, bool has_merges, bool drops_missing) {
  Header header = layout_of(tokens);
  std::copy(source.begin(), source.end(), header.source);
  header.drops_missing = drops_missing;
  std::vector<uint8_t> image(header.size);
  std::memcpy(image.data(), &header, sizeof header);
  add_tokens(image, header, tokens);
  const std::vector<Merge> known(merges.begin(), merges.end());
  add_merges(image, header, has_merges ? &known : nullptr);
  header.checksum = checksum_of(header, std::span<const uint8_t>(image).subspan(sizeof(Header)));
  std::memcpy(image.data(), &header, sizeof header);
  return image;
}

// Returns the merge that makes each token, as merging the token's own bytes finds it (merge.h says why one is enough).
std::vector<Vocabulary::Merge> Vocabulary::merges_of(const Vocabulary& tokens) {
  std::vector<Merge> merges;
  MergeScratch scratch;
  std::array<uint32_t, 2> parts;
  for (uint32_t id = 0; id < tokens.id_count_; ++id) {
    std::string_view bytes;
    if (!tokens.token(id, &bytes) || bytes.size() < 2) continue;
    if (!last_merge(tokens, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), scratch, parts)) continue;
    merges.push_back({parts[0], parts[1], id});
  }
  return merges;
}

// Fills the table of merges. The largest buckets get their displacement first, while most slots are free: each takes
// the first displacement that leads all its pairs to free slots.
void Vocabulary::add_merges(std::span<uint8_t> image, const Header& header, const std::vector<Merge>* known) {
  Vocabulary tokens;
  if (!tokens.open(image)) return;
  struct Hashed {
    uint64_t hash, slot;
  };
  std::vector<Hashed> merges;
  for (const Merge& merge : known ? *known : merges_of(tokens)) {
    const uint64_t pair = static_cast<uint64_t>(merge[0]) << kIdBits | merge[1];
    merges.push_back({mix(pair, kHashLow), pair << kIdBits | merge[2]});
  }
  const auto bucket_of = [&](const Hashed& merge) { return static_cast<size_t>(merge.hash >> tokens.bucket_shift_); };
  std::vector<uint32_t> sizes(size_t{1} << header.bucket_bits);
  for (const Hashed& merge : merges) ++sizes[bucket_of(merge)];
  std::sort(merges.begin(), merges.end(), [&](const Hashed& a, const Hashed& b) {
    const size_t in_a = bucket_of(a), in_b = bucket_of(b);
    return sizes[in_a] != sizes[in_b] ? sizes[in_a] > sizes[in_b] : a.hash < b.hash;
  });
  auto* slots = reinterpret_cast<uint64_t*>(&image[header.offset[kMerges]]);
  auto* buckets = reinterpret_cast<uint32_t*>(&image[header.offset[kBuckets]]);
  std::fill_n(slots, size_t{1} << header.merge_bits, UINT64_MAX);  // (0 would be the merge of id 0 with itself)
  Pace pace;
  size_t tries_left = (merges.size() + UINT16_MAX) * kTries;
  for (size_t first = 0, last = 0; first < merges.size(); first = last) {
    const size_t bucket = bucket_of(merges[first]);
    last = first + sizes[bucket];
    for (uint32_t displacement = 0;; ++displacement) {
      pace.step(last - first);
      if (displacement > UINT16_MAX || tries_left-- == 0) throw std::invalid_argument("no displacement fits");  // (a fifth is free)
      const auto place = [&](size_t i) -> uint64_t& {
        return slots[merge_slot(merges[i].hash, displacement, tokens.merge_shift_)];
      };
      size_t at = first;
      for (; at < last && place(at) == UINT64_MAX; ++at) place(at) = merges[at].slot;
      if (at == last) {
        buckets[bucket] = displacement;
        for (size_t i = first; i < last; ++i) buckets[bucket] |= 1u << Vocabulary::bucket_filter_bit(merges[i].hash);
        break;
      }
      while (at > first) place(--at) = UINT64_MAX;
    }
  }
  auto* byte_pairs = reinterpret_cast<uint32_t*>(&image[header.offset[kBytePairs]]);
  for (size_t i = 0; i < 256 * 256; ++i) {
    byte_pairs[i] = tokens.merged(tokens.byte_part(static_cast<uint8_t>(i >> 8)), tokens.byte_part(i & 255));
  }
}

bool Vocabulary::open(std::span<const uint8_t> image) {
  Header header;
  if (image.size() < sizeof header || reinterpret_cast<uintptr_t>(image.data()) % 8) return false;
  std::memcpy(&header, image.data(), sizeof header);
  if (std::memcmp(header.magic, kMagic, 8) || header.version != kImageVersion || header.size != image.size())
    return false;
  if (header.id_count == 0 || header.id_count > kMaxId) return false;
  for (const uint32_t bits : {header.short_bits, header.long_bits, header.merge_bits, header.bucket_bits}) {
    if (bits < 1 || bits > 30) return false;
  }
  const std::array<size_t, kSections> wanted = lengths_of(header, header.length[kBlob]);
  for (size_t i = 0; i < kSections; ++i) {
    const uint64_t offset = header.offset[i];
    if (header.length[i] != wanted[i] || offset % kAlign || offset < sizeof header || offset > image.size() ||
        wanted[i] > image.size() - offset)
      return false;
  }
  if (header.length[kBlob] > UINT32_MAX) return false;
  const uint8_t* base = image.data();
  image_ = image;
  source_ = base + offsetof(Header, source);
  starts_ = reinterpret_cast<const uint32_t*>(base + header.offset[kStarts]);
  blob_ = base + header.offset[kBlob];
  filter_ = base + header.offset[kFilter];
  short_ = reinterpret_cast<const ShortSlot*>(base + header.offset[kShort]);
  long_ = reinterpret_cast<const LongSlot*>(base + header.offset[kLong]);
  merges_ = reinterpret_cast<const uint64_t*>(base + header.offset[kMerges]);
  buckets_ = reinterpret_cast<const uint32_t*>(base + header.offset[kBuckets]);
  bytes_ = reinterpret_cast<const uint32_t*>(base + header.offset[kBytes]);
  byte_pairs_ = reinterpret_cast<const uint32_t*>(base + header.offset[kBytePairs]);
  short_shift_ = 64 - header.short_bits;
  merge_shift_ = 64 - header.merge_bits;
  bucket_shift_ = 64 - header.bucket_bits;
  short_mask_ = (size_t{1} << header.short_bits) - 1;
  long_mask_ = (size_t{1} << header.long_bits) - 1;
  longest_ = header.longest;
  id_count_ = header.id_count;
  blob_size_ = static_cast<uint32_t>(header.length[kBlob]);
  empty_id_ = header.empty_id;
  drops_missing_ = header.drops_missing != 0;
  return true;
}

bool Vocabulary::verify() const {
  Header header;
  std::memcpy(&header, image_.data(), sizeof header);
  return header.checksum == checksum_of(header, image_.subspan(sizeof header));
}

std::vector<uint32_t> Vocabulary::parents() const {
  std::vector<uint32_t> found(2 * size_t{id_count_}, kNone);
  const size_t slots = size_t{1} << (64 - merge_shift_);
  for (size_t slot = 0; slot < slots; ++slot) {
    const uint32_t id = static_cast<uint32_t>(merges_[slot]) & kIdMask;
    const uint32_t right = static_cast<uint32_t>(merges_[slot] >> kIdBits) & kIdMask;
    const uint64_t left = merges_[slot] >> 2 * kIdBits;
    if (id >= id_count_ || right >= id_count_ || left >= id_count_) continue;  // empty, or of a byte that is no token
    found[id] = static_cast<uint32_t>(left);
    found[id_count_ + size_t{id}] = right;
  }
  return found;
}

uint32_t Vocabulary::find_long(const uint8_t* p, size_t size) const {
  if (size > longest_) return kNone;
  const uint64_t hash = hash_bytes(p, size);
  for (size_t at = hash & long_mask_, tries = 0; tries <= long_mask_; at = (at + 1) & long_mask_, ++tries) {
    const LongSlot slot = long_[at];
    if (slot.id == 0) return kNone;
    std::string_view known;
    if (slot.tag == static_cast<uint32_t>(hash >> 32) && token(slot.id - 1, &known) && known.size() == size &&
        std::memcmp(known.data(), p, size) == 0)
      return slot.id - 1;
  }
  return kNone;
}

}  // namespace tokcli
