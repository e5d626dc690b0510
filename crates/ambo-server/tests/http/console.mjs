// The console in a real browser: `node console.mjs URL`, with playwright-core below AMBO_CONSOLE_MODULES. With AMBO_PICTURES it leaves pictures there.

import assert from "node:assert/strict";
import { createRequire } from "node:module";

const require = createRequire(`${process.env.AMBO_CONSOLE_MODULES}/`);
const { chromium } = require("playwright-core");
const base = process.argv[2];
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
const errors = [];
page.on("pageerror", (error) => errors.push(error.message));
page.on("console", (message) => { if (/Content Security Policy/.test(message.text())) errors.push(message.text()); });
page.on("request", (request) => { if (!request.url().startsWith(base) && !/^(data|blob):/.test(request.url())) errors.push(`a request to ${request.url()}`); });
page.setDefaultTimeout(10_000);
const editor = page.locator("#editor textarea");

async function picture(name) {
  if (process.env.AMBO_PICTURES) await page.screenshot({ path: `${process.env.AMBO_PICTURES}/${name}.png` });
}

async function run(text) {
  await editor.fill(text);
  await editor.press("Control+Enter");
}

const status = (pattern) => page.waitForFunction((source) => new RegExp(source).test(document.querySelector("#status").textContent), pattern.source);

try {
  await page.goto(base);
  await page.waitForSelector("#tree .table");

  // Rows: NULL apart from an empty text, digits beyond 2^53, the last of many rows.
  await run("select n, 9007199254740993 as big, case when n % 2 = 0 then null else '' end as note from range(300000) t(n) order by n");
  await status(/300.000 rows/);
  await page.waitForSelector(".grid .null");
  assert.equal(await page.locator(".grid .empty").first().innerText(), "''");
  assert.equal(await page.locator(".grid .rows .row").first().locator(".cell").nth(2).innerText(), "9007199254740993");
  await picture("rows");
  await page.locator(".grid").focus();
  await page.keyboard.press("Control+End");
  await page.waitForFunction(() => document.querySelector(".grid .rows .row:last-child .cell:nth-child(2)")?.textContent === "299999");
  assert.ok(await page.locator(".grid .row").count() < 60, "rows that nobody sees are in the page");

  // The whole of a long value.
  await run("select repeat('long ', 1000) as text");
  await status(/1 row/);
  await page.locator(".grid").focus();
  await page.keyboard.press("Enter");
  assert.equal((await page.locator("dialog pre").innerText()).length, 5000);
  await page.keyboard.press("Escape");

  // An error is shown where it is.
  await run("select carrier,\n  nope from flights");
  await page.waitForSelector(".problem");
  await page.waitForSelector("#editor .wrong");
  assert.equal(await page.locator("#editor .wrong").innerText(), "nope");
  await picture("error");

  // Completion of tables, and of the columns of the table that the statement names.
  await editor.fill("");
  await editor.pressSequentially("select car from fli");
  await page.waitForSelector("#completion li");
  await page.keyboard.press("Tab");
  assert.match(await editor.inputValue(), /from flights$/);
  for (let n = 0; n < " from flights".length; n++) await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Control+Space");
  await page.waitForSelector("#completion li");
  await picture("completion");
  await page.keyboard.press("Enter");
  assert.match(await editor.inputValue(), /select carrier from flights/);

  // A chart, a plan, the page of a table.
  await run("select day, avg(delay) as delay, count(*) as n from flights group by day order by day");
  await status(/28 rows/);
  await page.click("[data-shape=chart]");
  await page.waitForSelector(".picture svg path.line");
  await picture("chart");
  await page.click("#analyze");
  await page.waitForSelector(".plan .node");
  await picture("plan");
  await page.locator("#tree .table").first().click();
  await page.waitForSelector("#table .card");
  await page.waitForSelector("#table .grid .row:nth-child(2)");
  await picture("table");

  // A statement without an end is ended; the page of what runs shows it.
  await page.click("[data-view=query]");
  await run("with recursive t (n) as (select 1 union all select n % 7 + 1 from t) select max(n) from t");
  await page.click("[data-view=live]");
  await page.locator("#live .queries .active button").click();
  await page.waitForFunction(() => !document.querySelector("#live .queries .active"));
  await picture("live");
  await page.click("[data-view=query]");
  await page.waitForSelector("#cancel", { state: "hidden" });

  // A file that is dropped.
  await page.evaluate(() => {
    const data = new DataTransfer();
    data.items.add(new File(["id,name\n1,a\n2,b\n"], "people.csv", { type: "text/csv" }));
    dispatchEvent(new DragEvent("drop", { dataTransfer: data }));
  });
  await page.locator("dialog button.main").click();
  await page.waitForSelector("dialog [role=status] p");
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => [...document.querySelectorAll("#tree .table")].some((one) => one.textContent.startsWith("people")));

  // A session for a transaction, dark, and narrow.
  await run("begin");
  await page.waitForSelector("#session:not([hidden])");
  await run("delete from people");
  await status(/DELETE/);
  await page.click("#session");
  await run("select count(*) as n from people");
  await status(/1 row/);
  assert.equal(await page.locator(".grid .rows .cell").nth(1).innerText(), "2");
  await page.click("#theme");
  await page.setViewportSize({ width: 400, height: 750 });
  await picture("narrow");
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page is wider than its window");
  assert.deepEqual(errors, []);
} finally {
  await browser.close();
}
