// Unicode's normal forms, and where their characters come from: the twin of engine/unicode/forms.py. The tables are of
// Unicode 12.0, as those of Hugging Face's tokenizers, whatever Python's own are.
#pragma once

#include <cstddef>
#include <vector>

#include "base/watch.h"
#include "characters/character_tables.h"

namespace tokcli {

enum class NormalForm : uint8_t { kNfc, kNfd, kNfkc, kNfkd };
constexpr uint8_t kForms = 4;

inline const FormRecord& form_record(uint32_t point) {
  if (point >= kFormEnd) return kFormRecords[0];
  return kFormRecords[kFormIn[kFormBlock[point / kCharacterBlock] * kCharacterBlock + point % kCharacterBlock]];
}

// Returns the combining class of a character; kChanges, which is none, where a form may change the character or join it
// to the one before. A text is in the form where no character is kChanges, and no class but 0 lower than the one before.
constexpr uint8_t kChanges = 251;
inline uint8_t form_value(NormalForm form, uint32_t point) {
  const FormRecord& record = form_record(point);
  return record.changes >> static_cast<unsigned>(form) & 1 ? kChanges : record.combining;
}

// A character of a normal form. It replaces one character of the text (`change` 0), or one and the next n (-n), or it is
// added to what replaces the one before (1).
struct FormChar {
  uint32_t point;
  int32_t change;
};

// Normalizes characters one after another. Those that the next ones may change are held back.
class FormMaker {
 public:
  FormMaker(NormalForm form, std::vector<FormChar>& out)
      : out_(out), composes_(form == NormalForm::kNfc || form == NormalForm::kNfkc),
        is_compatible_(form == NormalForm::kNfkc || form == NormalForm::kNfkd) {}
  void add(uint32_t point);
  // Ends the text; another one may follow.
  void finish();

 private:
  struct Mark {
    FormChar made;
    uint8_t combining;
  };
  void put(FormChar made, uint8_t combining);
  void settle();
  void sort_marks();

  std::vector<FormChar>& out_;
  const bool composes_, is_compatible_;
  bool has_starter_ = false;
  FormChar starter_{};              // where it composes: the last character of class 0
  std::vector<Mark> marks_, other_;  // those after it
  Pace pace_;
};

}  // namespace tokcli
