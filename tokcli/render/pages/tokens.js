// The tokens of a page, and the description of one of them: its bytes, its text, and the merges that made it.

const TREE_NODES = 1000; // nodes that are shown of a tree; a token of 128 bytes has at most 255
const LINKS_AT_ONCE = 40; // shown at first, and with each "more"

class Tokens {
  // `prefix` tells the addresses of tokens of several vocabularies apart
  constructor(columns, prefix = "") {
    this.prefix = prefix;
    this.ids = columns.ids;
    this.count = columns.ids.length;
    this.bytes = columns.tokens;
    this.starts = startsOf(columns.lengths);
    this.left = columns.left; // place of the left parent + 1; 0 where there is none
    this.right = columns.right;
    this.special = columns.special;
    this.scores = columns.scores ?? null;
    this.others = othersOf(columns);
    this.shown = new Map();
    this._children = undefined;
  }

  bytesOf(place) {
    return this.bytes.subarray(this.starts[place], this.starts[place + 1]);
  }

  // Returns the visible text of a token, which is kept, since the same tokens are shown again and again.
  textOf(place, spaces = true) {
    const key = spaces ? place : -1 - place;
    let text = this.shown.get(key);
    if (text === undefined) {
      text = visibleBytes(this.bytesOf(place), spaces);
      if (this.shown.size > 65536) this.shown.clear();
      this.shown.set(key, text);
    }
    return text;
  }

  parentsOf(place) {
    return this.left[place] ? [this.left[place] - 1, this.right[place] - 1] : null;
  }

  // Returns the place of an id, -1 if there is none; the ids are sorted.
  placeOf(id) {
    let [low, high] = [0, this.count];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.ids[middle] < id) low = middle + 1;
      else high = middle;
    }
    return this.ids[low] === id ? low : -1;
  }

  // Finds the tokens that each token is a parent of: `of(place)` is a slice of one array, in order.
  get children() {
    if (this._children) return this._children;
    const lengths = new Uint32Array(this.count);
    const each = (take) => {
      for (let made = 0; made < this.count; made++) {
        if (!this.left[made]) continue;
        take(this.left[made] - 1, made);
        if (this.right[made] !== this.left[made]) take(this.right[made] - 1, made);
      }
    };
    each((parent) => lengths[parent]++);
    const starts = startsOf(lengths);
    const next = starts.slice();
    const made = new Uint32Array(starts[this.count]);
    each((parent, child) => (made[next[parent]++] = child));
    this._children = { of: (place) => made.subarray(starts[place], starts[place + 1]) };
    return this._children;
  }

  kindOf(place) {
    if (this.special[place]) return "special";
    if (this.parentsOf(place)) return "merged";
    return this.starts[place + 1] - this.starts[place] === 1 ? "byte" : "no merge known";
  }

  chip(place) {
    return isolated(this.textOf(place), { class: "data chip" });
  }

  // Makes a link to the merges of a token: its address is read by placeInHash.
  link(place) {
    return make("a", { href: this.hrefOf(place) }, this.chip(place), make("span", { class: "id" }, `${this.ids[place]}`));
  }

  idLink(place) {
    return make("a", { href: this.hrefOf(place) }, `${this.ids[place]}`);
  }

  hrefOf(place) {
    return `#${this.prefix}token-${this.ids[place]}`;
  }

  // Makes the merge tree of a token as nested lists; `node` makes the element of each token in it.
  tree(root, node = (one) => this.link(one)) {
    const list = make("ul", { class: "tree" });
    const waiting = [[root, list]]; // no recursion: a tree may be thousands of levels deep
    let room = TREE_NODES;
    while (waiting.length) {
      const [place, parent] = waiting.shift();
      if (!room--) {
        parent.append(make("li", {}, "\u2026"));
        break;
      }
      const item = make("li", {}, node(place));
      parent.append(item);
      const parents = this.parentsOf(place);
      if (!parents) continue;
      const below = make("ul");
      item.append(below);
      waiting.push(...parents.map((one) => [one, below]));
    }
    return list;
  }

  // Makes links to the tokens that the text of a token is encoded as, where that is not the token itself.
  othersOf(place) {
    const others = Array.from(this.others.get(place), (one) => this.link(one));
    return others.length ? make("span", {}, ...others.flatMap((one) => [one, " "])) : "nothing";
  }

  // Makes the list of the tokens that a token was merged into, some at a time; `where` ends its heading,
  // if not all tokens of the vocabulary are here.
  mergedInto(place, where) {
    const children = this.children.of(place);
    if (where && !children.length) return "";
    const list = make("ul", { class: "parts" });
    const more = make("button", { type: "button" }, "More");
    const add = () => {
      const begin = list.childElementCount;
      const next = children.subarray(begin, begin + LINKS_AT_ONCE);
      list.append(...Array.from(next, (child) => make("li", {}, this.link(child))));
      more.hidden = list.childElementCount === children.length;
    };
    more.addEventListener("click", add);
    add();
    return make("div", {}, make("h3", {}, `Merged into ${counted(children.length, "token")}${where}`), list, more);
  }

  // Makes the description of a token; `more` are further names and values, `where` says which tokens are here.
  describe(place, { more = [], where = "" } = {}) {
    const bytes = this.bytesOf(place);
    const characters = textOf(bytes) === null ? "not UTF-8" : counted(charactersIn(bytes), "character");
    return [
      definitions([
        ["text", this.chip(place)],
        ["bytes", make("code", {}, hexOf(bytes))],
        ["length", `${counted(bytes.length, "byte")}, ${characters}`],
        ["kind", this.kindOf(place)],
        ["score", this.scores ? `${this.scores[place]}` : null],
        ["encodes as", this.others.has(place) ? this.othersOf(place) : null],
        ...more,
      ]),
      ...(this.parentsOf(place) ? [make("h3", {}, "Merges"), this.tree(place)] : []),
      this.mergedInto(place, where),
    ];
  }
}

// Returns the place of the token that the address of the page names, #token-24912; -1 where it names none of them.
function placeInHash(tokens) {
  const [prefix, id] = location.hash.slice(1).split("token-");
  return prefix === tokens.prefix && /^\d{1,10}$/.test(id) ? tokens.placeOf(Number(id)) : -1;
}

// Returns, by place, the tokens that the text of a token is encoded as where it is not itself; only on a vocabulary's
// page, and for few tokens.
function othersOf({ reencoded = [], reencodedCounts = [], reencodedTokens = [] }) {
  const starts = startsOf(reencodedCounts);
  const others = (index) => reencodedTokens.slice(starts[index], starts[index + 1]);
  return new Map(Array.from(reencoded, (place, index) => [place, others(index)]));
}
