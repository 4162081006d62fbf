// Building vocabulary images: see image_builder.h.
#include "bpe/image_builder.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "base/threads.h"
#include "bpe/borders/border_builder.h"
#include "bpe/merging/merge.h"

namespace tokcli {
namespace {

size_t aligned(size_t size) { return (size + kImageAlign - 1) / kImageAlign * kImageAlign; }

// Does both, each in a thread of its own where there are two threads.
template <class One, class Other>
void in_shares(size_t threads, const One& one, const Other& other) {
  in_threads(threads, [&](size_t thread) {
    if (thread == 0) one();
    if (thread + 1 == threads) other();
  });
}

// Returns the hash of the pair in a slot of the table of merges.
uint64_t hash_of_slot(uint64_t slot) { return mix(slot >> kIdBits, kHashLow); }

uint8_t filter_bit(uint64_t hash, unsigned shift) { return static_cast<uint8_t>(1u << (hash >> (shift - 3) & 7)); }

// A token, or half of one, that is about to be looked up or entered: its key, if it is short, and its hash.
struct Wanted {
  const uint8_t* p;
  size_t size;
  Key key;
  uint64_t hash;

  // (`p` is in the bytes of an image, and after these come more than the 16 that may be read at once.)
  Wanted(const uint8_t* bytes, size_t count) : p(bytes), size(count) {
    if (size > kShortBytes) {
      hash = hash_bytes(p, size);
    } else {
      key = key_of(p, size, 16);
      hash = hash_of(key);
    }
  }
  Wanted() = default;
};

}  // namespace

ImageBuilder::ImageBuilder(ImageParts parts) : parts_(std::move(parts)) {
  std::memcpy(header_.magic, kImageMagic, sizeof kImageMagic);
  std::copy(parts_.source.begin(), parts_.source.end(), header_.source);
  header_.version = kImageVersion;
  header_.drops_missing = parts_.drops_missing;
  header_.empty_id = kNone;
  size_t short_count = 0, long_count = 0, blob_size = 0, characters = 0;
  for (const Token& token : parts_.tokens) {
    header_.id_count = std::max(header_.id_count, token.id + 1);
    header_.longest = std::max(header_.longest, token.size);
    blob_size += token.size;
    ++(token.size <= kShortBytes ? short_count : long_count);
    characters += BorderBuilder::may_be_character(token.bytes, token.size);
    if (token.size == 0) header_.empty_id = token.id;
  }
  // Tables of short tokens are at most four fifths full, as the filter answers most lookups that find nothing; those of
  // long ones at most two thirds. (A smaller image is opened sooner.)
  header_.short_bits = static_cast<uint32_t>(std::bit_width(short_count * 5 / 4 + 1));
  header_.long_bits = static_cast<uint32_t>(std::bit_width(long_count * 3 / 2 + 1));
  header_.merge_bits = static_cast<uint32_t>(std::bit_width(parts_.tokens.size() * 5 / 4));  // at most four fifths full
  header_.bucket_bits = header_.merge_bits > 3 ? header_.merge_bits - 2 : 1;
  const std::array<size_t, kSections> lengths = header_.lengths_for(blob_size, std::min<size_t>(characters, UINT16_MAX));
  header_.size = aligned(sizeof(ImageHeader));
  for (size_t i = 0; i < kSections; ++i) {
    header_.offset[i] = header_.size;
    header_.length[i] = lengths[i];
    header_.size += aligned(lengths[i]);
  }
}

void ImageBuilder::write(std::span<uint8_t> image) {
  image_ = image;
  const size_t threads = parts_.tokens.size() < kTokensForThreads ? 1 : 2;
  in_shares(threads, [&] {
    clear(kStarts, kMerges);
    clear(kBytes, kPairs);
    add_bytes();
    add_tokens();
  }, [&] {
    clear(kMerges, kBytes);
    clear(kPairs, kSections);
  });
  std::fill(image.begin(), image.begin() + static_cast<ptrdiff_t>(header_.offset[kStarts]), uint8_t{0});
  std::memcpy(image.data(), &header_, sizeof header_);
  Vocabulary tokens;
  if (tokens.open(image)) {  // (an image without ids is none)
    FoundMerges found;
    if (parts_.has_lefts) found = merges_by_lefts(tokens, threads);
    else if (!parts_.has_merges) found = merges_by_merging(tokens);
    const auto merges = parts_.has_merges ? parts_.merges : std::span<const Vocabulary::Merge>(found.room.get(), found.count);
    parts_.tokens = std::vector<Token>();  // no longer needed: what follows is given the same memory, whose pages are made
    in_shares(threads, [&] { add_merges(merges); }, [&] { add_borders(tokens, merges); });
  }
  header_.checksum = header_.checksum_with(image.subspan(sizeof header_));
  std::memcpy(image.data(), &header_, sizeof header_);
}

// Fills sections with what their empty places hold. Pages are so written first where they are filled in order: the tables are
// written at random.
void ImageBuilder::clear(ImageSection first, ImageSection last) {
  for (size_t i = first; i < last; ++i) {
    uint8_t* const begin = image_.data() + header_.offset[i];
    if (i == kBlob) std::fill(begin + header_.length[i], begin + aligned(header_.length[i]), uint8_t{0});
    else std::fill(begin, begin + aligned(header_.length[i]), i == kMerges || i == kPairs ? uint8_t{0xFF} : uint8_t{0});
  }
}

// Writes where the bytes of each id begin, the bytes, and which tokens are single bytes.
void ImageBuilder::add_bytes() {
  auto* const starts = section<uint32_t>(kStarts);
  auto* const bytes = section<uint32_t>(kBytes);
  uint8_t* const blob = section<uint8_t>(kBlob);
  for (uint32_t i = 0; i < 256; ++i) bytes[i] = header_.id_count + i;
  for (const Token& token : parts_.tokens) {
    starts[token.id + 1] = token.size;
    if (token.size == 1) bytes[token.bytes[0]] = token.id;
  }
  std::partial_sum(starts, starts + header_.id_count + 1, starts);
  Pace pace;
  for (size_t first = 0, last = 0; first < parts_.tokens.size(); first = last) {
    size_t size = 0;  // of tokens that follow each other here and there, and are copied at once
    do size += parts_.tokens[last++].size;
    while (last < parts_.tokens.size() && parts_.tokens[last].bytes == parts_.tokens[first].bytes + size &&
           parts_.tokens[last].id == parts_.tokens[last - 1].id + 1);
    pace.step(size + 8);
    std::copy_n(parts_.tokens[first].bytes, size, blob + starts[parts_.tokens[first].id]);
  }
}

// Fills the hash tables from bytes to ids.
void ImageBuilder::add_tokens() {
  const auto* const starts = section<uint32_t>(kStarts);
  const uint8_t* const blob = section<uint8_t>(kBlob);
  uint8_t* const filter = section<uint8_t>(kFilter);
  auto* const shorts = section<Vocabulary::ShortSlot>(kShort);
  auto* const longs = section<Vocabulary::LongSlot>(kLong);
  const unsigned shift = 64 - header_.short_bits;
  const size_t short_mask = (size_t{1} << header_.short_bits) - 1, long_mask = (size_t{1} << header_.long_bits) - 1;
  // An image has the same hashes everywhere, so somebody may choose tokens that all fall on one place.
  size_t tries_left = (parts_.tokens.size() + kTries) * kTries;
  const auto next = [&](size_t slot, size_t mask) {
    if (tries_left-- == 0) throw std::invalid_argument("too many tokens have the same hash");
    return (slot + 1) & mask;
  };
  std::array<Wanted, kAhead> ahead;
  Pace pace;
  for (size_t first = 0; first < parts_.tokens.size(); first += kAhead) {
    const auto tokens = std::span(parts_.tokens).subspan(first, std::min(kAhead, parts_.tokens.size() - first));
    for (size_t i = 0; i < tokens.size(); ++i) {
      pace.step(tokens[i].size + 8);
      const Wanted& token = ahead[i] = Wanted(blob + starts[tokens[i].id], tokens[i].size);
      if (token.size > kShortBytes) __builtin_prefetch(&longs[token.hash & long_mask], 1);
      else __builtin_prefetch(&shorts[token.hash >> shift], 1);
    }
    for (size_t i = 0; i < tokens.size(); ++i) {
      const auto& [p, size, key, hash] = ahead[i];
      if (size == 0) continue;
      if (size <= kShortBytes) {
        size_t slot = hash >> shift;
        filter[slot] |= filter_bit(hash, shift);
        while (shorts[slot].size_and_id) slot = next(slot, short_mask);
        shorts[slot] = Vocabulary::slot_of(key, tokens[i].id);
      } else {
        size_t slot = hash & long_mask;
        while (longs[slot].id) slot = next(slot, long_mask);
        longs[slot] = {static_cast<uint32_t>(hash >> 32), tokens[i].id + 1};
      }
    }
  }
}

// Returns the merges whose first tokens are known by their sizes.
ImageBuilder::FoundMerges ImageBuilder::merges_by_lefts(const Vocabulary& tokens, size_t threads) const {
  const size_t count = parts_.tokens.size(), middle = count / 2;
  if (parts_.lefts.size() != count) throw std::invalid_argument("not every token says how it is merged");
  FoundMerges found{std::make_unique_for_overwrite<Vocabulary::Merge[]>(count)};
  Vocabulary::Merge* const out = found.room.get();
  Vocabulary::Merge *end = out, *end_of_others = out + middle;
  in_shares(threads, [&] { end = find_by_lefts(tokens, 0, middle, out); },
            [&] { end_of_others = find_by_lefts(tokens, middle, count, out + middle); });
  const auto first_count = static_cast<size_t>(end - out), other_count = static_cast<size_t>(end_of_others - (out + middle));
  std::memmove(end, out + middle, other_count * sizeof *out);  // over the places of tokens into which nothing merges
  found.count = first_count + other_count;
  return found;
}

// Writes the merges of the tokens from `begin` to `end`; returns where it stopped.
Vocabulary::Merge* ImageBuilder::find_by_lefts(const Vocabulary& tokens, size_t begin, size_t end, Vocabulary::Merge* out) const {
  const auto* const starts = section<uint32_t>(kStarts);
  const uint8_t* const blob = section<uint8_t>(kBlob);
  std::array<Wanted, 2 * kAhead> halves;
  std::array<uint32_t, kAhead> made;
  Pace pace;
  for (size_t first = begin; first < end; first += kAhead) {
    size_t count = 0;
    for (size_t i = first; i < std::min(first + kAhead, end); ++i) {
      const Token& token = parts_.tokens[i];
      const size_t left = parts_.lefts[i];
      pace.step(token.size + 8);
      if (left == 0) continue;
      if (left >= token.size) throw std::invalid_argument("a token is shorter than the first of its two");
      const uint8_t* const p = blob + starts[token.id];
      halves[2 * count] = Wanted(p, left);
      halves[2 * count + 1] = Wanted(p + left, token.size - left);
      made[count++] = token.id;
      for (const Wanted& half : {halves[2 * count - 2], halves[2 * count - 1]}) {
        if (half.size > 1 && half.size <= kShortBytes) __builtin_prefetch(tokens.place_of_short(half.hash));
      }
    }
    for (size_t i = 0; i < count; ++i) {
      std::array<uint32_t, 2> ids;
      for (size_t side = 0; side < 2; ++side) {
        const Wanted& half = halves[2 * i + side];
        if (half.size == 1) ids[side] = tokens.id_of_part(tokens.byte_part(*half.p));
        else if (half.size <= kShortBytes) ids[side] = tokens.find_in_slots(half.key, half.hash);
        else ids[side] = tokens.find_long(half.p, half.size);
        if (ids[side] == kNone) throw std::invalid_argument("a token is not merged from two others");
      }
      *out++ = {ids[0], ids[1], made[i]};
    }
  }
  return out;
}

// Returns the merge that makes each token, as merging the token's own bytes finds it (merge.h says why one is enough).
ImageBuilder::FoundMerges ImageBuilder::merges_by_merging(const Vocabulary& tokens) const {
  FoundMerges found{std::make_unique_for_overwrite<Vocabulary::Merge[]>(parts_.tokens.size())};
  MergeScratch scratch;
  std::array<uint32_t, 2> parts;
  for (uint32_t id = 0; id < tokens.id_count(); ++id) {
    std::string_view bytes;
    if (!tokens.token(id, &bytes) || bytes.size() < 2) continue;
    if (!last_merge(tokens, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), scratch, parts)) continue;
    found.room[found.count++] = {parts[0], parts[1], id};
  }
  return found;
}

// Fills the table of merges, whose pairs are put in buckets by their hashes.
void ImageBuilder::add_merges(std::span<const Vocabulary::Merge> merges) {
  const unsigned shift = 64 - header_.bucket_bits;
  const auto slot_of = [](const Vocabulary::Merge& merge) {
    return (uint64_t{merge[0]} << kIdBits | merge[1]) << kIdBits | merge[2];
  };
  std::vector<uint32_t> ends((size_t{1} << header_.bucket_bits) + 1);
  for (const Vocabulary::Merge& merge : merges) ++ends[(hash_of_slot(slot_of(merge)) >> shift) + 1];
  std::partial_sum(ends.begin(), ends.end(), ends.begin());  // as yet where each bucket begins
  const auto slots = std::make_unique_for_overwrite<uint64_t[]>(merges.size());
  for (const Vocabulary::Merge& merge : merges) {
    const uint64_t slot = slot_of(merge);
    slots[ends[hash_of_slot(slot) >> shift]++] = slot;
  }
  place_buckets({slots.get(), merges.size()}, std::span(ends).first(ends.size() - 1));
}

// Which slots of the table of merges are free. They are bits, which fit the first cache: the table itself does not. Pairs are
// given as what their slots will hold.
class ImageBuilder::FreeSlots {
 public:
  static constexpr uint32_t kAtOnce = 8;  // displacements: whether one fits is as good as random, so none has a branch

  explicit FreeSlots(unsigned bits) : shift_(64 - bits), taken_((size_t{1} << bits) / 64 + 1) {}
  // Returns a bit for each of the displacements from `first` on: whether it leads each pair to a free slot.
  uint32_t fitting(std::span<const uint64_t> pairs, uint32_t first) const {
    uint32_t taken = 0;
    for (const uint64_t pair : pairs) {
      const uint64_t hash = hash_of_slot(pair);
      for (uint32_t i = 0; i < kAtOnce; ++i) {
        const size_t slot = Vocabulary::merge_slot(hash, first + i, shift_);
        taken |= static_cast<uint32_t>(taken_[slot / 64] >> slot % 64 & 1) << i;
      }
    }
    return ~taken & ((1u << kAtOnce) - 1);
  }
  // Takes the slots to which a displacement that fits leads pairs; returns false, and takes none, if two have the same.
  bool take(std::span<const uint64_t> pairs, uint32_t displacement) {
    for (size_t i = 0; i < pairs.size(); ++i) {
      const size_t slot = Vocabulary::merge_slot(hash_of_slot(pairs[i]), displacement, shift_);
      if (taken_[slot / 64] >> slot % 64 & 1) {
        while (i-- > 0) flip(Vocabulary::merge_slot(hash_of_slot(pairs[i]), displacement, shift_));
        return false;
      }
      flip(slot);
    }
    return true;
  }

 private:
  void flip(size_t slot) { taken_[slot / 64] ^= uint64_t{1} << slot % 64; }

  unsigned shift_;
  std::vector<uint64_t> taken_;
};

// Gives each bucket its displacement, the largest first, while most slots are free: each takes the first displacement
// that leads all its pairs to free slots.
void ImageBuilder::place_buckets(std::span<const uint64_t> merges, std::span<const uint32_t> ends) {
  auto* const slots = section<uint64_t>(kMerges);
  auto* const buckets = section<uint32_t>(kBuckets);
  const auto begin_of = [&](size_t bucket) { return bucket == 0 ? 0 : ends[bucket - 1]; };
  std::vector<std::vector<uint32_t>> by_size(1);
  for (uint32_t bucket = 0; bucket < ends.size(); ++bucket) {
    const size_t size = ends[bucket] - begin_of(bucket);
    if (size >= by_size.size()) by_size.resize(size + 1);
    by_size[size].push_back(bucket);
  }
  FreeSlots slots_left(header_.merge_bits);
  Pace pace;
  size_t tries_left = (merges.size() + UINT16_MAX) * kTries / FreeSlots::kAtOnce;
  for (size_t size = by_size.size() - 1; size > 0; --size) {
    for (size_t i = 0; i < by_size[size].size(); ++i) {
      const uint32_t bucket = by_size[size][i];
      if (i + kAhead < by_size[size].size()) __builtin_prefetch(merges.data() + begin_of(by_size[size][i + kAhead]));
      const auto pairs = merges.subspan(begin_of(bucket), size);
      uint32_t displacement = 0;
      while (true) {
        pace.step(size);
        if (displacement > UINT16_MAX || tries_left-- == 0) throw std::invalid_argument("no displacement fits");  // (a fifth is free)
        const uint32_t fitting = slots_left.fitting(pairs, displacement);
        if (fitting == 0) {
          displacement += FreeSlots::kAtOnce;
          continue;
        }
        displacement += static_cast<uint32_t>(std::countr_zero(fitting));
        if (displacement <= UINT16_MAX && slots_left.take(pairs, displacement)) break;
        ++displacement;
      }
      buckets[bucket] = displacement;
      for (const uint64_t slot : pairs) {
        const uint64_t hash = hash_of_slot(slot);
        slots[Vocabulary::merge_slot(hash, displacement, 64 - header_.merge_bits)] = slot;
        buckets[bucket] |= 1u << Vocabulary::bucket_filter_bit(hash);
      }
    }
  }
}

// Fills the tables of borders.
void ImageBuilder::add_borders(const Vocabulary& tokens, std::span<const Vocabulary::Merge> merges) {
  BorderBuilder builder(tokens, {items<Borders::Pair>(kPairs), items<uint64_t>(kCrossings), items<uint16_t>(kNumbers),
                                 items<Borders::Character>(kCharacters)});
  builder.add(merges);
  header_.are_of_pieces = builder.are_of_pieces();
}

std::vector<uint8_t> build_image(ImageParts parts) {
  ImageBuilder builder(std::move(parts));
  std::vector<uint8_t> image(builder.size());
  builder.write(image);
  return image;
}

}  // namespace tokcli
