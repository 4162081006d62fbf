// The page of a vocabulary: a list of all tokens that can be searched, and the merges into and out of one of them.

const MOST_BYTES = 64; // of a token in the table, which cuts them to the room there is

function showVocabulary(head, columns) {
  const tokens = new Tokens(columns);
  const matcher = new Matcher(tokens);
  let found = matcher.all;
  let shown = -1; // the place of the token that is described

  const grid = new Grid(byId("list"), {
    label: "Tokens",
    columns: [["id", "number"], ["text", "text"], ["bytes", "code"], ["length", "number"], ["kind", "kind"]],
    cells: (row) => {
      const place = found[row];
      const bytes = tokens.bytesOf(place);
      const hex = hexOf(bytes.subarray(0, MOST_BYTES)) + (bytes.length > MOST_BYTES ? " \u2026" : "");
      return [`${tokens.ids[place]}`, tokens.chip(place), hex, `${bytes.length}`, tokens.kindOf(place)];
    },
    onMove: (row) => describe(found[row]),
    onPick: (row) => go(found[row]),
  });

  function search() {
    const asked = { query: byId("query").value, kind: byId("kind").value, folds: !isPressed("case") };
    const made = matcher.find({ ...asked, filter: byId("filter").value, order: byId("order").value });
    found = made ?? new Uint32Array();
    grid.show(found.length);
    point();
    say(made ? `${grouped(found.length)} of ${counted(tokens.count, "token")}` : "Not hexadecimal, or not a number.");
  }

  // Chooses the row of the token that is described; says so where the list does not have it.
  function point() {
    const row = found.indexOf(shown);
    if (row >= 0 && row !== grid.current) grid.select(row);
    byId("elsewhere").hidden = row >= 0 || shown < 0;
  }

  function describe(place) {
    shown = place;
    byId("heading").textContent = `Token ${tokens.ids[place]}`;
    byId("about").replaceChildren(...tokens.describe(place));
    byId("details").scrollTop = 0;
    byId("elsewhere").hidden = true;
  }

  const go = (place) => {
    const hash = `#token-${tokens.ids[place]}`;
    if (location.hash === hash) showLinked();
    else location.hash = hash; // so that the browser's Back button works
  };

  function showLinked() {
    const place = placeInHash(tokens);
    if (place < 0) return;
    describe(place);
    point();
    if (document.activeElement !== document.body) byId("heading").focus({ preventScroll: true });
  }

  for (const id of ["query", "kind", "filter", "order"]) byId(id).addEventListener("input", search);
  toggles("case", search);
  byId("reset").addEventListener("click", () => {
    byId("query").value = "";
    byId("filter").value = "all";
    byId("clear")?.click();
    search();
  });
  byId("query").addEventListener("keydown", (event) => {
    if ((event.key !== "Enter" && event.key !== "ArrowDown") || !found.length) return;
    event.preventDefault();
    byId("list").focus();
    grid.select(0);
    if (event.key === "Enter" && found.length === 1) go(found[0]);
    else describe(found[0]);
  });
  byId("details").addEventListener("keydown", (event) => {
    if (event.key === "Escape") byId("list").focus();
  });
  addEventListener("hashchange", showLinked);
  const linked = placeInHash(tokens);
  if (linked >= 0 || tokens.count) describe(Math.max(linked, tokens.placeOf(head.chosen), 0));
  search();

  connectBox(head, columns, (typed) => {
    if (!typed) return search();
    found = typed.columns.sequence.map((place) => tokens.placeOf(typed.columns.ids[place]));
    grid.show(found.length);
    if (found.length) describe(found[0]);
    point();
    return say(`${counted(found.length, "token")} of what was typed, in order`);
  });
}

// Finds the tokens that match a query, as an array of places.
class Matcher {
  constructor(tokens) {
    this.tokens = tokens;
    this.all = Uint32Array.from({ length: tokens.count }, (_, place) => place);
  }

  // Returns null where the query is not a number or not hexadecimal, and has to be.
  find({ kind, query, folds, filter, order }) {
    let found = this.all;
    if (query && kind === "id") {
      if (!/^\s*\d+\s*$/.test(query)) return null;
      const place = this.tokens.placeOf(Number(query));
      found = place < 0 ? new Uint32Array() : Uint32Array.of(place);
    } else if (query) {
      const needle = kind === "hex" ? fromHex(query) : unescaped(query);
      if (needle === null) return null;
      found = this.matching(needle, kind, folds && kind !== "hex");
    }
    const keeps = this.filters[filter];
    return this.ordered(keeps ? found.filter(keeps) : found, order);
  }

  get filters() {
    const { tokens } = this;
    return {
      merged: (place) => tokens.left[place] > 0,
      leaf: (place) => tokens.kindOf(place) === "no merge known",
      byte: (place) => tokens.starts[place + 1] - tokens.starts[place] === 1,
      broken: (place) => runsOf(tokens.bytesOf(place)).some(([text]) => text === null),
      special: (place) => tokens.special[place] > 0,
      reencoded: (place) => tokens.others.has(place),
    };
  }

  matching(needle, kind, folds) {
    const { starts, bytes } = this.tokens;
    const fits = {
      begins: (begin, end, place) => begin === starts[place],
      ends: (begin, end, place) => end === starts[place + 1],
      is: (begin, end, place) => begin === starts[place] && end === starts[place + 1],
    }[kind];
    return itemsWith((this.haystack ??= new Haystack(bytes)), this.tokens, needle, folds, fits);
  }

  ordered(found, order) {
    if (order === "id") return found;
    const { starts, children } = this.tokens;
    const size = order === "long" ? (place) => starts[place + 1] - starts[place] : (place) => children.of(place).length;
    return found.slice().sort((a, b) => size(b) - size(a) || a - b);
  }
}

start(showVocabulary);
