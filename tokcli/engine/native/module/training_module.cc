// Counting pieces and learning merges. Every call that may take long releases the GIL; an object that two threads use
// at the same time lets one of them wait.
#include <nanobind/nanobind.h>

#include <memory>
#include <mutex>
#include <optional>

#include "base/fork.h"
#include "module/bindings.h"
#include "module/classes/py_vocabulary.h"
#include "training/blocks.h"
#include "training/trainer.h"

using namespace tokcli;

namespace {

[[noreturn]] void overflow() {
  PyErr_SetString(PyExc_OverflowError, "counts beyond 2**62");
  throw nb::python_error();
}

// Releases the GIL first, and then waits for the objects: a thread that has one of them never waits for the GIL. (The
// order of members is the order of both; they are undone in reverse.)
template <class... Locks>
class Alone {
 public:
  explicit Alone(Locks&... locks) : lock_(locks...) {}

 private:
  ReleasedGil released_;
  std::scoped_lock<Locks...> lock_;
};

// Calls `work` with an object that is of no use any more where the work ends in the middle; `whole` does so alone.
template <class Work>
auto or_broken(ObjectLock& lock, const Work& work) {
  try {
    return work();
  } catch (...) {
    lock.set_broken();
    throw;
  }
}
template <class Work>
auto whole(ObjectLock& lock, const Work& work) {
  const Alone alone(lock);
  return or_broken(lock, work);
}

// For what takes no time: keeps the GIL, unless another thread has the object.
class Briefly {
 public:
  explicit Briefly(ObjectLock& lock) : lock_(lock, std::try_to_lock) {
    if (lock_.owns_lock()) return;
    const ReleasedGil released;
    lock_.lock();
  }

 private:
  std::unique_lock<ObjectLock> lock_;
};

// A table of pieces, and how far its rows have been written to blocks.
class PyTable {
 public:
  PyTable() = default;
  PyTable(const PyTable&) = delete;
  PyTable& operator=(const PyTable&) = delete;

  // Returns whether the pattern splits all of the text.
  bool count(nb::handle data, nb::handle given) {
    const Splitting by = splitting_of(given);
    const StableView view(data);
    const Alone alone(lock_);
    return table_.count_text(by, view.bytes());
  }
  void count_split(nb::handle data, nb::handle given) {
    const StableView view(data);
    const PieceEnds ends(given, view.bytes());
    const Alone alone(lock_);
    table_.count_split(view.bytes(), ends.items());
  }
  void add(nb::handle piece, Number<uint64_t> number) {
    const uint64_t count = number;
    const StableView view(piece);
    if (count > kMaxCount) overflow();
    const Briefly alone(lock_);
    table_.add(view.bytes(), count);
    if (table_.has_overflown()) overflow();
  }
  void update(PyTable& other) {
    if (&other == this) throw nb::value_error("a table cannot be added to itself");
    bool has_overflown;
    {
      const Alone alone(lock_, other.lock_);
      table_.add_all(other.table_);
      has_overflown = table_.has_overflown();
    }
    if (has_overflown) overflow();
  }
  void add_block(nb::handle block) {
    const StableView view(block);
    bool is_whole, has_overflown;
    {
      const Alone alone(lock_);
      is_whole = add_rows(table_, view.bytes());
      has_overflown = table_.has_overflown();
    }
    if (!is_whole) throw nb::value_error("a damaged block");
    if (has_overflown) overflow();
  }
  void sort() {
    const Alone alone(lock_);
    order_ = table_.sorted();
    at_ = 0;
  }
  nb::bytes next_block(Number<size_t> most) {
    const size_t limit = most;
    std::string block;
    {
      const Alone alone(lock_);
      BlockWriter writer;
      while (at_ < order_.size() && writer.size() < limit) {
        const PieceTable::Piece piece = table_[order_[at_++]];
        writer.add(piece.bytes, piece.count);
      }
      block = writer.take();
    }
    return to_bytes(block);
  }
  nb::tuple item(Number<size_t> index) {
    const size_t number = index;
    const Briefly alone(lock_);
    if (number >= table_.size()) throw nb::index_error("there are not so many pieces");
    const PieceTable::Piece piece = table_[number];
    return tuple_of(to_bytes(piece.bytes), piece.count);
  }
  void clear() {
    const Alone alone(lock_);
    std::vector<uint32_t>().swap(order_);
    at_ = 0;
    table_.clear();
  }
  // Calls `use` with the table, without the GIL, while no other thread changes the table.
  template <class Use>
  void use(const Use& use) {
    const Alone alone(lock_);
    use(table_);
  }
  // A property of the table.
  template <auto property>
  auto get() {
    const Briefly alone(lock_);
    return (table_.*property)();
  }

 private:
  ObjectLock lock_;
  PieceTable table_;
  std::vector<uint32_t> order_;
  size_t at_ = 0;
};

class PyRunMerger {
 public:
  explicit PyRunMerger(Number<size_t> runs) : merger_(runs) {}
  PyRunMerger(const PyRunMerger&) = delete;
  PyRunMerger& operator=(const PyRunMerger&) = delete;

  void feed(Number<size_t> number, nb::handle block) {
    const size_t run = number;
    std::string rows = string_of(block);
    const bool is_whole = whole(lock_, [&] { return merger_.feed(run, std::move(rows)); });
    if (!is_whole) throw nb::value_error(kDamaged);
  }
  nb::object merge(Number<size_t> most) {
    const size_t limit = most;
    RunMerger::State state;
    std::string block;
    size_t run = 0;
    whole(lock_, [&] {
      state = merger_.merge(limit);
      if (state == RunMerger::State::kBlock) block = merger_.take();
      run = merger_.run();
    });
    switch (state) {
      case RunMerger::State::kBlock: return to_bytes(block);
      case RunMerger::State::kNeedsInput: return nb::int_(run);
      case RunMerger::State::kDone: return nb::none();
      case RunMerger::State::kOverflown: overflow();
      case RunMerger::State::kDamaged: break;
    }
    throw nb::value_error(kDamaged);
  }

 private:
  static constexpr const char* kDamaged = "a damaged block, or one out of order";
  ObjectLock lock_;
  RunMerger merger_;
};

class PyTrainer {
 public:
  PyTrainer(Number<uint32_t> vocab_size, Number<uint64_t> min_frequency, Number<uint64_t> max_token_bytes,
            bool first_wins, Number<uint64_t> memory, nb::handle token_bytes, nb::handle byte_ids) {
    const TrainerOptions options{vocab_size, min_frequency, max_token_bytes,
                                 first_wins, memory,        items_of<uint32_t>(token_bytes)};
    std::vector<uint32_t> ids = items_of<uint32_t>(byte_ids);
    tokens_ = options.token_bytes.size();
    if (ids.size() != 256) throw nb::value_error("each of the 256 bytes needs an id");
    if (options.vocab_size > kMaxVocabulary) throw nb::value_error("the vocabulary is too large");
    if (tokens_ > options.vocab_size) throw nb::value_error("there are more tokens than the vocabulary has room for");
    check_ids(ids);
    trainer_ = Trainer::make(options);
    trainer_->byte_ids = std::move(ids);
  }
  void add(nb::handle ids, Number<uint64_t> number) {
    const std::vector<uint32_t> parts = items_of<uint32_t>(ids);
    const uint64_t count = number;
    check_ids(parts);
    if (count > kMaxCount) overflow();
    adding([&] { trainer_->add(parts.data(), parts.size(), count); });
  }
  void add_table(PyTable& table, bool in_order) {
    table.use([&](const PieceTable& pieces) {
      const std::lock_guard lock(lock_);
      check_open();
      or_broken(lock_, [&] { trainer_->add_table(pieces, in_order); });
    });
  }
  void add_block(nb::handle block) {
    const StableView view(block);
    bool is_damaged = false;
    adding([&] {
      BlockReader reader(view.bytes());
      while (reader.next()) trainer_->add_bytes(reader.piece(), reader.count());
      is_damaged = reader.is_damaged();
    });
    if (is_damaged) throw nb::value_error("a damaged block");
  }
  // Returns the next merges as rows of three uint64 (left, right, count), and whether there may be more.
  nb::tuple run(Number<int> milliseconds, Number<size_t> most) {
    const std::chrono::milliseconds time(milliseconds);
    const size_t limit = most;
    std::vector<LearnedMerge> merges;
    bool is_too_large, may_go_on = false;
    whole(lock_, [&] {
      is_too_large = trainer_->is_too_large();
      has_begun_ |= limit > 0 && !is_too_large;
      if (!is_too_large) may_go_on = trainer_->run(time, limit, merges);
    });
    if (is_too_large) overflow();
    return tuple_of(to_bytes(merges), may_go_on);
  }
  // Ends training; returns the counts of the most frequent pairs left that may merge, and that are too long.
  nb::tuple end() {
    PairsLeft left;
    whole(lock_, [&] {
      has_begun_ = true;
      left = trainer_->end();
    });
    return tuple_of(left.most, left.most_too_long);
  }

 private:
  static constexpr uint32_t kMaxVocabulary = 1u << 30;
  // Merging makes tables of the pieces there are: none may come afterwards.
  void check_open() const {
    if (has_begun_) throw nb::value_error("no pieces can be added after the first merge");
  }
  template <class Add>
  void adding(const Add& add) {
    const Alone alone(lock_);
    check_open();
    or_broken(lock_, add);
  }
  void check_ids(const std::vector<uint32_t>& ids) const {
    for (const uint32_t id : ids) {
      if (id >= tokens_) throw nb::value_error("an id is no token of the trainer");
    }
  }
  ObjectLock lock_;
  std::unique_ptr<Trainer> trainer_;
  size_t tokens_ = 0;
  bool has_begun_ = false;  // the lock guards it
};

}  // namespace

void bind_training(nb::module_& module) {
  nb::class_<PyTable>(module, "PieceTable")
      .def(made_of<PyTable>())
      .def("count", &PyTable::count)
      .def("count_split", &PyTable::count_split)
      .def("add", &PyTable::add)
      .def("update", &PyTable::update)
      .def("add_block", &PyTable::add_block)
      .def("sort", &PyTable::sort)
      .def("next_block", &PyTable::next_block)
      .def("item", &PyTable::item)
      .def("clear", &PyTable::clear)
      .def("__len__", &PyTable::get<&PieceTable::size>)
      .def_prop_ro("piece_bytes", &PyTable::get<&PieceTable::bytes>)
      .def_prop_ro("memory", &PyTable::get<&PieceTable::memory>)
      .def_prop_ro("has_overflown", &PyTable::get<&PieceTable::has_overflown>);
  nb::class_<PyRunMerger>(module, "RunMerger")
      .def(made_of<PyRunMerger, Number<size_t>>())
      .def("feed", &PyRunMerger::feed)
      .def("merge", &PyRunMerger::merge);
  nb::class_<PyTrainer>(module, "Trainer")
      .def(made_of<PyTrainer, Number<uint32_t>, Number<uint64_t>, Number<uint64_t>, bool, Number<uint64_t>, nb::handle,
                   nb::handle>())
      .def("add", &PyTrainer::add)
      .def("add_table", &PyTrainer::add_table)
      .def("add_block", &PyTrainer::add_block)
      .def("run", &PyTrainer::run)
      .def("end", &PyTrainer::end);
}
