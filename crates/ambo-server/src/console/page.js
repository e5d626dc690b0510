// The few things that all parts need to make a page. Texts go in as texts, never as HTML.

/** Makes an element: `make("td", { class: "null", onclick }, "NULL")`. */
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  set(element, attributes);
  element.append(...children.flat().filter((child) => child != null && child !== false));
  return element;
}

/** The same in SVG. */
export function draw(name, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  set(element, attributes);
  element.append(...children.flat().filter((child) => child != null));
  return element;
}

function set(element, attributes) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value != null) element.setAttribute(key, value);
  }
}

export const find = (id) => document.getElementById(id);

/** A number with its digits in groups; texts of digits as well, whatever their length. */
export function grouped(number) {
  if (number == null) return "";
  return String(number).replace(/^(-?\d+)/, (digits) => digits.replace(/\B(?=(\d{3})+$)/g, "\u202f"));
}

/** Bytes as a person reads them. */
export function bytes(count) {
  if (count == null) return "";
  let size = Number(count);
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (size < 1024) return `${size < 10 && unit !== "B" ? size.toFixed(1) : Math.round(size)} ${unit}`;
    size /= 1024;
  }
  return `${size.toFixed(1)} TiB`;
}

/** A time span as a person reads it. */
export function span(millis) {
  if (millis == null) return "";
  if (millis < 1) return `${Math.max(1, Math.round(millis * 1000))} µs`;
  if (millis < 1000) return `${millis < 10 ? millis.toFixed(1) : Math.round(millis)} ms`;
  if (millis < 60000) return `${(millis / 1000).toFixed(1)} s`;
  return `${Math.floor(millis / 60000)} min ${Math.round((millis % 60000) / 1000)} s`;
}

/** Shows something over the page until it is closed. Returns the dialog. */
export function over(title, ...content) {
  const dialog = find("dialog");
  const close = make("button", { class: "plain", "aria-label": "Close", onclick: () => dialog.close() }, "✕");
  dialog.replaceChildren(make("header", {}, make("h2", {}, title), make("span", { class: "fill" }), close), ...content);
  if (!dialog.open) dialog.showModal();
  return dialog;
}

/** What is wrong, as an element. */
export function problem(error) {
  return make("div", { class: "problem", role: "alert" },
    make("strong", {}, error.detail ?? String(error)),
    error.line ? make("span", { class: "dim" }, ` line ${error.line}, column ${error.column}`) : null,
    error.hint ? make("div", {}, error.hint) : null,
    error.code ? make("span", { class: "dim code" }, error.code) : null);
}
