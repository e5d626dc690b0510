// Tables: the tree at the side, the page of a table, and loading files.

import { bytes, find, grouped, make, over, problem } from "./page.js";
import { askJson, authorization, sessionHeaders } from "./server.js";
import { Grid } from "./grid.js";
import { quoted } from "./words.js";

export const full = (table) => (table.schema === "main" ? table.name : `${table.schema}.${table.name}`);
export const inStatement = (table) => (table.schema === "main" ? quoted(table.name) : `${quoted(table.schema)}.${quoted(table.name)}`);

/** Shows the tables at the side. */
export function tree(catalog, wanted, { open, put }) {
  const list = find("tree");
  const text = wanted.trim().toLowerCase();
  const tables = catalog.tables.filter((table) => full(table).toLowerCase().includes(text));
  if (!tables.length) {
    list.replaceChildren(make("li", { class: "hint" }, text ? "None is called so." : "No tables yet. Drop a file here, or create one."));
    return;
  }
  list.replaceChildren(...tables.map((table) => {
    const columns = () => catalog.columns.filter((column) => column.schema === table.schema && column.table === table.name);
    const inside = make("ul", { role: "group", hidden: true });
    const arrow = make("button", { class: "arrow plain", "aria-expanded": "false", "aria-label": `Columns of ${table.name}`, onclick: () => {
      const isOpen = inside.hidden;
      inside.hidden = !isOpen;
      arrow.setAttribute("aria-expanded", String(isOpen));
      if (isOpen && !inside.children.length) {
        inside.append(...columns().map((column) => make("li", { role: "treeitem" }, make("button", { class: "plain column", title: "Put it into the statement", onclick: () => put(quoted(column.name)) },
          column.name, make("span", { class: "dim" }, column.type)))));
      }
    } });
    const name = make("button", { class: "plain table", title: table.kind, onclick: () => open(table) },
      make("span", { class: table.kind === "view" ? "view" : "" }, full(table)), make("span", { class: "dim" }, table.rows == null ? "view" : grouped(table.rows)));
    return make("li", { role: "treeitem" }, make("div", { class: "entry" }, arrow, name), inside);
  }));
}

const term = (name, value) => (value == null || value === "" ? [] : [make("dt", {}, name), make("dd", {}, value)]);

function rowsOf(head, rows) {
  return make("table", { class: "plain-table" }, make("thead", {}, make("tr", {}, head.map((name) => make("th", { scope: "col" }, name)))),
    make("tbody", {}, rows.map((row) => make("tr", {}, row.map((value) => make("td", { class: value === null ? "null" : "" }, value === null ? "NULL" : String(value)))))));
}

/** Shows what a table is, and its first rows. */
export async function page(table, { query }) {
  const place = find("table");
  place.replaceChildren(make("p", { class: "hint" }, "…"));
  try {
    const about = await askJson("GET", `/tables/${encodeURIComponent(`${table.schema}.${table.name}`)}`);
    const first = await askJson("POST", "/results", { body: { sql: `select * from ${inStatement(table)} limit 1000`, read_only: true } });
    const load = async (offset, limit) => (await askJson("GET", `/results/${first.result}?offset=${offset}&limit=${limit}`)).rows;
    const grid = new Grid(first.columns, first.rows, first.total, load);
    const figures = about.storage ?? {};
    const view = about.kind === "view";
    place.replaceChildren(
      make("header", { class: "title" }, make("h1", {}, full(table)), make("span", { class: "chip flat" }, view ? "view" : figures.storage ?? "table"),
        make("span", { class: "fill" }), make("button", { onclick: () => query(`select * from ${inStatement(table)} limit 100`) }, "Query it")),
      make("div", { class: "cards" },
        make("section", { class: "card" }, make("h2", {}, `Columns (${about.columns.length})`),
          rowsOf(["name", "type", "NULL", "default"], about.columns.map((column) => [column.name, column.type, column.nullable ? "may be" : "no", column.default ?? ""]))),
        view ? null : make("section", { class: "card" }, make("h2", {}, "Storage"), make("dl", {},
          term("rows", grouped(figures.rows)), term("bytes stored", bytes(figures.stored_bytes)), term("bytes as they are", bytes(figures.raw_bytes)),
          figures.raw_bytes && figures.stored_bytes ? term("ratio", `${(figures.raw_bytes / figures.stored_bytes).toFixed(1)} : 1`) : [],
          term("segments", grouped(figures.segments)), term("pages", grouped(figures.pages)), term("runs", grouped(figures.runs)),
          term("in memory", figures.memtable_rows ? `${grouped(figures.memtable_rows)} rows, ${bytes(figures.memtable_bytes)}` : "")),
          make("h2", {}, `Indexes (${about.indexes.length})`),
          about.indexes.length ? rowsOf(["name", "type", "unique", "size"], about.indexes.map((index) => [index.name, index.type, index.is_unique ? "yes" : "no", bytes(index.stored_bytes)])) : make("p", { class: "dim" }, "none")),
        make("section", { class: "card" }, make("h2", {}, "Definition"), make("pre", { class: "whole", tabindex: "0" }, about.create))),
      make("h2", {}, `First rows`), make("div", { class: "sample" }, grid.element));
    grid.show();
  } catch (error) {
    place.replaceChildren(problem(error));
  }
}

const FORMS = { csv: "csv", tsv: "csv", json: "ndjson", jsonl: "ndjson", ndjson: "ndjson", parquet: "parquet", arrow: "arrow", arrows: "arrow" };

/** Asks where the rows of a file are to go, and loads them. */
export async function load(file, catalog, done) {
  const parts = file.name.toLowerCase().replace(/\.(gz|zst)$/, "").split(".");
  const form = FORMS[parts.at(-1)];
  if (!form) {
    over("Load a file", make("p", {}, `${file.name} is no CSV, JSON lines, Parquet or Arrow file by its name.`));
    return;
  }
  const isText = (form === "csv" || form === "ndjson") && !/\.(gz|zst)$/i.test(file.name);
  const head = isText ? (await file.slice(0, 4096).text()).split("\n").slice(0, 6).join("\n") : null;
  const name = make("input", { value: parts[0].replace(/\W+/g, "_"), required: true, "aria-label": "Table" });
  const isThere = () => catalog.tables.some((table) => full(table) === name.value);
  const mode = make("select", {}, [["create", "make a table"], ["append", "add to the table"], ["replace", "replace the table"]].map(([value, text]) => make("option", { value }, text)));
  const suggest = () => { mode.value = isThere() ? "append" : "create"; };
  name.addEventListener("input", suggest);
  const storage = make("select", {}, [["", "as usual"], ["column", "column"], ["btree", "btree"], ["memory", "memory"]].map(([value, text]) => make("option", { value }, text)));
  const bar = make("progress", { max: 1, value: 0, hidden: true });
  const said = make("div", { role: "status" });
  const button = make("button", { class: "main" }, "Load");
  const form_ = make("form", { class: "form", onsubmit: async (event) => {
    event.preventDefault();
    button.disabled = true;
    bar.hidden = false;
    const asked = new URLSearchParams({ format: form, mode: mode.value });
    if (mode.value !== "append" && storage.value) asked.set("storage", storage.value);
    if (mode.value === "append" && parts.at(-1) === "tsv") asked.set("delimiter", "\t");
    try {
      const told = await send(`/tables/${encodeURIComponent(name.value)}/load?${asked}`, file, (share) => { bar.value = share; });
      said.replaceChildren(make("p", {}, `${grouped(told.rows)} rows are in ${name.value}.`));
      done();
    } catch (error) {
      said.replaceChildren(problem(error));
      button.disabled = false;
    }
    bar.hidden = true;
  } }, make("label", {}, "Table", name), make("label", {}, "What to do", mode), make("label", {}, "Storage", storage), bar, button);
  suggest();
  over(`Load ${file.name}`, make("p", { class: "dim" }, `${bytes(file.size)}, ${form}`), head && make("pre", { class: "whole", tabindex: "0" }, head), form_, said);
}

/** Sends a file, telling how much of it has gone. */
function send(path, file, tell) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", path);
    for (const [key, value] of Object.entries({ ...authorization(), ...sessionHeaders() })) request.setRequestHeader(key, value);
    request.upload.addEventListener("progress", (event) => tell(event.lengthComputable ? event.loaded / event.total : 0));
    request.addEventListener("error", () => reject({ detail: "The server cannot be reached." }));
    request.addEventListener("load", () => {
      let answer;
      try { answer = JSON.parse(request.responseText); } catch { answer = { detail: request.statusText }; }
      if (request.status < 300) resolve(answer); else reject(answer);
    });
    request.send(file);
  });
}
