// Training on any pieces: the merges are those of a count of all pairs before each merge, in any portions of time, with
// any memory; counts in blocks are read back as they were written, and blocks of any bytes are refused or read.
//
// An input: flags, the number of merges, the least count, the longest token, the memory; then pieces, each with a size
// and a count.
#include <algorithm>
#include <map>
#include <set>

#include "harness.h"
#include "training/blocks.h"
#include "training/trainer.h"

using namespace fuzz;

namespace {

struct Piece {
  std::string bytes;
  uint64_t count;
};
using Merges = std::vector<std::array<uint64_t, 3>>;

// The definition: of the most frequent pairs the one with the smallest ids, or the first one, becomes a token.
Merges train_slowly(const std::vector<Piece>& pieces, const tokcli::TrainerOptions& options) {
  std::vector<std::vector<uint32_t>> rows;
  for (const Piece& piece : pieces) rows.emplace_back(bytes_of(piece.bytes).begin(), bytes_of(piece.bytes).end());
  std::vector<uint64_t> sizes(options.token_bytes.begin(), options.token_bytes.end());
  Merges merges;
  while (sizes.size() < options.vocab_size) {
    std::map<std::pair<uint32_t, uint32_t>, std::pair<uint64_t, uint64_t>> pairs;  // the count, and where it is first
    uint64_t place = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (pieces[i].count == 0) continue;
      for (size_t k = 0; k + 1 < rows[i].size(); ++k, ++place) {
        auto& [count, first] = pairs.try_emplace({rows[i][k], rows[i][k + 1]}, 0, place).first->second;
        count += pieces[i].count;
      }
    }
    const auto longest = options.max_token_bytes ? options.max_token_bytes : UINT64_MAX;
    std::erase_if(pairs, [&](const auto& pair) {
      return sizes[pair.first.first] + sizes[pair.first.second] > longest ||
             pair.second.first < std::max<uint64_t>(options.min_frequency, 1);
    });
    if (pairs.empty()) break;
    const auto best = std::ranges::min_element(pairs, [&](const auto& a, const auto& b) {
      if (a.second.first != b.second.first) return a.second.first > b.second.first;
      return options.first_wins ? a.second.second < b.second.second : a.first < b.first;
    });
    const auto [left, right] = best->first;
    merges.push_back({left, right, best->second.first});
    for (auto& row : rows) {
      std::vector<uint32_t> made;
      for (size_t k = 0; k < row.size(); ++k) {
        const bool is_pair = k + 1 < row.size() && row[k] == left && row[k + 1] == right;
        made.push_back(is_pair ? static_cast<uint32_t>(sizes.size()) : row[k]);
        k += is_pair;
      }
      row = std::move(made);
    }
    sizes.push_back(sizes[left] + sizes[right]);
  }
  return merges;
}

Merges train(const std::vector<Piece>& pieces, const tokcli::TrainerOptions& options, size_t portion) {
  const std::unique_ptr<tokcli::Trainer> trainer = tokcli::Trainer::make(options);
  for (const Piece& piece : pieces) trainer->add_bytes(piece.bytes, piece.count);
  std::vector<tokcli::LearnedMerge> merges;
  while (trainer->run(std::chrono::milliseconds(1000), portion, merges)) continue;
  Merges rows;
  for (const auto& merge : merges) rows.push_back({merge.left, merge.right, merge.count});
  return rows;
}

void check_blocks(const std::vector<Piece>& pieces, Bytes data) {
  tokcli::PieceTable table;
  std::map<std::string, uint64_t> expected;
  for (const Piece& piece : pieces) {
    table.add(bytes_of(piece.bytes), piece.count);
    if (!piece.bytes.empty() && piece.count > 0) expected[piece.bytes] += piece.count;
  }
  CLAIM(table.size() == expected.size());
  tokcli::BlockWriter writer;
  auto row = expected.begin();
  for (const uint32_t number : table.sorted()) {
    CLAIM(table[number].bytes == row->first && table[number].count == row->second);
    writer.add(table[number].bytes, table[number].count);
    ++row;
  }
  const std::string block = writer.take();
  tokcli::PieceTable read;
  CLAIM(tokcli::add_rows(read, bytes_of(block)) && read.size() == table.size());
  tokcli::PieceTable any;
  (void)tokcli::add_rows(any, data);
  tokcli::RunMerger merger(2);
  if (!merger.feed(0, block) || !merger.feed(1, std::string(chars(data)))) return;
  for (int calls = 0; calls < 1000; ++calls) {
    const auto state = merger.merge(64);
    if (state == tokcli::RunMerger::State::kBlock) CLAIM(!merger.take().empty());
    else if (state != tokcli::RunMerger::State::kNeedsInput) return;
    else CLAIM(merger.feed(merger.run(), ""));
  }
  CLAIM(false);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 2000) return 0;
  Input input{data, size};
  const uint8_t flags = input.byte();
  tokcli::TrainerOptions options;
  options.vocab_size = 256 + input.byte() % 64;
  options.min_frequency = input.byte() % 8;
  options.max_token_bytes = flags & 1 ? input.byte() % 16 : 0;
  options.memory = flags & 2 ? input.byte() * 8u : 0;
  options.first_wins = flags & 4;
  options.token_bytes.assign(256, 1);
  if (flags & 64) options.vocab_size = 256 + (1 << 16);
  std::vector<Piece> pieces;
  while (input.left > 0) {
    const size_t length = input.byte() % 24;
    const uint64_t count = input.byte() % 9;
    Piece piece{"", count};
    for (size_t i = 0; i < length; ++i) piece.bytes += static_cast<char>(flags & 8 ? 'a' + input.byte() % 3 : input.byte());
    pieces.push_back(std::move(piece));
  }
  if (flags & 64) pieces.resize(std::min<size_t>(pieces.size(), 4));
  const Merges expected = train_slowly(pieces, options), learned = train(pieces, options, 1 + flags / 16 % 4);
  if (learned != expected) {
    std::fprintf(stderr, "flags %u, %zu merges, %zu expected\n", unsigned{flags}, learned.size(), expected.size());
    for (size_t i = 0; i < std::min(learned.size(), expected.size()); ++i) {
      if (learned[i] == expected[i]) continue;
      for (const auto& row : {learned[i], expected[i]})
        std::fprintf(stderr, "%zu: %llu %llu, %llu times\n", i, static_cast<unsigned long long>(row[0]),
                     static_cast<unsigned long long>(row[1]), static_cast<unsigned long long>(row[2]));
      break;
    }
  }
  CLAIM(learned == expected);
  check_blocks(pieces, {data, size});
  return 0;
}
