// Any text with any vocabulary: the ids are those of a slow merge, their bytes are the text, counting agrees, and
// neither what an encoder has seen before, nor a cut, nor the processor's instructions change anything.
//
// An input: family, flags, where to cut, which vocabulary; the text. There are 255 vocabularies of parts of the texts that
// inputs begin with. The vocabulary 0 is one of the images that TOKCLI_FUZZ_IMAGES names. With the five highest flags
// a vocabulary is made of parts of the text itself, which takes much longer.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <random>
#include <sstream>

#include "base/fork.h"
#include "samples.h"
#include "texts.h"

using namespace fuzz;

namespace {

// While an encoder is idle, others may take the memory of its store.
void set_idle(tokcli::Encoder& encoder, bool is_idle) {
  const tokcli::BriefLock lock;
  encoder.set_idle(is_idle);
}

struct Known {
  std::vector<uint8_t> image;
  tokcli::Vocabulary vocabulary;
  Ranks ranks;
  std::unique_ptr<tokcli::Encoder> used;  // with all the texts before
};

// Opens an image that was built of `ranks`, or reads the ranks from it.
std::unique_ptr<Known> open(std::vector<uint8_t> image, Ranks ranks) {
  auto known = std::make_unique<Known>();
  known->image = std::move(image);
  known->ranks = std::move(ranks);
  CLAIM(known->vocabulary.open(known->image) && known->vocabulary.verify());
  const bool is_read = known->ranks.empty();
  std::string_view token;
  for (uint32_t id = 0; is_read && id < known->vocabulary.id_count(); ++id) {
    if (known->vocabulary.token(id, &token)) known->ranks.emplace(token, id);
  }
  known->used = std::make_unique<tokcli::Encoder>(known->vocabulary);
  return known;
}

std::vector<std::unique_ptr<Known>>& known_images() {
  static std::vector<std::unique_ptr<Known>> images = [] {
    std::vector<std::unique_ptr<Known>> made;
    const char* names = std::getenv("TOKCLI_FUZZ_IMAGES");
    std::istringstream paths(names ? names : "");
    for (std::string path; std::getline(paths, path, ':');) {
      std::ifstream file(path, std::ios::binary);
      CLAIM(file.good());
      made.push_back(open({std::istreambuf_iterator<char>(file), {}}, {}));
    }
    return made;
  }();
  return images;
}

// 256 bytes, or all but one, and some parts of a text; ids in order or reversed, with or without gaps.
std::unique_ptr<Known> build(unsigned seed, std::string_view text) {
  std::mt19937 random(seed);
  const unsigned flags = random(), without = flags & 1 ? random() % 256 : 256;
  std::vector<std::string> tokens = single_bytes();
  if (without < 256) tokens.erase(tokens.begin() + without);
  const auto first = static_cast<std::ptrdiff_t>(tokens.size());
  for (size_t left = random() % 64; left > 0; --left) {
    const std::string_view part = text.substr(random() % (text.size() + 1), 2 + random() % (flags & 8 ? 40 : 6));
    if (part.size() > 1) tokens.emplace_back(part);
  }
  std::sort(tokens.begin() + first, tokens.end());
  tokens.erase(std::unique(tokens.begin() + first, tokens.end()), tokens.end());
  std::shuffle(tokens.begin() + (flags & 16 ? first : static_cast<std::ptrdiff_t>(tokens.size())), tokens.end(), random);
  Ranks ranks;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const size_t id = (flags & 2 ? tokens.size() - 1 - i : i) * (flags & 4 ? 3 : 1);
    ranks.emplace(tokens[i], static_cast<uint32_t>(id));
  }
  std::vector<uint8_t> image = image_of(ranks);
  std::unique_ptr<Known> known = open(std::move(image), std::move(ranks));
  for (const auto& [token, id] : known->ranks) {
    std::string_view stored;
    CLAIM(known->vocabulary.find(bytes_of(token).data(), token.size(), token.size()) == id);
    CLAIM(known->vocabulary.token(id, &stored) && stored == token);
  }
  return known;
}

// The vocabulary with a number, of the two texts that it names.
Known& made(uint8_t number) {
  static std::unique_ptr<Known> all[256];
  std::unique_ptr<Known>& one = all[number];
  constexpr size_t kCount = std::size(kTexts);
  if (!one) one = build(number, std::string(kTexts[number % kCount]) + std::string(kTexts[number / kCount % kCount]));
  return *one;
}

bool same(const std::vector<Bytes>& a, const std::vector<Bytes>& b) {
  return std::ranges::equal(a, b, [](Bytes x, Bytes y) { return chars(x) == chars(y); });
}

// All ways of finding pieces find the same, by whatever instructions.
std::vector<Bytes> checked_pieces(Family family, Bytes text) {
  const std::vector<Bytes> pieces = pieces_of(family, text, tokcli::Instructions::kPortable);
  for (const auto use : {tokcli::Instructions::kSse2, tokcli::Instructions::kAvx2, tokcli::Instructions::kAvx512}) {
    if (use <= tokcli::instructions()) CLAIM(same(pieces_of(family, text, use), pieces));
  }
  return pieces;
}

void check_cuts(Family family, Bytes text, size_t at) {
  const tokcli::Text whole = tokcli::Text::of(text);
  const std::vector<Bytes> pieces = pieces_of(family, text);
  const size_t next = tokcli::next_cut(whole, at), last = tokcli::last_cut(whole, at);
  CLAIM(next >= at && last <= at && next <= text.size());
  for (const size_t cut : {next, last}) {
    std::vector<Bytes> parts = pieces_of(family, text.first(cut));
    const std::vector<Bytes> rest = pieces_of(family, text.subspan(cut));
    parts.insert(parts.end(), rest.begin(), rest.end());
    CLAIM(same(parts, pieces));
  }
}

// A text as Python may hold it, in units of one, two or four bytes, becomes its UTF-8, part by part.
template <class Unit>
void check_units(Bytes text, const std::vector<uint32_t>& points) {
  for (const uint32_t point : points) {
    if (point > std::numeric_limits<Unit>::max()) return;
  }
  const std::vector<Unit> units(points.begin(), points.end());
  const tokcli::Text whole{units.data(), units.size(), sizeof(Unit), false};
  std::vector<uint8_t> made, part;
  for (size_t at = 0; at < whole.size;) {
    const size_t end = tokcli::next_cut(whole, std::min(at + 7, whole.size));
    part.resize(tokcli::most_utf8(whole.part(at, end)));
    bool has_surrogates = false;
    const size_t size = tokcli::to_utf8(whole.part(at, end), part.data(), &has_surrogates);
    CLAIM(size <= part.size() && !has_surrogates);
    made.insert(made.end(), part.begin(), part.begin() + static_cast<ptrdiff_t>(size));
    at = end;
  }
  CLAIM(std::ranges::equal(made, text));
}

void check(Known& known, Family family, Bytes text, bool fresh) {
  Ids expected;
  for (const Bytes piece : checked_pieces(family, text)) merge_slowly(known.ranks, chars(piece), expected);
  const bool missing = std::ranges::count(expected, kNone) > 0;
  std::unique_ptr<tokcli::Encoder> own = fresh ? std::make_unique<tokcli::Encoder>(known.vocabulary) : nullptr;
  tokcli::Encoder& encoder = own ? *own : *known.used;
  for (int pass = 0; pass < 2; ++pass) {
    const Encoded made = encode(encoder, family, text);
    CLAIM(made.missing_byte == missing);
    CLAIM(missing || made.ids == expected);
    const tokcli::Result counted = encoder.encode({family}, text, nullptr);
    CLAIM(counted.missing_byte == missing && (missing || counted.count == expected.size()));
  }
  if (missing) return;
  std::string joined;
  for (const uint32_t id : expected) {
    std::string_view token;
    CLAIM(known.vocabulary.token(id, &token));
    joined += token;
  }
  CLAIM(joined == chars(text));
}

// Text among bytes that are not UTF-8 has the same ids whether it is split whole, or some at a time.
void check_invalid(tokcli::Encoder& encoder, Family family, Bytes data) {
  std::vector<uint64_t> ends;
  CLAIM(tokcli::split_invalid({family}, data, 0, true, &ends));
  const size_t split = ends.empty() ? 0 : ends.back();
  tokcli::IdBuffer whole, some;
  tokcli::Result expected = encoder.encode_invalid(data.first(split), ends, &whole);
  expected.add(encoder.encode({family}, data.subspan(split), &whole));
  const tokcli::Result made = encoder.encode_invalid({family}, data, &some);
  CLAIM(made.is_good() == expected.is_good());
  if (!made.is_good()) return;
  CLAIM(made.count == expected.count && encoder.encode_invalid({family}, data, nullptr).count == made.count);
  CLAIM(std::ranges::equal(std::span(some.data(), some.size()), std::span(whole.data(), whole.size())));
}

void check_piece(Known& known, Bytes piece) {
  Ids expected;
  if (!piece.empty()) merge_slowly(known.ranks, chars(piece), expected);
  tokcli::IdBuffer ids;
  const tokcli::Result result = known.used->encode_piece(piece, &ids);
  const bool missing = std::ranges::count(expected, kNone) > 0;
  CLAIM(result.missing_byte == missing);
  CLAIM(missing || std::ranges::equal(expected, std::span(ids.data(), ids.size())));
  CLAIM(missing || known.used->encode_piece(piece, nullptr).count == expected.size());
  for (const auto most : {tokcli::Instructions::kPortable, tokcli::Instructions::kSse2, tokcli::Instructions::kAvx2}) {
    tokcli::limit_instructions(most);  // pieces are not kept, so each of these merges anew
    tokcli::IdBuffer again;
    CLAIM(known.used->encode_piece(piece, &again).missing_byte == missing);
    CLAIM(missing || std::ranges::equal(expected, std::span(again.data(), again.size())));
  }
  tokcli::limit_instructions(tokcli::Instructions::kAvx512);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kMostMerged = 150;  // bytes that are merged as one piece: merging slowly takes the square of them
  Input input{data, size};
  const auto family = static_cast<Family>(input.byte() % tokcli::kFamilies);
  const uint8_t flags = input.byte(), at = input.byte(), which = input.byte();
  // bytes of its own, so that reading behind them is seen
  const std::vector<uint8_t> text(input.p, input.p + input.left);
  auto& images = known_images();
  std::unique_ptr<Known> own;
  if ((flags & 0xF8) == 0xF8) own = build(which, chars(text));
  Known& known = own ? *own : which || images.empty() ? made(which) : *images[flags % images.size()];
  set_idle(*known.used, false);
  check(known, family, text, flags & 8);
  check_piece(known, Bytes(text).first(std::min(text.size(), kMostMerged)));
  check_invalid(*known.used, family, text);
  std::vector<uint32_t> points;
  if (decode_utf8(text, points) == text.size()) {
    check_cuts(family, text, at * text.size() / 255);
    check_units<uint8_t>(text, points);
    check_units<uint16_t>(text, points);
    check_units<uint32_t>(text, points);
  }
  set_idle(*known.used, true);
  return 0;
}
