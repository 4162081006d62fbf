// Concurrent use, for ThreadSanitizer: what module/ lets several threads use at once is used by them, as it does.
//
//     race SECONDS
#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/fork.h"
#include "base/threads.h"
#include "models/longest_match.h"
#include "patterns/row_matcher.h"
#include "samples.h"
#include "tiktoken/decoder.h"
#include "tiktoken/encoder_pool.h"
#include "training/blocks.h"
#include "training/trainer.h"

using namespace fuzz;

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kThreads = 6;

std::string text_of(size_t number) {
  std::string text;
  for (size_t i = 0; i < 400; ++i) text += " ab" + std::to_string((i * number) % 971) + (i % 5 ? "abab" : "x!\u4e2d");
  return text;
}

std::vector<std::string> tokens() {
  std::vector<std::string> made = single_bytes();
  made.insert(made.end(), {"ab", "abab", " ab"});
  return made;
}

// All that threads share.
struct Shared {
  std::vector<uint8_t> image = image_of(tokens());
  tokcli::Vocabulary vocabulary;
  tokcli::EncoderPool pool{vocabulary};
  tokcli::Decoder decoder{vocabulary, {{1000, "special"}}};
  tokcli::MatcherPool pattern{tokcli::Patterns{.programs = {words_or_spaces()}}};
  tokcli::TextModel model, placed, ranks;
  tokcli::LongestMatch match{{"aaaaaaaaaaaab", "aa", "b"}};
  tokcli::PieceTable pieces;
  tokcli::ObjectLock counting;

  explicit Shared(tokcli::Models::Used used) {
    CLAIM(vocabulary.open(image));
    fill(model, used);
    fill(placed, used);
    show_places(placed);
    placed.tokens.measure(placed.unknown);
    fill_ranks(ranks, pool);
  }
};

void use_vocabulary(Shared& shared, const std::string& text) {
  const tokcli::Text view = tokcli::Text::of(bytes_of(text));
  for (const tokcli::Splitting& by : {tokcli::Splitting{Family::kCl100k}, tokcli::Splitting{{}, &shared.pattern}}) {
    const uint64_t expected = shared.pool.encode(by, bytes_of(text), 1, nullptr).count;
    tokcli::IdBuffer ids;
    CLAIM(shared.pool.encode(by, bytes_of(text), 3, &ids).count == expected);
    tokcli::IdBuffer alone;
    shared.pool.encode(by, bytes_of(text), 1, &alone);
    CLAIM(std::equal(ids.data(), ids.data() + ids.size(), alone.data(), alone.data() + alone.size()));
    const std::vector<tokcli::Text> texts(9, view);
    size_t taken = 0;
    tokcli::encode_in_shares(texts, 3, by_encoders(shared.pool, by), [&](std::span<tokcli::BatchShare> ready) {
      for (const tokcli::BatchShare& share : ready) {
        for (const size_t count : share.sizes) taken += count == expected;
        CLAIM(share.ids.size() == share.sizes.size() * expected);
      }
    });
    CLAIM(taken == texts.size());
    const tokcli::IdView made{reinterpret_cast<const uint8_t*>(ids.data()), ids.size(), 4};
    size_t size = 0;
    CLAIM(!shared.decoder.measure(made, &size) && size == text.size());
    std::string decoded(size, '\0');
    shared.decoder.write(made, decoded.data(), size);
    CLAIM(decoded == text);
  }
  CLAIM(shared.vocabulary.parents().size() == 2 * shared.vocabulary.id_count() && shared.vocabulary.verify());
  tokcli::limit_instructions(text.size() % 2 ? tokcli::Instructions::kSse2 : tokcli::Instructions::kAvx512);
}

void use_model(tokcli::TextModel& model, const std::string& text, tokcli::Spans* spans) {
  tokcli::ScratchPool pool{tokcli::TextScratch::Source{}};
  tokcli::IdBuffer ids;
  tokcli::Refusal refusal;
  const uint8_t state = tokcli::AddedTokens::kFound;
  tokcli::TextModel::Task task{bytes_of(text), {&state, 1}, {}, 3};
  task.ids = &ids;
  task.spans = spans;
  tokcli::TextWorker worker(pool);
  model.encode(task, worker, refusal);
  CLAIM(refusal.is_refused || spans == nullptr || spans->size() == 2 * ids.size());
  tokcli::TextImageWriter writer;
  model.fields(writer);
  CLAIM(!writer.finish().empty());
}

void use_models(Shared& shared, const std::string& text) {
  tokcli::Spans spans;
  use_model(shared.model, text, nullptr);
  use_model(shared.placed, text, &spans);
}

// Threads encode with one model of ranks, each with encoders of the vocabulary that all share.
void use_ranks(Shared& shared, const std::string& text) {
  use_model(shared.ranks, text, nullptr);
  tokcli::Spans spans;
  use_model(shared.ranks, text, &spans);
}

// Threads read a text backwards, with an automaton that the first of them makes.
void use_search(Shared& shared, const std::string& text) {
  const std::string same(text.size() / 2 * 2, 'a');
  CLAIM(shared.match.find(bytes_of(same), SIZE_MAX).size() == same.size());
}

// Counts in a table of its own and in the one that all share, writes blocks and merges them, and learns merges.
void use_training(Shared& shared, const std::string& text) {
  tokcli::PieceTable own;
  own.count_text({Family::kCl100k}, bytes_of(text));
  tokcli::PieceTable by_pattern;
  CLAIM(by_pattern.count_text({{}, &shared.pattern}, bytes_of(text)));
  tokcli::BlockWriter writer;
  {
    const std::lock_guard lock(shared.counting);
    shared.pieces.add_all(own);
    for (const uint32_t number : shared.pieces.sorted()) writer.add(shared.pieces[number].bytes, shared.pieces[number].count);
  }
  tokcli::RunMerger merger(1);
  CLAIM(merger.feed(0, writer.take()));
  CLAIM(merger.merge(SIZE_MAX) == tokcli::RunMerger::State::kNeedsInput);
  tokcli::TrainerOptions options;
  options.vocab_size = 270;
  options.token_bytes.assign(256, 1);
  const auto trainer = tokcli::Trainer::make(options);
  trainer->add_table(own, false);
  std::vector<tokcli::LearnedMerge> merges;
  while (trainer->run(std::chrono::milliseconds(1000), 5, merges)) continue;
  CLAIM(merges.size() == 14);
}

// Work that fails in one thread ends in all of them.
void fail_in_one() {
  bool has_thrown = false;
  try {
    tokcli::in_threads(4, [](size_t i) {
      if (i == 2) throw std::invalid_argument("");
      for (int turn = 0; turn < 1000; ++turn) tokcli::work_done(1 << 16);
    });
  } catch (const std::invalid_argument&) {
    has_thrown = true;
  }
  CLAIM(has_thrown);
}

}  // namespace

int main(int count, char** arguments) {
  const auto end = Clock::now() + std::chrono::seconds(count > 1 ? std::atoi(arguments[1]) : 1);
  size_t rounds = 0;
  for (; Clock::now() < end; ++rounds) {
    Shared shared(kModels[rounds % std::size(kModels)]);
    constexpr std::array kUses{use_vocabulary, use_models, use_ranks, use_search, use_training};
    std::vector<std::thread> threads;
    for (size_t number = 1; number <= kThreads; ++number) {
      threads.emplace_back([&, number] {
        const std::string text = text_of(number);
        // each thread begins with another use, so that all of them meet
        for (size_t turn = 0; turn < 2 * kUses.size(); ++turn) kUses[(turn + number) % kUses.size()](shared, text);
      });
    }
    for (std::thread& thread : threads) thread.join();
    fail_in_one();
  }
  std::printf("%zu rounds\n", rounds);
}
