/** What does an agent get? The text of its tool's answer, to the letter. */

import { ask } from "/static/api.js";
import { bytes, copyable, disclosure, fault, fill, h } from "/static/dom.js";

/** A panel that follows the question while it is open. */
export function answer() {
  const inside = h("div", { class: "stack tight" });
  let asked = null;
  let shown = null;

  async function load() {
    const mine = asked;
    if (mine === null || shown === mine) return;
    try {
      const { text, failed } = await ask("/api/caches/reply", mine);
      if (mine !== asked) return;
      shown = mine;
      const sentence = failed
        ? "The tool refuses, and says so:"
        : `${bytes(new TextEncoder().encode(text).length)}, as context.resolve gives it. What cannot be seen is shown by its name here, and copied as it is.`;
      fill(inside, h("p", { class: "hint" }, sentence), copyable("the answer", text));
    } catch (error) {
      if (mine === asked) fill(inside, fault(error));
    }
  }

  const { button } = disclosure(h("span", {}, "What an agent gets"), inside, { onOpen: load, properties: { class: "plain-head" } });
  return {
    node: h("section", { class: "agent-answer" }, button, inside),
    /** Follow a question. */
    follow(now) {
      asked = now;
      if (!inside.hidden) load();
    },
  };
}
