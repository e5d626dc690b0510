// Talking to the server. Whoever calls gets an answer, or a Problem is thrown.

import { find, make, over } from "./page.js";

/** What the server says is wrong. */
export class Problem extends Error {
  constructor(fields) {
    super(fields.detail);
    Object.assign(this, fields);
  }
}

const KEY = "ambo-authorization";
const token = /[#&]token=([^&]+)/.exec(location.hash);
if (token) {
  sessionStorage.setItem(KEY, `Bearer ${decodeURIComponent(token[1])}`);
  history.replaceState(null, "", location.pathname);
}

export function authorization() {
  const known = sessionStorage.getItem(KEY);
  return known ? { Authorization: known } : {};
}

/** The answer to a request. */
export async function ask(method, path, { body, headers, signal, again = true } = {}) {
  const options = { method, signal, headers: { ...authorization(), ...headers } };
  if (body !== undefined) {
    options.body = typeof body === "string" || body instanceof Blob ? body : JSON.stringify(body);
    if (!(body instanceof Blob)) options.headers["Content-Type"] ??= "application/json";
  }
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw new Problem({ detail: "The statement was ended.", kind: "cancelled" });
    throw new Problem({ detail: "The server cannot be reached.", kind: "gone" });
  }
  if (response.status === 401 && again && (await logIn())) return ask(method, path, { body, headers, signal, again: false });
  if (!response.ok) throw await problemOf(response);
  return response;
}

async function problemOf(response) {
  const text = await response.text();
  try {
    return new Problem(JSON.parse(text));
  } catch {
    return new Problem({ detail: text || response.statusText, status: response.status });
  }
}

/** The same, of an answer that is JSON. */
export async function askJson(method, path, options) {
  const response = await ask(method, path, options);
  return response.status === 204 || response.status === 202 ? null : response.json();
}

let asking;

/** Asks for a token or a password; whether something was given. */
export function logIn() {
  asking ??= new Promise((resolve) => {
    const role = make("input", { name: "role", autocomplete: "username" });
    const secret = make("input", { name: "secret", type: "password", autocomplete: "current-password" });
    const form = make("form", { method: "dialog", class: "form" },
      make("label", {}, "Role (none for a token)", role),
      make("label", {}, "Password or token", secret),
      make("button", { class: "main" }, "Come in"));
    const dialog = over("Who are you?", form);
    dialog.addEventListener("close", () => {
      asking = undefined;
      if (!secret.value) return resolve(false);
      const pair = new TextEncoder().encode(`${role.value}:${secret.value}`);
      const basic = () => `Basic ${btoa(String.fromCharCode(...pair))}`;
      sessionStorage.setItem(KEY, role.value ? basic() : `Bearer ${secret.value}`);
      resolve(true);
    }, { once: true });
    secret.focus();
  });
  return asking;
}

let session = null;

/** What has to run in a session, because it is about what comes behind. */
const NEEDS_SESSION = /^\s*(begin|start\s+transaction|set|reset|use|attach|detach|prepare|create\s+(or\s+replace\s+)?(local\s+)?temp)/i;

export function sessionHeaders() {
  return session ? { "Ambo-Session": session } : {};
}

function showSession() {
  find("session").hidden = !session;
}

/** Begins a session if a statement needs one. */
export async function ready(sql) {
  if (session || !NEEDS_SESSION.test(sql.replace(/^(\s|--.*\n|\/\*[^]*?\*\/)+/, ""))) return;
  session = (await askJson("POST", "/sessions?idle_ms=600000")).session;
  showSession();
}

/** Ends the session, or forgets one that has ended. */
export async function endSession(isGone = false) {
  const ending = session;
  session = null;
  showSession();
  if (ending && !isGone) await askJson("DELETE", `/sessions/${ending}`).catch(() => {});
}

/** Runs a statement whose rows are kept by the server. */
export async function run(sql, signal) {
  await ready(sql);
  try {
    return await askJson("POST", "/results", { body: { sql }, headers: sessionHeaders(), signal });
  } catch (error) {
    if (error.status === 404 && session && /session/.test(error.detail)) {
      await endSession(true);
      error.hint = "Its transaction was rolled back. The next statement runs without it.";
    }
    throw error;
  }
}
