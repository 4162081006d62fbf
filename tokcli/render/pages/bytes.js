// The page's data: packed columns (packer.py), and bytes as text in which nothing hides or acts (the rules of
// tokcli/render/visible.py, so that a page and a terminal show the same).

const fromBase64 = (text) => {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
};

// Returns {name: Uint8Array, Uint32Array or Float32Array} for columns of [name, kind, count].
async function unpack(columns, base64) {
  const inflated = new Blob([fromBase64(base64)]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(inflated).arrayBuffer());
  const found = {};
  let at = 0;
  for (const [name, kind, count] of columns) {
    const size = kind === "bytes" ? count : 4 * count;
    const part = bytes.subarray(at, at + size);
    at += size;
    if (kind === "bytes") {
      found[name] = part;
      continue;
    }
    const numbers = new Uint32Array(count); // all lowest bytes come first, then the next ones
    for (let i = 0; i < count; i++) {
      numbers[i] = part[i] | (part[count + i] << 8) | (part[2 * count + i] << 16) | (part[3 * count + i] << 24);
    }
    found[name] = kind === "floats" ? new Float32Array(numbers.buffer) : numbers;
  }
  return found;
}

// Returns where each of some lengths begins, and where the last one ends: [2, 3] -> [0, 2, 5].
function startsOf(lengths) {
  const starts = new Uint32Array(lengths.length + 1);
  for (let i = 0; i < lengths.length; i++) starts[i + 1] = starts[i] + lengths[i];
  return starts;
}

const hexOf = (bytes, between = " ") => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(between);
const isContinuation = (byte) => (byte & 0xc0) === 0x80;
const charactersIn = (bytes) => bytes.reduce((count, byte) => count + !isContinuation(byte), 0);

// Returns the length of the UTF-8 character that begins at a place, 0 if none does (Unicode 16.0, table 3-7).
function characterAt(bytes, at) {
  const first = bytes[at];
  if (first < 0x80) return 1;
  const size = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (!size || at + size > bytes.length) return 0;
  const second = bytes[at + 1];
  const lowest = { 0xe0: 0xa0, 0xf0: 0x90 }[first] ?? 0x80;
  const highest = { 0xed: 0x9f, 0xf4: 0x8f }[first] ?? 0xbf;
  if (second < lowest || second > highest) return 0;
  for (let i = at + 2; i < at + size; i++) if (!isContinuation(bytes[i])) return 0;
  return size;
}

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

// Returns [text, bytes] for each run of UTF-8, and [null, bytes] for each run of bytes that are not UTF-8.
function runsOf(bytes) {
  const runs = [];
  let begin = 0;
  let isText = true;
  const end = (at, becomesText) => {
    if (at > begin) {
      const part = bytes.subarray(begin, at);
      runs.push([isText ? strict.decode(part) : null, part]);
    }
    begin = at;
    isText = becomesText;
  };
  for (let at = 0; at < bytes.length; ) {
    const size = characterAt(bytes, at);
    if (size > 0 !== isText) end(at, size > 0);
    at += size || 1;
  }
  end(bytes.length, true);
  return runs;
}

const isPlain = (text) => /^[\x20-\x7e]*$/.test(text);
const invisible =
  /[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufe00-\ufe0f\u{e0100}-\u{e01ef}\p{C}\p{Z}]/u;
const MARKS_PER_BASE = 8; // more would paint over the lines above and below

function substituteFor(char, spaces) {
  if (char === " ") return spaces ? "\u00b7" : "";
  if (!invisible.test(char) || (!spaces && /\p{Zs}/u.test(char))) return "";
  const code = char.codePointAt(0);
  if (char === "\n") return "\u23ce";
  if (char === "\t") return "\u2192";
  if (char === "\x7f") return "\u2421";
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return `\u27e8U+${code.toString(16).toUpperCase().padStart(4, "0")}\u27e9`;
}

function visible(text, spaces) {
  if (isPlain(text)) return spaces ? text.replaceAll(" ", "\u00b7") : text;
  let shown = "";
  let room = 0; // marks that the character before can still carry
  for (const char of text) {
    const substitute = substituteFor(char, spaces);
    if (substitute) {
      shown += substitute;
      room = 0;
    } else if (!/\p{M}/u.test(char)) {
      shown += char;
      room = MARKS_PER_BASE;
    } else {
      shown += room ? char : "\u25cc" + char;
      room = (room || MARKS_PER_BASE) - 1;
    }
  }
  return shown;
}

const visibleBytes = (bytes, spaces) =>
  runsOf(bytes).map(([text, part]) => (text === null ? `\u27e8${hexOf(part)}\u27e9` : visible(text, spaces))).join("");

const hex = "[0-9a-fA-F]";
const escapes = new RegExp(
  String.raw`\\(?:([nrt\\])|x(${hex}{2})|u(${hex}{4})|U(00(?:0${hex}|10)${hex}{4}))|[^\\]+|\\`,
  "g",
);

// Returns the bytes of a text with the escapes that `tokcli split` prints: \n \r \t \\ \xNN \uNNNN \UNNNNNNNN.
function unescaped(text) {
  const letters = { n: 10, r: 13, t: 9, "\\": 92 };
  const encoder = new TextEncoder();
  const found = [];
  for (const [whole, letter, byte, short, long] of text.matchAll(escapes)) {
    if (letter) found.push(letters[letter]);
    else if (byte) found.push(parseInt(byte, 16));
    else found.push(...encoder.encode(short || long ? String.fromCodePoint(parseInt(short || long, 16)) : whole));
  }
  return new Uint8Array(found);
}

// Returns the bytes of pairs of hexadecimal digits, with or without spaces and 0x; null where there are others.
function fromHex(digits) {
  const packed = digits.replace(/^\s*0x|\s+/gi, "");
  if (packed.length % 2 || !/^[0-9a-f]*$/i.test(packed)) return null;
  return new Uint8Array((packed.match(/../g) ?? []).map((pair) => parseInt(pair, 16)));
}
