// The page of a vocabulary: a list of all tokens that can be searched, and the merges into and out of one of them.

const LINKS_AT_ONCE = 100; // shown at first, and with each "more"

function showVocabulary(head, columns) {
  const tokens = new Tokens(columns);
  const matcher = new Matcher(tokens);
  let found = matcher.find({ kind: "contains", query: "", folds: false, filter: "all", order: "id" });
  byId("name").textContent = visible(head.name, false);
  byId("summary").textContent = head.summary;

  const grid = new Grid(byId("list"), {
    label: "Tokens",
    columns: [["id", "number"], ["text", "text"], ["bytes", "code"], ["length", "number"], ["kind", "kind"]],
    cells: (row) => {
      const place = found[row];
      const bytes = tokens.bytesOf(place);
      const hex = hexOf(bytes.subarray(0, 24)) + (bytes.length > 24 ? " \u2026" : "");
      return [`${tokens.ids[place]}`, tokens.chip(place), hex, `${bytes.length}`, tokens.kindOf(place)];
    },
    onPick: (row) => go(found[row]),
  });

  function search() {
    const query = byId("query").value;
    const chosen = { query, kind: byId("kind").value, folds: byId("folds").checked };
    const made = matcher.find({ ...chosen, filter: byId("filter").value, order: byId("order").value });
    found = made ?? new Uint32Array();
    grid.show(found.length);
    say(made ? `${grouped(found.length)} of ${counted(tokens.count, "token")}` : "Not hexadecimal, or not a number.");
  }

  const go = (place) => {
    const hash = `#token-${tokens.ids[place]}`;
    if (location.hash === hash) showToken();
    else location.hash = hash; // so that the browser's Back button works
  };

  function showToken() {
    const id = /^#token-(\d{1,10})$/.exec(location.hash)?.[1];
    const place = id === undefined ? -1 : tokens.placeOf(Number(id));
    if (place < 0) return;
    byId("heading").textContent = `Token ${id}`;
    const described = tokens.describe(place, { node: (one) => tokens.link(one) });
    byId("about").replaceChildren(...described, mergedInto(tokens, place));
    byId("details").scrollTop = 0;
    const row = found.indexOf(place);
    if (row >= 0 && row !== grid.current) grid.select(row);
    if (document.activeElement !== document.body) byId("heading").focus({ preventScroll: true });
  }

  for (const id of ["query", "kind", "folds", "filter", "order"]) byId(id).addEventListener("input", search);
  byId("query").addEventListener("keydown", (event) => {
    if ((event.key !== "Enter" && event.key !== "ArrowDown") || !found.length) return;
    event.preventDefault();
    byId("list").focus();
    grid.select(0);
    if (event.key === "Enter" && found.length === 1) go(found[0]);
  });
  byId("details").addEventListener("keydown", (event) => {
    if (event.key === "Escape") byId("list").focus();
  });
  addEventListener("hashchange", showToken);
  search();
  showToken();
}

// Makes the list of the tokens that a token was merged into, some at a time.
function mergedInto(tokens, place) {
  const children = tokens.children.of(place);
  const list = make("ul", { class: "parts" });
  const more = make("button", { type: "button" }, "more");
  const add = () => {
    const begin = list.childElementCount;
    const next = children.subarray(begin, begin + LINKS_AT_ONCE);
    list.append(...Array.from(next, (child) => make("li", {}, tokens.link(child))));
    more.hidden = list.childElementCount === children.length;
  };
  more.addEventListener("click", add);
  add();
  return make("div", {}, make("h3", {}, `Merged into ${counted(children.length, "token")}`), list, more);
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
    const { starts, count, bytes } = this.tokens;
    const size = needle.length;
    const fits = {
      begins: (at, place) => at === starts[place],
      ends: (at, place) => at + size === starts[place + 1],
      is: (at, place) => at === starts[place] && at + size === starts[place + 1],
    }[kind];
    if (!folds) return placesWith(this.tokens, needle, fits);
    return placesWith({ starts, count, bytes: (this.folded ??= lowercased(bytes)) }, lowercased(needle), fits);
  }

  ordered(found, order) {
    if (order === "id") return found;
    const { starts, children } = this.tokens;
    const size = order === "long" ? (place) => starts[place + 1] - starts[place] : (place) => children.of(place).length;
    return found.slice().sort((a, b) => size(b) - size(a) || a - b);
  }
}

start(showVocabulary);
