// Training on any pieces: the merges are those of a count of all pairs before each merge, in any portions of time, with
// any memory, and so are the most frequent pairs that are left; counts in blocks are read back as they were written, and
// blocks of any bytes are refused or read.
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
struct Trained {
  Merges merges;
  tokcli::PairsLeft left;
};

// The definition: of the most frequent pairs the one with the smallest ids, or the first one, becomes a token.
Trained train_slowly(const std::vector<Piece>& pieces, const tokcli::TrainerOptions& options) {
  std::vector<std::vector<uint32_t>> rows;
  for (const Piece& piece : pieces) rows.emplace_back(bytes_of(piece.bytes).begin(), bytes_of(piece.bytes).end());
  std::vector<uint64_t> sizes(options.token_bytes.begin(), options.token_bytes.end());
  Trained made;
  // Pairs are counted once more when no merge follows, unless none was wanted at all.
  for (bool is_complete = false; options.vocab_size > options.token_bytes.size();) {
    is_complete = sizes.size() >= options.vocab_size;
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
    tokcli::PairsLeft left;
    std::erase_if(pairs, [&](const auto& pair) {
      const bool is_too_long = sizes[pair.first.first] + sizes[pair.first.second] > longest;
      uint64_t& most = is_too_long ? left.most_too_long : left.most;
      most = std::max(most, pair.second.first);
      return is_too_long || pair.second.first < std::max<uint64_t>(options.min_frequency, 1);
    });
    made.left = left;
    if (pairs.empty() || is_complete) break;
    const auto best = std::ranges::min_element(pairs, [&](const auto& a, const auto& b) {
      if (a.second.first != b.second.first) return a.second.first > b.second.first;
      return options.first_wins ? a.second.second < b.second.second : a.first < b.first;
    });
    const auto [first, second] = best->first;
    made.merges.push_back({first, second, best->second.first});
    for (auto& row : rows) {
      std::vector<uint32_t> shorter;
      for (size_t k = 0; k < row.size(); ++k) {
        const bool is_pair = k + 1 < row.size() && row[k] == first && row[k + 1] == second;
        shorter.push_back(is_pair ? static_cast<uint32_t>(sizes.size()) : row[k]);
        k += is_pair;
      }
      row = std::move(shorter);
    }
    sizes.push_back(sizes[first] + sizes[second]);
  }
  return made;
}

Trained train(const std::vector<Piece>& pieces, const tokcli::TrainerOptions& options, size_t portion) {
  const std::unique_ptr<tokcli::Trainer> trainer = tokcli::Trainer::make(options);
  for (const Piece& piece : pieces) trainer->add_bytes(piece.bytes, piece.count);
  std::vector<tokcli::LearnedMerge> merges;
  while (trainer->run(std::chrono::milliseconds(1000), portion, merges)) continue;
  Trained made;
  for (const auto& merge : merges) made.merges.push_back({merge.left, merge.right, merge.count});
  made.left = trainer->end();
  CLAIM(!trainer->run(std::chrono::milliseconds(1000), 1, merges) && merges.size() == made.merges.size());
  return made;
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
  const Trained all_expected = train_slowly(pieces, options), all_learned = train(pieces, options, 1 + flags / 16 % 4);
  const Merges &expected = all_expected.merges, &learned = all_learned.merges;
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
  const tokcli::PairsLeft &left = all_learned.left, &expected_left = all_expected.left;
  CLAIM(left.most == expected_left.most && left.most_too_long == expected_left.most_too_long);
  check_blocks(pieces, {data, size});
  return 0;
}
