// Applying normalizers of characters: see char_steps.h.
#include "characters/char_steps.h"

#include <algorithm>
#include <cstring>

#include "base/watch.h"
#include "text/text.h"
#include "text/utf8.h"

namespace tokcli {
namespace {

// Appends the bytes from `begin` up to `end`.
void add_bytes(const uint8_t* begin, const uint8_t* end, std::string& out) {
  out.append(view_of(Bytes{begin, static_cast<size_t>(end - begin)}));
}

// Returns the first byte from `p` on that is not of ASCII.
const uint8_t* ascii_end(const uint8_t* p, const uint8_t* end) {
  for (uint64_t word; end - p >= 8; p += 8) {
    std::memcpy(&word, p, sizeof word);
    if ((word & 0x8080808080808080u) != 0) break;
  }
  while (p < end && *p < 0x80) ++p;
  return p;
}

void add_char(uint32_t c, std::string& out) {
  uint8_t bytes[kMostUtf8];
  add_bytes(bytes, put_char(c, bytes), out);
}

// Runs of characters that the form may change, each with the plain character before it, are normalized; the rest is copied.
void to_form(NormalForm form, Bytes in, std::string& out) {
  const uint8_t *p = in.data(), *const end = p + in.size();
  const uint8_t *copied = p, *last_plain = p;
  uint8_t mark = 0;  // the class of the mark before this character
  std::vector<FormChar> made;
  FormMaker maker(form, made);
  Pace pace;
  while (p < end) {
    const uint8_t* const begin = p;
    if ((p = ascii_end(p, end)) > begin) {  // of which no form changes any
      pace.step(static_cast<size_t>(p - begin));
      last_plain = p - 1;
      mark = 0;
      continue;
    }
    pace.step();
    uint8_t value = form_value(form, next_char(p, end));
    if (value == 0 || (value < kChanges && value >= mark)) {
      if (value == 0) last_plain = begin;
      mark = value;
      continue;
    }
    const uint8_t* const run = last_plain;
    for (const uint8_t* after = p; after < end; p = after) {
      value = form_value(form, next_char(after, end));
      if (value == 0) break;
    }
    add_bytes(copied, run, out);
    made.clear();
    for (const uint8_t* q = run; q < p;) maker.add(next_char(q, p));
    maker.finish();
    for (const FormChar& c : made) add_char(c.point, out);
    copied = last_plain = p;
    mark = 0;
  }
  add_bytes(copied, end, out);
}

// Calls ascii(begin, end) for each run of ASCII, and change(code point) for every other character.
template <class Ascii, class Change>
void each_char(Bytes in, const Ascii& ascii, const Change& change) {
  Pace pace;
  for (const uint8_t *p = in.data(), *const end = p + in.size(); p < end;) {
    const uint8_t* const begin = p;
    p = ascii_end(p, end);
    if (p > begin) ascii(begin, p);
    else change(next_char(p, end));
    pace.step(static_cast<size_t>(p - begin));
  }
}

void to_lower(Bytes in, std::string& out) {
  const auto ascii = [&](const uint8_t* begin, const uint8_t* end) {
    const size_t at = out.size();
    add_bytes(begin, end, out);
    for (char* p = &out[at]; p < out.data() + out.size(); ++p) *p = static_cast<char>(*p | (*p >= 'A' && *p <= 'Z') << 5);
  };
  each_char(in, ascii, [&](uint32_t c) {
    add_char(lower_of(c), out);
    if (c == kCapitalIWithDot) add_char(kDotAbove, out);
  });
}

void without(CharacterClass which, Bytes in, std::string& out) {
  const auto change = [&](uint32_t c) {
    if (!is_of(c, which)) add_char(c, out);
  };
  bool has_ascii = false;
  for (uint32_t c = 0; c < 128; ++c) has_ascii |= is_of(c, which);
  const auto ascii = [&](const uint8_t* begin, const uint8_t* end) {
    if (has_ascii) std::for_each(begin, end, change);
    else add_bytes(begin, end, out);
  };
  each_char(in, ascii, change);
}

}  // namespace

void apply(const CharStep& step, Bytes in, std::string& out) {
  out.reserve(out.size() + in.size());
  switch (step.kind) {
    case CharStep::Kind::kForm: return to_form(static_cast<NormalForm>(step.which), in, out);
    case CharStep::Kind::kLower: return to_lower(in, out);
    case CharStep::Kind::kWithout: return without(static_cast<CharacterClass>(step.which), in, out);
  }
}

}  // namespace tokcli
