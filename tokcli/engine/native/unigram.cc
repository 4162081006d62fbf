#include "unigram.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tokcli {

namespace {

constexpr float kReset = 100000.0f;  // as in sentencepiece.py

// Calls visit(end, token) for each token that the text at `begin` begins with, the shortest first; and once more with
// kUnknownToken for its first character, where that is no token by itself.
template <class Visit>
void each_token(const Trie& tokens, Bytes word, size_t begin, const Visit& visit) {
  const size_t single = std::min(begin + utf8_size(word[begin]), word.size());
  bool has_single = false;
  uint32_t node = Trie::kRoot;
  for (size_t end = begin; end < word.size();) {
    node = tokens.step(node, word[end++]);
    if (node == kNothing) break;
    const uint32_t token = tokens.value(node);
    if (token == kNothing) continue;
    has_single |= end == single;
    visit(end, token);
  }
  if (!has_single) visit(single, kUnknownToken);
}

bool is_inside(Bytes word, size_t at) { return (word[at] & 0xC0) == 0x80; }

}  // namespace

Unigram::Unigram(const Trie& tokens, std::vector<double> scores, double unknown_score)
    : tokens_(tokens), scores_(std::move(scores)), unknown_score_(unknown_score), largest_(std::abs(unknown_score)) {
  for (const double score : scores_) largest_ = std::max(largest_, std::abs(score));
}

double Unigram::search(Bytes word, double start, WordScratch& scratch) const {
  auto& best = scratch.best;
  auto& steps = scratch.steps;
  best.assign(word.size() + 1, 0.0);
  steps.assign(word.size() + 1, {0, kNothing});
  best[0] = start;
  for (size_t begin = 0; begin < word.size(); ++begin) {
    if (is_inside(word, begin)) continue;
    const double here = best[begin];
    each_token(tokens_, word, begin, [&](size_t end, uint32_t token) {
      const double total = score(token) + here;
      if (steps[end].token != kNothing && !(total > best[end])) return;
      best[end] = total;
      steps[end] = {static_cast<uint32_t>(begin), token};
    });
  }
  return best[word.size()];
}

float Unigram::search(Bytes word, float start, WordScratch& scratch) const {
  auto& best = scratch.best_single;
  auto& steps = scratch.steps;
  best.assign(word.size() + 1, 0.0f);
  steps.assign(word.size() + 1, {0, kNothing});
  best[0] = start;
  size_t frontier = 0;
  for (size_t begin = 0; begin < word.size(); ++begin) {
    if (is_inside(word, begin)) continue;
    float here = best[begin];
    if (!(-kReset <= here && here <= kReset)) {
      for (size_t at = begin; at <= frontier; ++at) {
        if (at == begin || steps[at].token != kNothing) best[at] -= here;
      }
      here = 0.0f;
    }
    each_token(tokens_, word, begin, [&](size_t end, uint32_t token) {
      frontier = std::max(frontier, end);
      const float total = static_cast<float>(score(token)) + here;
      if (steps[end].token != kNothing && !(total > best[end])) return;
      best[end] = total;
      steps[end] = {static_cast<uint32_t>(begin), token};
    });
  }
  return best[word.size()];
}

bool Unigram::tokens(Bytes word, WordScratch& scratch) const {
  auto& ids = scratch.ids;
  ids.clear();
  bool is_known = true;
  for (size_t end = word.size(); end > 0; end = scratch.steps[end].begin) {
    ids.push_back(scratch.steps[end].token);
    is_known &= ids.back() != kUnknownToken;
  }
  std::reverse(ids.begin(), ids.end());
  return is_known;
}

template <class Sum>
double Unigram::sure_up_to(Bytes word, WordScratch& scratch) const {
  constexpr double unit = std::numeric_limits<Sum>::epsilon() / 2;
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  auto &best = scratch.best, &second = scratch.second;
  best.assign(word.size() + 1, kNone);
  second.assign(word.size() + 1, kNone);
  best[0] = 0.0;
  size_t chars = 0;
  for (size_t begin = 0; begin < word.size(); ++begin) {
    if (is_inside(word, begin)) continue;
    ++chars;
    each_token(tokens_, word, begin, [&](size_t end, uint32_t token) {
      for (const double here : {best[begin], second[begin]}) {
        const double total = here + score(token);
        if (total > best[end]) {
          second[end] = best[end];
          best[end] = total;
        } else if (total > second[end]) {
          second[end] = total;
        }
      }
    });
  }
  // A sum of n scores, rounded n times, is off by at most n * unit * (the largest sum on its way).
  const double margin = (best[word.size()] - second[word.size()]) * 0.999 - 1e-6;
  const double largest = static_cast<double>(chars) * largest_;
  return std::min(margin / (2.02 * static_cast<double>(chars) * unit), double{most<Sum>}) - largest;
}
template double Unigram::sure_up_to<float>(Bytes, WordScratch&) const;
template double Unigram::sure_up_to<double>(Bytes, WordScratch&) const;

bool UnigramModel::encode(Bytes word, WordScratch& scratch) const {
  unigram_.search(word, 0.0, scratch);
  auto& ids = scratch.ids;
  ids.clear();
  // from the end, for the steps point backwards; unknown ones as (begin, end) of what was fused
  auto& symbols = scratch.symbols;
  symbols.clear();
  for (size_t end = word.size(); end > 0;) {
    const auto [begin, token] = scratch.steps[end];
    const bool is_unknown = token == kUnknownToken || (unknown_.id != kNothing && ids_[token] == unknown_.id);
    const uint32_t id = is_unknown ? kNothing : ids_[token];
    if (is_unknown && !symbols.empty() && symbols.back().id == kNothing) symbols.back().begin = begin;
    else symbols.push_back({id, begin, static_cast<uint32_t>(end), 0, 0});
    end = begin;
  }
  for (size_t i = symbols.size(); i-- > 0;) {
    const auto& symbol = symbols[i];
    if (symbol.id != kNothing) {
      ids.push_back(symbol.id);
      continue;
    }
    const Bytes text = word.subspan(symbol.begin, symbol.end - symbol.begin);
    const uint32_t known = texts_.find(text.data(), text.size());
    const auto has_byte = [&](uint8_t byte) { return unknown_.bytes[byte] != kNothing; };
    if (known != kNothing) {
      ids.push_back(ids_[known]);
    } else if (unknown_.to_bytes && std::all_of(text.begin(), text.end(), has_byte)) {
      for (const uint8_t byte : text) ids.push_back(unknown_.bytes[byte]);
    } else {
      if (unknown_.id == kNothing) return false;
      ids.push_back(unknown_.id);
    }
  }
  return true;
}

}  // namespace tokcli
