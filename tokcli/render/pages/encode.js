// The page of texts as coloured tokens, with a description of the one that is pointed at or chosen.

function showEncoded(head, columns) {
  const tokens = new Tokens(columns);
  const own = { columns, inputs: head.inputs.map(({ name, tokens: count }) => ({ name, count })), places: head.places };
  let shown = own; // or what was typed
  const text = new RunningText(byId("text"), new TokenItems(tokens, columns.sequence), own.inputs);
  text.select(0, { scrolls: false });

  const describe = (place, more) => {
    byId("heading").textContent = `Token ${tokens.ids[place]}`;
    byId("about").replaceChildren(...tokens.describe(place, { more, where: " of this page" }));
  };
  const describeItem = (number) =>
    describe(text.items.sequence[number], placesOf(text, shown.columns, shown.places, number));

  const describeChosen = connectAddress(text, tokens, describeItem, (linked) => {
    const [current, place] = [text.current, text.items.sequence[text.current]];
    if (linked === place) describeItem(current);
    else describe(linked, occurrencesOf(text, linked));
  });
  connectPointer(text, describeItem, describeChosen);
  byId("details").addEventListener("keydown", (event) => event.key === "Escape" && byId("text").focus());

  toggles("spaces", (isOn) => text.redraw(isOn));
  toggles("ids", (isOn) => byId("text").classList.toggle("with-ids", isOn));
  byId("copy").addEventListener("click", () => {
    let begin = 0;
    const { sequence } = shown.columns;
    const lines = shown.inputs.map(({ count }) => {
      const ids = Array.from(sequence.subarray(begin, (begin += count)), (place) => tokens.ids[place]);
      return ids.join(" ");
    });
    copy(lines.join("\n"), counted(sequence.length, "id"));
  });

  const search = connectFind(text, () => hitsOf(text, byId("kind").value, byId("query").value, !isPressed("case")));
  toggles("case", search);
  byId("kind").addEventListener("input", search);

  if (head.ids) byId("ids").click();
  describeChosen();

  connectBox(head, columns, (typed) => {
    if (typed && shown === own && !isPressed("ids")) byId("ids").click(); // they are what is asked for
    shown = typed ?? own;
    Object.assign(tokens, new Tokens(shown.columns));
    text.show(new TokenItems(tokens, shown.columns.sequence), shown.inputs);
    text.select(0, { scrolls: false });
    if (!text.items.count) {
      byId("heading").textContent = "Token"; // nothing is chosen any more
      byId("about").replaceChildren();
    }
    search();
  });
}

// Returns the place of a token in its input: in bytes and characters, or as its tokenizer gives it.
function placesOf(text, columns, places, number) {
  const { first } = text.blockOf(number);
  const order = ["token number", `${grouped(number - first + 1)}`];
  if (places === "unknown") return [order];
  if (places === "characters") return [order, ["characters", `${columns.begins[number]}\u2013${columns.ends[number]}`]];
  const [begin, end] = [number, number + 1].map((one) => text.starts[one] - text.starts[first]);
  const [before, after] = [number, number + 1].map((one) => text.characters[one] - text.characters[first]);
  const isInside = end > begin && isContinuation(text.bytes[text.starts[number]]); // begins inside a character
  return [
    order,
    ["bytes at", `${begin}\u2013${end}`],
    ["characters", `${Math.max(0, before - isInside)}\u2013${after}`],
  ];
}

// Makes what is said of a token that a link led to: how often it is in the text, and a button that goes to the next.
function occurrencesOf(text, place) {
  const { sequence } = text.items;
  const count = sequence.reduce((sum, one) => sum + (one === place), 0);
  if (!count) return [["in the text", "only as a part of other tokens"]];
  const next = make("button", { type: "button" }, "Go to the next");
  next.addEventListener("click", () => {
    const after = sequence.indexOf(place, text.current + 1);
    text.select(after >= 0 ? after : sequence.indexOf(place));
  });
  return [["in the text", make("span", {}, `${counted(count, "time")} `, next)]];
}

// Returns the hits of a query among the tokens of a text: its text, a token's id, or its number in the whole text.
function hitsOf(text, kind, query, folds) {
  const { sequence, tokens, count } = text.items;
  if (kind === "text") return text.occurrences(unescaped(query), folds);
  const number = /^\s*\d[\d,]*\s*$/.test(query) ? Number(query.replaceAll(",", "")) : -1;
  if (kind === "number") return new Hits(number >= 1 && number <= count ? [[number - 1, number - 1]] : []);
  const place = tokens.placeOf(number);
  const found = [];
  for (let at = place < 0 ? -1 : sequence.indexOf(place); at >= 0; at = sequence.indexOf(place, at + 1)) {
    found.push([at, at]);
  }
  return new Hits(found);
}

start(showEncoded);
