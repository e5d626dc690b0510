// What EXPLAIN says, as a tree; with bars of the time that each part took, if it was measured.

import { grouped, make, span } from "./page.js";

/** The nodes of a text whose lines are indented by two blanks a level. */
export function tree(text) {
  const root = { children: [] };
  const path = [root];
  for (const line of text.split("\n").filter((one) => one.trim())) {
    const depth = Math.floor(/^ */.exec(line)[0].length / 2);
    const node = { ...parts(line.trim()), children: [] };
    path.length = Math.min(path.length, depth + 1);
    path.at(-1).children.push(node);
    path.push(node);
  }
  return root.children;
}

/** The name of an operator, what it works on, and what was measured. */
function parts(line) {
  const metrics = /, metrics=\[(.*)\]$/.exec(line);
  const rest = metrics ? line.slice(0, metrics.index) : line;
  const name = /^[\w ]+?(?=:|$)/.exec(rest)?.[0] ?? rest;
  const measured = Object.fromEntries([...(metrics?.[1] ?? "").matchAll(/(\w+)=([^,\]]+)/g)].map(([, key, value]) => [key, value.trim()]));
  return { name, about: rest.slice(name.length).replace(/^:?\s*/, ""), measured };
}

const UNITS = { ns: 1e-6, "µs": 1e-3, us: 1e-3, ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

function millis(text) {
  const match = /^([\d.]+)\s*([a-zµ]+)$/.exec(text ?? "");
  return match && match[2] in UNITS ? Number(match[1]) * UNITS[match[2]] : null;
}

const time = (node) => millis(node.measured.elapsed_compute);

function most(nodes) {
  return nodes.reduce((found, node) => Math.max(found, time(node) ?? 0, most(node.children)), 0);
}

function show(node, longest) {
  const took = time(node);
  const rows = node.measured.output_rows;
  const bar = took === null ? null : make("span", { class: "took", title: `${span(took)} of work` }, make("i"));
  if (bar) bar.firstChild.style.width = `${Math.max(2, 100 * took / (longest || 1))}%`;
  const rest = Object.entries(node.measured).filter(([key]) => !["output_rows", "elapsed_compute"].includes(key));
  const line = make("div", { class: "node" }, make("strong", {}, node.name),
    rows ? make("span", { class: "count" }, `${grouped(rows)} rows`) : null, bar, took === null ? null : make("span", { class: "dim" }, span(took)),
    node.about ? make("div", { class: "about" }, node.about) : null,
    rest.length ? make("details", {}, make("summary", { class: "dim" }, "figures"), make("div", { class: "about" }, rest.map(([key, value]) => `${key} ${value}`).join(" · "))) : null);
  return make("li", { role: "treeitem" }, line, node.children.length ? make("ul", { role: "group" }, node.children.map((child) => show(child, longest))) : null);
}

/** The part of the page with the rows of an EXPLAIN. */
export function plan(rows) {
  return make("div", { class: "plan" }, rows.map(([kind, text]) => {
    const nodes = tree(String(text));
    const longest = most(nodes);
    const isOpen = rows.length === 1 || !/^logical/i.test(kind);
    return make("details", { open: isOpen }, make("summary", {}, String(kind).replaceAll("_", " ").toLowerCase()), make("ul", { role: "tree" }, nodes.map((node) => show(node, longest))));
  }));
}
