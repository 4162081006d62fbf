// From Python's ids to bytes and str: what `Vocabulary.decode` and `Vocabulary.decode_str` do.
#pragma once

#include "bpe/vocabulary.h"
#include "module/python_views.h"

namespace tokcli {

// Returns the bytes of a sequence of ids. KeyError for an id that is no token; TypeError and OverflowError as for any int.
nb::bytes bytes_of_ids(const Vocabulary& vocabulary, nb::handle ids);
// Returns their text, with U+FFFD for bytes that are not UTF-8, as bytes.decode("utf-8", "replace") has it.
nb::object text_of_ids(const Vocabulary& vocabulary, nb::handle ids);

}  // namespace tokcli
