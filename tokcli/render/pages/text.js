// A text of many tokens, or pieces, in colours, as a terminal shows it; only blocks near the visible part have an element
// for each of them.

const COLOURS = 6;
const BLOCK_ITEMS = [60, 600]; // a block ends at the first line end after so many items, or at most after so many
const MOST_OF_ITEM = 4000; // bytes that are shown; browsers take seconds to break a line of 1 MB
const NEAREST = { block: "nearest", inline: "nearest" };
const MARGIN = 40; // pixels around an item that is scrolled into sight
const FRAMES = 30; // in which an item is kept in sight after it was scrolled there
const KEPT_TEXTS = 65536; // since the same tokens are shown again and again
const MOST_PRINTED = 50_000; // items that are printed in colours; more are printed as plain text

// The tokens of a text as the items of a RunningText: `sequence` has the place in `tokens` of each.
class TokenItems {
  constructor(tokens, sequence) {
    Object.assign(this, { tokens, sequence, count: sequence.length, unit: "token" });
    this.starts = startsOf(sequence.map((place) => tokens.starts[place + 1] - tokens.starts[place])); // in bytes
  }

  bytesOf(number) {
    return this.tokens.bytesOf(this.sequence[number]);
  }

  keyOf(number) {
    return this.sequence[number];
  }

  classOf(number, first) {
    return `t${(number - first) % COLOURS}`;
  }

  idOf(number) {
    return `${this.tokens.ids[this.sequence[number]]}`;
  }
}

class RunningText {
  // `items` have count, starts (in bytes), bytesOf(number), keyOf(number) (equal for items of the same text),
  // classOf(number, first item of the input), idOf(number) and unit, what one item is called;
  // `inputs` are [{name, count}], how many items each has; `prefix` tells the elements of several texts apart
  constructor(box, items, inputs, prefix = "") {
    Object.assign(this, { box, prefix, spaces: true, current: -1, marks: new Set() });
    this.observer = new IntersectionObserver((entries) => entries.forEach((entry) => this.onSight(entry)), {
      root: box,
      rootMargin: "1000px 0px",
    });
    box.addEventListener("keydown", (event) => this.onKey(event));
    for (const kind of ["wheel", "touchmove", "pointerdown"]) box.addEventListener(kind, () => (this.kept = -1), { passive: true });
    addEventListener("beforeprint", () => this.drawAll());
    this.show(items, inputs);
  }

  // Shows other items, from the first on; none is current then.
  show(items, inputs) {
    Object.assign(this, { items, starts: items.starts, blocks: [], texts: new Map(), current: -1, marks: new Set() });
    this._bytes = this._characters = this._haystack = undefined;
    this.observer.disconnect();
    this.box.replaceChildren();
    this.box.removeAttribute("aria-activedescendant");
    let begin = 0;
    for (const input of inputs) {
      this.addInput(input, begin, inputs.length > 1);
      begin += input.count;
    }
    if (this.blocks.length) this.setTokens(this.blocks[0]); // without waiting for the observer
  }

  addInput({ name, count }, begin, isNamed) {
    const group = make("div", { role: "group", "aria-label": visible(name, false) });
    if (isNamed) {
      const bytes = this.starts[begin + count] - this.starts[begin];
      const facts = ` \u2014 ${counted(count, this.items.unit)}, ${counted(bytes, "byte")}`;
      group.append(make("div", { class: "input-name", role: "presentation" }, isolated(visible(name, false)), facts));
    }
    const end = begin + count;
    for (let at = begin; at < end; ) {
      const next = this.blockEnd(at, end);
      const element = make("div", { class: "block", role: "presentation", "data-block": this.blocks.length });
      const block = { begin: at, end: next, first: begin, element };
      this.blocks.push(block);
      this.setPlain(block);
      group.append(element);
      this.observer.observe(element);
      at = next;
    }
    this.box.append(group);
  }

  blockEnd(begin, end) {
    const [enough, most] = BLOCK_ITEMS;
    for (let at = begin; at < end; at++) {
      const last = this.items.bytesOf(at).at(-1);
      if (at - begin + 1 >= most || (at - begin + 1 >= enough && last === 10)) return at + 1;
    }
    return end;
  }

  shown(number) {
    const key = this.items.keyOf(number);
    let text = this.texts.get(key);
    if (text === undefined) {
      if (this.texts.size > KEPT_TEXTS) this.texts.clear();
      this.texts.set(key, (text = this.textOf(this.items.bytesOf(number))));
    }
    return text;
  }

  // Returns the visible text of an item, of a long one the beginning; a newline is shown, and breaks the line.
  textOf(bytes) {
    if (!bytes.length) return "\u27e8\u27e9";
    if (bytes.length > MOST_OF_ITEM) {
      let end = MOST_OF_ITEM;
      while (end > MOST_OF_ITEM - 4 && isContinuation(bytes[end])) end--;
      return `${this.textOf(bytes.subarray(0, end))}\u27e8and ${grouped(bytes.length - end)} bytes\u27e9`;
    }
    if (!bytes.includes(10)) return visibleBytes(bytes, this.spaces);
    const lines = [];
    for (let begin = 0; begin <= bytes.length; ) {
      const end = bytes.indexOf(10, begin);
      lines.push(visibleBytes(bytes.subarray(begin, end < 0 ? undefined : end), this.spaces));
      begin = end < 0 ? bytes.length + 1 : end + 1;
    }
    return lines.join(this.spaces ? "\u23ce\n" : "\n");
  }

  setPlain(block) {
    const parts = [];
    for (let number = block.begin; number < block.end; number++) parts.push(this.shown(number));
    block.element.textContent = parts.join("");
    block.hasTokens = false;
  }

  setTokens(block) {
    const elements = [];
    for (let number = block.begin; number < block.end; number++) {
      const shown = this.shown(number);
      const [breaks, hit] = [shown.endsWith("\n") ? " breaks" : "", this.marks.has(number) ? " hit" : ""];
      const attributes = {
        role: "option",
        id: this.idOf(number),
        class: `token ${this.items.classOf(number, block.first)}${breaks}${hit}`,
        "data-id": this.items.idOf(number),
        "aria-selected": number === this.current ? "true" : "false",
      };
      elements.push(make("wbr"), make("span", attributes, shown)); // lines break between tokens if they can
    }
    block.element.replaceChildren(...elements);
    block.hasTokens = true;
  }

  onSight({ target, isIntersecting }) {
    const block = this.blocks[target.dataset.block];
    if (isIntersecting && !block.hasTokens) this.setTokens(block);
    else if (!isIntersecting && block.hasTokens && !this.isIn(block, this.current)) this.setPlain(block);
  }

  idOf(number) {
    return `${this.prefix}item-${number}`;
  }

  isIn(block, number) {
    return block.begin <= number && number < block.end;
  }

  // Draws what has been drawn before once more; with other spaces, all of the text.
  redraw(spaces = this.spaces) {
    const isOther = spaces !== this.spaces;
    this.spaces = spaces;
    if (isOther) this.texts.clear();
    for (const block of this.blocks) {
      if (block.hasTokens) this.setTokens(block);
      else if (isOther) this.setPlain(block);
    }
  }

  // Marks items as hits of a search, in the place of those that were marked before.
  mark(items) {
    if (!items.size && !this.marks.size) return;
    this.marks = items;
    this.redraw();
  }

  // Draws the items of all blocks, so that they are printed in colours, unless they are too many.
  drawAll() {
    if (this.items.count <= MOST_PRINTED) this.blocks.filter((block) => !block.hasTokens).forEach(this.setTokens, this);
  }

  blockOf(number) {
    let [low, high] = [0, this.blocks.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.blocks[middle].begin <= number) low = middle;
      else high = middle - 1;
    }
    return this.blocks[low];
  }

  // Makes an item the current one, and scrolls it into sight.
  select(number, { scrolls = true } = {}) {
    if (!this.items.count) return;
    this.leave();
    this.current = Math.min(Math.max(number, 0), this.items.count - 1);
    const element = this.elementOf(this.current);
    element.setAttribute("aria-selected", "true");
    if (scrolls) this.keepInSight();
    this.box.setAttribute("aria-activedescendant", element.id);
    this.onSelect?.(this.current);
  }

  // Makes none of the items the current one.
  leave() {
    byId(this.idOf(this.current))?.setAttribute("aria-selected", "false");
    this.box.removeAttribute("aria-activedescendant");
    this.current = -1;
  }

  // Scrolls the current item into sight, and keeps it there for some frames, in which blocks get their real heights; not
  // against a reader who scrolls meanwhile.
  keepInSight(frames = FRAMES) {
    this.kept = this.current;
    const keep = (left) => {
      if (this.current < 0 || this.kept !== this.current) return;
      this.elementOf(this.current).scrollIntoView(NEAREST);
      if (left) requestAnimationFrame(() => keep(left - 1));
    };
    keep(frames);
  }

  // Scrolls an item into sight in its own box, and nothing else.
  reveal(number) {
    const [inner, outer] = [this.elementOf(number), this.box].map((element) => element.getBoundingClientRect());
    if (inner.top < outer.top) this.box.scrollTop -= outer.top - inner.top + MARGIN;
    else if (inner.bottom > outer.bottom) this.box.scrollTop += inner.bottom - outer.bottom + MARGIN;
  }

  // Returns the element of an item, which is drawn if it is not yet.
  elementOf(number) {
    const block = this.blockOf(number);
    if (!block.hasTokens) this.setTokens(block);
    return byId(this.idOf(number));
  }

  // Returns the number of the item above or below the current one on the screen.
  beside(direction) {
    const boxes = byId(this.idOf(this.current))?.getClientRects();
    if (!boxes?.length) return this.current;
    const from = boxes[direction < 0 ? 0 : boxes.length - 1];
    for (let lines = 1; lines < 4; lines++) {
      const y = (from.top + from.bottom) / 2 + direction * lines * 1.6 * from.height;
      const under = document.elementFromPoint(from.left + Math.min(from.width / 2, 8), y)?.closest(".token");
      if (under && numberOf(under) !== this.current) return numberOf(under);
    }
    return this.current + direction;
  }

  onKey(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const last = this.items.count - 1;
    const targets = {
      ArrowRight: () => this.current + 1,
      ArrowLeft: () => this.current - 1,
      ArrowDown: () => (this.current < 0 ? 0 : this.beside(1)),
      ArrowUp: () => this.beside(-1),
      Home: () => 0,
      End: () => last,
    };
    if (event.key in targets) this.select(targets[event.key]());
    else if (event.key === "Enter" && this.current >= 0) byId("heading").focus();
    else return;
    event.preventDefault();
  }

  // Returns the number of the item that contains a byte of the text.
  itemAt(offset) {
    let [low, high] = [0, this.items.count - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.starts[middle + 1] <= offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // Returns the first and the last item of each occurrence of a needle.
  occurrences(needle, folds) {
    const pairs = [];
    this.haystack.each(needle, folds, (begin, end) => pairs.push([this.itemAt(begin), this.itemAt(end - 1)]));
    return new Hits(pairs);
  }

  get haystack() {
    return (this._haystack ??= new Haystack(this.bytes));
  }

  // Returns all bytes of the text.
  get bytes() {
    if (!this._bytes) {
      this._bytes = new Uint8Array(this.starts[this.items.count]);
      for (let number = 0; number < this.items.count; number++) {
        this._bytes.set(this.items.bytesOf(number), this.starts[number]);
      }
    }
    return this._bytes;
  }

  // Returns, by item, how many characters begin before it.
  get characters() {
    if (!this._characters) {
      const lengths = new Uint32Array(this.items.count);
      this._characters = startsOf(lengths.map((_, number) => charactersIn(this.items.bytesOf(number))));
    }
    return this._characters;
  }
}

// Returns the number of the item that an element shows, -1 for none.
const numberOf = (element) => Number(element?.id.split("-").at(-1) ?? -1);

// Calls `describe(number)` for the item that is pointed at, and `leave()` afterwards; a click makes an item the current one.
function connectPointer(text, describe, leave) {
  const numberAt = (event) => numberOf(event.target.closest?.(".token"));
  const listen = (kind, act) => text.box.addEventListener(kind, (event) => numberAt(event) >= 0 && act(numberAt(event)));
  listen("pointerover", describe);
  listen("click", (number) => text.select(number));
  text.box.addEventListener("pointerleave", leave);
}

// Describes the token that the address names (#token-24912: the way that links and the Back button go), or else the current
// item; making another item current takes the token out of the address. Returns what describes it now.
function connectAddress(text, tokens, describeItem, describeToken) {
  const describe = () => {
    const linked = placeInHash(tokens);
    if (linked >= 0) describeToken(linked);
    else if (text.current >= 0) describeItem(text.current);
  };
  text.onSelect = () => {
    if (location.hash) history.pushState(null, "", location.href.split("#")[0]);
    describe();
  };
  addEventListener("hashchange", describe);
  addEventListener("popstate", describe);
  return describe;
}
