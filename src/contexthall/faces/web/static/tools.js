/** What can an agent ask of the hall itself? Its own tools, each with a form, called as an agent calls them. */

import { ask } from "/static/api.js";
import { action, count, empty, fault, fill, h } from "/static/dom.js";
import { OF_THE_HALL, toolCard } from "/static/tool.js";

export function view(root) {
  const cards = new Map();
  const list = h("ul", { class: "tools roster" });
  const totals = h("p", { class: "dim num" });
  let wanted = "";

  async function load() {
    try {
      present((await ask("/api/tools")).tools);
    } catch (error) {
      fill(root, fault(error, " ", action("Try again", load, { class: "quiet" })));
    }
    root.dataset.ready = "true";
  }

  /** Keep the cards of tools that stay, with what is typed in them. */
  function present(tools) {
    if (!tools.length) return fill(root, empty("No tools", ["This hall was started with `--toolsets` that have none."]));
    for (const tool of tools) {
      if (cards.has(tool.name)) cards.get(tool.name).update(tool);
      else cards.set(tool.name, toolCard(OF_THE_HALL, tool));
    }
    totals.textContent = `${count(tools.length, "tool")} of the hall's own`;
    fill(list, tools.map(({ name }) => cards.get(name).node));
    if (!list.isConnected) fill(root, h("div", { class: "view-head" }, totals), list);
    return open();
  }

  function open() {
    cards.get(wanted)?.open();
    wanted = "";
  }

  return {
    show(rest) {
      wanted = rest;
      return cards.size ? open() : load();
    },
    catchUp: load,
  };
}
