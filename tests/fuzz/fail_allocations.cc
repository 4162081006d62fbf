// Every allocation of the native code fails once: the call ends with std::bad_alloc, or with a right answer, and what it
// was made with gives right answers afterwards.
//
// operator new and realloc count; the one with the number `fail_at` fails, and, where `fails_on`, all after it too.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <new>
#include <optional>
#include <span>

#include "bpe/merge_list.h"
#include "bpe/ranked_merges.h"
#include "models/longest_match.h"
#include "patterns/row_matcher.h"
#include "samples.h"
#include "text/decimal.h"
#include "stages/form_check.h"
#include "tiktoken/decoder.h"
#include "tiktoken/encoder_pool.h"
#include "training/blocks.h"
#include "training/trainer.h"

namespace {

std::atomic<long> count{0}, fail_at{-1};
std::atomic<bool> fails_on{false};

bool fails() {
  const long number = count++, at = fail_at;
  return at >= 0 && (fails_on ? number >= at : number == at);
}

}  // namespace

void* operator new(size_t size) {
  void* p = fails() ? nullptr : std::malloc(size ? size : 1);
  return p == nullptr ? throw std::bad_alloc() : p;
}
void* operator new(size_t size, std::align_val_t align) {
  void* p = fails() ? nullptr : std::aligned_alloc(static_cast<size_t>(align), (size + 63) / 64 * 64);
  return p == nullptr ? throw std::bad_alloc() : p;
}
void* operator new(size_t size, const std::nothrow_t&) noexcept { return fails() ? nullptr : std::malloc(size ? size : 1); }
void* operator new[](size_t size) { return operator new(size); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete[](void* p, size_t) noexcept { std::free(p); }
extern "C" void* __real_realloc(void* p, size_t size);
extern "C" void* __wrap_realloc(void* p, size_t size) { return fails() ? nullptr : __real_realloc(p, size); }

using namespace fuzz;
using tokcli::kNone;

namespace {

long failures = 0;

// Runs `work` with each of its allocations failing in turn, and `check` after each of them. `work` returns whether what
// it found is right.
template <class Work, class Check>
void sweep(const char* name, const Work& work, const Check& check) {
  for (const bool on : {false, true}) {
    for (long at = 0;; ++at) {
      fails_on = on;
      count = 0;
      fail_at = at;
      bool has_failed = false, is_right = true;
      try {
        is_right = work();
      } catch (const std::bad_alloc&) {
        has_failed = true;
      }
      fail_at = -1;
      CLAIM(is_right);
      check();
      if (count <= at) break;  // it was never reached
      failures += has_failed;
      CLAIM(at < 1'000'000);
    }
  }
  std::printf("%s: every allocation failed once\n", name);
}

std::vector<std::string> all_tokens() {
  std::vector<std::string> tokens = single_bytes();
  for (const char* token : {"ab", "abab", " the", "international", "中文", "zz", "zzzz", "a token of more bytes than a key"})
    tokens.emplace_back(token);
  return tokens;
}

std::string text_of(size_t words) {
  std::string text;
  for (size_t i = 0; i < words; ++i)
    text += " the internationalabab" + std::to_string(i % 97) + std::string(i % 70, 'z') + "中文 ";
  return text;
}

void fail_encoding() {
  const std::vector<std::string> tokens = all_tokens();
  const std::vector<uint8_t> expected_image = image_of(tokens);
  sweep("build", [&] { return image_of(tokens) == expected_image; }, [] {});
  tokcli::Vocabulary vocabulary;
  CLAIM(vocabulary.open(expected_image));
  const std::string small = text_of(40), large = text_of(20'000);
  const auto encoded = [&](tokcli::EncoderPool& pool, std::string_view text, size_t threads) {
    tokcli::IdBuffer ids;
    pool.encode({Family::kCl100k}, bytes_of(text), threads, &ids);
    return Ids(ids.data(), ids.data() + ids.size());
  };
  tokcli::EncoderPool first(vocabulary);
  const Ids of_small = encoded(first, small, 1), of_large = encoded(first, large, 1);
  tokcli::EncoderPool pool(vocabulary);
  sweep("a new pool", [&] {
    tokcli::EncoderPool fresh(vocabulary);
    return encoded(fresh, small, 1) == of_small;
  }, [] {});
  sweep("encode", [&] { return encoded(pool, small, 1) == of_small; }, [&] { CLAIM(encoded(pool, small, 1) == of_small); });
  sweep("encode in threads", [&] { return encoded(pool, large, 3) == of_large; },
        [&] { CLAIM(encoded(pool, small, 1) == of_small); });
  const std::vector<tokcli::Text> texts(30, tokcli::Text::of(bytes_of(small)));
  sweep("encode in shares", [&] {
    size_t sum = 0;
    tokcli::encode_in_shares(texts, 2, by_encoders(pool), [&](std::span<tokcli::BatchShare> ready) {
      for (const auto& share : ready) sum += share.ids.size();
    });
    return sum == 30 * of_small.size();
  }, [&] { CLAIM(encoded(pool, small, 1) == of_small); });
  const std::string long_piece(5000, 'z');
  tokcli::Encoder encoder(vocabulary);
  sweep("encode_piece", [&] {
    tokcli::IdBuffer ids;
    return encoder.encode_piece(bytes_of(long_piece), &ids).count == 1250;
  }, [] {});
  sweep("decimal", [&] {
    tokcli::IdBuffer ids;
    return tokcli::parse_decimal(bytes_of("1, 2 3"), &ids) && ids.size() == 3;
  }, [] {});
  const tokcli::IdView all{reinterpret_cast<const uint8_t*>(of_small.data()), of_small.size(), 4};
  sweep("decode", [&] {
    const tokcli::Decoder decoder(vocabulary, {{1000, "special"}});
    size_t size = 0;
    return !decoder.measure(all, &size) && size == small.size();
  }, [] {});
  std::vector<tokcli::Token> table;
  for (size_t i = 0; i < tokens.size(); ++i)
    table.push_back({bytes_of(tokens[i]).data(), static_cast<uint32_t>(i), static_cast<uint32_t>(tokens[i].size())});
  const std::vector<tokcli::Vocabulary::Merge> merges{{'a', 'b', 256}, {256, 256, 257}, {'z', 'z', 261}, {261, 261, 262}};
  sweep("rank_merges", [&] {
    const auto ranked = tokcli::rank_merges(table, merges, true);
    return ranked && ranked->merges.size() == 4;
  }, [] {});
  sweep("merge_list", [&] {
    tokcli::TextTable texts_of(tokens.size());
    for (uint32_t i = 0; i < tokens.size(); ++i) texts_of.add(tokens[i], i);
    tokcli::MergeReader reader(texts_of, 0);
    if (!reader.add("a", "b") || !reader.add("zz", "zz")) return false;
    const auto read = reader.merges();
    return read && read->size() == 2 && (*read)[1][2] == 262;
  }, [] {});
}

void fail_text_models() {
  std::string text = "ab <unk> ";
  for (int i = 0; i < 300; ++i) text += "abc" + std::string(static_cast<size_t>(i) % 40, 'a') + "b \u4e2d";
  for (const tokcli::Models::Used used : kModels) {
    tokcli::TextModel model;
    fill(model, used);
    tokcli::ScratchPool scratch{tokcli::TextScratch::Source{}};
    const Ids expected = encode(model, bytes_of(text), scratch);
    CLAIM(expected.size() > 100);
    sweep("make a text model", [&] {
      tokcli::TextModel made;
      fill(made, used);
      return true;
    }, [] {});
    sweep("encode with a text model", [&] {
      tokcli::ScratchPool fresh{tokcli::TextScratch::Source{}};
      return encode(model, bytes_of(text), fresh) == expected;
    }, [] {});
    tokcli::ScratchPool used_again{tokcli::TextScratch::Source{}};
    sweep("encode with what another call left", [&] { return encode(model, bytes_of(text), used_again) == expected; },
          [&] { CLAIM(encode(model, bytes_of(text), used_again) == expected); });
    sweep("image of a text model", [&] {
      tokcli::TextImageWriter writer;
      model.fields(writer);
      const std::vector<uint8_t> image = writer.finish();
      tokcli::TextModel opened;
      opened.open(image);
      tokcli::ScratchPool fresh{tokcli::TextScratch::Source{}};
      return encode(opened, bytes_of(text), fresh) == expected;
    }, [] {});
  }
}

void fail_checks() {
  const tokcli::FormCheck check(tokcli::NormalForm::kNfc);
  const auto is_made = [&] {
    tokcli::ByteBuffer out;
    return !check.keeps(bytes_of("aae\u0301 b"), out) && chars({out.data(), out.size()}) == "aa\u00e9 b";
  };
  sweep("bring a text into a form", [&] {
    tokcli::ByteBuffer out;
    check.keeps(bytes_of("a\u4e2dz\u0301"), out);
    return is_made();
  }, [&] { CLAIM(is_made()); });
}

// The ends of a text's pieces, by patterns of which one worker or another may have been used before.
std::vector<size_t> pieces_by(tokcli::MatcherPool& pool, std::string_view text) {
  const tokcli::MatcherPool::Lease matcher(pool);
  matcher->begin(bytes_of(text), true);
  const uint8_t* ends[8];
  std::vector<size_t> found;
  for (const uint8_t *const begin = bytes_of(text).data(), *p = begin;;) {
    const size_t count = matcher->find(p, ends, nullptr, std::size(ends));
    for (size_t i = 0; i < count; ++i) found.push_back(static_cast<size_t>(ends[i] - begin));
    if (count < std::size(ends)) return found;
    p = ends[count - 1];
  }
}

void fail_patterns() {
  const std::string text = text_of(3);
  for (const bool is_row : {false, true}) {
    const size_t count = is_row ? 2 : 1;
    const tokcli::Patterns patterns{.programs = std::vector<tokcli::Program>(count, words_or_spaces()),
                                    .cuts = std::vector<tokcli::Cut>(count, tokcli::Cut::kAround),
                                    .is_row = is_row};
    tokcli::MatcherPool whole(patterns);
    const std::vector<size_t> expected = pieces_by(whole, text);
    std::optional<tokcli::MatcherPool> pool;
    sweep("split", [&] {
      pool.emplace(patterns);
      return pieces_by(*pool, text) == expected;
    }, [&] { CLAIM(!pool || pieces_by(*pool, text) == expected); });
  }
}

// A search that reads a text backwards, with an automaton that is made when one first needs it.
void fail_searches() {
  const std::string text(1000, 'a');
  std::optional<tokcli::LongestMatch> match;
  const auto finds = [&] { return match->find(bytes_of(text), SIZE_MAX).size() == text.size(); };  // (two for each "aa")
  sweep("search", [&] {
    match.reset();
    match.emplace(std::vector<std::string_view>{"aaaaaaaaaaaab", "aa", "b"});
    return finds();
  }, [&] { CLAIM(!match || finds()); });
}

void fail_training() {
  const std::string text = text_of(3000) + std::string(100, 'q') + " a long piece of letters";
  std::string many;
  for (int i = 0; i < 20'000; ++i) many += " w" + std::to_string(i * 7919);
  for (const std::string& corpus : {text, many}) {
    tokcli::PieceTable whole;
    whole.count_text({Family::kR50k}, bytes_of(corpus));
    tokcli::PieceTable kept;
    sweep("count pieces", [&] {
      tokcli::PieceTable table;
      table.count_text({Family::kR50k}, bytes_of(corpus));
      return table.size() == whole.size() && table.sorted() == whole.sorted();
    }, [] {});
    sweep("count on", [&] {
      kept.count_text({Family::kR50k}, bytes_of(corpus));
      return kept.size() == whole.size();
    }, [&] {  // what has been counted is still found
      const size_t size = kept.size();
      for (size_t i = 0; i < size; ++i) {
        const std::string piece(kept[i].bytes);
        const uint64_t before = kept[i].count;
        kept.add(bytes_of(piece), 1);
        CLAIM(kept.size() == size && kept[i].count == before + 1);
      }
    });
    sweep("add a table", [&] {
      tokcli::PieceTable sum;
      sum.add_all(whole);
      sum.add_all(whole);
      return sum.size() == whole.size() && sum[0].count == 2 * whole[0].count;
    }, [] {});
    tokcli::TrainerOptions options;
    options.vocab_size = 300;
    options.token_bytes.assign(256, 1);
    const auto learn = [&] {
      const std::unique_ptr<tokcli::Trainer> trainer = tokcli::Trainer::make(options);
      trainer->add_table(whole, false);
      std::vector<tokcli::LearnedMerge> merges;
      while (trainer->run(std::chrono::milliseconds(1000), 10, merges)) continue;
      std::vector<uint64_t> rows;
      for (const auto& merge : merges) rows.insert(rows.end(), {merge.left, merge.right, merge.count});
      return rows;
    };
    const std::vector<uint64_t> expected = learn();
    CLAIM(!expected.empty());
    sweep("train", [&] { return learn() == expected; }, [] {});
  }
  const auto block = [](std::initializer_list<std::string_view> pieces) {
    tokcli::BlockWriter writer;
    for (const std::string_view piece : pieces) writer.add(piece, 3);
    return writer.take();
  };
  sweep("merge runs", [&] {
    tokcli::RunMerger merger(2);
    if (!merger.feed(0, block({"a", "b", "c"})) || !merger.feed(1, block({"b", "d"}))) return false;
    std::string rows;
    for (;;) {
      const auto state = merger.merge(2);
      if (state == tokcli::RunMerger::State::kBlock) rows += merger.take();
      else if (state == tokcli::RunMerger::State::kNeedsInput) merger.feed(merger.run(), "");
      else return state == tokcli::RunMerger::State::kDone && !rows.empty();
    }
  }, [] {});
}

}  // namespace

int main() {
  fail_encoding();
  fail_text_models();
  fail_checks();
  fail_patterns();
  fail_searches();
  fail_training();
  std::printf("%ld allocations failed\n", failures);
}
