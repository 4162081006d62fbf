// The page of texts as coloured tokens, with a description of the one that is pointed at or chosen.

function showEncoded(head, columns) {
  const tokens = new Tokens(columns);
  const { sequence } = columns;
  const text = new TokenText(byId("text"), tokens, sequence, head.inputs);
  const size = text.starts[sequence.length];
  byId("name").textContent = visible(head.name, false);
  byId("summary").textContent = [
    counted(sequence.length, "token"),
    counted(new Set(sequence).size, "different token"),
    counted(size, "byte"),
    sequence.length ? `${(size / sequence.length).toFixed(2)} bytes per token` : "nothing to show",
  ].join(", ");

  const describe = (number) => {
    const place = sequence[number];
    const more = placesOf(text, columns, head.places, number);
    byId("heading").textContent = `Token ${tokens.ids[place]}`;
    byId("about").replaceChildren(...tokens.describe(place, { more }));
  };
  text.onSelect = describe;

  const pointedAt = (event) => event.target.closest?.(".token");
  byId("text").addEventListener("pointerover", (event) => {
    const token = pointedAt(event);
    if (token) describe(Number(token.id.slice(6)));
  });
  byId("text").addEventListener("pointerleave", () => text.current >= 0 && describe(text.current));
  byId("text").addEventListener("click", (event) => {
    const token = pointedAt(event);
    if (token) text.select(Number(token.id.slice(6)));
  });
  byId("details").addEventListener("keydown", (event) => event.key === "Escape" && byId("text").focus());

  toggles("spaces", (isOn) => text.redraw(isOn));
  toggles("ids", (isOn) => byId("text").classList.toggle("with-ids", isOn));
  byId("copy").addEventListener("click", () => {
    let begin = 0;
    const lines = head.inputs.map((input) => {
      const ids = Array.from(sequence.subarray(begin, (begin += input.tokens)), (place) => tokens.ids[place]);
      return ids.join(" ");
    });
    copy(lines.join("\n"), counted(sequence.length, "id"));
  });

  const find = (direction) => {
    const number = nextMatch(text, byId("kind").value, byId("query").value, direction);
    if (number < 0) return say("Not found.");
    text.select(number);
    return say(`Token number ${grouped(number + 1)} of ${grouped(sequence.length)}.`);
  };
  byId("next").addEventListener("click", () => find(1));
  byId("previous").addEventListener("click", () => find(-1));
  byId("query").addEventListener("keydown", (event) => event.key === "Enter" && find(event.shiftKey ? -1 : 1));
}

function toggles(id, act) {
  byId(id).addEventListener("click", () => {
    const isOn = byId(id).getAttribute("aria-pressed") !== "true";
    byId(id).setAttribute("aria-pressed", isOn);
    act(isOn);
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

// Returns the number of the next (1) or previous (-1) token that matches, wrapping around; -1 without one.
function nextMatch(text, kind, query, direction) {
  const count = text.sequence.length;
  const here = text.current < 0 && direction > 0 ? -1 : text.current;
  if (kind === "number") {
    const number = Number(query.replaceAll(",", ""));
    return Number.isInteger(number) && number >= 1 && number <= count ? number - 1 : -1;
  }
  if (kind === "id") {
    const place = /^\s*\d+\s*$/.test(query) ? text.tokens.placeOf(Number(query)) : -1;
    if (place < 0) return -1;
    const { sequence } = text;
    const isLater = direction > 0;
    const found = isLater ? sequence.indexOf(place, here + 1) : here > 0 ? sequence.lastIndexOf(place, here - 1) : -1;
    return found >= 0 ? found : isLater ? sequence.indexOf(place) : sequence.lastIndexOf(place);
  }
  const needle = unescaped(query);
  const hits = [];
  for (let at = findBytes(text.bytes, needle, 0); at >= 0; at = findBytes(text.bytes, needle, at + needle.length)) {
    hits.push(text.tokenAt(at));
  }
  if (!hits.length) return -1;
  const found = direction > 0 ? hits.find((hit) => hit > here) : hits.findLast((hit) => hit < here);
  return found ?? (direction > 0 ? hits[0] : hits[hits.length - 1]);
}

start(showEncoded);
