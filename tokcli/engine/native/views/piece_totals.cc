// Adding up pieces: see piece_totals.h.
#include "views/piece_totals.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/hash.h"
#include "base/watch.h"

namespace tokcli {
namespace {

// Calls visit(index, piece) for each piece of a text.
template <class Visit>
void each_piece(Bytes text, std::span<const uint64_t> ends, const Visit& visit) {
  uint64_t begin = 0;
  Pace pace;
  for (size_t i = 0; i < ends.size(); ++i) {
    visit(i, view_of(text.subspan(begin, ends[i] - begin)));
    pace.step(ends[i] - begin);
    begin = ends[i];
  }
}

// Returns the size of the shortest of the `wanted` longest distinct pieces of at most `kept` bytes; 0 for fewer pieces.
size_t enough_of(Bytes text, std::span<const uint64_t> ends, size_t wanted, size_t kept) {
  std::vector<std::string_view> longest;  // in descending order of their sizes
  each_piece(text, ends, [&](size_t, std::string_view piece) {
    if (piece.size() > kept || (longest.size() == wanted && piece.size() <= longest.back().size())) return;
    if (std::find(longest.begin(), longest.end(), piece) != longest.end()) return;
    const auto is_longer = [](std::string_view a, std::string_view b) { return a.size() > b.size(); };
    longest.insert(std::upper_bound(longest.begin(), longest.end(), piece, is_longer), piece);
    if (longest.size() > wanted) longest.pop_back();
  });
  return longest.size() == wanted ? longest.back().size() : 0;
}

}  // namespace

AlternativeTotals alternative_totals(std::span<const uint64_t> ends, std::span<const uint16_t> alternatives) {
  AlternativeTotals totals;
  uint64_t begin = 0;
  Pace pace;
  for (size_t i = 0; i < ends.size(); ++i) {
    const size_t number = alternatives[i];
    if (number >= totals.pieces.size()) {
      totals.pieces.resize(number + 1);
      totals.bytes.resize(number + 1);
    }
    ++totals.pieces[number];
    totals.bytes[number] += ends[i] - begin;
    begin = ends[i];
    pace.step();
  }
  return totals;
}

std::vector<SplitPiece> split_pieces(Bytes text, std::span<const uint64_t> ends, std::span<const uint32_t> counts) {
  std::vector<SplitPiece> found;
  std::unordered_map<std::string_view, size_t, SeededHash> places;
  each_piece(text, ends, [&](size_t i, std::string_view piece) {
    if (counts[i] < 2) return;
    const auto [place, is_new] = places.try_emplace(piece, found.size());
    if (is_new) found.push_back({piece, counts[i], 0});
    ++found[place->second].times;
  });
  return found;
}

std::vector<uint64_t> long_pieces(Bytes text, std::span<const uint64_t> ends, size_t least, size_t wanted, size_t kept) {
  const size_t enough = least == 0 && wanted > 0 ? enough_of(text, ends, wanted, kept) : 0;
  std::vector<uint64_t> found;
  std::unordered_set<std::string_view, SeededHash> seen;
  each_piece(text, ends, [&](size_t i, std::string_view piece) {
    if (piece.size() > least && piece.size() >= enough && seen.insert(piece).second) found.push_back(i);
  });
  return found;
}

}  // namespace tokcli
