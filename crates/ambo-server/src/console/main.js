// The console: views, statements in tabs, and results.

import { find, grouped, make, problem, span } from "./page.js";
import { ask, askJson, endSession, run, sessionHeaders } from "./server.js";
import { statements } from "./words.js";
import { Editor } from "./editor.js";
import { Grid } from "./grid.js";
import { chart } from "./chart.js";
import { plan } from "./plan.js";
import * as tables from "./tables.js";
import { Live } from "./live.js";

const KEPT = "ambo-tabs";
const state = { catalog: { tables: [], columns: [], functions: [] }, tabs: [{ text: "" }], tab: 0, result: null, running: null };

function recall() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEPT));
    if (kept?.tabs?.length) Object.assign(state, { tabs: kept.tabs.map((tab) => ({ text: String(tab.text) })), tab: Math.min(kept.tab, kept.tabs.length - 1) });
  } catch {
    // What was kept is of no use: begin anew.
  }
}

function keep() {
  state.tabs[state.tab].text = editor.text;
  localStorage.setItem(KEPT, JSON.stringify({ tabs: state.tabs.map(({ text }) => ({ text })), tab: state.tab }));
  const name = find("tabs").children[state.tab]?.querySelector(".tab-name");
  if (name) name.textContent = title(state.tabs[state.tab], state.tab);
}

const title = (tab, nth) => tab.text.trim().split("\n")[0].slice(0, 24) || `Statement ${nth + 1}`;

function showTabs() {
  const tab = (one, nth) => make("span", { class: nth === state.tab ? "tab chosen" : "tab" },
    make("button", { class: "plain tab-name", role: "tab", "aria-selected": String(nth === state.tab), onclick: () => choose(nth) }, title(one, nth)),
    state.tabs.length > 1 ? make("button", { class: "plain", "aria-label": "Close the tab", onclick: () => closeTab(nth) }, "×") : null);
  find("tabs").replaceChildren(...state.tabs.map(tab), make("button", { class: "plain add", "aria-label": "New tab", onclick: () => add("") }, "+"));
}

function choose(nth) {
  keep();
  state.tab = nth;
  editor.text = state.tabs[nth].text;
  showTabs();
  keep();
  editor.area.focus();
}

function closeTab(nth) {
  keep();
  state.tabs.splice(nth, 1);
  state.tab = Math.max(0, state.tab - (nth <= state.tab ? 1 : 0));
  editor.text = state.tabs[state.tab].text;
  showTabs();
  keep();
}

function add(text) {
  keep();
  const isEmpty = !editor.text.trim();
  if (!isEmpty || !text) { state.tabs.push({ text }); state.tab = state.tabs.length - 1; }
  state.tabs[state.tab].text = text;
  editor.text = text;
  showTabs();
  keep();
  editor.area.focus();
}

function view(name) {
  for (const one of ["query", "table", "live"]) {
    find(one).hidden = one !== name;
    document.querySelector(`[data-view=${one}]`).setAttribute("aria-selected", String(one === name));
  }
  if (name === "live") live.start(); else live.stop();
  if (name === "query") state.result?.grid?.show();
  if (name === "table" && !find("table").children.length) find("table").replaceChildren(make("p", { class: "hint" }, "Choose a table at the side."));
  if (matchMedia("(max-width: 760px)").matches) side(false);
}

function side(isOpen) {
  document.body.classList.toggle("narrow-side", !isOpen);
  find("menu").setAttribute("aria-expanded", String(isOpen));
}

export async function refresh() {
  try {
    state.catalog = await askJson("GET", "/catalog");
    tables.tree(state.catalog, find("find").value, side_);
  } catch (error) {
    find("tree").replaceChildren(make("li", {}, problem(error)));
  }
}

const side_ = {
  open: (table) => { view("table"); tables.page(table, { query: (text) => { view("query"); add(text); runWanted(); } }); },
  put: (text) => { view("query"); editor.insert(text); },
};

function say(text) { find("status").textContent = text; }

/** Forgets the result that is shown. */
function clear() {
  const old = state.result;
  state.result = null;
  if (old) {
    old.grid?.close();
    clearTimeout(old.timer);
    if (old.id) askJson("DELETE", `/results/${old.id}`).catch(() => {});
  }
  find("result").replaceChildren();
  find("message").hidden = true;
  find("shapes").hidden = find("saving").hidden = true;
  editor.unmark();
}

function busy(controller) {
  state.running = controller;
  find("cancel").hidden = !controller;
  for (const id of ["run", "run-all", "explain", "analyze"]) find(id).disabled = Boolean(controller);
}

/** Runs statements one after the other; the rows that stay are those of the last. */
async function runAll(wanted, prefix = "") {
  if (state.running) return;
  clear();
  const controller = new AbortController();
  busy(controller);
  const began = performance.now();
  const clock = setInterval(() => say(`running, ${span(performance.now() - began)}`), 100);
  let changes = false;
  try {
    for (const [nth, one] of wanted.entries()) {
      state.at = one.start;
      const sql = editor.text.slice(one.start, one.end);
      changes ||= /^\s*(create|drop|alter|insert|update|delete|merge|copy|truncate|rollback|commit)/i.test(sql);
      if (nth) clear();
      await show(await run(prefix + sql, controller.signal), { sql, prefix, began });
    }
  } catch (error) {
    say("");
    const place = error.line === 1 && prefix ? { ...error, column: error.column - prefix.length } : error;
    fail(Object.assign(error, { line: place.line, column: place.column }));
  } finally {
    clearInterval(clock);
    busy(null);
  }
  if (changes) refresh();
}

function fail(error) {
  find("message").hidden = false;
  find("message").replaceChildren(problem(error));
  if (error.line) editor.markAt(state.at ?? 0, error.line, error.column);
}

function runWanted(prefix = "") {
  const wanted = editor.wanted();
  if (!wanted) return say("There is no statement.");
  const { start, end } = wanted;
  const text = editor.text.slice(start, end);
  const inside = statements(text).map((one) => ({ start: start + one.start, end: start + one.end }));
  return runAll(inside, prefix);
}

async function show(answer, { sql, prefix, began }) {
  const result = { id: answer.result, sql, columns: answer.columns, total: answer.total, first: answer.rows };
  state.result = result;
  if (prefix || /^\s*explain\b/i.test(sql)) {
    find("result").replaceChildren(plan(answer.rows));
    say(span(performance.now() - began));
    if (answer.error) throw answer.error;
    return;
  }
  if (!answer.columns.length) {
    if (answer.error) throw answer.error;
    say(`${answer.tag}${answer.affected == null ? "" : `, ${grouped(answer.affected)} rows`}, ${span(answer.ms)}`);
    return;
  }
  const load = async (offset, limit) => (await askJson("GET", `/results/${result.id}?offset=${offset}&limit=${limit}`)).rows;
  result.grid = new Grid(answer.columns, answer.rows, answer.total, load);
  find("shapes").hidden = find("saving").hidden = false;
  shape("rows");
  await follow(result, answer);
}

/** Looks how far a result is until it is whole. */
async function follow(result, answer) {
  let wait = 100;
  while (!answer.done && state.result === result) {
    find("cancel").hidden = false;
    say(`${grouped(answer.total)} rows so far`);
    await new Promise((resolve) => { setTimeout(resolve, wait); state.running?.signal.addEventListener("abort", resolve, { once: true }); });
    if (state.running?.signal.aborted) {
      await askJson("DELETE", `/results/${result.id}`).catch(() => {});
      throw Object.assign(new Error(), { detail: "The statement was ended." });
    }
    wait = Math.min(1000, wait * 1.5);
    answer = await askJson("GET", `/results/${result.id}?offset=0&limit=0`);
    if (state.result !== result) return;
    result.total = answer.total;
    result.grid.grow(answer.total);
  }
  if (state.result !== result) return;
  if (answer.error) throw answer.error;
  const cut = answer.truncated ? ", and more that were cut off" : "";
  const tag = answer.affected == null ? "" : `${answer.tag}, `;
  say(`${tag}${grouped(answer.total)} ${answer.total === 1 ? "row" : "rows"}${cut}, ${span(answer.ms)}`);
}

async function shape(name) {
  const result = state.result;
  for (const button of find("shapes").children) button.setAttribute("aria-selected", String(button.dataset.shape === name));
  if (name === "rows") {
    find("result").replaceChildren(result.grid.element);
    result.grid.show();
    return;
  }
  try {
    const { rows } = await askJson("GET", `/results/${result.id}?offset=0&limit=5000`);
    find("result").replaceChildren(chart(result.columns, rows, result.total));
  } catch (error) {
    find("result").replaceChildren(problem(error));
  }
}

async function save(format) {
  const result = state.result;
  if (!result || !format) return;
  say("saving …");
  try {
    const answer = await ask("POST", `/sql?format=${format}`, { body: { sql: result.sql }, headers: sessionHeaders() });
    const link = make("a", { href: URL.createObjectURL(await answer.blob()), download: `result.${format}` });
    link.click();
    URL.revokeObjectURL(link.href);
    say("saved");
  } catch (error) {
    fail(error);
  }
}

function theme(next) {
  const known = next ?? localStorage.getItem("ambo-theme");
  if (known) document.documentElement.dataset.theme = known;
  if (next) localStorage.setItem("ambo-theme", next);
}

function isDark() {
  return (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
}

function drops() {
  let depth = 0;
  const isFile = (event) => event.dataTransfer?.types.includes("Files");
  addEventListener("dragenter", (event) => { if (isFile(event)) { depth++; find("drop").hidden = false; } });
  addEventListener("dragleave", () => { if (--depth <= 0) { depth = 0; find("drop").hidden = true; } });
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    depth = 0;
    find("drop").hidden = true;
    const file = event.dataTransfer.files[0];
    if (file) tables.load(file, state.catalog, refresh);
  });
  find("file").addEventListener("change", (event) => {
    const file = event.target.files[0];
    if (file) tables.load(file, state.catalog, refresh);
    event.target.value = "";
  });
}

theme();
recall();
const live = new Live();
const editor = new Editor(find("editor"), { catalog: () => state.catalog, changed: keep });
editor.text = state.tabs[state.tab].text;
showTabs();
view("query");
drops();
const narrow = matchMedia("(max-width: 760px)");
side(!narrow.matches);
narrow.addEventListener("change", () => side(!narrow.matches));
find("run").onclick = () => runWanted();
find("run-all").onclick = () => runAll(statements(editor.text));
find("explain").onclick = () => runWanted("explain ");
find("analyze").onclick = () => runWanted("explain analyze ");
find("cancel").onclick = () => state.running?.abort();
find("theme").onclick = () => theme(isDark() ? "light" : "dark");
find("menu").onclick = () => side(document.body.classList.contains("narrow-side"));
find("load").onclick = () => find("file").click();
find("session").onclick = () => endSession();
find("find").oninput = (event) => tables.tree(state.catalog, event.target.value, side_);
find("save").onchange = (event) => { save(event.target.value); event.target.value = ""; };
for (const button of document.querySelectorAll("[data-view]")) button.onclick = () => view(button.dataset.view);
for (const button of find("shapes").children) button.onclick = () => shape(button.dataset.shape);
addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || find("query").hidden) return;
  event.preventDefault();
  if (event.shiftKey) find("run-all").click(); else find("run").click();
});
addEventListener("pagehide", () => { keep(); });
refresh();
editor.area.focus();
