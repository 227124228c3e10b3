/** What do agents do here? Their calls as they are made, and what the calls of each tool add up to. */

import { ask } from "/static/api.js";
import { action, ago, bytes, count, empty, fault, fill, h, number, said } from "/static/dom.js";

const LOOK_MS = 2000;

export function view(root) {
  const load = record(root, "h2");
  return { show: load, catchUp: load };
}

/** Keep the record of calls in `root` true while it can be seen: of all tools, or of a member's, and then only some. */
export function record(root, heading, parameters = {}, most = undefined) {
  let timer = 0;
  let shown = "";

  async function load() {
    clearTimeout(timer);
    try {
      if (root.checkVisibility()) present(await ask("/api/activity", parameters));
    } catch (error) {
      shown = "";
      fill(root, fault(error, " ", action("Try again", load, { class: "quiet" })));
    }
    root.dataset.ready = "true";
    if (root.isConnected) timer = setTimeout(load, LOOK_MS);
  }

  function present(found) {
    const text = JSON.stringify(found);
    if (text === shown) return undefined;
    shown = text;
    if (!found.calls.length) return fill(root, nothing());
    const list = (items) => h("ul", { class: "notes calls" }, items);
    return fill(root, h(heading, {}, "Tools"), list(found.tools.map(summary)), h(heading, {}, "Last calls"), list(found.calls.slice(0, most).map(call)));
  }

  return load;
}

function nothing() {
  return empty("No call is on record", ["Calls of agents, and of this page, are listed here as they are made: when, who, which tool, how long, and the outcome."]);
}

function summary({ tool, calls, errors, median_ms: median, longest_ms: longest }) {
  return h("li", { class: "row", "data-tool": tool }, h("bdi", { class: "mono" }, ...said(tool || "?")),
    h("span", { class: "num" }, count(calls, "call")),
    errors ? h("span", { class: "pill bad" }, count(errors, "error")) : null,
    h("span", { class: "num dim" }, `median ${number(Math.round(median))} ms, longest ${number(Math.round(longest))} ms`));
}

function call({ time, client, tool, ms, bytes: size, outcome, cache, scope }) {
  return h("li", { class: "row" }, h("span", { class: "dim num" }, ago(time)),
    h("span", { class: `pill ${outcome === "ok" ? "" : "bad"}` }, outcome),
    h("bdi", { class: "mono" }, ...said(tool || "?")), h("bdi", { class: "dim" }, ...said([client, cache, scope].filter(Boolean).join(" · "))),
    h("span", { class: "num dim" }, `${number(Math.round(ms))} ms, ${bytes(size)}`));
}
