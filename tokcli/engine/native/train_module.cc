// The Python face of training; module.cc has the rest. Every call that may take long lets go of the GIL.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstring>

#include "train.h"

namespace nb = nanobind;
using namespace tokcli;

void bind_training(nb::module_& module);

namespace {

class View {  // a buffer of another object
 public:
  explicit View(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  ~View() { PyBuffer_Release(&view_); }
  View(const View&) = delete;
  View& operator=(const View&) = delete;
  Bytes bytes() const { return {static_cast<const uint8_t*>(view_.buf), static_cast<size_t>(view_.len)}; }
  std::string_view text() const { return {static_cast<const char*>(view_.buf), static_cast<size_t>(view_.len)}; }
  std::vector<uint32_t> words() const {
    if (bytes().size() % sizeof(uint32_t)) throw nb::value_error("not a buffer of uint32");
    std::vector<uint32_t> out(bytes().size() / sizeof(uint32_t));
    if (!out.empty()) std::memcpy(out.data(), bytes().data(), bytes().size());
    return out;
  }

 private:
  Py_buffer view_{};
};

nb::bytes bytes_of(std::string_view text) { return nb::bytes(text.data(), text.size()); }

[[noreturn]] void overflow() {
  PyErr_SetString(PyExc_OverflowError, "counts beyond 2**62");
  throw nb::python_error();
}

// A table, and where its rows are being written out.
class PyTable {
 public:
  PieceTable table;

  PyTable() = default;
  PyTable(const PyTable&) = delete;
  PyTable& operator=(const PyTable&) = delete;

  void count(nb::handle data, int family) {
    if (family < 0 || family >= kFamilies) throw nb::value_error("no such family of patterns");
    const View view(data);
    const nb::gil_scoped_release release;
    table.count_text(static_cast<Family>(family), view.bytes());
  }
  void add(nb::handle piece, uint64_t count) {
    const View view(piece);
    if (count > kMaxCount) overflow();
    table.add(view.bytes(), count);
    check();
  }
  void update(const PyTable& other) {
    if (&other == this) throw nb::value_error("a table is not added to itself");
    {
      const nb::gil_scoped_release release;
      table.add_all(other.table);
    }
    check();
  }
  void add_block(nb::handle block) {
    const View view(block);
    bool is_whole;
    {
      const nb::gil_scoped_release release;
      is_whole = table.add_block(view.bytes());
    }
    if (!is_whole) throw nb::value_error("a damaged block");
    check();
  }
  void sort() {
    const nb::gil_scoped_release release;
    order_ = table.sorted();
    at_ = 0;
  }
  nb::bytes next_block(size_t limit) {
    std::string block;
    {
      const nb::gil_scoped_release release;
      BlockWriter writer;
      while (at_ < order_.size() && writer.size() < limit) {
        const PieceTable::Piece piece = table[order_[at_++]];
        writer.add(piece.bytes, piece.count);
      }
      block = writer.take();
    }
    return bytes_of(block);
  }
  nb::tuple item(size_t number) const {
    if (number >= table.size()) throw nb::index_error();
    const PieceTable::Piece piece = table[number];
    return nb::make_tuple(bytes_of(piece.bytes), piece.count);
  }
  void clear() {
    std::vector<uint32_t>().swap(order_);
    at_ = 0;
    table.clear();
  }

 private:
  void check() const {
    if (table.has_overflown()) overflow();
  }
  std::vector<uint32_t> order_;
  size_t at_ = 0;
};

class PyMerger {
 public:
  explicit PyMerger(size_t runs) : merger_(runs) {}
  PyMerger(const PyMerger&) = delete;
  PyMerger& operator=(const PyMerger&) = delete;
  void feed(size_t run, nb::handle block) {
    const View view(block);
    if (!merger_.feed(run, std::string(view.text()))) throw nb::value_error("a damaged block, or one out of order");
  }
  // A block; or the number of the run that has to be fed; or None at the end.
  nb::object merge(size_t limit) {
    RunMerger::State state;
    {
      const nb::gil_scoped_release release;
      state = merger_.merge(limit);
    }
    switch (state) {
      case RunMerger::State::kBlock: return bytes_of(merger_.take());
      case RunMerger::State::kNeedsInput: return nb::int_(merger_.run());
      case RunMerger::State::kDone: return nb::none();
      case RunMerger::State::kOverflown: overflow();
      case RunMerger::State::kDamaged: break;
    }
    throw nb::value_error("a damaged block, or one out of order");
  }

 private:
  RunMerger merger_;
};

class PyTrainer {
 public:
  PyTrainer(uint32_t vocab_size, uint64_t min_frequency, uint64_t max_token_bytes, bool first_wins, uint64_t memory,
            nb::handle token_bytes, nb::handle byte_ids) {
    TrainerOptions options{vocab_size, min_frequency, max_token_bytes, first_wins, memory, View(token_bytes).words()};
    std::vector<uint32_t> ids = View(byte_ids).words();
    tokens_ = options.token_bytes.size();
    if (ids.size() != 256 || vocab_size > kMaxVocabulary || tokens_ > vocab_size)
      throw nb::value_error("256 ids of bytes, and a vocabulary that has room for what there is");
    for (const uint32_t id : ids) check_id(id);
    trainer_ = Trainer::make(options);
    trainer_->byte_ids = std::move(ids);
  }
  void add(nb::handle ids, uint64_t count) {
    const std::vector<uint32_t> words = View(ids).words();
    for (const uint32_t id : words) check_id(id);
    if (count > kMaxCount) overflow();
    trainer_->add(words.data(), words.size(), count);
  }
  void add_table(const PyTable& table, bool in_order) {
    const nb::gil_scoped_release release;
    trainer_->add_table(table.table, in_order);
  }
  void add_block(nb::handle block) {
    const View view(block);
    bool is_damaged;
    {
      const nb::gil_scoped_release release;
      BlockReader reader(view.bytes());
      while (reader.next()) trainer_->add_bytes(reader.piece(), reader.count());
      is_damaged = reader.is_damaged();
    }
    if (is_damaged) throw nb::value_error("a damaged block");
  }
  void reserve(uint64_t parts) { trainer_->reserve(parts); }
  // The next merges as rows of three uint64 (left, right, count), and whether there may be more.
  nb::tuple run(int milliseconds, size_t limit) {
    if (trainer_->is_too_large()) overflow();
    std::vector<Merge> merges;
    bool may_go_on;
    {
      const nb::gil_scoped_release release;
      may_go_on = trainer_->run(std::chrono::milliseconds(milliseconds), limit, merges);
    }
    return nb::make_tuple(nb::bytes(reinterpret_cast<const char*>(merges.data()), merges.size() * sizeof(Merge)), may_go_on);
  }

 private:
  static constexpr uint32_t kMaxVocabulary = 1u << 30;
  void check_id(uint32_t id) const {
    if (id >= tokens_) throw nb::value_error("no such id");
  }
  std::unique_ptr<Trainer> trainer_;
  size_t tokens_ = 0;
};

}  // namespace

void bind_training(nb::module_& module) {
  nb::class_<PyTable>(module, "PieceTable")
      .def(nb::init<>())
      .def("count", &PyTable::count)
      .def("add", &PyTable::add)
      .def("update", &PyTable::update)
      .def("add_block", &PyTable::add_block)
      .def("sort", &PyTable::sort)
      .def("next_block", &PyTable::next_block)
      .def("item", &PyTable::item)
      .def("clear", &PyTable::clear)
      .def("__len__", [](const PyTable& self) { return self.table.size(); })
      .def_prop_ro("piece_bytes", [](const PyTable& self) { return self.table.bytes(); })
      .def_prop_ro("memory", [](const PyTable& self) { return self.table.memory(); })
      .def_prop_ro("has_overflown", [](const PyTable& self) { return self.table.has_overflown(); });
  nb::class_<PyMerger>(module, "RunMerger")
      .def(nb::init<size_t>())
      .def("feed", &PyMerger::feed)
      .def("merge", &PyMerger::merge);
  nb::class_<PyTrainer>(module, "Trainer")
      .def(nb::init<uint32_t, uint64_t, uint64_t, bool, uint64_t, nb::handle, nb::handle>())
      .def("add", &PyTrainer::add)
      .def("add_table", &PyTrainer::add_table)
      .def("add_block", &PyTrainer::add_block)
      .def("reserve", &PyTrainer::reserve)
      .def("run", &PyTrainer::run);
}
