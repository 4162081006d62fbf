// Opening and reading vocabulary images: see vocabulary.h.
#include "bpe/vocabulary.h"

#include "bpe/image_layout.h"

namespace tokcli {

uint64_t ImageHeader::checksum_with(std::span<const uint8_t> rest) const {
  ImageHeader header = *this;
  header.checksum = 0;
  return mix(hash_lanes({reinterpret_cast<const uint8_t*>(&header), sizeof header}), hash_lanes(rest));
}

std::array<size_t, kSections> ImageHeader::lengths_for(size_t blob_size, size_t characters) const {
  const size_t shorts = size_t{1} << short_bits;
  return {(id_count + size_t{1}) * sizeof(uint32_t),
          blob_size,
          shorts,
          shorts * sizeof(Vocabulary::ShortSlot),
          (size_t{1} << long_bits) * sizeof(Vocabulary::LongSlot),
          (size_t{1} << merge_bits) * sizeof(uint64_t),
          (size_t{1} << bucket_bits) * sizeof(uint32_t),
          256 * sizeof(uint32_t),
          Borders::kPairs * sizeof(Borders::Pair),
          sizeof(uint64_t) << Borders::crossing_bits(id_count),
          characters > 0 ? Borders::kCodes * sizeof(uint16_t) : 0,
          characters * sizeof(Borders::Character)};
}

bool Vocabulary::open(std::span<const uint8_t> image) {
  ImageHeader header;
  if (image.size() < sizeof header || reinterpret_cast<uintptr_t>(image.data()) % 8) return false;
  std::memcpy(&header, image.data(), sizeof header);
  if (std::memcmp(header.magic, kImageMagic, sizeof kImageMagic) || header.version != kImageVersion || header.size != image.size())
    return false;
  if (header.id_count == 0 || header.id_count > kMaxId) return false;
  for (const uint32_t bits : {header.short_bits, header.long_bits, header.merge_bits, header.bucket_bits}) {
    if (bits < 1 || bits > 30) return false;
  }
  const std::array<size_t, kSections> wanted =
      header.lengths_for(header.length[kBlob], header.length[kCharacters] / sizeof(Borders::Character));
  for (size_t i = 0; i < kSections; ++i) {
    const uint64_t offset = header.offset[i];
    if (header.length[i] != wanted[i] || offset % kImageAlign || offset < sizeof header || offset > image.size() ||
        wanted[i] > image.size() - offset)
      return false;
  }
  if (header.length[kBlob] > UINT32_MAX) return false;
  const uint8_t* base = image.data();
  image_ = image;
  source_ = base + offsetof(ImageHeader, source);
  starts_ = reinterpret_cast<const uint32_t*>(base + header.offset[kStarts]);
  blob_ = base + header.offset[kBlob];
  filter_ = base + header.offset[kFilter];
  short_ = reinterpret_cast<const ShortSlot*>(base + header.offset[kShort]);
  long_ = reinterpret_cast<const LongSlot*>(base + header.offset[kLong]);
  merges_ = reinterpret_cast<const uint64_t*>(base + header.offset[kMerges]);
  buckets_ = reinterpret_cast<const uint32_t*>(base + header.offset[kBuckets]);
  bytes_ = reinterpret_cast<const uint32_t*>(base + header.offset[kBytes]);
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
  Borders::Tables tables;
  tables.pairs = reinterpret_cast<const Borders::Pair*>(base + header.offset[kPairs]);
  tables.crossings = reinterpret_cast<const uint64_t*>(base + header.offset[kCrossings]);
  tables.numbers = {reinterpret_cast<const uint16_t*>(base + header.offset[kNumbers]), wanted[kNumbers] / sizeof(uint16_t)};
  tables.characters = {reinterpret_cast<const Borders::Character*>(base + header.offset[kCharacters]),
                       wanted[kCharacters] / sizeof(Borders::Character)};
  tables.rank_shift = Borders::rank_shift(id_count_);
  tables.crossing_bits = Borders::crossing_bits(id_count_);
  tables.are_of_pieces = header.are_of_pieces != 0;
  borders_ = Borders(tables);
  return true;
}

bool Vocabulary::verify() const {
  ImageHeader header;
  std::memcpy(&header, image_.data(), sizeof header);
  return header.checksum == header.checksum_with(image_.subspan(sizeof header));
}

std::vector<uint32_t> Vocabulary::parents() const {
  std::vector<uint32_t> found(2 * size_t{id_count_}, kNone);
  for_each_merge([&](uint32_t left, uint32_t right, uint32_t made) {
    if (made >= id_count_ || right >= id_count_ || left >= id_count_) return;  // of a byte that is no token
    found[made] = left;
    found[id_count_ + size_t{made}] = right;
  });
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
