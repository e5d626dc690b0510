// The editor: a textarea, so that typing, undoing, and tools for those who cannot see work as everywhere, with colours behind its glass.

import { make, find } from "./page.js";
import { KEYWORDS, quoted, statementAt, words } from "./words.js";

const SHOWN = 8;

export class Editor {
  /** `catalog()` gives what may be completed; `changed()` is told of each change. */
  constructor(place, { catalog, changed }) {
    this.catalog = catalog;
    this.changed = changed;
    this.mark = null;
    this.colours = make("pre", { "aria-hidden": "true" });
    this.numbers = make("div", { class: "numbers", "aria-hidden": "true" });
    this.area = make("textarea", {
      spellcheck: "false", autocapitalize: "off", autocomplete: "off", wrap: "off", "aria-label": "Statements", "aria-autocomplete": "list",
      placeholder: "select …    Ctrl+Enter runs the statement at the cursor, Ctrl+Space completes",
    });
    this.list = make("ul", { class: "completion", role: "listbox", id: "completion", hidden: true });
    this.glass = make("div", { class: "glass" }, this.colours, this.area);
    place.append(this.numbers, this.glass, this.list);
    this.place = place;
    this.area.addEventListener("input", () => this.typed());
    this.area.addEventListener("scroll", () => this.scrolled());
    this.area.addEventListener("keydown", (event) => this.key(event));
    // A click into the list takes the focus for a moment; who has come back meanwhile goes on.
    this.area.addEventListener("blur", () => setTimeout(() => { if (document.activeElement !== this.area) this.close(); }, 150));
    this.area.addEventListener("click", () => this.close());
    this.show();
  }

  get text() { return this.area.value; }

  set text(value) {
    this.area.value = value;
    this.mark = null;
    this.close();
    this.show();
  }

  /** What is to be run: what is selected, or the statement at the cursor. */
  wanted() {
    const { selectionStart: start, selectionEnd: end } = this.area;
    if (start !== end) return { start, end };
    return statementAt(this.text, start);
  }

  /** Marks the character that an error is about. */
  markAt(start, line, column) {
    const lines = this.text.slice(start).split("\n");
    let place = start;
    for (const before of lines.slice(0, line - 1)) place += before.length + 1;
    place += [...(lines[line - 1] ?? "")].slice(0, column - 1).join("").length;
    const word = words(this.text).find((one) => one.end > place);
    this.mark = { start: place, end: Math.max(place + 1, word?.end ?? place + 1) };
    this.show();
  }

  unmark() {
    if (this.mark) { this.mark = null; this.show(); }
  }

  /** Puts a text where the cursor is, so that it can be undone. */
  insert(text, from = this.area.selectionStart) {
    this.area.focus();
    this.area.setSelectionRange(from, this.area.selectionEnd);
    // The only way that a textarea can undo.
    if (!document.execCommand("insertText", false, text)) {
      this.area.setRangeText(text, from, this.area.selectionEnd, "end");
      this.typed();
    }
  }

  typed() {
    this.mark = null;
    this.show();
    this.changed();
    this.complete(false);
  }

  scrolled() {
    this.colours.style.transform = `translate(${-this.area.scrollLeft}px, ${-this.area.scrollTop}px)`;
    this.numbers.scrollTop = this.area.scrollTop;
    if (!this.list.hidden) this.locate();
  }

  show() {
    const text = this.text;
    const parts = [];
    for (const word of text.length < 200000 ? words(text) : []) {
      const shown = text.slice(word.start, word.end);
      const kind = word.kind === "word" && KEYWORDS.has(shown.toLowerCase()) ? "keyword" : word.kind;
      const isWrong = this.mark && word.start < this.mark.end && word.end > this.mark.start;
      if (kind === "space" || (kind === "word" && !isWrong)) parts.push(shown);
      else parts.push(make("span", { class: isWrong ? `t-${kind} wrong` : `t-${kind}` }, shown));
    }
    if (text.length >= 200000) parts.push(text);
    this.colours.replaceChildren(...parts, "\n");
    const lines = text.split("\n").length;
    if (lines !== this.lines) {
      this.lines = lines;
      this.numbers.textContent = Array.from({ length: lines }, (_, nth) => nth + 1).join("\n");
    }
  }

  key(event) {
    const isOpen = !this.list.hidden;
    if (event.key === "Tab" && !event.shiftKey && !isOpen && !event.ctrlKey) {
      // Tab leaves the editor after Escape, as long as nothing was typed.
      if (this.leaves) return;
      event.preventDefault();
      this.insert("  ");
    } else if (event.key === "Escape") {
      this.leaves = !isOpen;
      this.close();
      return;
    } else if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      this.complete(true);
    } else if (isOpen && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      this.choose(this.chosen + (event.key === "ArrowDown" ? 1 : -1));
    } else if (isOpen && (event.key === "Tab" || (event.key === "Enter" && !event.ctrlKey && this.isAsked))) {
      event.preventDefault();
      this.accept(this.found[this.chosen]);
    } else if (event.key === "Enter" && !event.ctrlKey && !event.metaKey) {
      this.close();
      const { selectionStart } = this.area;
      const line = this.text.slice(this.text.lastIndexOf("\n", selectionStart - 1) + 1, selectionStart);
      const blank = /^\s*/.exec(line)[0];
      if (blank) { event.preventDefault(); this.insert(`\n${blank}`); }
    }
    this.leaves = false;
  }

  close() {
    this.list.hidden = true;
    this.area.removeAttribute("aria-activedescendant");
  }

  /** Shows what the word before the cursor may become. */
  complete(isAsked) {
    const place = this.area.selectionStart;
    const before = this.text.slice(0, place);
    const match = /(?:([\p{L}_][\p{L}\p{N}_$]*)\.)?([\p{L}_][\p{L}\p{N}_$]*)?$/u.exec(before);
    const [, owner, typed = ""] = match;
    const inside = words(this.text).find((word) => word.start < place && word.end >= place);
    if (inside && (inside.kind === "text" || inside.kind === "comment")) return this.close();
    if (!isAsked && !owner && typed.length < 2) return this.close();
    const found = candidates(this.catalog(), this.text, place, owner, typed.toLowerCase());
    this.found = found.filter((one) => one.text.toLowerCase() !== typed.toLowerCase()).slice(0, 40);
    if (!this.found.length) return this.close();
    this.isAsked = isAsked || Boolean(owner);
    this.from = place - typed.length;
    this.list.replaceChildren(...this.found.map((one, nth) => make("li", {
      role: "option", id: `completion-${nth}`,
      onmousedown: (event) => { event.preventDefault(); this.accept(one); },
    }, make("span", { class: `kind ${one.kind}` }, one.kind[0]), one.text, make("span", { class: "dim" }, one.of ?? ""))));
    this.list.hidden = false;
    this.choose(0);
    this.locate();
  }

  locate() {
    const before = this.text.slice(0, this.from).split("\n");
    const style = getComputedStyle(this.area);
    const ruler = make("span", { class: "ruler" }, before.at(-1));
    this.glass.append(ruler);
    const width = ruler.getBoundingClientRect().width;
    ruler.remove();
    const line = parseFloat(style.lineHeight);
    const x = this.glass.offsetLeft + parseFloat(style.paddingLeft) + width - this.area.scrollLeft;
    const y = parseFloat(style.paddingTop) + before.length * line - this.area.scrollTop + 2;
    const room = this.place.clientWidth - 290;
    this.list.style.left = `${Math.max(0, Math.min(x - 26, room))}px`;
    this.list.style.top = `${y}px`;
    this.list.style.maxHeight = `${SHOWN * 24 + 4}px`;
  }

  choose(nth) {
    const count = this.found.length;
    this.chosen = (nth + count) % count;
    [...this.list.children].forEach((item, at) => item.setAttribute("aria-selected", String(at === this.chosen)));
    this.list.children[this.chosen].scrollIntoView({ block: "nearest" });
    this.area.setAttribute("aria-activedescendant", `completion-${this.chosen}`);
  }

  accept(one) {
    this.close();
    this.insert(one.insert ?? one.text, this.from);
    this.close();
  }
}

/** What a word may become: columns of tables that the statement names first, then tables, functions, keywords. */
function candidates(catalog, text, place, owner, typed) {
  const fits = (name) => name.toLowerCase().startsWith(typed);
  const statement = statementAt(text, place);
  const named = statement ? text.slice(statement.start, Math.max(statement.end, place)).toLowerCase() : "";
  const column = (one) => ({ kind: "column", text: one.name, insert: quoted(one.name), of: `${one.table} · ${one.type}` });
  if (owner) {
    const of = owner.toLowerCase();
    const alias = new RegExp(`([\\p{L}_][\\p{L}\\p{N}_]*)\\s+(?:as\\s+)?${of}\\b`, "u").exec(named)?.[1];
    const tables = catalog.tables.filter((one) => one.schema.toLowerCase() === of && fits(one.name));
    const columns = catalog.columns.filter((one) => [of, alias].includes(one.table.toLowerCase()) && fits(one.name));
    return [...columns.map(column), ...tables.map((one) => ({ kind: "table", text: one.name, insert: quoted(one.name), of: one.schema }))];
  }
  const isNamed = (table) => new RegExp(`(^|[^\\p{L}\\p{N}_])${table.toLowerCase().replace(/[^\p{L}\p{N}_]/gu, "\\$&")}($|[^\\p{L}\\p{N}_])`, "u").test(named);
  const near = new Set(catalog.tables.filter((one) => isNamed(one.name)).map((one) => one.name));
  const isAfterFrom = /\b(from|join|into|update|table)\s+[\p{L}\p{N}_]*$/iu.test(text.slice(0, place));
  const tables = catalog.tables.filter((one) => fits(one.name)).map((one) => ({
    kind: "table", text: one.name, insert: one.schema === "main" ? quoted(one.name) : `${quoted(one.schema)}.${quoted(one.name)}`, of: one.kind,
  }));
  const columns = catalog.columns.filter((one) => near.has(one.table) && fits(one.name)).map(column);
  const functions = catalog.functions.filter(fits).map((name) => ({ kind: "function", text: name, insert: `${name}(` }));
  const keywords = [...KEYWORDS].filter(fits).map((name) => ({ kind: "keyword", text: name }));
  if (isAfterFrom) return tables;
  return typed.length < 2 ? [...columns, ...tables] : [...columns, ...keywords.slice(0, 6), ...tables, ...functions];
}
