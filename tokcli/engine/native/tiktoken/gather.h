// The ids of the chunks of a text, which several threads make in any order, in one buffer in the order of the chunks.
#pragma once

#include <vector>

#include "base/id_buffer.h"

namespace tokcli {

// Each thread uses a small buffer of its own again and again, and copies the ids of a chunk to their place as soon as it is
// known: once the chunks before have been made, as a rule at once. So pages of memory are written only where ids stay, by
// all threads. (Profile: buffers for half of the text each, and one thread that copied them, took a fifth of the time.)
class Gather {
 public:
  // Appends to `out`, where there is room for about as many ids as there will be. What does not fit is copied in the end.
  Gather(size_t chunks, size_t room, IdBuffer* out);
  Gather(const Gather&) = delete;
  Gather& operator=(const Gather&) = delete;

  // Takes the ids of a chunk out of a thread's buffer. Copies them, or others that have waited for those before them.
  void add(size_t number, IdBuffer* ids);
  // Copies what is left; to be called once all chunks have been added, and nobody adds any more.
  void finish();

 private:
  struct Chunk {
    bool is_made = false;
    size_t count = 0, place = 0;  // the number of its ids; of all ids before it, once that is known
    IdBuffer ids;                 // while they wait
  };
  bool fits(const Chunk& chunk) const { return chunk.place + chunk.count <= room_; }
  // Returns whether a chunk is the next one, and there is room for it; else its ids wait.
  bool take_place(size_t number, IdBuffer* ids, size_t* place);
  // Takes ids that have waited, if there are any whose place is known.
  bool take_waiting(IdBuffer* ids, size_t* place);
  void place_next();
  void copy(const IdBuffer& ids, size_t place) const;

  IdBuffer* out_;
  const size_t begin_;   // the ids that were in the buffer before
  size_t room_;          // for more of them, while threads copy
  std::vector<Chunk> chunks_;
  std::vector<size_t> waiting_;  // chunks whose place is known, and whose ids wait in them
  size_t next_ = 0, total_ = 0;  // the first chunk that has not been made, and the ids of all before it
};

}  // namespace tokcli
