// `TextModel` of the Python module: the stages of a tokenizer. It is made once, from checked tables; after that any number
// of threads encode.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "base/fork.h"
#include "module/classes/py_vocabulary.h"
#include "module/id_objects.h"
#include "pipeline/text_model.h"

namespace tokcli {

// The states of added tokens, in a buffer; bytes are read in place.
class StatesView {
 public:
  explicit StatesView(nb::handle given) {
    if (!PyBytes_CheckExact(given.ptr())) view_.emplace(given);
    bytes_ = view_ ? view_->bytes() : bytes_of(std::string_view(PyBytes_AS_STRING(given.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(given.ptr()))));
  }
  Bytes bytes() const { return bytes_; }

 private:
  std::optional<StableView> view_;
  Bytes bytes_;
};

class PyTextModel {
 public:
  PyTextModel(nb::handle blob, nb::handle sizes, nb::handle ids);
  // Opens what image() returned, in a buffer that has to stay as it is.
  // (A file that is mapped is copied: what was checked once may not be changed or cut off afterwards.)
  explicit PyTextModel(nb::handle image);
  nb::bytes image();

  // --- making it (text_models_module.cc) -----------------------------------------------------------------------------

  void set_unknown(Number<uint32_t> id, nb::handle bytes, bool joins);
  void set_kept(nb::list texts);
  void use_pieces(nb::handle orders, nb::handle kept);
  void use_pairs(nb::handle pairs, nb::handle ranks, nb::handle made, bool has_unknown, bool fuses, Number<int> whole_first,
                 nb::handle prefix, nb::handle suffix);
  void use_word_piece(nb::handle prefix, Number<size_t> max_chars);
  void use_whole(bool by_character);
  void use_unigram(nb::handle scores, double unknown_score, Number<int> number);
  // Ranks: a Vocabulary, a family's number or a Pattern, and for text with characters of `exceptions` (ranges) another Pattern
  // or None; and whether a space is put before text.
  void use_ranks(nb::handle vocabulary, nb::handle by, nb::handle exact, nb::handle exceptions, bool puts_space);
  void set_words(Number<int> cut, nb::handle space, bool before_known);
  void set_metaspace(bool splits, bool blindly, Number<int> prefix);
  void set_added(bool normalized, nb::list tokens);
  void add_step(Number<int> kind, nb::handle from, nb::handle to, bool left, bool right);
  void set_spaces(nb::handle units, nb::handle texts, bool add_prefix, bool trim, bool as_suffix, bool is_llama,
                  nb::handle space);
  // The steps that look at characters, by name and by what they are about; the charsmap that one of them applies; the ranges of
  // characters (first, last and WordRange::Kind, uint32) of llama.cpp's words.
  void set_characters(nb::list steps, nb::handle units, nb::handle texts, nb::handle words);
  // The rules by which characters are sorted into groups: a kind, a class or a character, and a behavior.
  void set_groups(nb::list rules);

  // --- encoding ------------------------------------------------------------------------------------------------------

  // Each of these takes a str, in which surrogates are as to_utf8 has them, or a buffer of UTF-8 (ValueError: it is none). It
  // returns what it promises, or None where only Python can encode the text, and raises GrowthError where the normalizer makes
  // too much of it; of several texts, Python names the one.
  nb::object encode(nb::handle text, nb::handle raw, nb::handle normalized, Number<size_t> threads, bool as_list);
  nb::object count(nb::handle text, nb::handle raw, nb::handle normalized, Number<size_t> threads);
  // The ids of texts in a list: a list of lists, in which None stands for a text that only Python can encode; or the ids of all,
  // and where those of each begin and the last end (uint64), or None.
  nb::object encode_batch(nb::list texts, nb::handle raw, nb::handle normalized, Number<size_t> threads, bool as_lists);
  // The ids of a text, or of a part of a longer one (`begins`, `ends`: whether that begins and ends with it); the sum of all
  // scores after it (`sum` is the one before it); and, with `keeps_spans`, the spans of their characters (uint64, two for each),
  // and for ranks with how many spaces the text of each begins and ends (uint32, two for each; else None).
  nb::object encode_part(nb::handle text, nb::handle raw, nb::handle normalized, Number<size_t> threads, bool begins, bool ends,
                         double sum, bool keeps_spans);
  // The ends of parts of a text (uint64), as TextModel has them.
  nb::object part_ends(nb::handle text, nb::handle raw, nb::handle normalized, Number<size_t> size);
  // The bytes of a text (uint64) at which its pieces end, the last one with the text.
  nb::object split(nb::handle text, nb::handle raw, nb::handle normalized, Number<size_t> threads);
  // Records in one buffer, as PyVocabulary takes them; `before` (UTF-8) is put before each that is not empty. The ids, and where
  // those of each record begin and the last end (uint64), and with `keeps_spans` the spans of their characters in their records;
  // unless ids are kept, the number of ids of each (uint32).
  nb::object encode_records(nb::handle data, nb::handle ends, Number<size_t> separator_size, nb::handle raw,
                            nb::handle normalized, nb::handle before, bool keeps_ids, bool keeps_spans);

 private:
  // One call at a time makes the model, and none once a text was encoded: encoding reads without a lock what was made.
  enum class Making : uint8_t { kOpen, kChanging, kClosed };
  class Change {
   public:
    explicit Change(PyTextModel& model) : making_(model.making_) {
      Making from = Making::kOpen;
      if (!making_.compare_exchange_strong(from, Making::kChanging)) throw_in_use();
    }
    ~Change() { making_ = Making::kOpen; }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;

   private:
    std::atomic<Making>& making_;
  };
  [[noreturn]] static void throw_in_use();
  void close();
  template <class Make>
  nb::object encode_with(nb::handle text, nb::handle raw, nb::handle normalized, const TextModel::Task& given, const Make& make);
  struct Kept {  // of the tokens of records; null is not kept
    IdBuffer* ids = nullptr;
    Spans* spans = nullptr;
    IdBuffer* blanks = nullptr;
  };
  template <class Done, class Make>
  nb::object each_record(nb::handle data, nb::handle given_ends, size_t separator_size, nb::handle raw,
                         nb::handle normalized, nb::handle before, const Kept& kept, const Done& done, const Make& make);
  template <class Work, class Make>
  nb::object ask(nb::handle object, nb::handle raw, nb::handle normalized, const Work& work, const Make& make,
                 bool measures = false, bool in_parts = false);
  template <class Make>
  nb::object made(const Refusal& refusal, const Make& make) const;
  template <class Work>
  void read(const AnyText& text, bool in_parts, Refusal& refusal, const Work& work);
  nb::object list_of_ranks(nb::handle text, nb::handle raw, nb::handle normalized, TextModel::Task task);
  void check_states(const StatesView& raw, const StatesView& normalized) const;
  void measure_tokens();
  void use(Models::Used which);
  void build_trie();

  nb::object vocabulary_, by_, exact_;  // what the ranks refer to
  std::unique_ptr<StableView> image_;  // holds the image that the model was opened from, if it was
  TextModel model_;
  std::atomic<Making> making_{Making::kOpen};
  IntCache ints_;
  ReadersLock sizes_lock_;
  std::atomic<bool> is_measured_{false};
  ScratchPool pool_{TextScratch::Source{}};
};

}  // namespace tokcli
