// Finding text in bytes, whatever the case of its letters, and going from hit to hit.

// Returns the bytes of a text that is encoded in UTF-8, as that text; null where they are not UTF-8.
function textOf(bytes) {
  try {
    return strict.decode(bytes);
  } catch {
    return null;
  }
}

// Returns bytes as text; each byte that is not UTF-8 becomes half a surrogate pair, which no text contains.
const asText = (bytes) =>
  textOf(bytes) ??
  runsOf(bytes).map(([text, part]) => text ?? Array.from(part, (b) => String.fromCharCode(0xdc00 + b)).join("")).join("");

// Returns the place of a needle in bytes from a place on, -1 if there is none.
function findBytes(bytes, needle, from) {
  const last = bytes.length - needle.length;
  for (let at = from; needle.length && at <= last; at++) {
    at = bytes.indexOf(needle[0], at);
    if (at < 0 || at > last) return -1;
    let i = 1;
    while (i < needle.length && bytes[at + i] === needle[i]) i++;
    if (i === needle.length) return at;
  }
  return -1;
}

// Bytes in which texts are looked for.
class Haystack {
  constructor(bytes) {
    this.bytes = bytes;
  }

  get text() {
    return (this._text ??= asText(this.bytes));
  }

  // Calls visit(begin, end), in bytes, for each occurrence. Where that returns false, the next occurrence may begin
  // inside this one; else it begins after it. Case is ignored where `folds`, and where the needle is text.
  each(needle, folds, visit) {
    const sought = folds ? textOf(needle) : null;
    if (needle.length && sought !== null) this.eachFolded(sought, visit);
    else if (needle.length) this.eachExact(needle, visit);
  }

  eachExact(needle, visit) {
    const size = needle.length;
    for (let at = findBytes(this.bytes, needle, 0); at >= 0; ) {
      at = findBytes(this.bytes, needle, visit(at, at + size) === false ? at + 1 : at + size);
    }
  }

  eachFolded(sought, visit) {
    const { text } = this;
    const pattern = new RegExp(sought.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "giu"); // simple case folding
    const isAscii = text.length === this.bytes.length;
    let [at, bytes] = [0, 0];
    const bytesBefore = (end) => {
      if (isAscii) return end;
      for (; at < end; at++) bytes += sizeAt(text, at);
      return bytes;
    };
    for (let match; (match = pattern.exec(text)); ) {
      const begin = bytesBefore(match.index);
      const end = bytesBefore(match.index + match[0].length);
      if (visit(begin, end) !== false) continue;
      pattern.lastIndex = match.index + (text.codePointAt(match.index) > 0xffff ? 2 : 1);
      [at, bytes] = [match.index, begin];
    }
  }
}

// Returns how many bytes a code unit of `asText` stands for: both halves of a pair for two, half a pair alone for one.
function sizeAt(text, at) {
  const unit = text.charCodeAt(at);
  if (unit < 0x80) return 1;
  if (unit < 0x800) return 2;
  if ((unit & 0xf800) !== 0xd800) return 3;
  return (unit & 0xfc00) === 0xd800 || (text.charCodeAt(at - 1) & 0xfc00) === 0xd800 ? 2 : 1;
}

// Returns the numbers of the items that contain a needle; `starts` says where in the haystack each item begins.
// `fits(begin, end, item)` says whether an occurrence counts.
function itemsWith(haystack, { starts, count }, needle, folds, fits = () => true) {
  const found = [];
  let item = 0;
  haystack.each(needle, folds, (begin, end) => {
    while (item < count && starts[item + 1] <= begin) item++;
    const isHit = end <= starts[item + 1] && fits(begin, end, item);
    if (isHit && found[found.length - 1] !== item) found.push(item);
    return isHit;
  });
  return Uint32Array.from(found);
}

// The hits of a search in a running text, of which one is the current one: the first and the last item of each.
class Hits {
  constructor(pairs = []) {
    this.pairs = pairs;
    this.at = -1;
  }

  get items() {
    const items = new Set();
    for (const [first, last] of this.pairs) for (let item = first; item <= last; item++) items.add(item);
    return items;
  }

  // Returns the item of the next (1) or previous (-1) hit as seen from an item, wrapping around; -1 without one.
  step(direction, from) {
    const count = this.pairs.length;
    if (!count) return -1;
    if (this.pairs[this.at]?.[0] === from) this.at = (this.at + direction + count) % count;
    else {
      const after = this.pairs.findIndex(([first]) => first >= from);
      if (direction > 0) this.at = after < 0 ? 0 : after;
      else this.at = after <= 0 ? count - 1 : after - 1;
    }
    return this.pairs[this.at][0];
  }

  // "hit 3 of 17", or how many there are before one is chosen
  get told() {
    const count = this.pairs.length;
    if (!count) return "No hits";
    return this.at < 0 ? `${counted(count, "hit")}; Enter goes to the next` : `Hit ${grouped(this.at + 1)} of ${grouped(count)}`;
  }
}

// Connects a field and its two buttons with the hits in a running text: `search()` returns the hits of the query now, and
// `onHits()` is called when they have been marked. Returns what searches once more.
function connectFind(text, search, onHits = () => {}) {
  let hits = new Hits();
  const tell = () => say(byId("query").value ? hits.told : "");
  const renew = () => {
    hits = byId("query").value ? search() : new Hits();
    text.mark(hits.items);
    byId("next").disabled = byId("previous").disabled = !hits.pairs.length;
    tell();
    onHits();
  };
  const go = (direction) => {
    const item = hits.step(direction, text.current);
    if (item >= 0) text.select(item);
    tell();
  };
  byId("query").addEventListener("input", renew);
  byId("next").addEventListener("click", () => go(1));
  byId("previous").addEventListener("click", () => go(-1));
  byId("query").addEventListener("keydown", (event) => event.key === "Enter" && go(event.shiftKey ? -1 : 1));
  renew();
  return renew;
}
