// SentencePiece's normalizer, and that of llama.cpp's T5: a charsmap, and what becomes of spaces. The twin of
// engine/sentencepiece/normalizer.py and of engine/llama_cpp/ugm.py.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "models/trie.h"
#include "characters/charsmap.h"
#include "stages/origins.h"
#include "stages/steps.h"

namespace tokcli {

struct SpaceRules {
  Charsmap charsmap;
  Trie kept;  // symbols that no rule changes
  bool has_kept = false;
  bool spans_spaces = false;  // a rule or a kept symbol may go over a space (Charsmap::spans_spaces)
  bool add_prefix = true, trim = true, as_suffix = false;
  // llama.cpp's normalizer: what a kept symbol begins with is kept too, and a space is put before each word.
  bool is_llama = false;
  std::string space;  // what a space becomes (U+2581)

  // Makes the tables below, once all of the above is set.
  void prepare();
  template <class Archive>
  void fields(Archive& archive) {
    charsmap.fields(archive);
    kept.fields(archive);
    for (bool* flag : {&has_kept, &spans_spaces, &add_prefix, &trim, &as_suffix, &is_llama}) archive.flag(*flag);
    archive.text(space);
    if (Archive::kReads && fits()) prepare();
  }
  bool fits() const { return charsmap.fits() && kept.fits(kNone); }
  // kTooMuch: more than the limit. kOnlyPython: a rule of the charsmap that only Python can apply, or says what is wrong with.
  enum class Outcome : uint8_t { kDone, kTooMuch, kOnlyPython };
  // Writes what a part of a text becomes to `out`, which is empty. `kept` (null where places are not kept; never for llama.cpp)
  // also gets the end of the text.
  Outcome apply(Bytes in, Ends ends, GrowthLimit limit, std::string& out, Tracking* kept) const {
    return is_llama ? as_llama(in, ends, limit, out) : as_sentencepiece(in, ends, limit, out, kept);
  }
  // Returns whether a text may be cut before a space between these characters of ASCII, and its parts be normalized.
  bool is_cut(uint8_t left, uint8_t right) const {
    return !spans_spaces && !as_suffix && is_plain_[left][' '] && is_plain_[' '][right];
  }

 private:
  Outcome as_sentencepiece(Bytes in, Ends ends, GrowthLimit limit, std::string& out, Tracking* kept) const;
  Outcome as_llama(Bytes in, Ends ends, GrowthLimit limit, std::string& out) const;
  bool next_segment(const uint8_t*& p, const uint8_t* end, std::string_view& segment) const;
  size_t kept_size(const uint8_t* p, const uint8_t* end) const;
  size_t plain_size(const uint8_t* p) const;

  // Plain characters stay as they are. is_plain_[c][d]: character c of ASCII does before d.
  std::array<std::array<bool, 128>, 128> is_plain_{};
  bool has_plain_ = false;  // all printable characters of ASCII and the space are plain before any of ASCII
  // For characters of several bytes, by the low six bits of their first two: a bit for each third byte with which they
  // are plain.
  std::array<std::array<uint64_t, 64>, 64> plain_before_{};
};

}  // namespace tokcli
