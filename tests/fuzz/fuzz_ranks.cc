// Models of ranks: the stages of byte-level tokenizers. All ways to ask give the same ids; their bytes are the text in its
// normal form, apart from added tokens; their places are in the text.
//
// An input: the family of patterns, flags; then the text, in parts that interact.
#include "harness.h"
#include "input/valid_utf8.h"
#include "samples.h"
#include "stages/form_check.h"
#include "text/text.h"

using namespace fuzz;

namespace {

constexpr uint32_t kAdded = 1 << 20;
constexpr std::string_view kParts[] = {"a", "b", " ", "\n", "ab", "abab", "<a>", "<a", ">", "e", "\u0301", "\u00e9", "\u1e69",
                                       "\u4e2d", "\u0e01", "\U0001f600", "\u1100", "\u1161", "9", "  ", "\u0323", "the"};

struct Made {
  Ids ids;
  tokcli::Spans spans;
};

Made made_by(const tokcli::TextModel& model, Bytes text, tokcli::ScratchPool& pool, size_t threads, bool places, bool takes) {
  const uint8_t state = tokcli::AddedTokens::kFound;
  tokcli::IdBuffer ids, blanks;
  Made made;
  tokcli::Refusal refusal;
  const tokcli::EncoderPool::TakeIds take = [&](size_t) { made.ids.insert(made.ids.end(), ids.data(), ids.data() + ids.size()); };
  tokcli::TextModel::Task task{text, {&state, 1}, {}, threads};
  task.ids = &ids;
  if (places) task.spans = &made.spans;
  if (places) task.blanks = &blanks;
  if (takes) task.take = &take;
  tokcli::TextWorker worker(pool);
  const size_t count = model.encode(task, worker, refusal);
  CLAIM(!refusal.is_refused);
  take(0);
  CLAIM(count == made.ids.size() && (!places || (made.spans.size() == 2 * count && blanks.size() == 2 * count)));
  return made;
}

// `takes_spaces`: the added token takes the spaces beside it, so the bytes of ids are not the whole text.
void check(const tokcli::TextModel& model, const tokcli::Vocabulary& vocabulary, const std::string& text, bool takes_spaces) {
  tokcli::ScratchPool pool{tokcli::TextScratch::Source{}};
  const Bytes bytes = bytes_of(text);
  const Made one = made_by(model, bytes, pool, 1, false, false), placed = made_by(model, bytes, pool, 1, true, false);
  CLAIM(placed.ids == one.ids);
  CLAIM(made_by(model, bytes, pool, 1, false, true).ids == one.ids);
  CLAIM(made_by(model, bytes, pool, 3, false, false).ids == one.ids);
  const Made shared = made_by(model, bytes, pool, 3, true, false);
  CLAIM(shared.ids == one.ids);
  CLAIM(std::equal(shared.spans.data(), shared.spans.data() + shared.spans.size(), placed.spans.data()));
  tokcli::ByteBuffer form;
  const bool is_plain = text.find("<a>") == text.npos;
  const bool is_kept = tokcli::FormCheck(tokcli::NormalForm::kNfc).keeps(bytes, form) && (is_plain || !takes_spaces);
  std::string whole;
  for (size_t i = 0; i < one.ids.size(); ++i) {
    std::string_view token = "<a>";
    const uint64_t begin = placed.spans.data()[2 * i], end = placed.spans.data()[2 * i + 1];
    CLAIM(begin <= end && end <= tokcli::points_in(bytes).count);
    if (one.ids[i] != kAdded) CLAIM(vocabulary.token(one.ids[i], &token));
    // a character belongs to every token that has bytes of it
    if (is_kept) CLAIM(begin + 1 == tokcli::points_in(bytes.first(whole.size() + 1)).count);
    whole += token;
    if (is_kept) CLAIM(end == tokcli::points_in(bytes.first(whole.size())).count);
  }
  if (is_kept) CLAIM(whole == text);
  else if (is_plain) CLAIM(whole == chars({form.data(), form.size()}));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<uint8_t> image = [] {
    std::vector<std::string> tokens = single_bytes();
    for (const std::string_view token : {"ab", "abab", "th", "the", " a", "\u00e9", "\u4e2d", "  ", "e\xcc"}) tokens.emplace_back(token);
    return image_of(tokens);
  }();
  static tokcli::Vocabulary vocabulary;
  static const bool is_open = vocabulary.open(image);
  CLAIM(is_open);
  if (size > 2000) return 0;
  Input input{data, size};
  static tokcli::EncoderPool encoders{vocabulary};
  tokcli::TextModel model;
  fill_ranks(model, encoders, static_cast<Family>(input.byte() % tokcli::kFamilies));
  const uint8_t flags = input.byte();
  std::string text;
  while (input.left > 0) text += kParts[input.byte() % std::size(kParts)];
  if (flags & 1) model.raw.build({"<a>"}, {{kAdded}});
  check(model, vocabulary, text, (flags & 1) == 0);
  return 0;
}
