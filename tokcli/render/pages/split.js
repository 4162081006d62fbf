// The page of a text as pieces: which alternative of the pattern matched each, and which tokens it became.

const COLOURS = 6;

// Returns the class of an alternative's colour: the seventh has the colour of the first, underlined.
const colourOf = (number) =>
  number ? `alternative t${(number - 1) % COLOURS} turn${Math.floor((number - 1) / COLOURS) % 4}` : "";
const nameOf = (number) => (number ? `a${number}` : "-");

class Pieces {
  constructor(columns) {
    this.bytes = columns.text;
    this.starts = startsOf(columns.pieces);
    this.count = columns.pieces.length;
    this.alternatives = columns.alternatives;
    this.sequence = columns.sequence;
    this.firstToken = startsOf(columns.counts);
  }

  bytesOf(number) {
    return this.bytes.subarray(this.starts[number], this.starts[number + 1]);
  }

  tokensOf(number) {
    return Array.from(this.sequence.subarray(this.firstToken[number], this.firstToken[number + 1]));
  }

  lengthOf(number) {
    return this.starts[number + 1] - this.starts[number];
  }
}

function showSplit(head, columns) {
  const tokens = new Tokens(columns);
  const pieces = new Pieces(columns);
  const chosen = new Set(); // alternatives whose pieces are shown; all, where it is empty
  let found = [];
  byId("name").textContent = visible(head.name, false);
  byId("summary").textContent = [
    counted(pieces.count, "piece"),
    counted(pieces.bytes.length, "byte"),
    counted(pieces.sequence.length, "token"),
  ].join(", ");

  const grid = new Grid(byId("list"), {
    label: "Pieces",
    columns: [
      ...["#", "bytes", "chars"].map((header) => [header, "number"]),
      ...[["alternative", "kind"], ["text", "text"], ["tokens", "code"]],
    ],
    cells: (row) => {
      const number = found[row];
      const bytes = pieces.bytesOf(number);
      const colour = colourOf(pieces.alternatives[number]);
      return [
        `${number}`,
        `${bytes.length}`,
        `${charactersIn(bytes)}`,
        make("span", { class: colour }, nameOf(pieces.alternatives[number])),
        isolated(visibleBytes(bytes.subarray(0, 400), true), { class: `data ${colour}` }),
        pieces.tokensOf(number).slice(0, 50).map((place) => tokens.ids[place]).join(" "),
      ];
    },
    onPick: (row) => showPiece(found[row]),
  });

  function search() {
    const needle = unescaped(byId("query").value);
    const all = needle.length ? placesWith(pieces, needle) : Uint32Array.from({ length: pieces.count }, (_, i) => i);
    found = chosen.size ? all.filter((number) => chosen.has(pieces.alternatives[number])) : all;
    const sizes = {
      long: (number) => pieces.lengthOf(number),
      tokens: (number) => pieces.firstToken[number + 1] - pieces.firstToken[number],
    };
    const size = sizes[byId("order").value];
    if (size) found = found.slice().sort((a, b) => size(b) - size(a) || a - b);
    grid.show(found.length);
    say(`${grouped(found.length)} of ${counted(pieces.count, "piece")}`);
  }

  function showPiece(number) {
    const bytes = pieces.bytesOf(number);
    const alternative = pieces.alternatives[number];
    const source = alternative ? make("span", { class: colourOf(alternative) }, nameOf(alternative)) : nameOf(0);
    const parts = pieces.tokensOf(number);
    byId("heading").textContent = `Piece ${number}`;
    byId("about").replaceChildren(
      definitions([
        ["text", isolated(visibleBytes(bytes.subarray(0, 4000), true), { class: "data chip" })],
        ["bytes", make("code", {}, hexOf(bytes.subarray(0, 400)) + (bytes.length > 400 ? " \u2026" : ""))],
        ["bytes at", `${pieces.starts[number]}\u2013${pieces.starts[number + 1]}`],
        ["length", `${counted(bytes.length, "byte")}, ${counted(charactersIn(bytes), "character")}`],
        ["alternative", source],
        ["its pattern", alternative ? make("code", {}, visible(head.alternatives[alternative - 1], false)) : null],
      ]),
      make("h3", {}, counted(parts.length, "token")),
      ...parts.slice(0, 50).map((place) => tokens.tree(place, (one) => tokens.named(one))),
    );
    if (document.activeElement === byId("list")) byId("heading").focus({ preventScroll: true });
  }

  showPattern(head, pieces, chosen, search);
  byId("query").addEventListener("input", search);
  byId("order").addEventListener("input", search);
  byId("all").addEventListener("click", () => {
    chosen.clear();
    for (const button of byId("pattern").querySelectorAll("button")) button.setAttribute("aria-pressed", "false");
    search();
  });
  byId("details").addEventListener("keydown", (event) => event.key === "Escape" && byId("list").focus());
  search();
}

// Makes a line for each alternative: a button that shows only its pieces, its pattern, and how much it matched.
function showPattern(head, pieces, chosen, search) {
  const counts = new Uint32Array(head.alternatives.length + 1);
  const sizes = new Uint32Array(head.alternatives.length + 1);
  pieces.alternatives.forEach((number, i) => {
    counts[number]++;
    sizes[number] += pieces.lengthOf(i);
  });
  byId("pattern").append(...head.parts.map((part) => make("li", { class: "part" }, isolated(visible(part, false)))));
  const sources = [counts[0] ? "no single alternative: a special token, or unknown" : null, ...head.alternatives];
  sources.forEach((source, number) => {
    if (source === null) return;
    const button = make("button", { type: "button", "aria-pressed": "false" }, nameOf(number));
    button.addEventListener("click", () => {
      const isOn = !chosen.delete(number) && Boolean(chosen.add(number));
      button.setAttribute("aria-pressed", isOn);
      search();
    });
    const text = number ? make("code", { class: colourOf(number), dir: "ltr" }, visible(source, false)) : source;
    const share = `${counted(counts[number], "piece")}, ${counted(sizes[number], "byte")}`;
    const facts = counts[number] ? share : "no pieces";
    byId("pattern").append(make("li", {}, button, make("span", {}, text), make("span", { class: "hint" }, facts)));
  });
}

start(showSplit);
