/** Which view is looked at, in which colours, and is the hall still there? The page's frame. */

import { decoded, hall, hasToken, takeToken, useToken } from "/static/api.js";
import { action, copyable, disclosed, fault, fill, h, keepAgesTrue, quoted, worded } from "/static/dom.js";
import { listen } from "/static/events.js";

const at = (id) => document.getElementById(id);
// A view is loaded when it is first looked at, or once the first one is there.
const LOADERS = {
  caches: () => import("/static/caches.js"),
  contexts: () => import("/static/contexts.js"),
  tools: () => import("/static/tools.js"),
  guild: () => import("/static/guild.js"),
  activity: () => import("/static/activity.js"),
};
const views = {};
let isIncomplete = false;
let meeting = null;

function meet() {
  const found = hall();
  found.then(introduce, () => {});
  return found;
}

function introduce({ project, version }) {
  at("project").textContent = project;
  at("version").textContent = `Context Hall ${version}`;
  document.title = project ? `${project} · Context Hall` : "Context Hall";
}

// Routes: #/caches/NAME?q=QUESTION, #/contexts/SCOPE, #/tools/TOOL, #/guild/MEMBER.

function route() {
  const [, name, rest, asked] = /^#\/([a-z]+)\/?([^?]*)\??(.*)$/.exec(location.hash) ?? [];
  return name in LOADERS ? [name, decoded(rest), new URLSearchParams(asked)] : ["caches", "", new URLSearchParams()];
}

async function show() {
  if (!at("locked").hidden) return;
  const [name, rest, asked] = route();
  for (const each of Object.keys(LOADERS)) at(each).hidden = each !== name;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.view === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  await (await view(name))?.show(rest, asked);
}

async function view(name) {
  views[name] ??= LOADERS[name]().then((module) => module.view(at(name), () => meeting));
  try {
    return await views[name];
  } catch {
    // A browser does not ask again for a module that it could not get; only the page as a whole can be loaded again.
    isIncomplete = true;
    const again = action("Load the page again", () => location.reload(), { class: "quiet" });
    fill(at(name), fault(new Error("This view could not be loaded. Is `context serve` still running?"), " ", again));
    return null;
  }
}

/** Tell those views something that are there. */
function toViews(work, names = Object.keys(views)) {
  for (const name of names) views[name]?.then(work, () => {});
}

// Colours: what the system prefers, until somebody chooses.

const prefersDark = matchMedia("(prefers-color-scheme: dark)");

function theme() {
  return document.documentElement.dataset.theme ?? (prefersDark.matches ? "dark" : "light");
}

function labelTheme() {
  const other = theme() === "dark" ? "light" : "dark";
  at("theme").setAttribute("aria-label", `Use ${other} colours`);
  fill(at("theme"), h("span", { "aria-hidden": "true" }, theme() === "dark" ? "☀" : "☾"));
}

function toggleTheme() {
  const other = theme() === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = other;
  try {
    localStorage.setItem("context-hall-theme", other);
  } catch {
    // It holds until the page is left.
  }
  labelTheme();
}

// Agents can share the hall that is looked at.

function connecting() {
  const where = quoted(`${location.hostname}:${location.port || 80}`);
  const variable = "The token is never written down: agents take it from the variable `CONTEXT_HTTP_TOKEN`. Set it before you type this.";
  return h("div", { class: "stack tight" },
    h("p", {}, ...worded("Any number of agents can share this hall. Type this in the project; `context connect --help` names the other clients.")),
    hasToken() ? h("p", {}, ...worded(variable)) : null,
    copyable("tell Claude Code", `context connect claude-code --http --at ${where} --write`),
    copyable("or give an agent the address", `${location.origin}/mcp`));
}

// The hall may go away, and come back.

let countdown = 0;
let hurry = () => {};

function live(text, state) {
  at("live").hidden = false;
  at("live").dataset.state = state;
  at("live").textContent = text;
}

function found(isFirst) {
  clearInterval(countdown);
  at("banner").hidden = true;
  live("Live", "live");
  // The first view was drawn before the stream was there: what happened in between is asked for.
  if (isFirst) return toViews((shown) => shown.catchUp(), ["guild"]);
  if (isIncomplete) return location.reload();
  meeting = meet();
  return toViews((shown) => shown.catchUp());
}

function lost(error, wait) {
  clearInterval(countdown);
  live(error.code === "unauthorized" ? "Locked" : "Lost", "lost");
  if (error.code === "unauthorized") return;
  let seconds = Math.ceil(wait / 1000);
  const left = h("span", {}, `${seconds} s`);
  const now = h("button", { type: "button", class: "quiet", onclick: () => hurry() }, "Try now");
  fill(at("banner"), h("p", {}, "The hall does not answer. What you see is what it said last. Trying again in ", left, "."), now);
  at("banner").hidden = false;
  countdown = setInterval(() => {
    seconds = Math.max(0, seconds - 1);
    left.textContent = `${seconds} s`;
  }, 1000);
}

// A hall with a token lets nobody else ask.

function unlock() {
  if (!at("locked").hidden) return;
  const input = h("input", { type: "password", id: "token", autocomplete: "off", required: true });
  const form = h(
    "form",
    { class: "empty" },
    h("h2", {}, "This hall asks for its token"),
    h("p", {}, "It stands in the address that the hall printed when it was started, behind ", h("code", {}, "#token="), "."),
    hasToken() ? fault(new Error("The token that was given is not that of this hall")) : null,
    h("label", { for: "token" }, "Token"),
    h("div", { class: "row" }, input, h("button", { class: "primary" }, "Enter")),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    useToken(input.value);
    location.reload();
  });
  for (const name of Object.keys(LOADERS)) at(name).hidden = true;
  fill(at("locked"), form);
  at("locked").hidden = false;
  input.focus();
}

addEventListener("hall-locked", unlock);
// An address with a token may be put where the page is open already.
addEventListener("hashchange", () => (takeToken() ? location.reload() : show()));
at("theme").addEventListener("click", toggleTheme);
prefersDark.addEventListener("change", labelTheme);
at("skip").addEventListener("click", (event) => {
  event.preventDefault();
  at("main").focus();
});
labelTheme();
keepAgesTrue();
takeToken();
fill(at("connect"), disclosed("Connect an agent", connecting()));
const first = show();
meeting = meet();
first.finally(() => {
  const onEvent = (kind, data) => toViews((guild) => guild.hear(kind, data.member), ["guild"]);
  hurry = listen({ onEvent, onOpen: found, onLost: lost });
  for (const load of Object.values(LOADERS)) load().catch(() => {});
});
