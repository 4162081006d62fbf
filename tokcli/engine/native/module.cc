// The Python face of the native backend: the only file that includes Python.h. It checks arguments, lets go of the GIL,
// and turns ids into Python's objects; what is computed is computed elsewhere.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "encoder.h"
#include "image.h"
#include "live_merges.h"
#include "python_views.h"
#include "text_check.h"
#include "text_ids.h"

namespace nb = nanobind;

void bind_merges(nb::module_& module);       // merges_module.cc
void bind_training(nb::module_& module);     // train_module.cc
void bind_text_models(nb::module_& module);  // models_module.cc

using namespace tokcli;

namespace {

constexpr size_t kBytesPerThread = 1 << 18;  // starting a thread costs what encoding some 20 kB does

Family family_of(int family) {
  if (family < 0 || family >= kFamilies) throw nb::value_error("no such family of patterns");
  return static_cast<Family>(family);
}

nb::bytes bytes_of(const void* data, size_t size) { return nb::bytes(static_cast<const char*>(data), size); }

// Ids in a buffer, and how many.
const uint32_t* ids_in(const BufferView& view, size_t* count) {
  const Bytes bytes = view.bytes();
  const bool is_aligned = reinterpret_cast<uintptr_t>(bytes.data()) % alignof(uint32_t) == 0;
  if (bytes.size() % sizeof(uint32_t) || !(is_aligned || bytes.empty()))
    throw nb::value_error("not a buffer of uint32");
  *count = bytes.size() / sizeof(uint32_t);
  return reinterpret_cast<const uint32_t*>(bytes.data());
}

// Ids as an object that has the buffer protocol: what was written is handed over, not copied.
int get_id_buffer(PyObject* self, Py_buffer* view, int flags) {
  IdBuffer* ids = nb::inst_ptr<IdBuffer>(self);
  static uint32_t none = 0;  // a buffer of no bytes still points somewhere
  void* data = ids->size() ? const_cast<uint32_t*>(ids->data()) : &none;
  return PyBuffer_FillInfo(view, self, data, static_cast<Py_ssize_t>(ids->size() * sizeof(uint32_t)), 1, flags);
}
PyType_Slot id_buffer_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_id_buffer)}, {0, nullptr}};

// Raises what a result says of its text; `text` is the str it was made from.
void raise(const Result& result, nb::handle text = {}) {
  if (result.surrogate) utf8_of(text);  // raises UnicodeEncodeError
  if (result.missing_byte) throw nb::key_error("a byte of the text is no token of this vocabulary");
}

// An image that was opened, and encoders that wait for their next call. Safe for any number of threads.
class PyVocabulary {
 public:
  explicit PyVocabulary(nb::handle image) : image_(image) {
    if (!vocabulary_.open(image_.bytes())) throw nb::value_error("not a vocabulary image of this version");
  }

  class Lease {  // an encoder for one thread, given back at the end
   public:
    explicit Lease(PyVocabulary& owner) : owner_(owner) {
      const std::lock_guard lock(owner.mutex_);
      if (!owner.idle_.empty()) {
        encoder_ = std::move(owner.idle_.back());
        owner.idle_.pop_back();
      }
      if (!encoder_) encoder_ = std::make_unique<Encoder>(owner.vocabulary_);
    }
    ~Lease() {
      const std::lock_guard lock(owner_.mutex_);
      if (owner_.idle_.size() < kIdle) owner_.idle_.push_back(std::move(encoder_));
    }
    Encoder* operator->() const { return encoder_.get(); }

   private:
    static constexpr size_t kIdle = 8;
    PyVocabulary& owner_;
    std::unique_ptr<Encoder> encoder_;
  };

  const Vocabulary& view() const { return vocabulary_; }
  bool verify() const {
    const nb::gil_scoped_release release;
    return vocabulary_.verify();
  }

  // None where a check is given and does not hold.
  nb::object count(nb::handle text, int family, int threads, const TextCheck* check) {
    return count_text(text_of(text), family_of(family), threads, check, text);
  }
  nb::object count_buffer(nb::handle data, int family, int threads) {
    const BufferView view(data);
    return count_text(Text::of(view.bytes()), family_of(family), threads, nullptr);
  }
  nb::object encode(nb::handle text, int family, const TextCheck* check) {
    Encoded made;
    if (!encode_text(text_of(text), family_of(family), 1, check, &made, text)) return nb::none();
    return ints_.list_of(made.ids.data(), made.ids.size());
  }
  IdBuffer encode_buffer(nb::handle data, int family, int threads) {
    const BufferView view(data);
    Encoded made;
    encode_text(Text::of(view.bytes()), family_of(family), threads, nullptr, &made);
    return std::move(made.ids);
  }
  nb::object encode_str(nb::handle text, int family, int threads, const TextCheck* check) {
    Encoded made;
    if (!encode_text(text_of(text), family_of(family), threads, check, &made, text)) return nb::none();
    return nb::cast(std::move(made.ids));
  }
  nb::list encode_piece(nb::handle data) {
    const BufferView view(data);
    Lease encoder(*this);
    IdBuffer ids;
    raise(encoder->encode_piece(view.bytes(), &ids));
    return ints_.list_of(ids.data(), ids.size());
  }

  // How many ids each of some pieces has (uint32).
  nb::bytes count_pieces(nb::list given) {
    const auto pieces = nb::steal<nb::list>(PyList_GetSlice(given.ptr(), 0, PY_SSIZE_T_MAX));
    Lease encoder(*this);
    std::vector<uint32_t> counts;
    counts.reserve(pieces.size());
    for (nb::handle piece : pieces) {
      const BufferView view(piece);
      const Result result = encoder->encode_piece(view.bytes(), nullptr);
      raise(result);
      counts.push_back(static_cast<uint32_t>(result.count));
    }
    return bytes_of(counts.data(), counts.size() * sizeof(uint32_t));
  }

  // All ids of some texts, and where each text's begin; None where a check does not hold for all of them.
  nb::object encode_batch(nb::list texts, int family, int threads, const TextCheck* check) {
    std::vector<Batch> batches = run_batches(texts, family_of(family), threads, check, true);
    for (const Batch& batch : batches) {
      if (batch.has_left_out) return nb::none();
    }
    std::vector<uint64_t> offsets{0};
    IdBuffer all = std::move(batches[0].ids);
    for (size_t i = 0; i < batches.size(); ++i) {
      for (const size_t size : batches[i].sizes) offsets.push_back(offsets.back() + size);
      if (i > 0) all.append(batches[i].ids);
    }
    return nb::make_tuple(nb::cast(std::move(all)), bytes_of(offsets.data(), offsets.size() * sizeof(uint64_t)));
  }
  // None in place of those for which a check does not hold.
  nb::list encode_batch_lists(nb::list texts, int family, int threads, const TextCheck* check) {
    const std::vector<Batch> batches = run_batches(texts, family_of(family), threads, check);
    nb::list out;
    for (const Batch& batch : batches) {
      const uint32_t* ids = batch.ids.data();
      for (const size_t size : batch.sizes) {
        if (size == kLeftOut) {
          out.append(nb::none());
          continue;
        }
        out.append(ints_.list_of(ids, size));
        ids += size;
      }
    }
    return out;
  }

  // Records in one buffer: where each ends (uint64), behind `separator_size` bytes that are none of it.
  nb::tuple encode_records(nb::handle data, nb::handle ends, size_t separator_size, int family) {
    Records records(data, ends, separator_size);
    IdBuffer ids;
    std::vector<uint64_t> offsets{0};
    each_record(records, family_of(family), &ids, [&](uint64_t count) { offsets.push_back(offsets.back() + count); });
    return nb::make_tuple(nb::cast(std::move(ids)), bytes_of(offsets.data(), offsets.size() * sizeof(uint64_t)));
  }
  nb::bytes count_records(nb::handle data, nb::handle ends, size_t separator_size, int family) {
    Records records(data, ends, separator_size);
    std::vector<uint32_t> counts;
    each_record(records, family_of(family), nullptr, [&](uint64_t count) {
      counts.push_back(static_cast<uint32_t>(std::min<uint64_t>(count, UINT32_MAX)));
    });
    return bytes_of(counts.data(), counts.size() * sizeof(uint32_t));
  }

  nb::bytes parents() const {
    std::vector<uint32_t> found;
    {
      const nb::gil_scoped_release release;
      found = vocabulary_.parents();
    }
    return bytes_of(found.data(), found.size() * sizeof(uint32_t));
  }

  // Those of some ids that are no tokens.
  nb::bytes unknown(nb::handle ids) const {
    const BufferView view(ids);
    size_t count;
    const uint32_t* items = ids_in(view, &count);
    std::vector<uint32_t> found;
    std::string_view token;
    std::copy_if(items, items + count, std::back_inserter(found),
                 [&](uint32_t id) { return !vocabulary_.token(id, &token); });
    return bytes_of(found.data(), found.size() * sizeof(uint32_t));
  }

  // The bytes of each id; None where there is no such token.
  nb::list tokens() const {
    auto out = nb::steal<nb::list>(PyList_New(static_cast<Py_ssize_t>(vocabulary_.id_count())));
    if (!out.is_valid()) throw nb::python_error();
    for (uint32_t id = 0; id < vocabulary_.id_count(); ++id) {
      std::string_view token;
      PyObject* item = vocabulary_.token(id, &token)
                           ? PyBytes_FromStringAndSize(token.data(), static_cast<Py_ssize_t>(token.size()))
                           : Py_NewRef(Py_None);
      if (item == nullptr) throw nb::python_error();
      PyList_SET_ITEM(out.ptr(), static_cast<Py_ssize_t>(id), item);
    }
    return out;
  }
  // The bytes of some ids; KeyError where there is no such token, OverflowError where an id is no uint32.
  nb::bytes decode(nb::list ids) {
    const std::string text = decoded(ids);
    return nb::bytes(text.data(), text.size());
  }
  nb::object decode_str(nb::list ids) {
    const std::string text = decoded(ids);
    PyObject* made = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
    if (made == nullptr) throw nb::python_error();
    return nb::steal(made);
  }

 private:
  struct Encoded {
    IdBuffer ids;
  };
  struct Records {
    Records(nb::handle data, nb::handle given, size_t separator_size) : text(data), separator_size(separator_size) {
      const BufferView view(given);
      ends.resize(view.bytes().size() / sizeof(uint64_t));
      if (ends.size() * sizeof(uint64_t) != view.bytes().size()) throw nb::value_error("the ends are no uint64");
      if (!ends.empty()) std::memcpy(ends.data(), view.bytes().data(), view.bytes().size());
      uint64_t at = 0;
      for (const uint64_t end : ends) {
        if (end < at || end - at < separator_size || end > text.bytes().size())
          throw nb::value_error("the ends of the records do not ascend within the text");
        at = end;
      }
    }
    BufferView text;
    std::vector<uint64_t> ends;
    size_t separator_size;
  };
  template <class Done>
  void each_record(const Records& records, Family family, IdBuffer* ids, const Done& done) {
    Result all;
    {
      const nb::gil_scoped_release release;
      Lease encoder(*this);
      uint64_t at = 0;
      for (const uint64_t end : records.ends) {
        const Bytes record = records.text.bytes().subspan(at, end - at - records.separator_size);
        const Result result = encoder->encode(family, Text::of(record), ids);
        all.missing_byte |= result.missing_byte;
        done(result.count);
        at = end;
      }
    }
    raise(all);
  }
  struct Batch {
    IdBuffer ids;
    std::vector<size_t> sizes;  // kLeftOut where the check did not hold
    Result result;
    size_t failed = 0;  // which text
    bool has_left_out = false;
  };
  static constexpr size_t kLeftOut = SIZE_MAX;

  // A text that a check was asked about, and what it has to be instead.
  struct Checked {
    explicit Checked(const Text& given) : text(given) {}
    bool holds(const TextCheck* check) {
      if (check == nullptr) return true;
      const TextCheck::Verdict verdict = check->read(text, utf8);
      stops = verdict == TextCheck::Verdict::kStops;
      if (verdict == TextCheck::Verdict::kRewritten) text = Text::of(utf8);
      return !stops;
    }
    Text text;
    std::vector<uint8_t> utf8;
    bool stops = false;
  };

  nb::object count_text(const Text& given, Family family, int threads, const TextCheck* check, nb::handle object = {}) {
    std::vector<Text> parts;
    std::vector<Result> results;
    Checked checked(given);
    {
      const nb::gil_scoped_release release;
      if (checked.holds(check)) parts = cut(checked.text, threads);
      results.resize(parts.size());
      in_threads(parts.size(), [&](size_t i) { results[i] = Lease(*this)->encode(family, parts[i], nullptr); });
    }
    if (checked.stops) return nb::none();
    uint64_t total = 0;
    for (const Result& result : results) {
      raise(result, object);
      total += result.count;
    }
    return nb::cast(total);
  }

  // false where the check does not hold.
  bool encode_text(const Text& given, Family family, int threads, const TextCheck* check, Encoded* out,
                   nb::handle object = {}) {
    std::vector<Encoded> made;
    std::vector<Result> results;
    {
      const nb::gil_scoped_release release;
      Checked checked(given);
      if (!checked.holds(check)) return false;
      const std::vector<Text> parts = cut(checked.text, threads);
      made.resize(std::max<size_t>(parts.size(), 1));
      results.resize(parts.size());
      in_threads(parts.size(), [&](size_t i) { results[i] = Lease(*this)->encode(family, parts[i], &made[i].ids); });
      for (size_t i = 1; i < parts.size(); ++i) made[0].ids.append(made[i].ids);
    }
    for (const Result& result : results) raise(result, object);
    *out = std::move(made[0]);
    return true;
  }

  std::vector<Batch> run_batches(nb::list given, Family family, int threads, const TextCheck* check,
                                 bool all_or_none = false) {
    // of our own: another thread may change the list that was given
    const auto texts = nb::steal<nb::list>(PyList_GetSlice(given.ptr(), 0, PY_SSIZE_T_MAX));
    std::vector<Text> all;
    all.reserve(texts.size());
    size_t bytes = 0;
    for (nb::handle text : texts) {
      all.push_back(text_of(text));
      bytes += all.back().size;
    }
    const size_t wanted = std::clamp<size_t>(static_cast<size_t>(std::max(threads, 1)), 1, bytes / kBytesPerThread + 1);
    std::vector<Batch> batches(wanted);
    {
      const nb::gil_scoped_release release;
      std::vector<size_t> ends;  // of each batch, in texts: about as many bytes each
      for (size_t i = 0, seen = 0; i < all.size(); ++i) {
        seen += all[i].size;
        if (seen * wanted >= bytes * (ends.size() + 1) && ends.size() + 1 < wanted) ends.push_back(i + 1);
      }
      ends.resize(wanted, all.size());
      in_threads(wanted, [&](size_t b) {
        Lease encoder(*this);
        Batch& batch = batches[b];
        for (size_t i = b ? ends[b - 1] : 0; all_or_none && i < ends[b] && !batch.has_left_out; ++i)
          batch.has_left_out = !Checked(all[i]).holds(check);
        if (batch.has_left_out) return;
        for (size_t i = b ? ends[b - 1] : 0; i < ends[b]; ++i) {
          Checked checked(all[i]);
          if (!checked.holds(check)) {
            batch.has_left_out = true;
            batch.sizes.push_back(kLeftOut);
            continue;
          }
          const Result result = encoder->encode(family, checked.text, &batch.ids);
          batch.sizes.push_back(result.count);
          if (result.missing_byte || result.surrogate) {
            batch.result = result;
            batch.failed = i;
            break;
          }
        }
      });
    }
    for (const Batch& batch : batches) {
      if (batch.result.missing_byte || batch.result.surrogate) raise(batch.result, texts[batch.failed]);
    }
    return batches;
  }

  // A text in at most `threads` parts of about the same size, cut where that changes no piece.
  static std::vector<Text> cut(const Text& text, int threads) {
    const size_t wanted =
        std::clamp<size_t>(static_cast<size_t>(std::max(threads, 1)), 1, text.size / kBytesPerThread + 1);
    std::vector<Text> parts;
    size_t at = 0;
    for (size_t i = 1; i <= wanted && at < text.size; ++i) {
      const size_t target = std::max(text.size / wanted * i, at + 1);
      const size_t end = i == wanted ? text.size : next_cut(text, target);
      parts.push_back(text.part(at, end));
      at = end;
    }
    return parts;
  }

  // Calls work(0) ... work(count - 1), each in a thread of its own but the first; what one throws is thrown here.
  template <class Work>
  static void in_threads(size_t count, const Work& work) {
    if (count == 0) return;
    std::vector<std::exception_ptr> errors(count);
    const auto guarded = [&](size_t i) {
      try {
        work(i);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    };
    {
      std::vector<std::thread> threads;
      for (size_t i = 1; i < count; ++i) threads.emplace_back(guarded, i);
      guarded(0);
      for (std::thread& thread : threads) thread.join();
    }
    for (const std::exception_ptr& error : errors) {
      if (error) std::rethrow_exception(error);
    }
  }

  // Tokens are found some at a time, and copied once all of them were asked for. (Profile: a third faster than one by one
  // with a large vocabulary.) Short ones are copied as 16 bytes, whatever their size.
  std::string decoded(nb::list given) const {
    constexpr size_t kAtOnce = 64, kShort = 16;
    std::array<std::string_view, kAtOnce> tokens;
    std::string out;
    const auto count = static_cast<size_t>(PyList_GET_SIZE(given.ptr()));
    size_t used = 0;
    for (size_t i = 0; i < count;) {
      const size_t some = std::min(count - i, kAtOnce);
      size_t bytes = 0;
      for (size_t k = 0; k < some; ++k) {
        tokens[k] = token_of(PyList_GET_ITEM(given.ptr(), static_cast<Py_ssize_t>(i + k)));
        __builtin_prefetch(tokens[k].data());
        bytes += tokens[k].size();
      }
      if (out.size() < used + bytes + kShort) out.resize(std::max(used + bytes + kShort, out.size() * 2 + count));
      for (size_t k = 0; k < some; ++k) {
        if (tokens[k].size() <= kShort && vocabulary_.may_read(tokens[k].data(), kShort)) [[likely]]
          std::memcpy(&out[used], tokens[k].data(), kShort);
        else std::memcpy(&out[used], tokens[k].data(), tokens[k].size());
        used += tokens[k].size();
      }
      i += some;
    }
    out.resize(used);
    return out;
  }

  std::string_view token_of(PyObject* item) const {
    if (!PyLong_Check(item)) throw nb::type_error("an id is an int");
    const unsigned long id = PyLong_AsUnsignedLong(item);
    if (id == static_cast<unsigned long>(-1) && PyErr_Occurred()) throw nb::python_error();
    std::string_view token;
    if (id > 0xFFFFFFFFu || !vocabulary_.token(static_cast<uint32_t>(id), &token)) throw nb::key_error("no such id");
    return token;
  }

  BufferView image_;
  Vocabulary vocabulary_;
  Ints ints_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Encoder>> idle_;
};

// Merges given as three ids each (uint32): two parts, each a token, and the token that their bytes together are. No two
// have the same parts.
std::vector<Vocabulary::Merge> merges_in(nb::handle given, const std::vector<Token>& tokens) {
  const BufferView view(given);
  const Bytes raw = view.bytes();
  std::vector<Vocabulary::Merge> merges(raw.size() / sizeof(Vocabulary::Merge));
  if (merges.size() * sizeof(Vocabulary::Merge) != raw.size()) throw nb::value_error("a merge has three ids");
  if (merges.size() > tokens.size()) throw nb::value_error("more merges than tokens");
  if (!merges.empty()) std::memcpy(merges.data(), raw.data(), raw.size());
  std::unordered_map<uint32_t, std::string_view> bytes;
  for (const Token& token : tokens) bytes[token.id] = {reinterpret_cast<const char*>(token.bytes), token.size};
  std::unordered_set<uint64_t> pairs;
  for (const auto& [left, right, made] : merges) {
    const auto a = bytes.find(left), b = bytes.find(right), both = bytes.find(made);
    if (a == bytes.end() || b == bytes.end() || both == bytes.end() || a->second.empty() || b->second.empty() ||
        both->second.size() != a->second.size() + b->second.size() || !both->second.starts_with(a->second) ||
        !both->second.ends_with(b->second) || !pairs.insert(uint64_t{left} << 32 | right).second)
      throw nb::value_error("a merge of what are no tokens");
  }
  return merges;
}

// The image of tokens given as one run of bytes, a size for each (uint8 or uint32) and an id for each (uint32); merges
// are found, or given.
nb::bytes build_image(nb::handle blob, nb::handle sizes, nb::handle ids, nb::handle source, nb::handle given,
                      bool drops_missing) {
  const BufferView blob_view(blob), sizes_view(sizes), ids_view(ids), source_view(source);
  const Bytes bytes = blob_view.bytes(), raw_sizes = sizes_view.bytes(), raw_ids = ids_view.bytes();
  const size_t count = raw_ids.size() / sizeof(uint32_t);
  const size_t width = count ? raw_sizes.size() / count : 0;
  if (count == 0 || count * sizeof(uint32_t) != raw_ids.size() || (width != 1 && width != 4) ||
      width * count != raw_sizes.size() || source_view.bytes().size() != 32)
    throw nb::value_error("a size (uint8 or uint32) and an id (uint32) for each token, and a source of 32 bytes");
  std::vector<Token> tokens(count);
  std::vector<bool> taken;
  size_t at = 0;
  for (size_t i = 0; i < count; ++i) {
    Token& token = tokens[i];
    if (width == 1) token.size = raw_sizes[i];
    else std::memcpy(&token.size, raw_sizes.data() + i * sizeof(uint32_t), sizeof(uint32_t));
    std::memcpy(&token.id, raw_ids.data() + i * sizeof(uint32_t), sizeof(uint32_t));
    if (token.size > bytes.size() - at) throw nb::value_error("the sizes do not add up to the bytes");
    if (token.id >= kMaxId) throw nb::value_error("an id is too large for an image");
    if (token.id >= taken.size()) taken.resize(std::max<size_t>(token.id + 1, 2 * taken.size()));
    if (taken[token.id]) throw nb::value_error("an id stands twice");
    taken[token.id] = true;
    token.bytes = bytes.data() + at;
    at += token.size;
  }
  if (at != bytes.size()) throw nb::value_error("the sizes do not add up to the bytes");
  const bool has_merges = !given.is_none();
  const std::vector<Vocabulary::Merge> merges =
      has_merges ? merges_in(given, tokens) : std::vector<Vocabulary::Merge>();
  std::vector<uint8_t> image;
  {
    const nb::gil_scoped_release release;
    image = Vocabulary::build(tokens, source_view.bytes().first<32>(), merges, has_merges, drops_missing);
  }
  return bytes_of(image.data(), image.size());
}

// Of merges (three uint32 each) in order, the numbers (uint32) of those that can happen; tokens as for build_image.
nb::bytes live_merges_of(nb::handle blob, nb::handle sizes, nb::handle ids, nb::handle given) {
  const BufferView blob_view(blob), sizes_view(sizes), ids_view(ids), view(given);
  const Bytes bytes = blob_view.bytes();
  std::vector<Token> tokens(ids_view.bytes().size() / sizeof(uint32_t));
  if (ids_view.bytes().size() != tokens.size() * sizeof(uint32_t) || sizes_view.bytes().size() != ids_view.bytes().size())
    throw nb::value_error("a size and an id (uint32) for each token");
  size_t at = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    Token& token = tokens[i];
    std::memcpy(&token.size, sizes_view.bytes().data() + i * sizeof(uint32_t), sizeof(uint32_t));
    std::memcpy(&token.id, ids_view.bytes().data() + i * sizeof(uint32_t), sizeof(uint32_t));
    if (token.size > bytes.size() - at) throw nb::value_error("the sizes do not add up to the bytes");
    token.bytes = bytes.data() + at;
    at += token.size;
  }
  std::vector<Vocabulary::Merge> merges(view.bytes().size() / sizeof(Vocabulary::Merge));
  if (merges.size() >= kNone || merges.size() * sizeof(Vocabulary::Merge) != view.bytes().size())
    throw nb::value_error("a merge has three ids");
  if (!merges.empty()) std::memcpy(merges.data(), view.bytes().data(), view.bytes().size());
  std::vector<uint32_t> live;
  try {
    const nb::gil_scoped_release release;
    live = live_merges(tokens, merges);
  } catch (const std::length_error& error) {
    throw nb::value_error(error.what());
  }
  return bytes_of(live.data(), live.size() * sizeof(uint32_t));
}

// Uses no wider instructions than these ("portable", "sse2", "avx2", "avx512") from now on; what is used then.
const char* set_instructions(const std::string& most) {
  static constexpr std::array<const char*, 4> kNames{"portable", "sse2", "avx2", "avx512"};
  const auto found = std::find(kNames.begin(), kNames.end(), most);
  if (found == kNames.end()) throw nb::value_error("no such instructions");
  limit_instructions(static_cast<Instructions>(found - kNames.begin()));
  return kNames[static_cast<size_t>(instructions())];
}

// Where the pieces of a text end.
nb::bytes split(nb::handle text, int number) {
  const Bytes bytes = utf8_of(text);
  const Family family = family_of(number);
  std::vector<uint64_t> ends;
  const FindEnds find_ends = finder(family, instructions());
  std::array<const uint8_t*, 256 + kWindow> found;
  for (const uint8_t *p = bytes.data(), *end = p + bytes.size(); p < end;) {
    const size_t count = find_ends(p, end, found.data(), 256);
    for (size_t i = 0; i < count; ++i) ends.push_back(static_cast<uint64_t>(found[i] - bytes.data()));
    p = found[count - 1];
  }
  return bytes_of(ends.data(), ends.size() * sizeof(uint64_t));
}

// Ids to bytes; keeps the vocabulary alive.
class PyDecoder {
 public:
  PyDecoder(nb::handle vocabulary, nb::dict special)
      : owner_(nb::borrow(vocabulary)), decoder_(make(nb::cast<const PyVocabulary&>(vocabulary), special)) {}
  nb::bytes decode(nb::handle ids, size_t width) const {
    const BufferView view(ids);
    if ((width != 2 && width != 4) || view.bytes().size() % width) throw nb::value_error("ids have 2 or 4 bytes each");
    const IdView items{view.bytes().data(), view.bytes().size() / width, width};
    size_t size = 0;
    bool are_known;
    {
      const nb::gil_scoped_release release;
      are_known = decoder_.size_of(items, &size);
    }
    if (!are_known) throw nb::key_error("no such id");
    return written(size, [&](char* out) { decoder_.write(items, out, size); });
  }
  // A new bytes object, which `write` fills while others may run.
  template <class Write>
  static nb::bytes written(size_t size, const Write& write) {
    nb::object made = nb::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size)));
    if (!made) throw nb::python_error();
    {
      char* out = PyBytes_AS_STRING(made.ptr());
      const nb::gil_scoped_release release;
      write(out);
    }
    return nb::borrow<nb::bytes>(made);
  }

 private:
  static Decoder make(const PyVocabulary& vocabulary, nb::dict special) {
    std::map<uint32_t, std::string> tokens;
    for (auto [id, token] : special) {
      const BufferView view(token);
      tokens[nb::cast<uint32_t>(id)] = std::string(reinterpret_cast<const char*>(view.bytes().data()), view.bytes().size());
    }
    return {vocabulary.view(), std::move(tokens)};
  }
  nb::object owner_;
  Decoder decoder_;
};

std::string_view view_of(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

// Ids as decimal text.
nb::bytes format_ids(nb::handle ids, const nb::bytes& between) {
  const BufferView view(ids);
  size_t count, size;
  const uint32_t* items = ids_in(view, &count);
  const std::string_view separator = view_of(between);
  {
    const nb::gil_scoped_release release;
    size = decimal_size(items, count, separator.size());
  }
  return PyDecoder::written(size, [&](char* out) { write_decimal(items, count, separator, out); });
}

// The same for records, with `joint` between two of them; of each at most `limit` ids. And whether that cut any.
nb::tuple format_records(nb::handle ids, nb::handle offsets, const nb::bytes& between, const nb::bytes& joint,
                         uint64_t limit) {
  const BufferView view(ids), offsets_view(offsets);
  size_t count, size = 0;
  const uint32_t* items = ids_in(view, &count);
  std::vector<uint64_t> bounds(offsets_view.bytes().size() / sizeof(uint64_t));
  if (bounds.empty()) throw nb::value_error("there are no offsets");
  std::memcpy(bounds.data(), offsets_view.bytes().data(), bounds.size() * sizeof(uint64_t));
  if (!std::is_sorted(bounds.begin(), bounds.end()) || bounds.back() > count)
    throw nb::value_error("the offsets do not ascend within the ids");
  const std::string_view separator = view_of(between), joining = view_of(joint);
  bool was_cut = false;
  const auto each = [&](const auto& visit) {
    for (size_t i = 0; i + 1 < bounds.size(); ++i)
      visit(i, items + bounds[i], static_cast<size_t>(std::min(bounds[i + 1] - bounds[i], limit)));
  };
  {
    const nb::gil_scoped_release release;
    each([&](size_t i, const uint32_t* first, size_t some) {
      was_cut |= some < bounds[i + 1] - bounds[i];
      size += (i ? joining.size() : 0) + decimal_size(first, some, separator.size());
    });
  }
  const nb::bytes text = PyDecoder::written(size, [&](char* out) {
    each([&](size_t i, const uint32_t* first, size_t some) {
      if (i) out = std::copy(joining.begin(), joining.end(), out);
      out = write_decimal(first, some, separator, out);
    });
  });
  return nb::make_tuple(text, was_cut);
}

// A line for each row, tabs between its cells. A column is (numbers, lines): each number (uint32) as it is, kNone left
// out; or that line of some bytes, where there are any.
nb::bytes format_rows(nb::list given) {
  struct Column {
    explicit Column(nb::handle pair) : numbers_view(pair[0]), has_lines(!pair[1].is_none()) {
      numbers = ids_in(numbers_view, &rows);
      if (!has_lines) return;
      lines_view = std::make_unique<BufferView>(pair[1]);
      const Bytes text = lines_view->bytes();
      const char* const begin = reinterpret_cast<const char*>(text.data());
      for (size_t at = 0, end; at < text.size(); at = end + 1) {
        const void* found = std::memchr(begin + at, '\n', text.size() - at);
        end = found ? static_cast<size_t>(static_cast<const char*>(found) - begin) : text.size();
        lines.emplace_back(begin + at, end - at);
      }
      if (std::any_of(numbers, numbers + rows, [&](uint32_t n) { return n >= lines.size(); }))
        throw nb::value_error("there is no line of a number");
    }
    BufferView numbers_view;
    bool has_lines;
    std::unique_ptr<BufferView> lines_view;
    const uint32_t* numbers = nullptr;
    size_t rows = 0;
    std::vector<std::string_view> lines;
  };
  std::vector<std::unique_ptr<Column>> columns;
  for (nb::handle item : given) {
    const auto pair = nb::cast<nb::tuple>(item);
    if (pair.size() != 2) throw nb::value_error("a column is numbers and lines");
    columns.push_back(std::make_unique<Column>(pair));
    if (columns.back()->rows != columns[0]->rows) throw nb::value_error("the columns are not of the same length");
  }
  std::string out;
  {
    const nb::gil_scoped_release release;
    std::array<char, 10> digits;
    for (size_t row = 0; !columns.empty() && row < columns[0]->rows; ++row) {
      for (const auto& column : columns) {
        const uint32_t number = column->numbers[row];
        if (column->has_lines) out += column->lines[number];
        else if (number != kNone) out.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
        out += '\t';
      }
      out.back() = '\n';
    }
  }
  return bytes_of(out.data(), out.size());
}

// The ids in decimal text; None where there is anything else in it, or an id that is no uint32.
nb::object parse_ids(nb::handle text) {
  const BufferView view(text);
  IdBuffer ids;
  bool are_ids;
  {
    const nb::gil_scoped_release release;
    are_ids = parse_decimal(view.bytes(), &ids);
  }
  return are_ids ? nb::cast(std::move(ids)) : nb::none();
}

nb::bytes narrow_ids(nb::handle ids) {
  const BufferView view(ids);
  size_t count;
  const uint32_t* items = ids_in(view, &count);
  return PyDecoder::written(count * sizeof(uint16_t), [&](char* out) {
    for (size_t i = 0; i < count; ++i) {
      const auto id = static_cast<uint16_t>(items[i]);
      std::memcpy(out + i * sizeof id, &id, sizeof id);
    }
  });
}

size_t valid_size(nb::handle text) {
  const BufferView view(text);
  const nb::gil_scoped_release release;
  return valid_utf8(view.bytes());
}

// Of a str, or of UTF-8.
template <class Work>
auto with_text(nb::handle given, const Work& work) {
  if (PyUnicode_Check(given.ptr())) {
    const Text text = text_of(given);
    const nb::gil_scoped_release release;
    return work(text);
  }
  const BufferView view(given);
  const nb::gil_scoped_release release;
  return work(Text::of(view.bytes()));
}

// Tokens as one run of UTF-8, with a size and an id for each (uint32).
void make_check(TextCheck* check, nb::handle blob, nb::handle sizes, nb::handle ids) {
  const BufferView blob_view(blob), sizes_view(sizes), ids_view(ids);
  size_t count, also, at = 0;
  const uint32_t *each = ids_in(sizes_view, &count), *id = ids_in(ids_view, &also);
  if (count != also) throw nb::value_error("a size and an id for each token");
  new (check) TextCheck();
  for (size_t i = 0; i < count; ++i) {
    if (each[i] > blob_view.bytes().size() - at) throw nb::value_error("the sizes do not add up to the bytes");
    check->add_token(blob_view.bytes().subspan(at, each[i]), id[i]);
    at += each[i];
  }
}

void set_page(TextCheck& check, uint32_t page, const nb::bytes& values) {
  if (page >= TextCheck::kPages || values.size() != TextCheck::kPage) throw nb::value_error("a page has 256 values");
  check.set_page(page, static_cast<const uint8_t*>(values.data()));
}

nb::bytes wanted_pages(TextCheck& check) {
  const std::vector<uint32_t> pages = check.take_wanted();
  return bytes_of(pages.data(), pages.size() * sizeof(uint32_t));
}

nb::list wanted_runs(TextCheck& check) {
  nb::list out;
  for (const std::string& run : check.take_wanted_runs()) out.append(nb::bytes(run.data(), run.size()));
  return out;
}

void set_run(TextCheck& check, const nb::bytes& run, nb::handle text) {
  const auto bytes_in = [](const nb::bytes& given) {
    return Bytes{static_cast<const uint8_t*>(given.data()), given.size()};
  };
  if (text.is_none()) check.set_run(bytes_in(run), {}, true);
  else check.set_run(bytes_in(run), bytes_in(nb::cast<nb::bytes>(text)), false);
}

// True where a text is fine as it is, False where it is not; else the UTF-8 that it has to be first.
nb::object read_checked(const TextCheck& check, nb::handle given) {
  std::vector<uint8_t> out;
  const auto verdict = with_text(given, [&](const Text& text) { return check.read(text, out); });
  if (verdict == TextCheck::Verdict::kRewritten) return bytes_of(out.data(), out.size());
  return nb::bool_(verdict == TextCheck::Verdict::kFine);
}

nb::bytes find_checked(const TextCheck& check, nb::handle given) {
  const auto found = with_text(given, [&](const Text& text) { return check.find(text); });
  return bytes_of(found.data(), found.size() * sizeof(TextCheck::Found));
}

nb::bytes ends_of_records(nb::handle data, uint8_t separator) {
  const BufferView view(data);
  const std::vector<uint64_t> ends = record_ends(view.bytes(), separator);
  return bytes_of(ends.data(), ends.size() * sizeof(uint64_t));
}

}  // namespace

NB_MODULE(_native, module) {
  module.doc() = "tokcli's native backend.";
  nb::set_leak_warnings(false);  // what lives until the interpreter ends is no user's concern
  module.attr("IMAGE_VERSION") = kImageVersion;
  module.attr("TEXT_IMAGE_VERSION") = kTextImageVersion;
  module.attr("FAMILIES") = nb::make_tuple("r50k", "cl100k", "llama3", "qwen2", "o200k", "tekken", "qwen35", "starcoder",
                                           "deepseek", "falcon", "default", "gpt4o", "granite", "llama_tekken",
                                           "coder", "llama_coder", "bloom");
  bind_merges(module);
  bind_training(module);
  bind_text_models(module);
  module.def("build_image", &build_image, nb::arg("blob"), nb::arg("sizes"), nb::arg("ids"), nb::arg("source"),
             nb::arg("merges") = nb::none(), nb::arg("drops_missing") = false);
  module.def("live_merges", &live_merges_of);
  module.def("split", &split);
  module.def("set_instructions", &set_instructions);
  module.def("format_ids", &format_ids);
  module.def("format_records", &format_records);
  module.def("format_rows", &format_rows);
  module.def("parse_ids", &parse_ids);
  module.def("narrow_ids", &narrow_ids);
  module.def("valid_utf8", &valid_size);
  module.def("record_ends", &ends_of_records);
  nb::class_<IdBuffer>(module, "Ids", nb::type_slots(id_buffer_slots));
  nb::class_<TextCheck>(module, "TextCheck")
      .def("__init__", &make_check)
      .def("set_page", &set_page)
      .def("wanted", &wanted_pages)
      .def("set_run", &set_run)
      .def("wanted_runs", &wanted_runs)
      .def("read", &read_checked)
      .def("find", &find_checked);
  nb::class_<PyVocabulary>(module, "Vocabulary")
      .def(nb::init<nb::handle>())
      .def("verify", &PyVocabulary::verify)
      .def("source", [](const PyVocabulary& self) { return bytes_of(self.view().source().data(), 32); })
      .def("count", &PyVocabulary::count, nb::arg("text"), nb::arg("family"), nb::arg("threads") = 1,
           nb::arg("check").none() = nb::none())
      .def("count_buffer", &PyVocabulary::count_buffer, nb::arg("data"), nb::arg("family"), nb::arg("threads") = 1)
      .def("encode", &PyVocabulary::encode, nb::arg("text"), nb::arg("family"), nb::arg("check").none() = nb::none())
      .def("encode_str", &PyVocabulary::encode_str, nb::arg("text"), nb::arg("family"), nb::arg("threads") = 1,
           nb::arg("check").none() = nb::none())
      .def("encode_buffer", &PyVocabulary::encode_buffer, nb::arg("data"), nb::arg("family"), nb::arg("threads") = 1)
      .def("encode_piece", &PyVocabulary::encode_piece)
      .def("encode_batch", &PyVocabulary::encode_batch, nb::arg("texts"), nb::arg("family"), nb::arg("threads") = 1,
           nb::arg("check").none() = nb::none())
      .def("count_pieces", &PyVocabulary::count_pieces)
      .def("encode_batch_lists", &PyVocabulary::encode_batch_lists, nb::arg("texts"), nb::arg("family"),
           nb::arg("threads") = 1, nb::arg("check").none() = nb::none())
      .def("encode_records", &PyVocabulary::encode_records)
      .def("count_records", &PyVocabulary::count_records)
      .def("parents", &PyVocabulary::parents)
      .def("unknown", &PyVocabulary::unknown)
      .def("tokens", &PyVocabulary::tokens)
      .def("decode", &PyVocabulary::decode)
      .def("decode_str", &PyVocabulary::decode_str);
  nb::class_<PyDecoder>(module, "Decoder").def(nb::init<nb::handle, nb::dict>()).def("decode", &PyDecoder::decode);
}
