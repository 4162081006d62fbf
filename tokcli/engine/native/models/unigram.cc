// Viterbi's search for the best path: see unigram.h.
#include "models/unigram.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "text/utf8.h"

namespace tokcli {

namespace {

constexpr float kReset = 100000.0f;  // as in engine/sentencepiece/model.py
constexpr size_t kLongest = 32;      // bytes of a token whose own path is found: it may take the square of its size

// Calls visit(end, token) for each token that the text at `begin` begins with, the shortest first. Where its first
// character, which ends at `single`, is no token, visit(single, kUnknownToken) is called last. Returns the number of bytes
// that were looked at.
template <class Visit>
size_t each_token(const Trie& tokens, Bytes word, size_t begin, size_t single, const Visit& visit) {
  bool has_single = false;
  uint32_t node = Trie::kRoot;
  size_t end = begin;
  while (end < word.size()) {
    node = tokens.step(node, word[end++]);
    if (node == kNone) break;
    const uint32_t token = tokens.value(node);
    if (token == kNone) continue;
    has_single |= end == single;
    visit(end, token);
  }
  if (!has_single) visit(single, kUnknownToken);
  return end - begin;
}

template <class Sum>
std::vector<Sum>& sums_of(WordScratch& scratch) {
  if constexpr (std::is_same_v<Sum, float>) return scratch.best_single;
  else return scratch.best;
}

}  // namespace

template <class Sum>
void Unigram::build(std::vector<double> scores, double unknown_score) {
  scores_ = std::move(scores);
  unknown_score_ = unknown_score;
  largest_ = std::abs(unknown_score);
  for (const double score : scores_) largest_ = std::max(largest_, std::abs(score));
  only_falls_ = unknown_score <= 0 && std::all_of(scores_.begin(), scores_.end(), [](double score) { return score <= 0; });
  WordScratch scratch;
  std::vector<float> whole;
  for (uint32_t token = 0; token < scores_.size(); ++token) {
    const Bytes word = bytes_of(tokens_.strings[token]);
    float limit = -1;
    if (word.size() <= kLongest) {
      search(word, Sum{0}, scratch, &limit);
      tokens(word, scratch);
      if (scratch.ids.size() != 1 || scratch.ids[0] != token) limit = -1;
    }
    whole.push_back(limit);
  }
  whole_ = std::move(whole);
}
template void Unigram::build<float>(std::vector<double>, double);
template void Unigram::build<double>(std::vector<double>, double);

// `kFindsSecond`: finds the score of the second path as well, in the same walk.
template <class Sum, bool kFindsSecond>
Sum Unigram::search_all(Bytes word, Sum start, WordScratch& scratch) const {
  constexpr double kNoPath = -std::numeric_limits<double>::infinity();
  auto& best = sums_of<Sum>(scratch);
  auto& steps = scratch.steps;
  auto& paths = scratch.paths;
  if (best.size() <= word.size()) best.resize(word.size() + 1);
  steps.assign(word.size() + 1, {0, kNone});
  best[0] = start;
  if constexpr (kFindsSecond) {
    paths.assign(word.size() + 1, {kNoPath, kNoPath});
    paths[0].best = 0.0;
  }
  size_t frontier = 0;
  for (size_t begin = 0, next; begin < word.size(); begin = next) {
    next = std::min(begin + utf8_size(word[begin]), word.size());
    Sum here = best[begin];
    if constexpr (std::is_same_v<Sum, float>) {
      if (!(-kReset <= here && here <= kReset)) [[unlikely]] {
        for (size_t at = begin; at <= frontier; ++at) {
          if (at == begin || steps[at].token != kNone) best[at] -= here;
        }
        here = 0.0f;
      }
    }
    const auto from = kFindsSecond ? paths[begin] : WordScratch::Paths{};
    const size_t seen = each_token(tokens_.trie, word, begin, next, [&](size_t end, uint32_t token) {
      frontier = std::max(frontier, end);
      const double more = score(token);
      const Sum total = static_cast<Sum>(more) + here;
      if (steps[end].token == kNone || total > best[end]) {
        best[end] = total;
        steps[end] = {static_cast<uint32_t>(begin), token};
      }
      if constexpr (kFindsSecond) {
        auto& to = paths[end];
        const double first = from.best + more, second = from.second + more;
        to.second = std::max(std::max(to.second, second), std::min(to.best, first));
        to.best = std::max(to.best, first);
      }
    });
    scratch.pace.step(4 + seen);
  }
  return best[word.size()];
}

template <class Sum>
Sum Unigram::search(Bytes word, Sum start, WordScratch& scratch, float* sure_up_to) const {
  if (sure_up_to == nullptr) return search_all<Sum, false>(word, start, scratch);
  const Sum found = search_all<Sum, true>(word, start, scratch);
  const auto chars = static_cast<double>(std::count_if(word.begin(), word.end(), begins_char));
  const auto& paths = scratch.paths[word.size()];
  const double margin = (paths.best - paths.second) * 0.999 - 1e-6;
  // A sum of n scores is rounded n times, and is off by at most n * unit * (the largest sum on the path).
  constexpr double kUnit = std::numeric_limits<Sum>::epsilon() / 2;
  const double limit = std::min(margin / (2.02 * chars * kUnit), double{most<Sum>}) - chars * largest_;
  *sure_up_to = static_cast<float>(limit * 0.999);
  return found;
}
template float Unigram::search(Bytes, float, WordScratch&, float*) const;
template double Unigram::search(Bytes, double, WordScratch&, float*) const;

void Unigram::tokens(Bytes word, WordScratch& scratch) const {
  auto& ids = scratch.ids;
  ids.clear();
  for (size_t end = word.size(); end > 0; end = scratch.steps[end].begin) ids.push_back(scratch.steps[end].token);
  std::reverse(ids.begin(), ids.end());
}

bool UnigramModel::encode(Bytes word, WordScratch& scratch) const {
  const auto is_unknown_token = [&](uint32_t token) { return unknown_.id != kNone && tokens_.ids[token] == unknown_.id; };
  scratch.clear();
  if (const uint32_t token = unigram_.whole(word, 0); token != kNone && !is_unknown_token(token)) {
    scratch.add(tokens_.ids[token], 0, word.size());
    return true;
  }
  unigram_.search(word, 0.0, scratch, nullptr);
  // from the end, as steps point backwards; the symbol of unknown characters is all that is fused
  auto& symbols = scratch.symbols;
  symbols.clear();
  for (size_t end = word.size(); end > 0;) {
    const auto [begin, token] = scratch.steps[end];
    const bool is_unknown = token == kUnknownToken || is_unknown_token(token);
    const uint32_t id = is_unknown ? kNone : tokens_.ids[token];
    if (is_unknown && !symbols.empty() && symbols.back().id == kNone) symbols.back().begin = begin;
    else symbols.push_back({id, begin, static_cast<uint32_t>(end), 0, 0});
    end = begin;
  }
  for (size_t i = symbols.size(); i-- > 0;) {
    const auto& symbol = symbols[i];
    const auto add = [&](uint32_t id) { scratch.add(id, symbol.begin, symbol.end); };
    if (symbol.id != kNone) {
      add(symbol.id);
      continue;
    }
    const Bytes text = word.subspan(symbol.begin, symbol.end - symbol.begin);
    const uint32_t known = tokens_.strings.find(text.data(), text.size());
    const auto has_byte = [&](uint8_t byte) { return unknown_.bytes[byte] != kNone; };
    if (known != kNone) {
      add(tokens_.ids[known]);
    } else if (unknown_.to_bytes && std::all_of(text.begin(), text.end(), has_byte)) {
      for (const uint8_t byte : text) add(unknown_.bytes[byte]);
    } else {
      if (unknown_.id == kNone) return false;
      add(unknown_.id);
    }
  }
  return true;
}

}  // namespace tokcli
