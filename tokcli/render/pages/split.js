// The page of a text as pieces: which alternative of the pattern matched each, and which tokens it became.

const MOST_SHOWN = 400; // bytes of a piece in a row, or in hexadecimal; ten times as many in its description
const MOST_TOKENS = 50; // of a piece, in a row and in its description

// The pieces of a text, as the items of a RunningText, too. Without alternatives, their colours only tell them apart.
class Pieces {
  constructor(columns, tokens, hasAlternatives) {
    this.hasAlternatives = hasAlternatives;
    this.bytes = columns.text;
    this.starts = startsOf(columns.pieces);
    this.count = columns.pieces.length;
    this.alternatives = columns.alternatives;
    this.sequence = columns.sequence;
    this.firstToken = startsOf(columns.counts);
    this.tokens = tokens;
    this.unit = "piece";
    this.chosen = new Set(); // alternatives whose pieces are shown; all, where it is empty
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

  tokenCountOf(number) {
    return this.firstToken[number + 1] - this.firstToken[number];
  }

  // Returns what is equal for pieces of the same text; their tokens may be equal for others, too (`unknown`).
  keyOf(number) {
    return this.lengthOf(number) > MOST_SHOWN ? number : String.fromCharCode(...this.bytesOf(number));
  }

  isShown(number) {
    return !this.chosen.size || this.chosen.has(this.alternatives[number]);
  }

  classOf(number, first) {
    if (!this.hasAlternatives) return `t${(number - first) % COLOURS}`;
    return this.isShown(number) ? colourOf(this.alternatives[number]) : "faded";
  }

  idOf(number) {
    return nameOf(this.alternatives[number]);
  }

  chip(number, most = MOST_SHOWN) {
    return isolated(visibleBytes(this.bytesOf(number).subarray(0, most), true), { class: "data chip" });
  }

  // Makes the description of a piece: where it is, what made it, and what it became.
  describe(number) {
    const [bytes, alternative, parts] = [this.bytesOf(number), this.alternatives[number], this.tokensOf(number)];
    return [
      definitions([
        ["text", this.chip(number, 10 * MOST_SHOWN)],
        ["alternative", this.hasAlternatives ? make("a", { href: `#alternative-${alternative}` }, swatch(alternative)) : null],
        ["bytes", make("code", {}, hexOf(bytes.subarray(0, MOST_SHOWN)) + (bytes.length > MOST_SHOWN ? " \u2026" : ""))],
        ["bytes at", `${this.starts[number]}\u2013${this.starts[number + 1]}`],
        ["length", `${counted(bytes.length, "byte")}, ${counted(charactersIn(bytes), "character")}`],
      ]),
      make("h3", {}, counted(parts.length, "token")),
      ...parts.slice(0, MOST_TOKENS).map((place) => this.tokens.tree(place)),
    ];
  }
}

function showSplit(head, columns) {
  const tokens = new Tokens(columns);
  const pieces = new Pieces(columns, tokens, head.alternatives.length > 0);
  const inputs = head.inputs.map(({ name, pieces: count }) => ({ name, count }));
  const text = new RunningText(byId("text"), pieces, inputs);
  text.select(head.chosen, { scrolls: head.chosen > 0 });
  let found = [];

  const grid = new Grid(byId("list"), {
    label: "Pieces",
    columns: [
      ...[["#", "number"], ["alternative", "kind"], ["text", "text"], ["tokens", "code"]],
      ...["bytes", "chars"].map((header) => [header, "number"]),
    ],
    cells: (row) => {
      const number = found[row];
      const bytes = pieces.bytesOf(number);
      return [
        `${number}`,
        pieces.hasAlternatives ? swatch(pieces.alternatives[number]) : nameOf(0),
        pieces.chip(number),
        make("span", {}, ...pieces.tokensOf(number).slice(0, MOST_TOKENS).flatMap((place) => [tokens.idLink(place), " "])),
        `${bytes.length}`,
        `${charactersIn(bytes)}`,
      ];
    },
    onMove: (row) => text.select(found[row]),
    onPick: (row) => {
      text.select(found[row]);
      byId("heading").focus({ preventScroll: true });
    },
  });

  const describe = (heading, ...about) => {
    byId("heading").textContent = heading;
    byId("about").replaceChildren(...about);
  };
  const describePiece = (number) => {
    describe(`Piece ${number}`, ...pieces.describe(number));
    markLegend(pieces.alternatives[number]);
    point();
  };
  const describeToken = (place) =>
    describe(`Token ${tokens.ids[place]}`, ...tokens.describe(place, { where: " of this page" }));
  const describeChosen = connectAddress(text, tokens, describePiece, describeToken);
  // Chooses the row of the current piece, where the table has one.
  const point = () => {
    const row = byId("list").hidden ? -1 : found.indexOf(text.current);
    if (row >= 0 && row !== grid.current) grid.select(row);
  };

  // Lists the pieces that are shown: those of the chosen alternatives that hits of the search touch.
  function list() {
    const all = text.marks.size ? Uint32Array.from(text.marks) : Uint32Array.from({ length: pieces.count }, (_, i) => i);
    found = byId("query").value && !text.marks.size ? [] : all.filter((number) => pieces.isShown(number));
    const sizes = { long: (number) => pieces.lengthOf(number), tokens: (number) => pieces.tokenCountOf(number) };
    const size = sizes[byId("order").value];
    if (size) found = found.slice().sort((a, b) => size(b) - size(a) || a - b);
    grid.show(found.length);
    point();
    byId("shown").textContent = `${grouped(found.length)} of ${counted(pieces.count, "piece")}`;
  }

  const search = connectFind(text, () => {
    const hits = text.occurrences(unescaped(byId("query").value), !isPressed("case"));
    return new Hits(hits.pairs.filter(([first]) => pieces.isShown(first)));
  }, list);
  toggles("case", search);
  toggles("spaces", (isOn) => text.redraw(isOn));
  byId("order").addEventListener("input", list);
  showLegend(head, pieces, pieces.chosen, () => {
    text.redraw();
    search();
  });

  const view = (isTable) => {
    byId("as-text").setAttribute("aria-pressed", !isTable);
    byId("as-table").setAttribute("aria-pressed", isTable);
    byId("text").hidden = isTable;
    byId("list").hidden = byId("ordered").hidden = !isTable;
    if (isTable) list();
  };
  byId("as-text").addEventListener("click", () => view(false));
  byId("as-table").addEventListener("click", () => view(true));
  connectPointer(text, describePiece, describeChosen);
  byId("details").addEventListener("keydown", (event) => {
    if (event.key === "Escape") (byId("list").hidden ? byId("text") : byId("list")).focus();
  });
  describeChosen();
}

start(showSplit);
