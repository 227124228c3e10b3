/** What is this tool, and what does it answer? Its definition, a form for its arguments, and its result. */

import { ask, tell } from "/static/api.js";
import { action, busy, copyable, disclosure, fault, fill, h, quoted, said, skeleton } from "/static/dom.js";
import { formOf, parsed, same } from "/static/form.js";
import { outcome } from "/static/result.js";

// What a member says of its own tools is a claim, and shown as one.
const CLAIMS = [
  ["readOnlyHint", true, "only reads", ""],
  ["readOnlyHint", false, "writes", "warn"],
  ["destructiveHint", true, "may destroy", "bad"],
  ["idempotentHint", true, "safe to repeat", ""],
  ["openWorldHint", true, "reaches outside", "warn"],
];

/** A member of the guild, as the one who has a tool. */
export function ofMember(member) {
  return {
    define: (tool) => ask("/api/guild/tool", { member, tool }),
    call: (tool, value, signal) => tell("/api/guild/call", { member, tool, arguments: value }, signal),
    command: (tool, value) => `context guild call ${quoted(member)} ${quoted(tool)} --json ${quoted(value)}`,
  };
}

/** The hall itself, as the one who has a tool. */
export const OF_THE_HALL = {
  define: (tool) => ask("/api/tools/show", { tool }),
  call: (tool, value, signal) => tell("/api/tools/call", { tool, arguments: value }, signal),
  command: (tool, value) => `context call ${quoted(tool)} --json ${quoted(value)}`,
};

/** A tool in a list. It is asked for when it is opened, and keeps what is typed when its list changes. */
export function toolCard(owner, tool, switchOff = null) {
  const line = h("span", { class: "tool-line" });
  const title = h("span", { class: "tool-title" });
  const inside = h("div", { class: "tool-inside" });
  const change = h("div");
  const body = h("div", { class: "stack" });
  let listedAs = tool.listedAs;
  let definition = null;

  async function load() {
    if (definition === null) fill(body, skeleton(3));
    try {
      take((await owner.define(tool.name)).definition);
    } catch (error) {
      fill(change, fault(error));
      if (definition === null) fill(body);
    }
  }

  function take(found) {
    if (definition === null) return present(found);
    // What somebody is typing is theirs: they decide when the form changes.
    return fill(change, same(found, definition) ? null : changedNote(found));
  }

  function changedNote(found) {
    const button = h("button", { type: "button", onclick: () => present(found) }, "Show the new one");
    return h("div", { class: "note stale" }, h("p", {}, "The definition of this tool has changed since you opened it."), button);
  }

  function present(found) {
    definition = found;
    fill(change);
    const off = switchOff && h("div", { class: "row" }, action("Switch off", switchOff, { class: "quiet" }));
    fill(body, about(found, listedAs), off, caller(owner, tool.name, found), schemas(found));
  }

  const head = h("span", { class: "tool-row" }, h("bdi", { class: "mono tool-name" }, ...said(tool.name)), title, line);
  const { button, set } = disclosure(head, inside, { onOpen: load, properties: { class: "tool-head" } });
  fill(inside, change, body);

  function update(next) {
    listedAs = next.listedAs;
    fill(title, ...(bare(next.title) === bare(next.name) ? [] : said(next.title)));
    fill(line, ...said(next.line));
    if (!inside.hidden && definition !== null) load();
  }

  update(tool);
  return { node: h("li", { class: "tool", "data-tool": tool.name }, button, inside), update, open: () => set(true) };
}

/** A name without what titles spell in another way. */
const bare = (name) => (name ?? "").toLowerCase().replace(/[\s_-]/g, "");

function about(definition, listedAs) {
  return h("div", { class: "stack tight" },
    definition.description ? h("p", { class: "description" }, ...said(definition.description)) : h("p", { class: "dim" }, "It does not say what it does."),
    listedAs === definition.name ? null : h("p", { class: "dim small" }, "Agents see it as ", h("code", {}, ...said(listedAs))),
    claims(definition.annotations ?? {}));
}

function claims(annotations) {
  const found = CLAIMS.filter(([name, value]) => annotations[name] === value);
  if (!found.length) return null;
  return h("p", { class: "claims" }, h("span", { class: "dim small" }, "It claims:"), found.map(([, , words, tone]) => h("span", { class: `pill ${tone}` }, words)));
}

function schemas(definition) {
  const parts = [["Input schema", definition.inputSchema], ["Output schema", definition.outputSchema], ["Whole definition", definition]];
  return h("div", { class: "schemas" }, parts.filter(([, value]) => value !== undefined).map(([label, value]) => {
    const inside = h("pre", { class: "answer", tabindex: "0" });
    const node = h("details", {}, h("summary", {}, label), inside);
    node.addEventListener("toggle", () => inside.textContent || inside.append(...said(JSON.stringify(value, null, 2))));
    return node;
  }));
}

/** The form, the same as JSON, and what came of it. */
function caller(owner, tool, definition) {
  const form = formOf(definition.inputSchema);
  const raw = h("textarea", { rows: 6, spellcheck: "false", class: "mono grows", "aria-label": "Arguments, as JSON" });
  const trouble = h("div");
  const result = h("div", { class: "result stack tight", "aria-live": "polite" });
  const command = h("div");
  const pane = h("div", {}, form.node);
  const [asForm, asJson] = ["Form", "JSON"].map((label) => h("button", { type: "button", class: "switch", "aria-pressed": String(label === "Form") }, label));
  const invoke = h("button", { class: "primary" }, "Invoke");
  const stop = h("button", { type: "button", class: "quiet", hidden: true }, "Stop waiting");
  const hint = h("span", { class: "hint" });
  let isRaw = false;

  function use(rawNow, sentence = "") {
    isRaw = rawNow;
    fill(pane, rawNow ? raw : form.node);
    asForm.setAttribute("aria-pressed", String(!rawNow));
    asJson.setAttribute("aria-pressed", String(rawNow));
    hint.textContent = rawNow ? "Ctrl + Enter invokes." : form.node.matches(":has(textarea)") ? "Enter invokes, Shift + Enter starts a new line." : "";
    fill(trouble, sentence ? fault(new Error(sentence)) : null);
  }

  asJson.addEventListener("click", () => {
    if (!isRaw) raw.value = JSON.stringify(form.read(null), null, 2);
    use(true);
  });
  asForm.addEventListener("click", () => {
    const [value, sentence] = typed(raw.value);
    if (sentence) return use(true, sentence);
    form.write(value);
    const isWhole = same(form.read(null), value);
    return use(!isWhole, isWhole ? "" : "The form cannot hold all of this, so it stays as JSON.");
  });

  function given() {
    if (isRaw) return typed(raw.value);
    const faults = [];
    const value = form.read(faults);
    faults[0]?.focus();
    return faults.length ? [undefined, ""] : [value, ""];
  }

  async function run() {
    const [value, sentence] = given();
    fill(trouble, sentence ? fault(new Error(sentence)) : null);
    if (value === undefined) return;
    fill(command, copyable("the same call", owner.command(tool, JSON.stringify(value))));
    await attempt(value);
  }

  async function attempt(value) {
    const started = performance.now();
    const giveUp = new AbortController();
    stop.onclick = () => giveUp.abort();
    stop.hidden = false;
    fill(result, skeleton(2));
    try {
      const answer = await owner.call(tool, value, giveUp.signal);
      fill(result, h("p", { class: "dim small num" }, `Answered in ${took(performance.now() - started)}.`), ...outcome(answer));
    } catch (error) {
      fill(result, error.name === "AbortError" ? h("p", { class: "dim" }, "You stopped waiting for the answer.") : fault(error));
    } finally {
      stop.hidden = true;
    }
  }

  const node = h("form", { class: "caller stack tight", novalidate: true, "aria-label": `Invoke ${tool}` },
    h("div", { class: "switches", role: "group", "aria-label": "How to give the arguments" }, asForm, asJson),
    pane, trouble,
    h("div", { class: "row" }, invoke, stop, hint),
    result, command);
  node.addEventListener("submit", (event) => {
    event.preventDefault();
    busy(invoke, run);
  });
  use(false);
  node.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.target.tagName !== "TEXTAREA") return;
    if (event.target === raw && !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    node.requestSubmit();
  });
  return node;
}

function typed(text) {
  const [value, sentence] = parsed(text.trim() || "{}");
  if (sentence || (value !== null && typeof value === "object" && !Array.isArray(value))) return [value, sentence];
  return [undefined, "Arguments are a JSON object, such as {}."];
}

function took(milliseconds) {
  return milliseconds < 1000 ? `${Math.round(milliseconds)} ms` : `${(milliseconds / 1000).toFixed(1)} s`;
}
