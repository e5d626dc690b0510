// A picture of a result: lines, bars or points of some columns over another.

import { draw, make } from "./page.js";

const NUMBER = /^(tinyint|smallint|integer|bigint|utinyint|usmallint|uinteger|ubigint|real|double|decimal)/;
const TIME = /^(date|timestamp)/;
const SERIES_MAX = 4;
const POINTS_MAX = 5000;
const SIZE = { width: 900, height: 380, left: 74, right: 16, top: 14, bottom: 44 };

const isNumber = (column) => NUMBER.test(column.type);

/** What a value is on an axis; `null` where it has no place. */
function place(value, column) {
  if (value === null) return null;
  const number = TIME.test(column.type) ? moment(String(value), column.type) : Number(value);
  return Number.isFinite(number) ? number : null;
}

/** A time in milliseconds. What has no zone is taken for UTC, so that days stay what they are. */
function moment(text, type) {
  const iso = text.replace(" ", "T");
  return Date.parse(type === "timestamptz" ? iso.replace(/([+-]\d\d)$/, "$1:00") : type === "timestamp" ? `${iso}Z` : iso);
}

/** Round values for an axis. */
export function ticks(low, high, count) {
  if (low === high) return [low];
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough);
  const found = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + step / 1e6; tick += step) found.push(Math.abs(tick) < step / 1e6 ? 0 : tick);
  return found;
}

function numberText(value) {
  const size = Math.abs(value);
  if (size >= 1e9) return `${+(value / 1e9).toPrecision(4)} G`;
  if (size >= 1e6) return `${+(value / 1e6).toPrecision(4)} M`;
  if (size >= 1e4) return `${+(value / 1e3).toPrecision(4)} k`;
  return String(+value.toPrecision(6));
}

function timeText(value, span) {
  const text = new Date(value).toISOString();
  if (span > 3 * 86_400_000) return text.slice(0, 10);
  return span > 600_000 ? text.slice(5, 16).replace("T", " ") : text.slice(11, 19);
}

/** The part of the page with a chart of rows. */
export function chart(columns, rows, total) {
  const numbers = columns.map((column, nth) => nth).filter((nth) => isNumber(columns[nth]));
  if (!numbers.length) return make("p", { class: "hint" }, "A chart needs a column of numbers.");
  const cut = rows.slice(0, POINTS_MAX);
  const first = columns.findIndex((column) => TIME.test(column.type));
  const initial = first >= 0 ? first : columns.findIndex((column) => !isNumber(column));
  const chosen = { kind: "", x: initial >= 0 ? initial : 0, y: [] };
  const others = numbers.filter((nth) => nth !== chosen.x);
  // Numbers that only name rows are rarely meant.
  chosen.y = [...others.filter((nth) => !/(^|_)id$/i.test(columns[nth].name)), ...others].slice(0, 1);
  if (!chosen.y.length) chosen.y = [numbers[0]];
  chosen.kind = TIME.test(columns[chosen.x].type) ? "line" : isNumber(columns[chosen.x]) ? "points" : "bars";
  const picture = make("div", { class: "picture" });
  const show = () => picture.replaceChildren(...paint(columns, cut, chosen));
  const select = (label, options, value, change) => make("label", {}, label, make("select", {
    onchange: (event) => { change(event.target.value); show(); },
  }, options.map(([key, text]) => make("option", { value: key, selected: String(key) === String(value) }, text))));
  const boxes = numbers.map((nth) => make("label", { class: "box" }, make("input", {
    type: "checkbox", checked: chosen.y.includes(nth),
    onchange: (event) => {
      chosen.y = chosen.y.filter((one) => one !== nth);
      if (event.target.checked) chosen.y = [...chosen.y, nth].slice(-SERIES_MAX);
      boxes.forEach((box, at) => { box.querySelector("input").checked = chosen.y.includes(numbers[at]); });
      show();
    },
  }), columns[nth].name));
  const tools = make("div", { class: "tools" },
    select("", [["line", "Lines"], ["bars", "Bars"], ["points", "Points"]], chosen.kind, (kind) => { chosen.kind = kind; }),
    select("over ", columns.map((column, nth) => [nth, column.name]), chosen.x, (nth) => { chosen.x = Number(nth); }),
    make("span", { class: "boxes" }, boxes),
    total > cut.length ? make("span", { class: "dim" }, `the first ${cut.length} rows`) : null);
  show();
  return make("div", { class: "chart" }, tools, picture);
}

function paint(columns, rows, { kind, x, y }) {
  if (!y.length) return [make("p", { class: "hint" }, "Choose a column of numbers.")];
  const column = columns[x];
  const isScale = kind !== "bars" && (isNumber(column) || TIME.test(column.type));
  const points = rows.map((row, nth) => ({ row, x: isScale ? place(row[x], column) : nth, ys: y.map((one) => place(row[one], columns[one])) }));
  const there = points.filter((point) => point.x !== null);
  if (kind === "line" && isScale) there.sort((one, other) => one.x - other.x);
  const values = there.flatMap((point) => point.ys).filter((value) => value !== null);
  if (!values.length) return [make("p", { class: "hint" }, "There are no numbers to show.")];
  let low = values.reduce((least, one) => Math.min(least, one)), high = values.reduce((most, one) => Math.max(most, one));
  if (kind === "bars" || low > 0 && low < high / 3) low = Math.min(0, low);
  if (kind === "bars") high = Math.max(0, high);
  if (low === high) { low -= 1; high += 1; }
  const xs = there.map((point) => point.x);
  const from = isScale ? xs.reduce((least, one) => Math.min(least, one)) : -0.5;
  const to = isScale ? xs.reduce((most, one) => Math.max(most, one)) : rows.length - 0.5;
  const { width, height, left, right, top, bottom } = SIZE;
  const across = (value) => left + (from === to ? 0.5 : (value - from) / (to - from)) * (width - left - right);
  const up = (value) => height - bottom - (value - low) / (high - low) * (height - top - bottom);
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${y.map((one) => columns[one].name).join(", ")} over ${column.name}` });
  for (const tick of ticks(low, high, 6)) {
    svg.append(draw("line", { class: "rule", x1: left, x2: width - right, y1: up(tick), y2: up(tick) }),
      draw("text", { x: left - 8, y: up(tick) + 4, "text-anchor": "end" }, numberText(tick)));
  }
  svg.append(...axis(column, rows, x, isScale, from, to, across));
  y.forEach((one, nth) => svg.append(...series(kind, there, nth, y.length, across, up, columns[one].name, column, rows.length)));
  const legend = y.length < 2 ? null : make("div", { class: "legend" }, y.map((one, nth) => make("span", {}, make("i", { class: `s${nth}` }), columns[one].name)));
  return [svg, legend].filter(Boolean);
}

function axis(column, rows, x, isScale, from, to, across) {
  const bottom = SIZE.height - SIZE.bottom;
  const text = (at, shown) => draw("text", { x: at, y: bottom + 20, "text-anchor": "middle" }, shown);
  const base = draw("line", { class: "axis", x1: SIZE.left, x2: SIZE.width - SIZE.right, y1: bottom, y2: bottom });
  if (!isScale) {
    const every = Math.ceil(rows.length / 10);
    const shown = rows.map((row, nth) => [row, nth]).filter(([, nth]) => nth % every === 0);
    return [base, ...shown.map(([row, nth]) => text(across(nth), String(row[x] ?? "NULL").slice(0, 12)))];
  }
  const isTime = TIME.test(column.type);
  const marks = isTime ? Array.from({ length: 6 }, (_, nth) => from + (to - from) * nth / 5) : ticks(from, to, 8);
  return [base, ...[...new Set(marks)].map((mark) => text(across(mark), isTime ? timeText(mark, to - from) : numberText(mark)))];
}

function series(kind, points, nth, count, across, up, name, column, rows) {
  const of = (point) => [across(point.x), up(point.ys[nth])];
  const said = (point) => draw("title", {}, `${point.row.length ? name : ""}: ${point.ys[nth]}`);
  const there = points.filter((point) => point.ys[nth] !== null);
  if (kind === "line") {
    // A value that is missing is a gap, not a line across.
    const path = points.map((point, at) => {
      if (point.ys[nth] === null) return "";
      const [x, y] = of(point);
      return `${at > 0 && points[at - 1].ys[nth] !== null ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
    }).join("");
    const dots = there.length <= 60 ? there.map((point) => draw("circle", { class: `s${nth}`, cx: of(point)[0], cy: of(point)[1], r: 3 }, said(point))) : [];
    return [draw("path", { class: `line s${nth}`, d: path }), ...dots];
  }
  if (kind === "points") return there.map((point) => draw("circle", { class: `s${nth} open`, cx: of(point)[0], cy: of(point)[1], r: 3.2 }, said(point)));
  const slot = (SIZE.width - SIZE.left - SIZE.right) / Math.max(1, rows);
  const bar = Math.max(0.5, Math.min(60, slot * 0.72 / count));
  return there.map((point) => {
    const [x, y] = of(point);
    const zero = up(0);
    return draw("rect", { class: `s${nth}`, x: x - bar * count / 2 + nth * bar, y: Math.min(y, zero), width: Math.max(0.5, bar - (bar > 4 ? 1 : 0)), height: Math.max(1, Math.abs(zero - y)) }, said(point));
  });
}
