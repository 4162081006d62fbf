// Any program on any text: the pieces, and the alternative that matched each, are those of a search that goes back, the
// text at once or a few pieces at a time; what is found before the end of a text is found whatever follows it; and two
// programs in a row cut as one after the other does.
//
// An input: flags, the number of steps, eight sets, four bytes for each step; with the second flag the same again; the
// text.
#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "patterns/row_matcher.h"
#include "samples.h"

using namespace fuzz;
using tokcli::Program;
using Step = tokcli::ProgramStep;

namespace {

constexpr uint32_t kFirsts[] = {0, '\n', '\v', ' ', '!', '0', ':', 'a', 'b', 0x80, 0x4e00, 0x1f600};
constexpr uint8_t kClasses[] = {0, 1, 0, 2, 0, 3, 0, 4, 5, 6, 4, 6};
constexpr uint32_t kSets = 8;

struct Machine {
  Program program;
  std::vector<Step> steps;
  bool searches, is_first_of_two;
};

std::unique_ptr<Machine> machine_of(Input& input) {
  auto made = std::make_unique<Machine>();
  const uint8_t flags = input.byte();
  made->searches = flags & 1;
  made->is_first_of_two = flags & 2;
  const size_t count = 1 + input.byte() % 40;
  std::vector<uint8_t> sets(kSets * sizeof(Program::Set));
  for (size_t i = 0; i < kSets; ++i) {
    const uint8_t bits = input.byte();
    sets[i * sizeof(Program::Set)] = bits & 0x7F;
    sets[i * sizeof(Program::Set) + Program::kEdge / 8] = bits & 0x80;
  }
  std::vector<uint32_t> words;
  for (size_t i = 0; i < count; ++i) {
    const uint8_t kind = input.byte(), a = input.byte(), b = input.byte(), c = input.byte();
    const auto near = [&](uint8_t value) {  // often the next step
      return static_cast<uint32_t>((value & 0x40 ? i + 1 : value & 0x80 ? i + 2 + value % 4 : value) % count);
    };
    Step step{};
    switch (kind % 8) {
      case 0: case 1: case 2: step = {Step::kTake, a % kSets, 0, near(c)}; break;
      case 3: case 4: step = {Step::kFork, near(a), near(b), 0}; break;
      case 5: step = {Step::kCheck, a % kSets, b % kSets, near(c)}; break;
      default: step = {Step::kMatch, 1u + a % 3, 0, 0};
    }
    made->steps.push_back(step);
    words.insert(words.end(), {step.kind, step.a, step.b, step.c});
  }
  CLAIM(made->program.open(kFirsts, kClasses, sets, words, 0));
  return made;
}

struct Piece {
  size_t end;
  unsigned alternative;
  bool operator==(const Piece&) const = default;
};

// The preferred match at a place: the first that going through all ways finds, the preferred one first. `kinds`: the
// classes of the characters.
std::optional<Piece> match(const Machine& machine, std::span<const unsigned> kinds, size_t from) {
  const Program& program = machine.program;
  const auto kind = [&](size_t at) { return at < kinds.size() ? kinds[at] : Program::kEdge; };
  std::vector<bool> seen(machine.steps.size() * (kinds.size() + 1));
  std::vector<std::pair<size_t, size_t>> waiting{{program.start(), from}};
  while (!waiting.empty()) {
    const auto [number, at] = waiting.back();
    waiting.pop_back();
    if (seen[number * (kinds.size() + 1) + at]) continue;
    seen[number * (kinds.size() + 1) + at] = true;
    const Step& step = machine.steps[number];
    switch (step.kind) {
      case Step::kTake:
        if (at < kinds.size() && program.has(step.a, kinds[at])) waiting.emplace_back(step.c, at + 1);
        break;
      case Step::kFork:
        waiting.emplace_back(step.b, at);
        waiting.emplace_back(step.a, at);
        break;
      case Step::kCheck:
        if (program.has(step.a, at ? kinds[at - 1] : Program::kEdge) && program.has(step.b, kind(at)))
          waiting.emplace_back(step.c, at);
        break;
      default: return Piece{at, step.a};
    }
  }
  return std::nullopt;
}

struct Found {
  std::vector<Piece> pieces;
  bool has_failed = false;
  bool operator==(const Found&) const = default;
};

Found split_slowly(const Machine& machine, std::span<const unsigned> kinds, bool searches) {
  Found found;
  for (size_t at = 0; at < kinds.size();) {
    std::optional<Piece> piece = match(machine, kinds, at);
    if (!piece || piece->end == at) {
      if (!searches) {
        found.has_failed = true;
        break;
      }
      piece = {at + 1, 0};
    }
    at = piece->end;
    found.pieces.push_back(*piece);
  }
  return found;
}

// Pieces that are no matches come one by one or several at once.
Found joined(Found found) {
  std::vector<Piece> pieces;
  for (const Piece& piece : found.pieces) {
    if (piece.alternative == 0 && !pieces.empty() && pieces.back().alternative == 0) pieces.back() = piece;
    else pieces.push_back(piece);
  }
  return {std::move(pieces), found.has_failed};
}

// Each piece is a text of its own for the next program; what is between two matches is a piece, too.
Found split_in_row(const std::array<const Machine*, 2>& row, std::span<const unsigned> kinds) {
  Found found;
  if (!kinds.empty()) found.pieces.push_back({kinds.size(), 0});
  for (const Machine* machine : row) {
    size_t from = 0;
    for (const Piece& whole : std::exchange(found.pieces, {})) {
      for (const Piece& piece : joined(split_slowly(*machine, kinds.subspan(from, whole.end - from), true)).pieces)
        found.pieces.push_back({from + piece.end, 0});
      from = whole.end;
    }
  }
  return found;
}

// Takes the pieces from a matcher, whose ends are numbers of characters then.
template <class AnyMatcher>
Found split(AnyMatcher& matcher, Bytes text, const std::vector<size_t>& numbers, size_t room) {
  Found found;
  const uint8_t* ends[64];
  uint16_t alternatives[64];
  for (const uint8_t* p = text.data();;) {
    const size_t count = matcher.find(p, ends, alternatives, room);
    for (size_t i = 0; i < count; ++i) found.pieces.push_back({numbers[ends[i] - text.data()], alternatives[i]});
    if (count > 0) p = ends[count - 1];
    if (count < room) break;
  }
  found.has_failed = matcher.has_failed();
  return found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input{data, size};
  const std::unique_ptr<Machine> machine = machine_of(input);
  const std::unique_ptr<Machine> second = machine->is_first_of_two ? machine_of(input) : nullptr;
  std::vector<uint32_t> points;
  const std::vector<uint8_t> text(input.p, input.p + decode_utf8({input.p, input.left}, points));
  std::vector<unsigned> kinds;
  std::vector<size_t> numbers(text.size() + 1, SIZE_MAX);  // of the characters before a byte that begins one
  for (size_t at = 0; const uint32_t point : points) {
    numbers[at] = kinds.size();
    kinds.push_back(kClasses[std::upper_bound(std::begin(kFirsts), std::end(kFirsts), point) - std::begin(kFirsts) - 1]);
    at += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  }
  numbers[text.size()] = kinds.size();
  const Found expected = second ? split_in_row({machine.get(), second.get()}, kinds)
                                : joined(split_slowly(*machine, kinds, machine->searches));
  tokcli::Patterns patterns{.programs = {machine->program}, .cuts = {tokcli::Cut::kAround}, .is_row = second != nullptr};
  if (second) {
    patterns.programs.push_back(second->program);
    patterns.cuts.push_back(tokcli::Cut::kAround);
  }
  tokcli::RowMatcher matcher(patterns);
  for (const size_t room : {64, 1, 3}) {  // the later ones with the states of the first
    if (machine->searches && !second) matcher.begin_search(text);
    else matcher.begin(text, true);
    const Found found = split(matcher, text, numbers, room);
    CLAIM((second ? found : joined(found)) == expected);
  }
  if (machine->searches || second) return 0;
  std::vector<uint32_t> fewer;
  const size_t half = decode_utf8(Bytes(text).first(text.size() / 2), fewer);
  const std::vector<uint8_t> part(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(half));
  matcher.begin(part, false);
  const Found early = split(matcher, part, numbers, 64);
  CLAIM(early.pieces.size() <= expected.pieces.size());
  CLAIM(std::equal(early.pieces.begin(), early.pieces.end(), expected.pieces.begin()));
  return 0;
}
