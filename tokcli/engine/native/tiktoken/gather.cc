// Placing ids: see gather.h.
#include "tiktoken/gather.h"

#include <cstring>
#include <utility>

#include "base/fork.h"

namespace tokcli {

Gather::Gather(size_t chunks, size_t room, IdBuffer* out) : out_(out), begin_(out->size()), room_(room), chunks_(chunks) {
  out->reserve(room);
  waiting_.reserve(chunks);  // so that nothing can fail while threads have the lock
}

// Tells the chunks that now follow one another where their ids go.
void Gather::place_next() {
  for (; next_ < chunks_.size() && chunks_[next_].is_made; ++next_) {
    Chunk& chunk = chunks_[next_];
    chunk.place = total_;
    total_ += chunk.count;
    if (chunk.ids.size() > 0) waiting_.push_back(next_);
  }
}

void Gather::copy(const IdBuffer& ids, size_t place) const {
  if (ids.size() > 0) std::memcpy(out_->data() + begin_ + place, ids.data(), ids.size() * sizeof(uint32_t));
}

// The lock is one that a fork waits for: the child of a fork in a signal handler comes here, too.
bool Gather::take_place(size_t number, IdBuffer* ids, size_t* place) {
  const BriefLock lock;
  Chunk& own = chunks_[number];
  own.count = ids->size();
  own.is_made = true;
  *place = own.place = total_;
  const bool is_next = number == next_ && fits(own);
  if (!is_next) own.ids = std::move(*ids);
  place_next();
  return is_next;
}

bool Gather::take_waiting(IdBuffer* ids, size_t* place) {
  const BriefLock lock;
  if (waiting_.empty() || !fits(chunks_[waiting_.back()])) return false;
  Chunk& chunk = chunks_[waiting_.back()];
  waiting_.pop_back();
  *ids = std::move(chunk.ids);
  *place = chunk.place;
  return true;
}

// A thread adds at most one chunk to those that wait, and copies one: so they do not become many, and no thread copies
// for all.
void Gather::add(size_t number, IdBuffer* ids) {
  size_t place;
  if (take_place(number, ids, &place)) copy(*ids, place);
  if (take_waiting(ids, &place)) copy(*ids, place);
  ids->clear();
}

void Gather::finish() {
  out_->reserve(total_);
  for (const size_t number : waiting_) copy(chunks_[number].ids, chunks_[number].place);
  out_->commit(total_);
}

}  // namespace tokcli
