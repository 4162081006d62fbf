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

  // The five ways from text to ids: a text, the number of its ids, a text whose pieces are known, many texts, and records in
  // one buffer.
  nb::object encode(nb::handle text, nb::handle by, bool as_list, Number<int> threads);
  nb::object count(nb::handle text, nb::handle by, Number<int> threads);
  nb::tuple encode_pieces(nb::handle data, nb::handle ends, bool is_noise, bool keeps_ids, bool keeps_counts);
  nb::object encode_batch(nb::list texts, nb::handle by, bool as_lists, Number<int> threads);
  nb::object encode_records(nb::handle data, nb::handle ends, Number<size_t> separator_size, nb::handle by,
                            bool is_noise, nb::handle tokens, bool keeps_ids);
  nb::bytes decode(nb::handle ids) const;
  nb::object decode_str(nb::handle ids) const;

 private:
  Outcome run(nb::handle text, nb::handle by, int threads, IdBuffer* out);
  nb::object list_of_text(nb::handle text, nb::handle by);
  nb::object lists_of_texts(nb::list given, nb::handle by, int threads);
  template <class Done>
  bool each_record(nb::handle data, nb::handle given_ends, size_t separator_size, const Splitting& by, bool is_noise,
                   nb::handle given_tokens, IdBuffer* ids, const Done& done);

  StableView image_;
  Vocabulary vocabulary_;
  EncoderPool pool_;
  IntCache ints_;
};

}  // namespace tokcli
