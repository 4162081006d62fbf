// A table of any length: only the rows in sight have elements. The arrow keys, Page Up, Home ... move in it.

const MOST_PIXELS = 8_000_000; // browsers cut off higher elements; for longer tables, scrolling moves in larger steps
const ROW_PIXELS = 30; // as page.css has it
const SPARE_ROWS = 8; // above and below those in sight

class Grid {
  // `box` scrolls and has the focus; `columns` are [header, class]; `cells(row)` gives a node or text for each column;
  // `onMove(row)` is called for the row that an arrow key leads to, `onPick(row)` for a click or Enter
  constructor(box, { label, columns, cells, onMove, onPick }) {
    Object.assign(this, { box, cells, columns, onMove, onPick, rowHeight: ROW_PIXELS, count: 0, current: -1 });
    box.setAttribute("role", "grid");
    box.setAttribute("aria-label", label);
    box.setAttribute("tabindex", "0");
    box.setAttribute("aria-colcount", columns.length);
    const headers = columns.map(([header, kind]) => make("span", { role: "columnheader", class: kind }, header));
    this.header = make("div", { role: "row", class: "row header" }, ...headers);
    this.space = make("div", { role: "rowgroup", class: "space" });
    box.replaceChildren(this.header, this.space);
    box.addEventListener("scroll", () => this.draw());
    box.addEventListener("keydown", (event) => this.onKey(event));
    new ResizeObserver(() => this.draw()).observe(box);
    this.space.addEventListener("click", (event) => {
      const row = event.target.closest("[role=row]");
      if (row && !event.target.closest("a")) this.pick(Number(row.dataset.row));
    });
  }

  get inSight() {
    return Math.max(1, Math.floor((this.box.clientHeight - this.rowHeight) / this.rowHeight));
  }

  // Shows a number of rows, beginning with the first.
  show(count) {
    this.count = count;
    this.current = -1;
    this.box.setAttribute("aria-rowcount", count + 1);
    this.box.removeAttribute("aria-activedescendant");
    this.height = Math.min(count * this.rowHeight, MOST_PIXELS);
    this.space.style.height = `${this.height}px`;
    this.box.scrollTop = 0;
    this.draw();
  }

  // Converts the position of the scroll bar into the first row in sight; `scrollTo` does the opposite.
  get first() {
    const room = this.height - this.inSight * this.rowHeight;
    if (room <= 0) return 0;
    return Math.min(1, this.box.scrollTop / room) * (this.count - this.inSight);
  }

  scrollTo(row) {
    const rows = this.count - this.inSight;
    if (rows > 0) this.box.scrollTop = Math.ceil((row / rows) * (this.height - this.inSight * this.rowHeight));
  }

  draw() {
    if (!this.count) return this.space.replaceChildren();
    const exact = this.first;
    const begin = Math.max(0, Math.floor(exact) - SPARE_ROWS);
    const end = Math.min(this.count, Math.floor(exact) + this.inSight + SPARE_ROWS);
    const rows = [];
    for (let row = begin; row < end; row++) {
      const element = this.row(row);
      element.style.transform = `translateY(${this.box.scrollTop + (row - exact) * this.rowHeight}px)`;
      rows.push(element);
    }
    return this.space.replaceChildren(...rows);
  }

  row(row) {
    const cells = this.cells(row).map((cell, i) => make("span", { role: "gridcell", class: this.columns[i][1] }, cell));
    const isCurrent = row === this.current;
    const attributes = { role: "row", id: `row-${row}`, class: "row", "aria-rowindex": row + 2, "data-row": row };
    return make("div", { ...attributes, "aria-selected": isCurrent ? "true" : "false" }, ...cells);
  }

  // Makes a row the current one, and scrolls it into sight.
  select(row) {
    this.current = Math.min(Math.max(row, 0), this.count - 1);
    if (this.current < 0) return;
    const first = this.first;
    if (this.current < first) this.scrollTo(this.current);
    else if (this.current > first + this.inSight - 1) this.scrollTo(this.current - this.inSight + 1);
    this.draw();
    this.box.setAttribute("aria-activedescendant", `row-${this.current}`);
  }

  pick(row) {
    this.select(row);
    this.onPick(this.current);
  }

  onKey(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target !== this.box) return;
    const page = this.inSight;
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.count, End: this.count };
    const step = steps[event.key];
    if (step && this.count) {
      this.select(this.current < 0 && step < this.count ? 0 : this.current + step);
      this.onMove?.(this.current);
    } else if ((event.key === "Enter" || event.key === " ") && this.current >= 0) this.pick(this.current);
    else return;
    event.preventDefault();
  }
}
