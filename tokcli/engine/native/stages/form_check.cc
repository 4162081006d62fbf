// Reading a text once, block by block: see form_check.h.
#include "stages/form_check.h"

#include <algorithm>

#include "base/watch.h"
#include "text/text.h"
#include "text/utf8.h"

namespace tokcli {
namespace {

constexpr size_t kBlock = 64;       // bytes that are looked at together
constexpr size_t kMoreRoom = 256;   // bytes, for what a form adds to a text

// Says whether a block is ASCII. (No early exit: compilers make wide instructions of it.)
bool is_ascii_block(const uint8_t* p) {
  uint8_t found = 0;
  for (size_t i = 0; i < kBlock; ++i) found |= p[i];
  return found < 0x80;
}

}  // namespace

// Calls visit(run) for each run of characters that the form may change. Blocks of ASCII are passed over; in any other block
// each character is looked at. Where one may change, the characters after it that are not plain go with it, and so does the
// plain character before it, which it may be joined to.
template <class Visit>
void FormCheck::visit_runs(Bytes text, const Visit& visit) const {
  const uint8_t *at = text.data(), *const end = at + text.size();
  const uint8_t *floor = at, *last_plain = at;  // the end of the last run; where the last plain character begins, or `floor`
  uint8_t mark = 0;                             // the class of the mark before this character; 0: there is none
  Pace pace;
  while (at < end) {
    pace.step(4);
    if (static_cast<size_t>(end - at) >= kBlock && is_ascii_block(at)) {
      at += kBlock;
      last_plain = at - 1;
      mark = 0;
      continue;
    }
    const uint8_t* const stop = static_cast<size_t>(end - at) < kBlock ? end : at + kBlock;
    while (at < stop) {
      const uint8_t* next = at;
      const uint32_t point = next_char(next, end);
      const uint8_t kind = point < 0x80 ? 0 : value(point);
      if (kind == 0) [[likely]] {
        last_plain = at;
        at = next;
        mark = 0;
        continue;
      }
      if (kind < kChanges && kind >= mark) {
        mark = kind;
        at = next;
        continue;
      }
      for (; next < end; pace.step()) {  // the characters after it that go with it
        const uint8_t* after = next;
        const uint32_t other = next_char(after, end);
        if (other < 0x80 || value(other) == 0) break;
        next = after;
      }
      visit(Bytes{std::max(last_plain, floor), next});
      at = last_plain = floor = next;
      mark = 0;
    }
  }
}

// Normalizes a run; returns whether that changes it.
bool FormCheck::normalize(Bytes run, std::vector<FormChar>& made) const {
  const uint8_t* const end = run.data() + run.size();
  made.clear();
  FormMaker maker(form_, made);
  for (const uint8_t* p = run.data(); p < end;) maker.add(next_char(p, end));
  maker.finish();
  size_t same = 0;
  for (const uint8_t* p = run.data(); p < end; ++same) {
    if (same == made.size() || made[same].point != next_char(p, end)) return true;
  }
  return same != made.size();
}

bool FormCheck::keeps(Bytes text, ByteBuffer& out) const {
  const uint8_t* copied = text.data();  // what is before it is in `out` already, changed or not
  std::vector<FormChar> made;
  // Few texts become much longer, and room that is not used costs nothing.
  const auto add = [&](const uint8_t* end) {
    if (out.size() == 0) out.reserve(text.size() + kMoreRoom);
    append(view_of(Bytes{copied, end}), &out);
    copied = end;
  };
  bool is_kept = true;
  out.clear();
  visit_runs(text, [&](Bytes run) {
    if (!normalize(run, made)) return;
    is_kept = false;
    add(run.data());
    uint8_t* const first = out.reserve(made.size() * kMostUtf8);
    uint8_t* to = first;
    for (const FormChar& c : made) to = put_char(c.point, to);
    out.commit(static_cast<size_t>(to - first));
    copied = run.data() + run.size();
  });
  if (!is_kept) add(text.data() + text.size());
  return is_kept;
}

}  // namespace tokcli
