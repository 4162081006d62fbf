// Building of vocabulary images (vocabulary.h says what an image is).
//
// The first run with a vocabulary waits for this, so 200,000 tokens take some 20 ms: what is read or written at random is
// asked for some tokens ahead, two threads share the work, and little memory is used beside the image, since half of the
// time goes to the system, which makes its pages. What would take longest is to find the two tokens that each token is
// merged from, by merging its bytes; of the vocabularies that ship it is known how long the first of the two is.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "bpe/image_layout.h"

namespace tokcli {

// What an image is built from. Merges are listed, or the left token of each is known by its size, or else they are found
// for every token.
struct ImageParts {
  std::vector<Token> tokens;            // with distinct bytes, and distinct ids below kMaxId
  std::span<const uint8_t, 32> source;  // kept in the header
  bool drops_missing = false;           // a byte that is no token has no id, which is no error
  bool has_merges = false, has_lefts = false;
  std::span<const Vocabulary::Merge> merges = {};  // of ids below kMaxId
  std::span<const uint8_t> lefts = {};  // for each token the size of the first of its two; 0 if nothing merges into it
};

class ImageBuilder {
 public:
  // What `parts` points to has to outlive this object.
  explicit ImageBuilder(ImageParts parts);
  size_t size() const { return header_.size; }
  // Writes the image to `size()` bytes at a multiple of 8, once. Throws std::invalid_argument where two tokens that `lefts`
  // names are not there, or where tokens were chosen so that they all fall on one place of a hash table.
  void write(std::span<uint8_t> image);

 private:
  static constexpr size_t kTries = 128;  // places that are tried for a token or bucket, on average at most: one or two
  static constexpr size_t kAhead = 32;   // tokens whose places in tables are asked for before the first is used
  static constexpr size_t kTokensForThreads = 20'000;  // from so many on, two threads share the work
  class FreeSlots;
  struct FoundMerges {
    std::unique_ptr<Vocabulary::Merge[]> room;  // for one of each token; not filled first, so that two threads make its pages
    size_t count = 0;
  };

  template <class Item>
  Item* section(ImageSection number) const {
    return reinterpret_cast<Item*>(image_.data() + header_.offset[number]);
  }
  template <class Item>
  std::span<Item> items(ImageSection number) const {
    return {section<Item>(number), header_.length[number] / sizeof(Item)};
  }
  void clear(ImageSection first, ImageSection last);
  void add_bytes();
  void add_tokens();
  FoundMerges merges_by_lefts(const Vocabulary& tokens, size_t threads) const;
  Vocabulary::Merge* find_by_lefts(const Vocabulary& tokens, size_t begin, size_t end, Vocabulary::Merge* out) const;
  FoundMerges merges_by_merging(const Vocabulary& tokens) const;
  void add_merges(std::span<const Vocabulary::Merge> merges);
  void place_buckets(std::span<const uint64_t> merges, std::span<const uint32_t> ends);
  void add_borders(const Vocabulary& tokens, std::span<const Vocabulary::Merge> merges);

  ImageParts parts_;
  ImageHeader header_{};
  std::span<uint8_t> image_;
};

// Returns an image.
std::vector<uint8_t> build_image(ImageParts parts);

}  // namespace tokcli
