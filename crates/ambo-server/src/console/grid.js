// Rows of any number: only those that are seen are in the page, and only those near them are in memory.
//
// Browsers cut elements that are too high, so the height of many rows is pressed into HEIGHT_MAX, and the bar's place is a share of all rows.

import { make, over, grouped } from "./page.js";

const ROW = 25;
const HEIGHT_MAX = 8_000_000;
const WINDOW = 200;
const WINDOWS_MAX = 60;
const CELL_MAX = 300;
const RIGHT = /^(tinyint|smallint|integer|bigint|utinyint|usmallint|uinteger|ubigint|real|double|decimal)/;

/** The text of a value, as it is shown. */
export function shown(value) {
  if (value === null) return "NULL";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

export class Grid {
  /** `load(offset, limit)` promises rows; `first` are those that are known already. */
  constructor(columns, first, total, load) {
    this.columns = columns;
    this.total = total;
    this.load = load;
    this.windows = new Map();
    this.waits = new Set();
    this.active = { row: 0, column: 0 };
    this.right = columns.map((column) => RIGHT.test(column.type));
    if (first.length) this.windows.set(0, first);
    this.widths = this.measure(first);
    this.head = make("div", { class: "row head", role: "row" }, this.cell("", 0, "number", "columnheader"),
      columns.map((column, nth) => this.headCell(column, nth)));
    this.space = make("div", { class: "space" });
    this.rows = make("div", { class: "rows" });
    this.space.append(this.rows);
    this.element = make("div", {
      class: "grid", tabindex: "0", role: "grid", "aria-label": "Rows", "aria-rowcount": total + 1, "aria-colcount": columns.length,
      onkeydown: (event) => this.key(event), onscroll: () => this.show(),
      oncopy: (event) => this.copy(event),
    }, this.head, this.space);
    this.observer = new ResizeObserver(() => this.show());
    this.observer.observe(this.element);
    this.grow(total);
  }

  close() { this.observer.disconnect(); }

  /** There are so many rows now. */
  grow(total) {
    this.total = total;
    this.element.setAttribute("aria-rowcount", total + 1);
    this.height = Math.min(total * ROW, HEIGHT_MAX);
    this.space.style.height = `${this.height}px`;
    this.numberWidth = Math.max(44, String(total).length * 8 + 20);
    this.columnise();
    this.show();
  }

  measure(rows) {
    return this.columns.map((column, nth) => {
      let most = Math.max(column.name.length + 1, Math.min(column.type.length, 14));
      for (const row of rows.slice(0, 100)) most = Math.max(most, Math.min(shown(row[nth]).length, 48));
      return Math.min(400, most * (this.right[nth] ? 8.6 : 7.8) + 24);
    });
  }

  columnise() {
    const sizes = [this.numberWidth, ...this.widths].map((width) => `${Math.round(width)}px`).join(" ");
    this.element.style.setProperty("--columns", sizes);
    this.element.style.setProperty("--width", `${this.numberWidth + this.widths.reduce((sum, width) => sum + width, 0)}px`);
  }

  headCell(column, nth) {
    const grip = make("span", { class: "grip", "aria-hidden": "true", onpointerdown: (event) => this.drag(event, nth) });
    return make("div", { class: this.right[nth] ? "cell right" : "cell", role: "columnheader", title: `${column.name} ${column.type}` },
      make("span", { class: "column" }, column.name), make("span", { class: "type" }, column.type), grip);
  }

  drag(event, nth) {
    event.preventDefault();
    const grip = event.target;
    const from = event.clientX - this.widths[nth];
    grip.setPointerCapture(event.pointerId);
    const move = (moved) => { this.widths[nth] = Math.max(40, moved.clientX - from); this.columnise(); };
    grip.addEventListener("pointermove", move);
    grip.addEventListener("pointerup", () => grip.removeEventListener("pointermove", move), { once: true });
  }

  cell(value, nth, kind, role = "gridcell") {
    return make("div", { class: `cell ${kind}`, role }, value);
  }

  visible() { return Math.max(1, Math.ceil((this.element.clientHeight - ROW * 2) / ROW)); }

  /** The first row that is seen. */
  top() {
    const room = this.height - this.visible() * ROW;
    if (this.total * ROW <= HEIGHT_MAX || room <= 0) return Math.floor(this.element.scrollTop / ROW);
    const share = Math.min(1, this.element.scrollTop / room);
    return Math.floor(share * Math.max(0, this.total - this.visible() + 1));
  }

  scrollTo(row) {
    const visible = this.visible() - 1;
    const top = this.top();
    if (row >= top && row < top + visible) return;
    const first = Math.max(0, row < top ? row : row - visible + 1);
    if (this.total * ROW <= HEIGHT_MAX) { this.element.scrollTop = first * ROW; return; }
    const room = this.height - this.visible() * ROW;
    this.element.scrollTop = Math.ceil((first / Math.max(1, this.total - this.visible() + 1)) * room);
    this.exact = first;
  }

  show() {
    if (!this.element.isConnected) return;
    const pressed = this.total * ROW > HEIGHT_MAX;
    let first = this.top();
    // A key moves by one row, which is less than the bar can say when rows are pressed.
    if (this.exact != null && Math.abs(this.exact - first) <= Math.ceil(this.total * ROW / HEIGHT_MAX) * 2) first = this.exact;
    this.exact = null;
    first = Math.max(0, Math.min(first, this.total - 1));
    const count = Math.min(this.visible() + 2, this.total - first);
    const rows = [];
    for (let row = first; row < first + count; row++) rows.push(this.row(row));
    this.rows.style.transform = `translateY(${pressed ? this.element.scrollTop : first * ROW}px)`;
    this.rows.replaceChildren(...rows);
    this.first = first;
  }

  row(row) {
    const values = this.values(row);
    const number = this.cell(grouped(row + 1), 0, "number", "rowheader");
    const cells = this.columns.map((_, nth) => {
      const isActive = row === this.active.row && nth === this.active.column;
      return this.value(values?.[nth], nth, values === undefined, isActive, row);
    });
    return make("div", { class: "row", role: "row", "aria-rowindex": row + 2 }, number, cells);
  }

  value(value, nth, isMissing, isActive, row) {
    let kind = this.right[nth] ? "right" : "";
    let text = isMissing ? "…" : shown(value);
    if (value === null) kind += " null";
    if (value === "") { kind += " empty"; text = "''"; }
    if (text.length > CELL_MAX) text = `${text.slice(0, CELL_MAX)}…`;
    if (isActive) kind += " active";
    const cell = this.cell(text.replace(/\s*\n\s*/g, " ⏎ "), nth, kind);
    cell.addEventListener("mousedown", () => { this.active = { row, column: nth }; this.show(); });
    cell.addEventListener("dblclick", () => this.open());
    return cell;
  }

  /** The values of a row, if they are here; else they are asked for. */
  values(row) {
    const start = Math.floor(row / WINDOW) * WINDOW;
    const window = this.windows.get(start);
    if (window?.[row - start]) {
      // What was looked at last goes last.
      this.windows.delete(start);
      this.windows.set(start, window);
      return window[row - start];
    }
    this.want(start);
    return undefined;
  }

  want(start) {
    if (this.waits.has(start)) return;
    this.waits.add(start);
    // Who scrolls fast passes over most.
    setTimeout(async () => {
      const isSeen = start + WINDOW > this.first && start <= this.first + this.visible() + 2;
      try {
        if (isSeen) {
          this.windows.set(start, await this.load(start, WINDOW));
          while (this.windows.size > WINDOWS_MAX) this.windows.delete(this.windows.keys().next().value);
        }
      } finally {
        this.waits.delete(start);
      }
      if (isSeen) this.show();
    }, 40);
  }

  key(event) {
    const page = Math.max(1, this.visible() - 1);
    const { row, column } = this.active;
    const moves = {
      ArrowUp: [row - 1, column], ArrowDown: [row + 1, column], ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1],
      PageUp: [row - page, column], PageDown: [row + page, column],
      Home: event.ctrlKey ? [0, column] : [row, 0], End: event.ctrlKey ? [this.total - 1, column] : [row, this.columns.length - 1],
    };
    const move = moves[event.key];
    if (event.key === "Enter") { event.preventDefault(); this.open(); return; }
    if (!move) return;
    event.preventDefault();
    const within = (value, most) => Math.max(0, Math.min(value, most - 1));
    this.active = { row: within(move[0], this.total), column: within(move[1], this.columns.length) };
    this.scrollTo(this.active.row);
    this.show();
    this.element.querySelector(".active")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  activeValue() { return this.values(this.active.row)?.[this.active.column]; }

  /** Shows the whole of a value. */
  open() {
    const value = this.activeValue();
    if (value === undefined) return;
    const column = this.columns[this.active.column];
    const text = typeof value === "object" && value !== null ? JSON.stringify(value, null, 2) : shown(value);
    const copy = make("button", { onclick: () => navigator.clipboard?.writeText(text) }, "Copy");
    over(column.name, make("p", { class: "dim" }, `${column.type}, row ${grouped(this.active.row + 1)}, ${grouped([...text].length)} characters`),
      make("pre", { class: value === null ? "whole null" : "whole", tabindex: "0" }, text), make("footer", {}, copy));
  }

  copy(event) {
    const value = this.activeValue();
    if (value === undefined || String(getSelection())) return;
    event.preventDefault();
    event.clipboardData.setData("text/plain", value === null ? "" : shown(value));
  }
}
