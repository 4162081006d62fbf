// Steps that need no tables: see steps.h.
#include "stages/steps.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/watch.h"
#include "text/utf8.h"

namespace tokcli {
namespace {

// The bytes that no character begins with.
constexpr auto kContinuations = [] {
  std::array<char, 64> bytes{};
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(0x80 + i);
  return bytes;
}();
constexpr std::string_view kContinuationBytes(kContinuations.data(), kContinuations.size());

// Finds a text in another one, from a place on. (std::string_view compares at every place: of long texts that almost match
// everywhere that would be their product. memmem takes linear time in the C libraries that have it.)
size_t find(std::string_view text, std::string_view wanted, size_t at) {
#if defined(__unix__) || defined(__APPLE__)
  constexpr size_t kShort = 32;
  if (wanted.size() > kShort) {
    const void* const found = memmem(text.data() + at, text.size() - at, wanted.data(), wanted.size());
    return found == nullptr ? text.npos : static_cast<size_t>(static_cast<const char*>(found) - text.data());
  }
#endif
  return text.find(wanted, at);
}

}  // namespace

bool replace_all(Bytes in, std::string_view from, std::string_view to, GrowthLimit limit, std::string& out,
                 Tracking* tracking) {
  const std::string_view text = view_of(in);
  Pace pace;
  size_t at = 0;
  const size_t last = from.empty() ? 0 : from.find_last_not_of(kContinuationBytes);
  const auto replace = [&](size_t found) {
    pace.step(from.size() + to.size());
    if (tracking != nullptr) {
      if (at < found) tracking->copied(at, found - at, out.size());
      tracking->replaced(found + last, to, out.size() + (found - at));
    }
    out.append(text, at, found - at);
    out += to;
    at = found + from.size();
    return !limit.is_above(bytes_of(out));
  };
  if (from.size() == 1) {  // most often the space
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == from[0] && !replace(i)) return false;
    }
  } else {
    for (size_t found; (found = find(text, from, at)) != std::string_view::npos;) {
      if (!replace(found)) return false;
    }
  }
  if (tracking != nullptr && at < text.size()) tracking->copied(at, text.size() - at, out.size());
  out.append(text, at);
  return true;
}

bool squeeze_spaces(Bytes in, std::string_view to, GrowthLimit limit, std::string& out, Tracking* tracking) {
  const std::string_view text = view_of(in);
  Pace pace;
  size_t at = 0;
  for (size_t found; (found = text.find("  ", at)) != std::string_view::npos;) {
    pace.step(found - at + 1);
    const size_t end = std::min(text.find_first_not_of(' ', found), text.size());
    if (tracking != nullptr) {
      if (at < found) tracking->copied(at, found - at, out.size());
      tracking->replaced(end - 1, to, out.size() + (found - at));
    }
    out.append(text, at, found - at);
    out += to;
    at = end;
    if (limit.is_above(bytes_of(out))) return false;
  }
  if (tracking != nullptr && at < text.size()) tracking->copied(at, text.size() - at, out.size());
  out.append(text, at);
  return true;
}

Bytes stripped(Bytes text, bool left, bool right) {
  const uint8_t *begin = text.data(), *end = begin + text.size();
  while (left && begin < end) {
    const uint8_t* p = begin;
    if (!is_space(next_char(p, end))) break;
    begin = p;
  }
  while (right && begin < end) {
    const uint8_t *last = previous_char(end, begin), *p = last;
    if (!is_space(next_char(p, end))) break;
    end = last;
  }
  return {begin, static_cast<size_t>(end - begin)};
}

}  // namespace tokcli
