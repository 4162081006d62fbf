// Hostile images of models that are not byte-level: whatever stands in one, it is refused or used within its bounds.
// The checksum is made to fit, so that everything else is looked at.
//
// An input: which model, how many changes, how many bytes are cut off; eight bytes for each change; a sum of scores; a text.
#include <algorithm>
#include <bit>
#include <cmath>
#include <span>
#include <stdexcept>

#include "input/valid_utf8.h"
#include "samples.h"
#include "text/text.h"

using namespace fuzz;
using tokcli::TextModel;
using tokcli::TextWorker;

namespace {

const std::vector<uint8_t>& base(unsigned which) {
  static const std::vector<std::vector<uint8_t>> images = [] {
    std::vector<std::vector<uint8_t>> made;
    for (const tokcli::Models::Used used : kModels) {
      TextModel model;
      fill(model, used);
      tokcli::TextImageWriter writer;
      model.fields(writer);
      made.push_back(writer.finish());
    }
    return made;
  }();
  return images[which % images.size()];
}

// Finds the places of tokens twice, the second time with words from the cache: they are within the text.
void find_places(TextModel& model, Bytes text, tokcli::ScratchPool& pool) {
  show_places(model);
  model.tokens.measure(model.unknown);
  const std::vector<uint8_t> raw(model.raw.tokens.size(), tokcli::AddedTokens::kFound), normalized(model.normalized.tokens.size());
  for (int i = 0; i < 2; ++i) {
    tokcli::IdBuffer ids;
    tokcli::Refusal refusal;
    tokcli::Spans spans;
    TextModel::Task task{text, raw, normalized, 2};
    task.ids = &ids;
    task.spans = &spans;
    TextWorker worker(pool);
    model.encode(task, worker, refusal);
    const std::span<uint64_t> places(spans.data(), spans.size());
    const size_t chars = tokcli::points_in(text).count;
    CLAIM(std::ranges::all_of(places, [&](uint64_t place) { return place <= chars; }));
  }
}

// Encodes a text in the parts that it may be cut into: they have its ids and its places.
void encode_parts(TextModel& model, Bytes text, tokcli::ScratchPool& pool) {
  constexpr size_t kSize = 8;
  const std::vector<uint8_t> raw(model.raw.tokens.size(), tokcli::AddedTokens::kFound), normalized(model.normalized.tokens.size());
  tokcli::Refusal refusal;
  tokcli::IdBuffer ids, part_ids;
  tokcli::Spans spans, part_spans;
  const std::vector<uint64_t> ends = model.part_ends(text, raw, kSize);
  TextWorker worker(pool);
  TextModel::Task task{text, raw, normalized};
  task.ids = &ids;
  task.spans = &spans;
  model.encode(task, worker, refusal);
  size_t begin = 0;
  for (const uint64_t end : ends) {
    const size_t before = part_spans.size();
    TextModel::Task part{text.subspan(begin, end - begin), raw, normalized, 1, {begin == 0, end == text.size()}};
    part.ids = &part_ids;
    part.spans = &part_spans;
    model.encode(part, worker, refusal);
    const size_t chars = tokcli::points_in(text.first(begin)).count;
    for (size_t i = before; i < part_spans.size(); ++i) part_spans.data()[i] += chars;
    begin = end;
  }
  if (ends.empty() || refusal.is_refused) return;
  CLAIM(std::ranges::equal(std::span(ids.data(), ids.size()), std::span(part_ids.data(), part_ids.size())));
  CLAIM(std::ranges::equal(std::span(spans.data(), spans.size()), std::span(part_spans.data(), part_spans.size())));
}

// Finds the ends of pieces in one thread and in three: they are the same, and none is outside the text.
void split(const TextModel& model, Bytes text, tokcli::ScratchPool& pool) {
  const std::vector<uint8_t> raw(model.raw.tokens.size(), tokcli::AddedTokens::kFound), normalized(model.normalized.tokens.size());
  const auto ends_in = [&](size_t threads) {
    tokcli::Spans ends;
    tokcli::Refusal refusal;
    TextModel::Task task{text, raw, normalized, threads};
    task.piece_ends = &ends;
    TextWorker worker(pool);
    model.encode(task, worker, refusal);
    std::vector<uint64_t> found(ends.data(), ends.data() + (refusal.is_refused ? 0 : ends.size()));
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  };
  const std::vector<uint64_t> ends = ends_in(1);
  CLAIM(ends_in(3) == ends);
  CLAIM(ends.empty() || ends.back() <= text.size());
}

// Encodes a text after another one, whose scores have any sum: twice, the second time with words from the cache, in threads.
void encode_after(const TextModel& model, Bytes text, tokcli::ScratchPool& pool, float before) {
  const std::vector<uint8_t> raw(model.raw.tokens.size(), tokcli::AddedTokens::kFound), normalized(model.normalized.tokens.size());
  const auto encode_with = [&](size_t threads, double& sum) {
    tokcli::IdBuffer ids;
    tokcli::Refusal refusal;
    TextModel::Task task{text, raw, normalized, threads, {false, true}, &sum};
    task.ids = &ids;
    TextWorker worker(pool);
    model.encode(task, worker, refusal);
    return !refusal.is_refused ? Ids(ids.data(), ids.data() + ids.size()) : Ids();
  };
  double after = before, again = before;
  const Ids ids = encode_with(1, after);
  CLAIM(encode_with(3, again) == ids);
  CLAIM(ids.empty() || after == again || (std::isnan(after) && std::isnan(again)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input{data, size};
  const std::vector<uint8_t>& whole = base(input.byte());
  std::vector<uint8_t> image = whole;
  const unsigned changes = input.byte() % 8;
  const size_t cut = input.byte();
  for (unsigned i = 0; i < changes; ++i) (void)change(image, input);
  if (cut >= 128) image.resize(image.size() - std::min<size_t>(cut - 127, image.size() - 32));
  tokcli::seal(image);
  TextModel model;
  try {
    model.open(image);
  } catch (const std::invalid_argument&) {
    CLAIM(image != whole);
    return 0;
  }
  const auto before = std::bit_cast<float>(input.word());
  const Bytes text{input.p, input.left};
  if (tokcli::valid_utf8(text) != text.size()) return 0;
  tokcli::ScratchPool pool{tokcli::TextScratch::Source{}};
  const Ids ids = encode(model, text, pool);
  CLAIM(encode(model, text, pool) == ids);     // from the cache
  CLAIM(encode(model, text, pool, 1) == ids);  // in one thread
  encode_after(model, text, pool, before);
  tokcli::ScratchPool placing{tokcli::TextScratch::Source{}};  // what another pool keeps holds for sums through the whole text
  find_places(model, text, placing);
  encode_parts(model, text, placing);
  split(model, text, placing);
  return 0;
}
