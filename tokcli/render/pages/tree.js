// The page of folders and files with their tokens: a tree that opens and closes, and a map of the one that is chosen.

const MAPPED = 60; // of the largest entries of a folder; the others are one tile
const NAMED = [0.1, 0.07]; // the least width and height of a tile with its name in it
const LISTED = 10; // files that are named as the largest
const LEAST_SHARE = 0.05; // of all tokens, for a folder that is open at first
const OPEN_AT_FIRST = 40; // rows, about
const INDENT = 18; // pixels for each level
const COLOURS = 6;

// The rows of the page, each before what is in it: the first one is the root.
class Folders {
  constructor(head, columns) {
    this.depths = columns.depths;
    this.count = columns.depths.length;
    this.bytes = columns.names;
    this.starts = startsOf(columns.lengths);
    this.names = head.names;
    this.isJoined = head.isJoined; // whether the root stands for several inputs, and has no path
    this.tokens = head.names.map((_, number) => {
      const high = columns[`high${number}`];
      return Float64Array.from(columns[`tokens${number}`], (low, row) => low + high[row] * 2 ** 32);
    });
    this.parents = new Int32Array(this.count).fill(-1);
    this.ends = new Uint32Array(this.count).fill(this.count); // the row after all that is in it
    this.children = Array.from({ length: this.count }, () => null);
    const above = [];
    for (let row = 0; row < this.count; row++) {
      const depth = this.depths[row];
      while (above.length > depth) this.ends[above.pop()] = row;
      if (depth) {
        const parent = above[depth - 1];
        this.parents[row] = parent;
        (this.children[parent] ??= []).push(row);
      }
      above.push(row);
    }
    this.files = new Uint32Array(this.count);
    for (let row = this.count - 1; row >= 0; row--) {
      if (!this.children[row]) this.files[row] = 1;
      if (row) this.files[this.parents[row]] += this.files[row];
    }
  }

  nameOf(row) {
    return visibleBytes(this.bytes.subarray(this.starts[row], this.starts[row + 1]), false);
  }

  // Returns the names from the root to a row, as a path; that of several inputs together is empty.
  pathOf(row) {
    const names = [];
    for (let at = row; at >= Number(this.isJoined); at = this.parents[at]) names.unshift(this.nameOf(at));
    return names.map((name, i) => (i + 1 < names.length && !name.endsWith("/") ? `${name}/` : name)).join("");
  }

  // Returns what is in a folder, the largest first or by name.
  sorted(row, measure, byName) {
    const inside = this.children[row] ?? [];
    const tokens = this.tokens[measure];
    return byName ? inside : inside.slice().sort((a, b) => tokens[b] - tokens[a] || a - b);
  }

  // Returns the largest files in a folder.
  largest(row, measure) {
    const tokens = this.tokens[measure];
    const files = [];
    for (let at = row + 1; at < this.ends[row]; at++) if (!this.children[at]) files.push(at);
    return files.sort((a, b) => tokens[b] - tokens[a] || a - b).slice(0, LISTED);
  }
}

// The table as a tree: rows know their level, and whether they are open.
class TreeGrid extends Grid {
  constructor(box, options) {
    super(box, options);
    Object.assign(this, { levelOf: options.levelOf, isOpen: options.isOpen });
    box.setAttribute("role", "treegrid");
  }

  row(row) {
    const element = super.row(row);
    element.setAttribute("aria-level", this.levelOf(row));
    const isOpen = this.isOpen(row);
    if (isOpen !== null) element.setAttribute("aria-expanded", isOpen);
    return element;
  }
}

function showTree(head, columns) {
  const folders = new Folders(head, columns);
  const open = new Set();
  let shown = []; // the rows that are in the list
  let kept = null; // the rows that a search found, and those above them; null without a search
  let current = 0;
  const measure = () => Number(byId("measure").value || 0);
  const isByName = () => byId("order").value === "name";
  const isFolder = (row) => folders.children[row] !== null;
  const isOpen = (row) => (isFolder(row) ? kept !== null || open.has(row) : null);

  const grid = new TreeGrid(byId("list"), {
    label: "Folders and files",
    columns: [["name", "name"], ["tokens", "number"], ["share", "share"], ["", "number"]],
    cells: (at) => {
      const row = shown[at];
      const twist = make("span", { class: "twist", "aria-hidden": "true" }, isFolder(row) ? (isOpen(row) ? "\u25be" : "\u25b8") : "");
      const name = document.createDocumentFragment();
      name.append(twist, isolated(folders.nameOf(row)));
      twist.style.marginLeft = `${folders.depths[row] * INDENT}px`;
      const bar = make("span", { class: "bar" });
      bar.style.width = `${100 * shareOf(row, 0)}%`;
      return [name, grouped(folders.tokens[measure()][row]), bar, percent(shareOf(row, 0))];
    },
    levelOf: (at) => folders.depths[shown[at]] + 1,
    isOpen: (at) => isOpen(shown[at]),
    onMove: (at) => describe(shown[at]),
    onPick: (at) => {
      describe(shown[at]);
      byId("heading").focus({ preventScroll: true });
    },
  });

  function shareOf(row, whole) {
    const tokens = folders.tokens[measure()];
    return tokens[whole] ? tokens[row] / tokens[whole] : 0;
  }

  function list(scrolls = true) {
    const top = byId("list").scrollTop;
    shown = [];
    const waiting = [0];
    while (waiting.length) {
      const row = waiting.pop();
      if (kept && !kept.has(row)) continue;
      shown.push(row);
      if (isOpen(row)) waiting.push(...folders.sorted(row, measure(), isByName()).reverse());
    }
    grid.show(shown.length);
    byId("list").scrollTop = top;
    const at = shown.indexOf(current);
    if (at >= 0 && scrolls) grid.select(at);
    else grid.draw();
    byId("open").disabled = byId("close").disabled = kept !== null;
  }

  // Opens or closes a folder, and keeps a row in sight.
  function turn(row, opens = !open.has(row)) {
    if (!isFolder(row) || kept) return;
    if (opens) open.add(row);
    else open.delete(row);
    if (!opens && current > row && current < folders.ends[row]) describe(row);
    list();
  }

  // Makes a row the current one, and opens what it is in.
  function go(row) {
    if (kept && !kept.has(row)) {
      byId("query").value = "";
      search();
    }
    for (let at = folders.parents[row]; at >= 0; at = folders.parents[at]) open.add(at);
    describe(row);
    list();
  }

  function describe(row) {
    current = row;
    const parent = folders.parents[row];
    byId("heading").textContent = folders.nameOf(row);
    const counts = folders.names.map((name, number) => [
      folders.names.length > 1 ? name : "tokens",
      make("span", { class: "number" }, grouped(folders.tokens[number][row])),
    ]);
    const facts = definitions([
      ["path", folders.pathOf(row) ? isolated(folders.pathOf(row)) : null],
      ...counts,
      ["of all", percent(shareOf(row, 0))],
      ["of its folder", parent < 0 ? null : percent(shareOf(row, parent))],
      ["files", isFolder(row) ? grouped(folders.files[row]) : null],
    ]);
    byId("about").replaceChildren(facts, ...(isFolder(row) ? [mapOf(row), largestOf(row)] : []));
    byId("details").scrollTop = 0;
  }

  // Makes a map of a folder: a tile for each entry, as large as its share.
  function mapOf(folder) {
    const tokens = folders.tokens[measure()];
    const entries = folders.sorted(folder, measure(), false).filter((row) => tokens[row] > 0);
    const map = make("div", { class: "map", role: "group", "aria-label": `Map of ${folders.nameOf(folder)}` });
    const sizes = entries.slice(0, MAPPED).map((row) => tokens[row]);
    const others = entries.slice(MAPPED).reduce((sum, row) => sum + tokens[row], 0);
    if (others) sizes.push(others);
    squarified(sizes).forEach(([left, top, width, height], number) => {
      const row = entries[number];
      const name = number < MAPPED ? folders.nameOf(row) : counted(entries.length - MAPPED, "other entry", "other entries");
      const said = `${name}, ${counted(sizes[number], "token")}`;
      const tile = make("button", { type: "button", class: `t${number % COLOURS}`, title: said, "aria-label": said });
      if (width > NAMED[0] && height > NAMED[1]) tile.append(name);
      tile.style.left = `${left * 100}%`;
      tile.style.top = `${top * 100}%`;
      tile.style.width = `${width * 100}%`;
      tile.style.height = `${height * 100}%`;
      if (number < MAPPED) tile.addEventListener("click", () => go(row));
      else tile.disabled = true;
      map.append(tile);
    });
    return sizes.length > 1 ? make("div", {}, make("h3", {}, "What is in it"), map) : "";
  }

  function largestOf(folder) {
    const files = folders.largest(folder, measure());
    const before = folders.pathOf(folder).length;
    const items = files.map((row) => {
      const path = folders.pathOf(row).slice(before).replace(/^\//, "");
      const count = make("span", { class: "number" }, grouped(folders.tokens[measure()][row]));
      const button = make("button", { type: "button" }, count, isolated(path));
      button.addEventListener("click", () => go(row));
      return make("li", {}, button);
    });
    return files.length > 1 ? make("div", {}, make("h3", {}, "Largest files"), make("ul", { class: "largest" }, ...items)) : "";
  }

  function search() {
    const query = visible(byId("query").value, false).toLowerCase();
    kept = null;
    if (query) {
      kept = new Set();
      let hits = 0;
      for (let row = 0; row < folders.count; row++) {
        if (!folders.pathOf(row).toLowerCase().includes(query)) continue;
        hits += !isFolder(row);
        for (let at = row; at >= 0 && !kept.has(at); at = folders.parents[at]) kept.add(at);
      }
      say(hits ? counted(hits, "file") : "No file has this in its path.");
    } else say("");
    list();
  }

  byId("list").addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const row = shown[grid.current];
    if (row === undefined || !["ArrowRight", "ArrowLeft", " "].includes(event.key)) return;
    if (event.key === " ") turn(row);
    else if (event.key === "ArrowRight") {
      if (isOpen(row) === false) turn(row, true);
      else if (isOpen(row)) describe((current = shown[grid.current + 1] ?? row));
    } else if (isOpen(row) && !kept) turn(row, false);
    else if (folders.parents[row] >= 0) describe((current = folders.parents[row]));
    grid.select(shown.indexOf(current));
    event.preventDefault();
    event.stopImmediatePropagation();
  }, true);
  byId("list").addEventListener("click", (event) => {
    const at = event.target.closest(".twist") && event.target.closest("[role=row]")?.dataset.row;
    if (at === undefined || at === null) return;
    event.stopImmediatePropagation();
    turn(shown[Number(at)]);
  }, true);
  byId("details").addEventListener("keydown", (event) => event.key === "Escape" && byId("list").focus());
  byId("measure").append(...head.names.map((name, number) => make("option", { value: number }, name)));
  byId("several").hidden = head.names.length < 2;
  byId("order").value = head.byName ? "name" : "tokens";
  byId("measure").addEventListener("input", () => go(current));
  byId("order").addEventListener("input", () => list());
  byId("query").addEventListener("input", search);
  byId("open").addEventListener("click", () => {
    for (let row = 0; row < folders.count; row++) if (isFolder(row)) open.add(row);
    list();
  });
  byId("close").addEventListener("click", () => {
    open.clear();
    open.add(0);
    describe(0);
    list();
  });
  openAtFirst(folders, open);
  describe(0);
  list();
}

// Opens the largest folders, level by level, as long as the rows fit a screen.
function openAtFirst(folders, open) {
  const [whole] = folders.tokens[0];
  const waiting = [0];
  let rows = 1;
  for (const row of waiting) {
    const inside = folders.children[row];
    if (!inside || (row && (rows + inside.length > OPEN_AT_FIRST || folders.tokens[0][row] < LEAST_SHARE * whole))) continue;
    open.add(row);
    rows += inside.length;
    waiting.push(...folders.sorted(row, 0, false));
  }
}

const percent = (share) => (share > 0 && share < 0.01 ? "<1%" : `${Math.round(share * 100)}%`);

// Lays out tiles of these sizes (the largest first) in a square of 1 by 1, none of them long and thin where that can be
// helped (Bruls, Huizing and van Wijk, "Squarified treemaps"): [[left, top, width, height], ...].
function squarified(sizes) {
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const areas = sizes.map((size) => size / total);
  const tiles = [];
  let [left, top, width, height] = [0, 0, 1, 1];
  for (let begin = 0; begin < areas.length; ) {
    const side = Math.min(width, height);
    const worst = (from, to) => {
      const sum = areas.slice(from, to).reduce((a, b) => a + b, 0);
      return Math.max((side * side * areas[from]) / (sum * sum), (sum * sum) / (side * side * areas[to - 1]));
    };
    let end = begin + 1;
    while (end < areas.length && worst(begin, end + 1) <= worst(begin, end)) end++;
    const sum = areas.slice(begin, end).reduce((a, b) => a + b, 0);
    const thick = sum / side;
    let along = 0;
    for (; begin < end; begin++) {
      const long = areas[begin] / thick;
      tiles.push(width >= height ? [left, top + along, thick, long] : [left + along, top, long, thick]);
      along += long;
    }
    if (width >= height) [left, width] = [left + thick, width - thick];
    else [top, height] = [top + thick, height - thick];
  }
  return tiles;
}

start(showTree);
