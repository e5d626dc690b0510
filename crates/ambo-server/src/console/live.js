// What the server does now: figures with their last minute, and what runs.

import { bytes, draw, find, grouped, make, problem, span } from "./page.js";
import { ask, askJson } from "./server.js";

const EVERY = 1000;
const KEPT = 60;

/** The figures of a page for Prometheus, summed over their labels. */
export function figures(text) {
  const found = new Map();
  for (const line of text.split("\n")) {
    const match = /^([a-z_]+)(\{[^}]*\})? (\S+)$/.exec(line);
    if (match && !match[2]?.includes("le=")) found.set(match[1], (found.get(match[1]) ?? 0) + Number(match[3]));
  }
  return found;
}

const CARDS = [
  { name: "Statements a second", of: "ambo_http_statements_total", isRate: true, show: (value) => value.toFixed(value < 10 ? 1 : 0) },
  { name: "Rows a second", of: "ambo_http_rows_total", isRate: true, show: (value) => grouped(Math.round(value)) },
  { name: "Sessions", of: "ambo_sessions", show: (value) => grouped(value) },
  { name: "Memory", of: "process_resident_memory_bytes", show: bytes },
  { name: "Not compacted", of: "ambo_memtable_bytes", show: bytes },
  { name: "Log", of: "ambo_log_bytes", show: bytes },
];

export class Live {
  constructor() {
    this.history = CARDS.map(() => []);
    this.timer = null;
  }

  start() {
    if (this.timer) return;
    this.cards = CARDS.map((card) => {
      const value = make("strong", {}, "–");
      const line = make("div", { class: "spark" });
      return { value, line, element: make("section", { class: "card figure" }, make("h2", {}, card.name), value, line) };
    });
    this.table = make("tbody");
    this.said = make("div");
    find("live").replaceChildren(
      make("div", { class: "figures" }, this.cards.map((card) => card.element)),
      make("h2", {}, "Sessions"), this.said,
      make("table", { class: "plain-table queries" }, make("thead", {}, make("tr", {}, ["", "role", "protocol", "client", "state", "for", "statement", ""].map((name) => make("th", { scope: "col" }, name)))), this.table));
    this.tick();
    this.timer = setInterval(() => this.tick(), EVERY);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.last = null;
  }

  async tick() {
    if (this.isBusy || document.hidden) return;
    this.isBusy = true;
    try {
      const [metrics, running] = await Promise.all([ask("GET", "/metrics").then((answer) => answer.text()), askJson("GET", "/queries")]);
      this.count(figures(metrics));
      this.list(running.queries);
      this.said.replaceChildren();
    } catch (error) {
      this.said.replaceChildren(problem(error));
    }
    this.isBusy = false;
  }

  count(found) {
    const now = performance.now();
    CARDS.forEach((card, nth) => {
      const value = found.get(card.of) ?? 0;
      const before = this.last?.found.get(card.of) ?? 0;
      if (card.isRate && !this.last) return;
      const shown = card.isRate ? Math.max(0, (value - before) * 1000 / (now - this.last.now)) : value;
      const history = this.history[nth];
      history.push(shown);
      if (history.length > KEPT) history.shift();
      this.cards[nth].value.textContent = card.show(shown);
      this.cards[nth].line.replaceChildren(spark(history));
    });
    this.last = { found, now };
  }

  list(queries) {
    const order = { active: 0, "idle in transaction": 1, idle: 2 };
    queries.sort((one, other) => order[one.state] - order[other.state] || other.seconds - one.seconds);
    this.table.replaceChildren(...queries.map((query) => make("tr", { class: query.state === "active" ? "active" : "" },
      make("td", { class: "right" }, query.id), make("td", {}, query.role), make("td", {}, query.protocol), make("td", {}, query.peer ?? ""),
      make("td", {}, query.state), make("td", { class: "right" }, span(query.seconds * 1000)), make("td", { class: "sql", title: query.sql }, query.sql),
      make("td", {}, query.state === "active" ? make("button", { "aria-label": `Cancel the statement of session ${query.id}`, onclick: () => this.cancel(query.id) }, "Cancel") : null))));
    if (!queries.length) this.table.replaceChildren(make("tr", {}, make("td", { colspan: 8, class: "dim" }, "Nobody is here but this page.")));
  }

  async cancel(id) {
    try {
      await askJson("DELETE", `/queries/${id}`);
    } catch (error) {
      this.said.replaceChildren(problem(error));
    }
    this.tick();
  }
}

function spark(history) {
  const most = history.reduce((found, one) => Math.max(found, one), 0) || 1;
  const path = history.map((value, nth) => `${nth ? "L" : "M"}${((KEPT - history.length + nth) / (KEPT - 1) * 200).toFixed(1)} ${(38 - value / most * 34).toFixed(1)}`).join("");
  return draw("svg", { viewBox: "0 0 200 40", preserveAspectRatio: "none", "aria-hidden": "true" }, draw("path", { class: "line s0", d: path }));
}
