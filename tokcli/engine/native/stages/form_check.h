// Bringing a text into a normal form where it is not in it: as a rule it is, and one pass over it says so. Over plain ASCII
// the pass runs at the speed of memory.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "base/id_buffer.h"
#include "characters/characters.h"
#include "characters/normal_forms.h"

namespace tokcli {

class FormCheck {
 public:
  explicit FormCheck(NormalForm form) : form_(form) {}
  // Returns whether a text (UTF-8) is in the form; one that is not is written to `out` in that form.
  bool keeps(Bytes text, ByteBuffer& out) const;

 private:
  template <class Visit>
  void visit_runs(Bytes text, const Visit& visit) const;
  bool normalize(Bytes run, std::vector<FormChar>& made) const;
  // Returns the form_value of a character. (0 stands for a value that has not been found yet.)
  uint8_t value(uint32_t point) const {
    const auto find = [this](uint32_t c) { return static_cast<uint8_t>(form_value(form_, c) ^ kNotFound); };
    return values_.get(point, find) ^ kNotFound;
  }
  static constexpr uint8_t kNotFound = 252;  // which is no form_value

  const NormalForm form_;
  FoundValues<uint8_t> values_;
};

}  // namespace tokcli
