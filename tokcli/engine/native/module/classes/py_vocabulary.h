// `Vocabulary` of the Python module: an image that was opened, with encoders for any number of threads.
#pragma once

#include "module/id_objects.h"
#include "tiktoken/encoder_pool.h"

namespace tokcli {

// Returns a family by its number in Python; ValueError where there is none.
inline Family family_of(Number<int> number) {
  const int family = number;
  if (family < 0 || family >= kFamilies) throw nb::value_error("there is no family of patterns with this number");
  return static_cast<Family>(family);
}

// Returns how text is split by a family's number or a Pattern.
inline Splitting splitting_of(nb::handle by) {
  if (nb::isinstance<MatcherPool>(by)) return {{}, &nb::cast<MatcherPool&>(by)};
  if (!PyIndex_Check(by.ptr())) raise_wrong_type("int or Pattern", by);
  return {family_of(Number<int>(by))};
}

class PyVocabulary {
 public:
  explicit PyVocabulary(nb::handle image) : image_(image, Mapped::kInPlace), pool_(vocabulary_) {
    if (!vocabulary_.open(image_.bytes())) throw nb::value_error("not a vocabulary image of this version");
  }
  const Vocabulary& view() const { return vocabulary_; }
  EncoderPool& encoders() { return pool_; }

  bool verify() const;
  nb::bytes source() const;
  nb::bytes parents() const;
  nb::bytes unknown(nb::handle ids) const;
  nb::list tokens() const;

  // Merging of pieces that are known, and of records with bytes that are not UTF-8; a TextModel encodes texts.
  nb::tuple encode_pieces(nb::handle data, nb::handle ends, bool is_invalid, bool keeps_ids, bool keeps_counts);
  nb::object encode_invalid(nb::handle data, nb::handle ends, Number<size_t> separator_size, nb::handle by, bool keeps_ids);
  nb::bytes decode(nb::handle ids) const;
  nb::object decode_str(nb::handle ids) const;

 private:
  StableView image_;
  Vocabulary vocabulary_;
  EncoderPool pool_;
};

}  // namespace tokcli
