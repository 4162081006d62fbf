// The box to type in: what is typed takes the place of the page's text, with its tokens, at once. Esc empties the box, and
// the page's own text is back.

const MOST_TYPED = 1_000_000; // characters
const MOST_ROWS = 8;
let pageTokenizer = null; // made when it is needed: it takes 0.1 s

// Connects the box, if the page has one: `show({columns, inputs, places})` shows a text, `show(null)` the page's own.
function connectBox(head, columns, show) {
  if (!head.box) return;
  const field = byId("typed");
  let waiting = false;
  let isOwn = true; // whether the page's text is shown

  const tell = (count, note = "", isProblem = false) => {
    byId("typed-count").textContent = count;
    byId("typed-note").textContent = note;
    byId("typed-note").classList.toggle("problem", isProblem);
    byId("clear").hidden = !field.value;
  };
  const showOwn = () => {
    if (!isOwn) show(null);
    isOwn = true;
  };
  const prepare = () => (pageTokenizer ??= new PageTokenizer(head.box, columns));

  const encode = () => {
    waiting = false;
    if (!field.value) {
      showOwn();
      return tell("");
    }
    if (field.value.length > MOST_TYPED) {
      showOwn();
      return tell("", `The box takes up to ${grouped(MOST_TYPED)} characters.`, true);
    }
    try {
      const { ids, special, changed } = prepare().encode(field.value);
      const typed = pageTokenizer.columnsOf(ids);
      const inputs = [{ name: "what was typed", count: ids.length }];
      show({ columns: typed, inputs, places: changed ? "unknown" : "bytes" });
      isOwn = false;
      const size = new TextEncoder().encode(field.value).length;
      const facts = [counted(ids.length, "token"), counted(size, "byte"), `${(size / ids.length).toFixed(2)} bytes per token`];
      return tell(facts.join(", "), special ? `${counted(special, "special token")} taken as text` : "");
    } catch (error) {
      if (!(error instanceof NotHere)) throw error;
      showOwn();
      return tell("", error.message, true);
    }
  };
  const soon = () => {
    if (!waiting) requestAnimationFrame(encode); // once for all that is typed until the next picture
    waiting = true;
  };
  const grow = () => {
    if (field.rows === MOST_ROWS && field.scrollHeight > field.clientHeight) return; // each measurement is a layout
    for (field.rows = 1; field.rows < MOST_ROWS && field.scrollHeight > field.clientHeight; ) field.rows++;
  };
  const empty = () => {
    field.value = "";
    grow();
    encode();
    field.focus();
  };

  field.addEventListener("focus", () => setTimeout(prepare));
  field.addEventListener("input", () => {
    grow();
    soon();
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && field.value) empty();
  });
  byId("clear").addEventListener("click", empty);
  if (field.value) soon(); // kept by the browser from before
}
