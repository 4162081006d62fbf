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

  bool verify() const;
  nb::bytes source() const;
  nb::bytes parents() const;
  nb::bytes unknown(nb::handle ids) const;
  nb::list tokens() const;

  // A check that does not hold makes the answer None.
  nb::object count(nb::handle text, nb::handle by, Number<int> threads, const TextCheck* check);
  nb::object encode(nb::handle text, nb::handle by, const TextCheck* check);
  nb::object encode_str(nb::handle text, nb::handle by, Number<int> threads, const TextCheck* check);
  nb::object count_buffer(nb::handle data, nb::handle by, Number<int> threads);
  IdBuffer encode_buffer(nb::handle data, nb::handle by, Number<int> threads);
  nb::list encode_piece(nb::handle piece);
  nb::bytes count_pieces(nb::list pieces);
  nb::object encode_batch(nb::list texts, nb::handle by, Number<int> threads, const TextCheck* check);
  nb::list encode_batch_lists(nb::list texts, nb::handle by, Number<int> threads, const TextCheck* check);
  nb::object encode_records(nb::handle data, nb::handle ends, Number<size_t> separator_size, nb::handle by,
                            bool is_noise, nb::handle tokens, bool puts_space);
  nb::object count_records(nb::handle data, nb::handle ends, Number<size_t> separator_size, nb::handle by,
                           bool is_noise, nb::handle tokens, bool puts_space);
  // Of a text whose pieces end at known places (uint64), as `split` or, where `is_noise`, `split_noise` has them.
  nb::object count_split(nb::handle data, nb::handle ends, bool is_noise);
  IdBuffer encode_split(nb::handle data, nb::handle ends, bool is_noise);
  nb::tuple encode_each(nb::handle data, nb::handle ends);
  nb::bytes decode(nb::handle ids) const;
  nb::object decode_str(nb::handle ids) const;

 private:
  Outcome run(const Splitting& by, const Text& text, int threads, const TextCheck* check, IdBuffer* out, nb::handle given = {});
  uint64_t run_split(nb::handle data, nb::handle ends, bool is_noise, IdBuffer* out,
                     std::vector<uint32_t>* counts = nullptr);
  template <class Done>
  bool each_record(nb::handle data, nb::handle given_ends, size_t separator_size, const Splitting& by, bool is_noise,
                   nb::handle given_tokens, bool puts_space, IdBuffer* ids, const Done& done);
  Result run_piece(Bytes piece, IdBuffer* out);

  StableView image_;
  Vocabulary vocabulary_;
  EncoderPool pool_;
  IntCache ints_;
};

}  // namespace tokcli
