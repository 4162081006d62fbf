// The check of texts for shortcuts, and normalizers that look at characters.
#include <nanobind/nanobind.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <optional>

#include "characters/char_steps.h"
#include "module/bindings.h"
#include "module/classes/character_names.h"
#include "module/classes/py_vocabulary.h"
#include "text/text_check.h"
#include "text/utf8.h"

using namespace tokcli;

namespace {

// In the order of CharStep::Kind.
constexpr std::array<const char*, CharStep::kKinds> kStepNames{"form", "lower", "without"};

// Calls `work` with the text of a str, or of UTF-8 in a buffer, without the GIL.
template <class Work>
auto with_text(nb::handle given, const Work& work) {
  if (PyUnicode_Check(given.ptr())) {
    const Text text = text_of(given);
    const ReleasedGil released;
    return work(text);
  }
  const StableView view(given);
  const ReleasedGil released;
  return work(Text::of(view.bytes()));
}

// --- the check -------------------------------------------------------------------------------------------------------

std::unique_ptr<TextCheck> make_check(nb::handle blob, nb::handle sizes, nb::handle ids, nb::handle form,
                                      nb::handle refused) {
  const TokenTable table(blob, sizes, ids);
  auto ranges = items_of<uint32_t>(refused);
  if (ranges.size() % 2 != 0 || !std::is_sorted(ranges.begin(), ranges.end()))
    throw nb::value_error("a range has a first and a last character, and ranges are in order");
  std::optional<NormalForm> to;
  if (!form.is_none()) to = static_cast<NormalForm>(number_of_name(form, kFormNames));
  auto check = std::make_unique<TextCheck>(to, std::move(ranges));
  for (const Token& token : table.tokens) check->add_token({token.bytes, token.size}, token.id);
  check->sort_tokens();
  return check;
}

nb::object read_checked(const TextCheck& check, nb::handle given) {
  ByteBuffer rewritten;
  const auto verdict = with_text(given, [&](const Text& text) { return check.read(text, rewritten); });
  if (verdict == TextCheck::Verdict::kRewritten) return to_bytes(view_of({rewritten.data(), rewritten.size()}));
  return nb::bool_(verdict == TextCheck::Verdict::kFine);
}

nb::bytes find_checked(const TextCheck& check, nb::handle given) {
  return to_bytes(with_text(given, [&](const Text& text) { return check.find(text); }));
}

nb::bytes breaks_of(const TextCheck& check, nb::handle text) {
  if (!PyUnicode_Check(text.ptr())) raise_wrong_type("str", text);
  return to_bytes(with_text(text, [&](const Text& given) { return check.breaks(given); }));
}

// --- normalizers -----------------------------------------------------------------------------------------------------

struct Normalizer {
  std::vector<CharStep> steps;
};

std::unique_ptr<Normalizer> make_normalizer(nb::list given) {
  auto made = std::make_unique<Normalizer>();
  for (nb::handle step : own_list(given)) {
    const auto [name, what] = items_of_tuple<2>(step);
    CharStep one{static_cast<CharStep::Kind>(number_of_name(name, kStepNames))};
    if (one.kind == CharStep::Kind::kForm) one.which = number_of_name(what, kFormNames);
    if (one.kind == CharStep::Kind::kWithout) one.which = number_of_name(what, kClassNames);
    made->steps.push_back(one);
  }
  return made;
}

nb::object normalized(const Normalizer& normalizer, nb::handle given) {
  if (!PyUnicode_Check(given.ptr())) raise_wrong_type("str", given);
  const Text text = text_of(given);
  std::string made, other;
  bool has_utf8 = true;
  {
    const ReleasedGil released;
    made.resize(text.size * kMostUtf8);
    const size_t size = text.is_utf8 ? text.size : to_utf8(text, reinterpret_cast<uint8_t*>(made.data()));
    has_utf8 = size != kSurrogate;
    if (text.is_utf8) made = view_of(text.bytes());
    made.resize(has_utf8 ? size : 0);
    for (const CharStep& step : normalizer.steps) {
      other.clear();
      apply(step, bytes_of(made), other);
      made.swap(other);
    }
  }
  if (!has_utf8) return nb::none();
  return owned(PyUnicode_DecodeUTF8(made.data(), static_cast<Py_ssize_t>(made.size()), "strict"));
}

}  // namespace

void bind_characters(nb::module_& module) {
  nb::class_<TextCheck>(module, "TextCheck")
      .def(made_by(&make_check), nb::arg("blob"), nb::arg("sizes"), nb::arg("ids"), nb::arg("form").none() = nb::none(),
           nb::arg("refused") = nb::bytes("", 0))
      .def("read", &read_checked)
      .def("find", &find_checked)
      .def("breaks", &breaks_of);
  nb::class_<Normalizer>(module, "Normalizer").def(made_by(&make_normalizer)).def("normalize", &normalized);
}
