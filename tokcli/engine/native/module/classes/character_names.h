// What Python calls normal forms, steps and classes of characters.
#pragma once

#include <algorithm>
#include <array>

#include "characters/characters.h"
#include "characters/normal_forms.h"
#include "module/python_views.h"

namespace tokcli {

// In the order of NormalForm and of CharacterClass.
constexpr std::array<const char*, kForms> kFormNames{"NFC", "NFD", "NFKC", "NFKD"};
constexpr std::array<const char*, 9> kClassNames{
    "MARK", "BERT_MARK", "BERT_CONTROL", "PUNCTUATION", "NUMERIC", "WORD", "SPACE", "EXTEND", "PREPEND"};

// Returns the place of a name among others; ValueError where it is none of them.
template <size_t kCount>
uint8_t number_of_name(nb::handle name, const std::array<const char*, kCount>& names) {
  if (!PyUnicode_Check(name.ptr())) raise_wrong_type("str", name);
  const auto is_it = [&](const char* one) { return PyUnicode_CompareWithASCIIString(name.ptr(), one) == 0; };
  const auto found = std::find_if(names.begin(), names.end(), is_it);
  if (found == names.end()) throw nb::value_error("there is no form, step or class with this name");
  return static_cast<uint8_t>(found - names.begin());
}

// Returns the items of a tuple with so many.
template <size_t kCount>
std::array<nb::handle, kCount> items_of_tuple(nb::handle tuple) {
  if (!PyTuple_CheckExact(tuple.ptr()) || PyTuple_GET_SIZE(tuple.ptr()) != Py_ssize_t{kCount})
    raise_wrong_type("a tuple of the right size", tuple);
  std::array<nb::handle, kCount> items;
  for (size_t i = 0; i < kCount; ++i) items[i] = PyTuple_GET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(i));
  return items;
}

}  // namespace tokcli
