// The page of one text under several encodings, side by side: a token is chosen in one, and framed in the others are those
// of the same bytes.

// One encoding's tokens of the text, in a panel of their own. `onSelect(side)` is called when one is chosen.
class Side {
  constructor(head, columns, number, onSelect) {
    const prefix = `${number}-`;
    const own = Object.entries(columns).filter(([name]) => name.startsWith(prefix));
    this.columns = Object.fromEntries(own.map(([name, values]) => [name.slice(prefix.length), values]));
    this.name = visible(head.sides[number].name, false);
    this.tokens = new Tokens(this.columns, prefix);
    this.box = make("div", { class: "panel running", role: "listbox", tabindex: "0", "aria-labelledby": `side-${number}` });
    const title = make("h2", { id: `side-${number}` }, isolated(this.name));
    const facts = make("p", { class: "facts" }, head.sides[number].facts);
    byId("sides").append(make("section", {}, title, facts, this.box));
    const inputs = head.inputs.map(({ name, tokens }) => ({ name, count: tokens[number] }));
    this.text = new RunningText(this.box, new TokenItems(this.tokens, this.columns.sequence), inputs, prefix);
    this.describe = (item) => this.show(this.columns.sequence[item], item);
    this.describeChosen = connectAddress(this.text, this.tokens, this.describe, (place) => this.show(place));
    const { onSelect: describeSelected } = this.text;
    this.text.onSelect = (item) => {
      onSelect(this);
      describeSelected(item);
    };
    connectPointer(this.text, this.describe, () => onSelect.current().describeChosen());
  }

  // Describes a token, and where it is if it is an item of the text.
  show(place, item = -1) {
    const more = item < 0 ? [] : [["token number", grouped(item + 1)]];
    if (item >= 0 && this.columns.begins) more.push(["bytes at", this.bytesAt(item).join("\u2013")]);
    byId("heading").textContent = `Token ${this.tokens.ids[place]} of ${this.name}`;
    byId("about").replaceChildren(...this.tokens.describe(place, { more, where: " of this page" }));
  }

  // Returns where the bytes of an item begin and end in the text of all inputs.
  bytesAt(item) {
    return [this.columns.begins[item], this.columns.ends[item]];
  }

  // Returns the items that share bytes with those from `begin` to `end`; none where the encoding does not tell places.
  itemsAt(begin, end) {
    const { begins, ends } = this.columns;
    const found = new Set();
    if (!begins) return found;
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ends[middle] <= begin) low = middle + 1;
      else high = middle;
    }
    for (let item = low; item < ends.length && begins[item] < end; item++) found.add(item);
    return found;
  }
}

function showComparison(head, columns) {
  let current; // the side in which a token is chosen
  const frame = (side) => {
    current = side;
    side.text.mark(new Set());
    for (const other of sides.filter((one) => one !== side)) {
      const items = side.columns.begins ? other.itemsAt(...side.bytesAt(side.text.current)) : new Set();
      other.text.leave();
      other.text.mark(items);
      for (const item of [...items].slice(0, 1)) other.text.reveal(item);
    }
  };
  frame.current = () => current;
  const sides = head.sides.map((_, number) => new Side(head, columns, number, frame));
  current = sides[0];

  // The search is in the side of the chosen token.
  const proxy = {
    get current() {
      return current.text.current;
    },
    select: (item) => current.text.select(item),
    mark: () => {},
  };
  const search = connectFind(proxy, () => current.text.occurrences(unescaped(byId("query").value), !isPressed("case")));
  toggles("case", search);
  toggles("spaces", (isOn) => sides.forEach(({ text }) => text.redraw(isOn)));
  toggles("ids", (isOn) => sides.forEach(({ box }) => box.classList.toggle("with-ids", isOn)));
  byId("details").addEventListener("keydown", (event) => event.key === "Escape" && current.box.focus());
  current.text.select(0, { scrolls: false });
}

start(showComparison);
