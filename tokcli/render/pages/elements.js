// What all pages share: elements made from plain text (no HTML is ever parsed), and a start that reports what failed.

const byId = (id) => document.getElementById(id);
// 12345 -> "12,345"; toLocaleString takes 50 ms for its first number
const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");
const counted = (count, one, many = `${one}s`) => `${grouped(count)} ${count === 1 ? one : many}`;

// make("a", {href: "#x", class: "token"}, "text", child): attributes as in HTML, children as text or nodes
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

// Makes a list of names and values; a value is text or a node, and pairs with null are left out.
const definitions = (pairs) => {
  const known = pairs.filter(([, value]) => value !== null);
  return make("dl", {}, ...known.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
};

// Makes an element for the user's data, which keep their own direction whatever surrounds them.
const isolated = (text, attributes = {}) => make("bdi", { class: "data", ...attributes }, text);

function say(text) {
  byId("status").textContent = text;
}

// Makes a button a toggle: `act(isOn)` is called whenever it changes.
function toggles(id, act) {
  byId(id).addEventListener("click", () => {
    const isOn = byId(id).getAttribute("aria-pressed") !== "true";
    byId(id).setAttribute("aria-pressed", isOn);
    act(isOn);
  });
}
const isPressed = (id) => byId(id).getAttribute("aria-pressed") === "true";

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = make("textarea", { class: "unseen" }); // for browsers that deny pages from disk the clipboard
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    if (!done) return say("The browser does not let this page copy.");
  }
  return say(`Copied ${what}.`);
}

async function start(show) {
  try {
    const head = JSON.parse(byId("head").textContent);
    const columns = await unpack(head.columns, byId("data").textContent);
    byId("data").remove(); // to free megabytes
    show(head, columns);
    document.body.dataset.ready = "yes";
    performance.mark("shown");
  } catch (error) {
    const problem = byId("problem");
    problem.textContent = `This page could not be shown (it needs a browser of 2023 or later): ${error.message}`;
    problem.hidden = false;
    throw error;
  }
}
