// Splits and merges text as the tokenizer of the page does, by ranks and one pattern. What only the tokenizer itself can
// encode is refused with a reason, never guessed.

const KEPT_PIECES = 65536; // pieces whose ids are remembered; emptied when full
const KEPT_UNITS = 64; // a longer piece hardly ever recurs
const POSITIONS = 2 ** 22; // a heap's key is a rank and a position in a piece, which has fewer bytes than this

// Bytes as a string with a character for each, which is a key of maps; and the way back.
function binaryOf(bytes) {
  let binary = "";
  for (let at = 0; at < bytes.length; at += 8192) binary += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return binary;
}
const fromBinary = (binary) => Uint8Array.from(binary, (char) => char.charCodeAt(0));

const quoted = (text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
// Returns a pattern that finds the longest of some texts; null without any.
const anyOf = (texts) =>
  texts.length ? new RegExp([...texts].sort((a, b) => b.length - a.length).map(quoted).join("|"), "gu") : null;

// A heap of numbers, of which the lowest comes out first.
class Heap {
  constructor() {
    this.items = [];
  }

  push(item) {
    const { items } = this;
    let at = items.push(item) - 1;
    for (let above; at > 0 && items[(above = (at - 1) >> 1)] > item; at = above) items[at] = items[above];
    items[at] = item;
  }

  pop() {
    const { items } = this;
    const lowest = items[0];
    const last = items.pop();
    if (!items.length) return lowest;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= items.length) break;
      if (below + 1 < items.length && items[below + 1] < items[below]) below++;
      if (items[below] >= last) break;
      items[at] = items[below];
      at = below;
    }
    items[at] = last;
    return lowest;
  }
}

// A text that cannot be encoded here, for a reason that is shown.
class NotHere extends Error {}

class PageTokenizer {
  // `about` says what is not split; the tokens are in columns of their own, or in the page's table: see box_columns.py.
  constructor(about, columns) {
    this.about = about;
    this.ranks = new Map(); // what merging makes, as binary strings, to ids
    this.whole = new Map(); // what only a whole piece becomes
    this.binaries = new Map(); // ids to binary strings
    this.longest = 0;
    const all = binaryOf(columns.boxTokens ?? columns.tokens);
    const lengths = columns.boxLengths ?? columns.lengths;
    let begin = 0;
    (columns.boxIds ?? columns.ids).forEach((id, index) => {
      const token = all.slice(begin, (begin += lengths[index]));
      const kind = columns.boxKinds[index];
      if (kind) (kind === 1 ? this.ranks : this.whole).set(token, id);
      this.binaries.set(id, token);
      this.longest = Math.max(this.longest, token.length);
    });
    const decode = (name) => strict.decode(columns[name]);
    this.encoder = new TextEncoder();
    for (const [text, id] of Object.entries(about.added)) this.binaries.set(id, binaryOf(this.encoder.encode(text)));
    this.pattern = new RegExp(decode("boxPattern"), "gu");
    this.inert = columns.boxInert.length ? new RegExp(`(${decode("boxInert")}+)`, "u") : null;
    this.unsafe = columns.boxUnsafe.length ? new RegExp(decode("boxUnsafe"), "u") : null;
    this.added = anyOf(Object.keys(about.added));
    this.special = anyOf(about.special);
    this.pieces = new Map();
    this.parents = new Map();
  }

  // Returns {ids, special, changed}: the ids of a text, how many special tokens in it are text, and whether it was
  // normalized. NotHere where only the tokenizer itself knows the ids.
  encode(typed) {
    const text = strict.decode(this.encoder.encode(typed)); // halves of surrogate pairs become U+FFFD, as everywhere
    const ids = [];
    let changed = false;
    const plain = (part) => {
      const normal = this.about.form ? this.normalized(part) : part;
      changed ||= normal !== part;
      const found = this.unsafe?.exec(normal);
      if (found) throw new NotHere(`Only tokcli itself knows the ids of ${nameOf(found[0])} with this tokenizer.`);
      for (const id of this.idsOf(normal)) ids.push(id);
    };
    let begin = 0;
    for (const match of this.added ? text.matchAll(this.added) : []) {
      if (match.index > begin) plain(text.slice(begin, match.index));
      ids.push(this.about.added[match[0]]);
      begin = match.index + match[0].length;
    }
    if (begin < text.length) plain(text.slice(begin));
    return { ids, changed, special: this.special ? (text.match(this.special)?.length ?? 0) : 0 };
  }

  // Returns a text in the tokenizer's normal form, of its own version of Unicode: runs of the characters that this version
  // never changes, whatever the browser's does, stay as they are.
  normalized(text) {
    const change = (part, at) => (at % 2 ? part : part.normalize(this.about.form));
    return text.split(this.inert).map(change).join("");
  }

  // Yields the ids of a text without added tokens.
  *idsOf(text) {
    let end = 0;
    for (const match of text.matchAll(this.pattern)) {
      if (match.index > end || !match[0]) break;
      end += match[0].length;
      yield* this.idsOfPiece(match[0]);
    }
    if (end < text.length) throw new NotHere(`The pattern does not match ${nameOf(text.slice(end))}.`);
  }

  idsOfPiece(piece) {
    let ids = this.pieces.get(piece);
    if (ids === undefined) {
      const binary = binaryOf(this.encoder.encode(piece));
      const id = this.ranks.get(binary) ?? this.whole.get(binary);
      ids = id === undefined ? this.merged(binary) : [id];
      if (this.pieces.size >= KEPT_PIECES) this.pieces.clear();
      if (piece.length <= KEPT_UNITS) this.pieces.set(piece, ids);
    }
    return ids;
  }

  merged(binary) {
    const bounds = this.boundsOf(binary, 1);
    return bounds.slice(1).map((end, index) => {
      const id = this.ranks.get(binary.slice(bounds[index], end));
      if (id !== undefined) return id;
      throw new NotHere(`The vocabulary has no token for the byte ${hexOf(fromBinary(binary[bounds[index]]))}.`);
    });
  }

  // Returns where the parts of a piece begin, and its end, when all pairs have merged or `leave` parts are left: of all
  // pairs that are a token together, the one of the lowest rank merges first, the leftmost of equals.
  boundsOf(binary, leave) {
    const size = binary.length;
    const next = new Int32Array(size + 1).map((_, at) => at + 1);
    const before = new Int32Array(size + 1).map((_, at) => at - 1);
    const rankAt = new Float64Array(size).fill(-1); // of a part and the next one together, -1 if they are no token
    const heap = new Heap();
    const look = (at) => {
      const end = next[at] < size ? next[next[at]] : Infinity;
      const rank = end - at <= this.longest ? this.ranks.get(binary.slice(at, end)) : undefined;
      rankAt[at] = rank ?? -1;
      if (rank !== undefined) heap.push(rank * POSITIONS + at);
    };
    for (let at = 0; at < size; at++) look(at);
    for (let left = size; heap.items.length && left > leave; ) {
      const lowest = heap.pop();
      const at = lowest % POSITIONS;
      if (rankAt[at] !== (lowest - at) / POSITIONS) continue; // it has changed meanwhile
      left--;
      rankAt[next[at]] = -1;
      next[at] = next[next[at]];
      before[next[at]] = at;
      look(at);
      if (before[at] >= 0) look(before[at]);
    }
    const bounds = [0];
    for (let at = 0; at < size; ) bounds.push((at = next[at]));
    return bounds;
  }

  // Returns the ids of the two tokens that merge into one; null where none do.
  parentsOf(id) {
    let pair = this.parents.get(id);
    if (pair !== undefined) return pair;
    const binary = this.binaries.get(id);
    pair = null;
    if (binary.length > 1 && this.ranks.get(binary) === id) {
      const bounds = this.boundsOf(binary, 2);
      const ids = bounds.slice(1).map((end, index) => this.ranks.get(binary.slice(bounds[index], end)));
      if (ids.length === 2 && !ids.includes(undefined)) pair = ids;
    }
    this.parents.set(id, pair);
    return pair;
  }

  // Returns the columns of a page of these ids: its tokens, and all tokens that were merged into them.
  columnsOf(ids) {
    const found = new Set(ids);
    for (const id of found) this.parentsOf(id)?.forEach((one) => found.add(one)); // the set grows while it is read
    const sorted = Uint32Array.from(found).sort();
    const places = new Map(Array.from(sorted, (id, place) => [id, place]));
    const parents = Array.from(sorted, (id) => this.parentsOf(id));
    const side = (which) => Uint32Array.from(parents, (pair) => (pair ? places.get(pair[which]) + 1 : 0));
    return {
      ids: sorted,
      lengths: Uint32Array.from(sorted, (id) => this.binaries.get(id).length),
      tokens: fromBinary(Array.from(sorted, (id) => this.binaries.get(id)).join("")),
      left: side(0),
      right: side(1),
      special: new Uint8Array(sorted.length),
      sequence: Uint32Array.from(ids, (id) => places.get(id)),
    };
  }
}

// Returns a text's first character as people read it: "A" (U+0041).
function nameOf(text) {
  const char = String.fromCodePoint(text.codePointAt(0));
  return `${visible(char, true)} (U+${char.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")})`;
}
