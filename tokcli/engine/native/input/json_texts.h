// The texts of JSON Lines: one member of each object, without parsing the rest into objects of Python.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace tokcli {

// Reads lines, each of which ends in a newline, and writes the string that member `name` of each one's object is, as
// UTF-8, one after another, and where each ends. `texts` has room for as many bytes as the lines have.
//
// Returns false, with texts that mean nothing, where there are no lines, and unless each line is one object as RFC 8259
// has it, whose members have plain names (without escapes), `name` once among them as a string and `other` not among
// them. It also returns false where parsers differ or answer in words: for half a surrogate pair in a text, long numbers,
// deep nesting and blank lines. Such lines are for the caller to parse by other means.
bool find_json_texts(Bytes lines, std::string_view name, std::string_view other, uint8_t* texts,
                     std::vector<uint64_t>* ends);

}  // namespace tokcli
