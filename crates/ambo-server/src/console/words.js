// The words of SQL: where statements end, what is shown in which colour, what may be completed.

export const KEYWORDS = new Set(`all alter analyze and any as asc attach begin between bigint blob boolean btree by case cast check column comment
commit compact conflict constraint copy create cross current_date current_timestamp database date decimal default delete desc describe detach distinct
do double drop else end except exists explain false fetch filter first for foreign from full group grouping having if ilike in index inner insert
integer intersect interval into is join json key lateral left like limit materialized memory merge natural not nothing null nulls of offset on
only or order ordered outer over partition prepare primary qualify range real recursive references rename replace reset returning right rollback
rollup row rows savepoint schema select sequence set sets show smallint storage table tables temp temporary text then time timestamp timestamptz
tinyint to transaction true truncate type union unique unnest update use using uuid vacuum values varchar view views when where window with
without`.split(/\s+/));

/** Cuts a text into words: `{ kind, start, end }` with kinds space, comment, text, name, word, number, mark. Every character is in one. */
export function words(text) {
  const found = [];
  let at = 0;
  const add = (kind, end) => {
    found.push({ kind, start: at, end });
    at = end;
  };
  const behind = (mark, from) => {
    const place = text.indexOf(mark, from);
    return place < 0 ? text.length : place + mark.length;
  };
  while (at < text.length) {
    const char = text[at];
    const rest = text.slice(at, at + 64);
    let match;
    if (/\s/.test(char)) add("space", at + /^\s+/.exec(text.slice(at))[0].length);
    else if (rest.startsWith("--")) add("comment", behind("\n", at));
    else if (rest.startsWith("/*")) add("comment", blockEnd(text, at));
    else if (char === "'" || (/^e'/i.test(rest))) add("text", textEnd(text, at + (char === "'" ? 1 : 2), "'", char !== "'"));
    else if (char === '"') add("name", textEnd(text, at + 1, '"', false));
    else if ((match = /^\$([A-Za-z_]\w*)?\$/.exec(rest))) add("text", behind(match[0], at + match[0].length));
    else if ((match = /^(\d[\d_]*\.?\d*|\.\d+)(e[+-]?\d+)?/i.exec(rest))) add("number", at + match[0].length);
    else if ((match = /^[\p{L}_][\p{L}\p{N}_$]*/u.exec(text.slice(at, at + 256)))) add("word", at + match[0].length);
    else add("mark", at + 1);
  }
  return found;
}

function textEnd(text, from, quote, escapes) {
  for (let at = from; at < text.length; at++) {
    if (escapes && text[at] === "\\") at++;
    else if (text[at] === quote) {
      if (text[at + 1] !== quote) return at + 1;
      at++;
    }
  }
  return text.length;
}

/** Comments stand in one another. */
function blockEnd(text, from) {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    if (text.startsWith("/*", at)) { depth++; at++; }
    else if (text.startsWith("*/", at)) { depth--; at++; if (!depth) return at + 1; }
  }
  return text.length;
}

/** The statements of a text: `{ start, end }` of each, without the semicolon and without what only comments or blanks make. */
export function statements(text) {
  const found = [];
  let start = null, end = null;
  for (const word of words(text)) {
    if (word.kind === "mark" && text[word.start] === ";") {
      if (start !== null) found.push({ start, end, next: word.end });
      start = null;
    } else if (word.kind !== "space" && word.kind !== "comment") {
      start ??= word.start;
      end = word.end;
    }
  }
  if (start !== null) found.push({ start, end, next: text.length });
  return found;
}

/** The statement at a place: the one around it, else the one before it, else the first. */
export function statementAt(text, place) {
  const all = statements(text);
  const around = all.find((one) => place >= one.start && place <= one.next);
  return around ?? all.findLast((one) => one.end <= place) ?? all[0];
}

/** A name as it stands in a statement. */
export function quoted(name) {
  return /^[a-z_][a-z0-9_]*$/.test(name) && !KEYWORDS.has(name) ? name : `"${name.replaceAll('"', '""')}"`;
}
