// A text of many tokens in colours, as a terminal shows it; only blocks near the visible part have elements for tokens.

const COLOURS = 6;
const BLOCK_TOKENS = [60, 600]; // a block ends at the first line end after so many tokens, or at most after so many

class TokenText {
  // `sequence` has the place in `tokens` of each token of the text; `inputs` are [{name, tokens}] in order
  constructor(box, tokens, sequence, inputs) {
    Object.assign(this, { box, tokens, sequence, spaces: true, current: -1 });
    this.starts = startsOf(sequence.map((place) => tokens.starts[place + 1] - tokens.starts[place])); // in bytes
    this.blocks = [];
    this.texts = []; // by place
    this.observer = new IntersectionObserver((entries) => entries.forEach((entry) => this.onSight(entry)), {
      root: box,
      rootMargin: "1000px 0px",
    });
    let begin = 0;
    for (const input of inputs) {
      this.addInput(input, begin, inputs.length > 1);
      begin += input.tokens;
    }
    if (this.blocks.length) this.setTokens(this.blocks[0]); // without waiting for the observer
    box.addEventListener("keydown", (event) => this.onKey(event));
  }

  addInput({ name, tokens }, begin, isNamed) {
    const group = make("div", { role: "group", "aria-label": visible(name, false) });
    if (isNamed) {
      const bytes = this.starts[begin + tokens] - this.starts[begin];
      const facts = ` \u2014 ${counted(tokens, "token")}, ${counted(bytes, "byte")}`;
      group.append(make("div", { class: "input-name", role: "presentation" }, isolated(visible(name, false)), facts));
    }
    const end = begin + tokens;
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
    const [enough, most] = BLOCK_TOKENS;
    for (let at = begin; at < end; at++) {
      const last = this.tokens.bytes[this.tokens.starts[this.sequence[at] + 1] - 1];
      if (at - begin + 1 >= most || (at - begin + 1 >= enough && last === 10)) return at + 1;
    }
    return end;
  }

  shown(number) {
    const place = this.sequence[number];
    return (this.texts[place] ??= this.textOf(place));
  }

  // Returns the visible text of a token; a newline is shown, and breaks the line.
  textOf(place) {
    const bytes = this.tokens.bytesOf(place);
    if (!bytes.length) return "\u27e8\u27e9";
    if (!bytes.includes(10)) return this.tokens.textOf(place, this.spaces);
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
      const attributes = {
        role: "option",
        id: `token-${number}`,
        class: `token t${(number - block.first) % COLOURS}${shown.endsWith("\n") ? " breaks" : ""}`,
        "data-id": this.tokens.ids[this.sequence[number]],
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

  isIn(block, number) {
    return block.begin <= number && number < block.end;
  }

  redraw(spaces) {
    this.spaces = spaces;
    this.texts = [];
    for (const block of this.blocks) (block.hasTokens ? this.setTokens : this.setPlain).call(this, block);
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

  // Makes a token the current one, and scrolls it into sight.
  select(number) {
    if (!this.sequence.length) return;
    byId(`token-${this.current}`)?.setAttribute("aria-selected", "false");
    this.current = Math.min(Math.max(number, 0), this.sequence.length - 1);
    const block = this.blockOf(this.current);
    if (!block.hasTokens) this.setTokens(block);
    const element = byId(`token-${this.current}`);
    element.setAttribute("aria-selected", "true");
    element.scrollIntoView({ block: "nearest", inline: "nearest" });
    this.box.setAttribute("aria-activedescendant", element.id);
    this.onSelect?.(this.current);
  }

  // Returns the number of the token above or below the current one on the screen.
  beside(direction) {
    const boxes = byId(`token-${this.current}`)?.getClientRects();
    if (!boxes?.length) return this.current;
    const from = boxes[direction < 0 ? 0 : boxes.length - 1];
    for (let lines = 1; lines < 4; lines++) {
      const y = (from.top + from.bottom) / 2 + direction * lines * 1.6 * from.height;
      const under = document.elementFromPoint(from.left + Math.min(from.width / 2, 8), y)?.closest(".token");
      if (under && Number(under.id.slice(6)) !== this.current) return Number(under.id.slice(6));
    }
    return this.current + direction;
  }

  onKey(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const last = this.sequence.length - 1;
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

  // Returns the number of the token that contains a byte of the text.
  tokenAt(offset) {
    let [low, high] = [0, this.sequence.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.starts[middle + 1] <= offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // Returns all bytes of the text.
  get bytes() {
    if (!this._bytes) {
      this._bytes = new Uint8Array(this.starts[this.sequence.length]);
      this.sequence.forEach((place, number) => this._bytes.set(this.tokens.bytesOf(place), this.starts[number]));
    }
    return this._bytes;
  }

  // Returns, by token, how many characters begin before it.
  get characters() {
    if (!this._characters) {
      const begun = this.tokens.ids.map((_, place) => charactersIn(this.tokens.bytesOf(place)));
      this._characters = startsOf(this.sequence.map((place) => begun[place]));
    }
    return this._characters;
  }
}
