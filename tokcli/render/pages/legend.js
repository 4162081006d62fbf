// The legend of a page of pieces: a line for each alternative of the pattern, in its colour, which filters its pieces.

const EXAMPLES = 6; // of the pieces that an alternative made: its most frequent ones
const MOST_DIFFERENT = 100_000; // pieces that are counted for the examples

// Returns the classes of an alternative's colour: the seventh has the colour of the first, with another line.
const colourOf = (number) =>
  number ? `t${(number - 1) % COLOURS} turn${Math.floor((number - 1) / COLOURS) % 4}` : "uncoloured";
const nameOf = (number) => (number ? `a${number}` : "-");
const swatch = (number) => make("span", { class: `alternative ${colourOf(number)}` }, nameOf(number));

// What each alternative made of a text: how many pieces, of how many bytes, and which were the most frequent ones.
class AlternativeCounts {
  constructor(pieces, most) {
    this.pieces = new Uint32Array(most + 1);
    this.bytes = new Uint32Array(most + 1);
    this.byText = Array.from(this.pieces, () => new Map());
    let room = MOST_DIFFERENT;
    for (let number = 0; number < pieces.count; number++) {
      const alternative = pieces.alternatives[number];
      this.pieces[alternative]++;
      this.bytes[alternative] += pieces.lengthOf(number);
      const [texts, key] = [this.byText[alternative], pieces.keyOf(number)];
      const entry = texts.get(key);
      if (entry) entry.count++;
      else if (room-- > 0) texts.set(key, { number, count: 1 });
    }
  }

  // Returns the numbers of pieces that an alternative made, each the first of its text, the most frequent one first.
  examples(alternative) {
    const entries = [...this.byText[alternative].values()].sort((a, b) => b.count - a.count || a.number - b.number);
    return entries.slice(0, EXAMPLES).map(({ number }) => number);
  }
}

// Fills the legend; `chosen` is the set of alternatives that are shown (all, where it is empty), `onChange` follows it.
function showLegend(head, pieces, chosen, onChange) {
  const counts = new AlternativeCounts(pieces, head.alternatives.length);
  const list = byId("pattern");
  byId("all").hidden = byId("legend-hint").hidden = !head.alternatives.length;
  if (!head.alternatives.length) {
    byId("legend-heading").textContent = "What cuts the text";
    list.append(...head.parts.map((part) => make("li", {}, isolated(visible(part, false)))));
    return;
  }
  const line = (number) => {
    const button = make("button", { type: "button", "aria-pressed": "false" }, swatch(number));
    button.addEventListener("click", () => {
      const isOn = !chosen.delete(number) && Boolean(chosen.add(number));
      button.setAttribute("aria-pressed", isOn);
      byId("all").disabled = !chosen.size;
      onChange();
    });
    const share = `${counted(counts.pieces[number], "piece")}, ${counted(counts.bytes[number], "byte")}`;
    const facts = make("span", { class: "facts" }, counts.pieces[number] ? share : "no pieces");
    const source = number ? make("code", { dir: "ltr" }, visible(head.alternatives[number - 1], false)) : "";
    const examples = counts.examples(number).map((one) => make("li", {}, pieces.chip(one)));
    return make(
      "li",
      { id: `alternative-${number}` },
      make("div", { class: "which" }, button, facts),
      make("p", {}, number ? head.meanings[number - 1] : "No single alternative: a special token, or unknown."),
      source,
      ...(examples.length ? [make("ul", { class: "parts", "aria-label": "For example" }, ...examples)] : []),
    );
  };
  const numbers = head.alternatives.map((_, index) => index + 1);
  list.append(...(counts.pieces[0] ? [...numbers, 0] : numbers).map(line));
  byId("all").addEventListener("click", () => {
    chosen.clear();
    for (const button of list.querySelectorAll("button")) button.setAttribute("aria-pressed", "false");
    byId("all").disabled = true;
    onChange();
  });
}

// Marks the alternative that made the current piece.
function markLegend(number) {
  byId("pattern").querySelector("[aria-current]")?.removeAttribute("aria-current");
  byId(`alternative-${number}`)?.setAttribute("aria-current", "true");
}
