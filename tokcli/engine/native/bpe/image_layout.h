// Where the parts of a vocabulary image are: for what opens images (vocabulary.cc) and what builds them
// (image_builder.cc).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "bpe/vocabulary.h"

namespace tokcli {

constexpr char kImageMagic[8] = {'T', 'O', 'K', 'I', 'M', 'A', 'G', 'E'};
constexpr size_t kImageAlign = 64;  // a cache line
// The sections of an image, in their order after the header. Each is aligned to a cache line.
enum ImageSection {
  kStarts, kBlob, kFilter, kShort, kLong, kMerges, kBuckets, kBytes, kPairs, kCrossings, kNumbers, kCharacters, kSections
};

struct ImageHeader {
  char magic[8];
  uint64_t size, checksum;  // of the whole image; the checksum is made with 0 in its own place
  uint32_t version, id_count, empty_id, longest, short_bits, long_bits, merge_bits, bucket_bits, drops_missing, are_of_pieces;
  uint64_t offset[kSections], length[kSections];
  uint8_t source[32];

  // Returns the size in bytes of each section of an image with these counts, so many bytes in its tokens, and so many
  // characters that may be sure.
  std::array<size_t, kSections> lengths_for(size_t blob_size, size_t characters) const;
  // Returns the checksum of an image with this header, and `rest` after it.
  uint64_t checksum_with(std::span<const uint8_t> rest) const;
};

}  // namespace tokcli
