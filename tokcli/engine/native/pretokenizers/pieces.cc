// Pieces by windows of 64 bytes: see pieces.h.
//
// A scanner that follows one piece after another mispredicts the end of nearly every one (profile: 22 cycles a piece).
// So bytes are looked at 64 at a time, without a branch for each piece. A window begins where a piece begins. Its bytes
// are classified into masks of 64 bits (masks.h), a bit for each byte: letters, digits, white space and so on. Shifts and
// logic on whole masks then say of all 64 places at once whether a piece begins there: a word begins at a letter, for
// example, where the byte before is no letter (`letter & ~(letter << 1)`). A character outside ASCII has its bit at each
// of its bytes, so that most of this logic is the same for it; `after` and `first` (masks.h) help where it is not.
//
// Masks cannot tell everything: how white space at the end of a window is cut depends on what follows it, and some
// characters are not worth the logic that they would take. There the window ends early, and the next one begins at the
// last piece that is sure. Where no piece is sure, the scanner of scan.h finds one.
#include "pretokenizers/pieces.h"

#include <algorithm>

#include "base/processor.h"
#include "pretokenizers/masks.h"
#include "pretokenizers/scan.h"

namespace tokcli {
namespace {

// What a family's pattern asks of masks.
template <Family family>
struct Has {
  static constexpr bool is_r50k = family == Family::kR50k || family == Family::kStarCoder;
  static constexpr bool is_tekken = family == Family::kTekken || family == Family::kLlamaTekken;
  static constexpr bool is_o200k =
      family == Family::kO200k || family == Family::kGpt4o || family == Family::kGranite || is_tekken;
  static constexpr bool is_deepseek = family == Family::kDeepSeek;
  static constexpr bool contractions = !is_deepseek && !is_tekken;
  static constexpr bool single_digits = family == Family::kStarCoder || family == Family::kQwen2 ||
                                        family == Family::kQwen35 || is_tekken;
  // numbers outside ASCII are not counted in threes by masks, and DeepSeek's sides of CJK are no masks
  static constexpr bool wide_numbers = is_r50k || single_digits;
  static constexpr bool wide = !is_deepseek;
  // what Case says of letters and marks outside ASCII (o200k.h)
  static constexpr bool only_ascii_case = family == Family::kGpt4o || family == Family::kLlamaTekken ||
                                          family == Family::kGranite;
  static constexpr bool marks_in_words = family == Family::kO200k || family == Family::kTekken ||
                                         family == Family::kGranite || family == Family::kQwen35;
};

// Which bytes of a window are in the sets of characters that a pattern tells apart.
struct Sets {
  uint64_t upper, lower, letter, digit, white, other;
  uint64_t either = 0;  // letters and marks that end a word as well as they begin one
  uint64_t unknown;     // where something begins that masks do not tell
};

template <Family family>
inline Sets sets_of(const Masks& in) {
  const uint64_t letter = in.upper | in.lower;
  return {.upper = in.upper,
          .lower = in.lower,
          .letter = letter,
          .digit = in.digit,
          .white = in.white,
          .other = ~(letter | in.digit | in.white | in.high),
          .unknown = Has<family>::is_deepseek ? in.high | (in.control & ~in.white) : in.high};
}

// Returns the sets of a window that has characters outside ASCII.
template <Family family>
inline Sets sets_of(const Masks& in, const Wide& wide) {
  using Pattern = Has<family>;
  Sets sets = sets_of<family>(in);
  sets.unknown = wide.stop;
  sets.letter |= wide.upper | wide.lower | wide.either;
  sets.white |= wide.white;
  sets.other |= wide.other;
  if constexpr (Pattern::wide_numbers) sets.digit |= wide.number;
  else sets.unknown |= wide.number;
  if constexpr (!Pattern::only_ascii_case) {
    sets.upper |= wide.upper;
    sets.lower |= wide.lower;
    sets.either = wide.either;
  } else {
    sets.either = wide.upper | wide.lower | wide.either;
  }
  if constexpr (!Pattern::marks_in_words) {
    sets.other |= wide.mark;
  } else if constexpr (!Pattern::is_o200k) {
    sets.letter |= wide.mark;
  } else {
    // A mark belongs to the word before it; what it does after anything else is left to the scanner. Adding a bit to the
    // first of a run of bits carries through the whole run and clears it: so a run of marks after a letter is found.
    const uint64_t in_words = wide.mark & ~(wide.mark + (wide.mark & sets.letter << 1));
    sets.letter |= in_words;
    sets.either |= in_words;
    sets.unknown |= wide.mark & ~in_words;
  }
  return sets;
}

// Returns where pieces of r50k and of starcoder begin. One U+0020 belongs to what follows; of a run of white space the
// last character is a piece or belongs to what follows.
template <Family family>
inline uint64_t r50k_starts(const Masks& in, const Sets& is, const Wide& wide, uint64_t others) {
  const uint64_t after_space = in.space << 1, lasts = is.white & ~is.white >> 1;
  const uint64_t starts = (is.letter & ~(is.letter << 1) & ~after_space) | others | (is.white & ~(is.white << 1));
  if constexpr (Has<family>::single_digits) {
    return starts | (is.digit & ~wide.rest) | wide.first(lasts & ~(is.digit >> 1));
  }
  return starts | (is.digit & ~(is.digit << 1) & ~after_space) | wide.first(lasts);
}

// Returns where pieces of the other patterns begin; lowers `sure` to the first place that is not.
template <Family family>
inline uint64_t cl100k_starts(const Masks& in, const Sets& is, const Wide& wide, uint64_t others, size_t& sure) {
  using Pattern = Has<family>;
  // Newlines after signs belong to them (a run of bits is cleared by adding to its first bit, again).
  const uint64_t eaten = in.newline & ~(in.newline + (in.newline & is.other << 1));
  if constexpr (Pattern::is_o200k) {
    if (const uint64_t more = eaten << 1 & in.slash) [[unlikely]] sure = std::min(sure, lowest(more));
  }
  const uint64_t white = is.white & ~eaten, blank = is.white & ~in.newline;
  // a run of white space begins a piece; another one begins after its last newline, and another with its last character,
  const uint64_t after_newline = blank & (in.newline & ~eaten) << 1;
  uint64_t starts = (white & ~(white << 1)) | after_newline;
  starts |= wide.first(blank & ~is.white >> 1 & (Pattern::is_deepseek ? ~(is.digit >> 1) : ~0ull));
  // but none after a newline where blanks and another newline follow
  if (const uint64_t next = (blank + after_newline) & ~blank & in.newline) [[unlikely]] {
    sure = std::min(sure, highest(after_newline & below(lowest(next))));
  }
  // a word includes one character before it: a blank, or a single sign
  starts |= is.letter & ~(is.letter << 1) & ~wide.after(blank | others);
  starts |= others;
  if constexpr (Pattern::single_digits) {
    starts |= is.digit & ~wide.rest;
  } else {  // digits are cut in threes: from each start on, every third place that more digits follow
    const uint64_t digits = is.digit & ~(is.digit << 1);
    const uint64_t more = is.digit & is.digit << 1 & is.digit << 2 & is.digit << 3;
    starts |= digits;
    for (uint64_t third = digits << 3 & more; third; third = third << 3 & more) starts |= third;
  }
  if constexpr (Pattern::is_o200k) {
    starts |= is.upper & is.lower << 1;
    // whether a word ends between a letter without case and an upper-case one depends on the letters after these
    if (const uint64_t open = is.upper & is.either << 1) [[unlikely]] sure = std::min(sure, lowest(open));
  }
  return starts;
}

// Returns the places of a window where pieces begin, as far as that is sure. Place 0 is one of them, and gets no bit.
template <Family family>
[[gnu::always_inline]] inline uint64_t starts_of(const uint8_t* p, const Masks& in, const Sets& is, const Wide& wide) {
  using Pattern = Has<family>;
  // The window ends (`size`) before the first character that masks do not tell. Nothing is known from `sure` on.
  const size_t size = is.unknown ? lowest(is.unknown) : kWindow;
  size_t sure = size;
  if (size == 0) return 0;
  if (is.white >> (size - 1) & 1) {  // how white space is cut depends on what comes after it
    const uint64_t before = ~is.white & below(size);
    sure = before ? highest(before) + 2 : 1;
  }
  // where runs of signs begin, if not after a space
  const uint64_t others = is.other & ~(is.other << 1) & ~(in.space << 1);
  uint64_t starts;
  if constexpr (Pattern::is_r50k) starts = r50k_starts<family>(in, is, wide, others);
  else starts = cl100k_starts<family>(in, is, wide, others, sure);

  // Contractions ('s): after a word they belong to it (o200k), else they are pieces where an apostrophe begins a piece.
  size_t last_end = 0;
  const uint64_t apostrophes = in.apostrophe & (Pattern::is_o200k ? is.letter << 1 : others);
  for (uint64_t rest = Pattern::contractions ? apostrophes : 0; rest; rest &= rest - 1) {
    const size_t at = lowest(rest);
    if (at + 3 > size) {  // a contraction takes at most three bytes, and what follows may be unknown
      sure = std::min(sure, at);
      break;
    }
    const size_t taken = contraction<!Pattern::is_r50k>(p + at, p + size);
    if (taken == 0 || (Pattern::is_o200k && at == last_end)) continue;
    last_end = at + taken;
    const uint64_t inside = (Pattern::is_o200k ? 7ull : 6ull) << at & below(last_end);
    starts &= ~inside;
    if (last_end < kWindow) starts |= 1ull << last_end;
  }
  return starts & below(sure) & ~1ull;
}

// Returns the same of a window that has characters outside ASCII.
template <Family family, class Vectors>
[[gnu::always_inline]] inline uint64_t wide_starts_of(const uint8_t* p, const Masks& in) {
  const Wide wide = decode_wide(p, in.high, uncased_in<Vectors>(p, in.high));
  return starts_of<family>(p, in, sets_of<family>(in, wide), wide);
}

// That as a function of its own, compiled for the instructions of `Vectors`.
template <Family family, class Vectors>
struct WideStarts {
  [[gnu::noinline]] static uint64_t of(const uint8_t* p, const Masks& in) { return wide_starts_of<family, Vectors>(p, in); }
};
#if TOKCLI_AVX
template <Family family>
struct WideStarts<family, Avx2> {
  [[gnu::noinline, gnu::flatten, TOKCLI_AVX2]] static uint64_t of(const uint8_t* p, const Masks& in) {
    return wide_starts_of<family, Avx2>(p, in);
  }
};
template <Family family>
struct WideStarts<family, Avx512> {
  [[gnu::noinline, gnu::flatten, TOKCLI_AVX512]] static uint64_t of(const uint8_t* p, const Masks& in) {
    return wide_starts_of<family, Avx512>(p, in);
  }
};
#endif

// Returns the places of the window at p where pieces begin.
template <Family family, class Vectors>
inline uint64_t starts_at(const uint8_t* p) {
  const Masks masks = masks_of<Vectors>(p);
  if (Has<family>::wide && masks.high != 0) return WideStarts<family, Vectors>::of(p, masks);
  return starts_of<family>(p, masks, sets_of<family>(masks), Wide{});
}

// Writes the ends of a window's pieces, of which `count` begin at `starts`, and makes their keys, from number `first` on. Each
// step of the loop takes kTogether pieces, some of the last ones without bytes: so its end is seldom mispredicted.
inline void write_keys(uint64_t starts, size_t count, const uint8_t* window, const uint8_t** ends, size_t first,
                       const PieceKeys& keys) {
  constexpr size_t kTogether = 4;
  const uint8_t* p = window;
  for (size_t i = first; i < first + count; i += kTogether) {
#pragma GCC unroll 4
    for (size_t k = 0; k < kTogether; ++k) {
      const uint8_t* const piece_end = window + lowest(starts);
      starts &= starts - 1;
      ends[i + k] = piece_end;
      keys.set(i + k, p, static_cast<size_t>(piece_end - p));
      p = piece_end;
    }
  }
}

template <Family family>
size_t find_one_by_one(const uint8_t* p, const uint8_t* end, const uint8_t** ends, size_t room, PieceKeys*) {
  size_t found = 0;
  while (found < room && p < end) ends[found++] = p = piece_end<family>(p, end);
  return found;
}

// Bytes ahead of the window, which are asked for early: where a text is larger than the processor's caches, the window's
// load waited for memory at each page. (Profile: a sixth of this loop; with 512 to 3,072 bytes, none of it.)
constexpr size_t kAhead = 1024;

template <Family family, class Vectors>
inline size_t find_ends(const uint8_t* p, const uint8_t* end, const uint8_t** ends, size_t room, PieceKeys* wanted) {
  const PieceKeys keys = wanted ? *wanted : PieceKeys{};
  size_t found = 0, hashed = 0;
  while (found < room && static_cast<size_t>(end - p) >= kWindow + kAfterWindow) {
    __builtin_prefetch(p + kAhead);  // harmless where the text has ended
    const bool has_keys = wanted && static_cast<size_t>(end - p) >= kWindow + PieceKeys::kReadable;
    const bool has_masks = Has<family>::wide || ((p[0] | p[1]) & 0x80) == 0;
    if (const uint64_t starts = has_masks ? starts_at<family, Vectors>(p) : 0) [[likely]] {
      const size_t count = count_of(starts);
      if (has_keys) write_keys(starts, count, p, ends, found, keys);
      else Vectors::write_ends(starts, count, p, ends + found);
      found += count;
      p += highest(starts);
    } else {
      ends[found] = piece_end<family>(p, end);
      if (has_keys) keys.set(found, p, static_cast<size_t>(ends[found] - p));
      p = ends[found++];
    }
    if (has_keys) hashed = found;
  }
  if (wanted) wanted->count = hashed;
  return found + find_one_by_one<family>(p, end, ends + found, found < room ? room - found : 0, nullptr);
}

#if TOKCLI_AVX
// `flatten`: all that these call becomes part of them, and is compiled for their instructions. (Profile: bits are found and
// counted in single instructions, and a second pass over English takes a seventh less than with SSE2 alone.)
template <Family family>
[[TOKCLI_AVX2, gnu::flatten]] size_t find_ends_avx2(const uint8_t* p, const uint8_t* end, const uint8_t** ends, size_t room,
                                                    PieceKeys* keys) {
  return find_ends<family, Avx2>(p, end, ends, room, keys);
}
template <Family family>
[[TOKCLI_AVX512, gnu::flatten]] size_t find_ends_avx512(const uint8_t* p, const uint8_t* end, const uint8_t** ends, size_t room,
                                                        PieceKeys* keys) {
  return find_ends<family, Avx512>(p, end, ends, room, keys);
}
#endif

template <Family family>
FindEnds finder_of(Instructions use) {
  switch (use) {
#if TOKCLI_AVX
    case Instructions::kAvx512: return find_ends_avx512<family>;
    case Instructions::kAvx2: return find_ends_avx2<family>;
    case Instructions::kSse2: return find_ends<family, Sse2>;
#endif
    default: return find_one_by_one<family>;
  }
}

}  // namespace

FindEnds finder(Family family, Instructions use) {
  switch (family) {
    case Family::kR50k: return finder_of<Family::kR50k>(use);
    case Family::kCl100k: return finder_of<Family::kCl100k>(use);
    case Family::kLlama3: return finder_of<Family::kLlama3>(use);
    case Family::kQwen2: return finder_of<Family::kQwen2>(use);
    case Family::kO200k: return finder_of<Family::kO200k>(use);
    case Family::kTekken: return finder_of<Family::kTekken>(use);
    case Family::kQwen35: return finder_of<Family::kQwen35>(use);
    case Family::kStarCoder: return finder_of<Family::kStarCoder>(use);
    case Family::kDeepSeek: return finder_of<Family::kDeepSeek>(use);
    case Family::kFalcon: return find_one_by_one<Family::kFalcon>;
    case Family::kGpt4o: return finder_of<Family::kGpt4o>(use);
    case Family::kGranite: return finder_of<Family::kGranite>(use);
    case Family::kLlamaTekken: return finder_of<Family::kLlamaTekken>(use);
    case Family::kCoder: return find_one_by_one<Family::kCoder>;
    case Family::kLlamaCoder: return find_one_by_one<Family::kLlamaCoder>;
    case Family::kBloom: return find_one_by_one<Family::kBloom>;
    case Family::kDefault: return find_one_by_one<Family::kDefault>;
  }
  return nullptr;
}

}  // namespace tokcli
