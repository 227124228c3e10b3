/** What does a cache hold? Its pages and their headings, each one step away from being read. */

import { ask } from "/static/api.js";
import { action, count, disclosed, fault, fill, h, number, said } from "/static/dom.js";

/** The contents of a cache; `link` gives the address at which a section is read on its page. */
export function contents(cache, link) {
  const list = h("ol", { class: "contents" });
  const more = h("div", { class: "more" });
  const node = h("section", { class: "card stack tight", "aria-label": "What this cache holds" },
    h("h2", { class: "side-title" }, "What this cache holds"), list, more);
  let version = null;

  async function load(start) {
    try {
      const found = await ask("/api/caches/contents", { cache, ...(start ? { start } : {}) });
      if (!start) fill(list);
      list.append(...found.pages.map(row));
      fill(more, found.next ? action("Show more pages", () => load(found.next)) : null);
    } catch (error) {
      fill(more, fault(error));
    }
  }

  function row({ page, title, tokens, sections }) {
    const first = h("a", { href: link(sections[0]?.id ?? page) }, h("bdi", {}, ...said(title || page)));
    const about = h("span", { class: "dim small" }, ...said(`${page} · ${count(tokens, "token")}`));
    const below = sections.filter(({ level }) => level > 1).map(({ id, heading, tokens: cost }) =>
      h("li", {}, h("a", { href: link(id) }, h("bdi", {}, ...said(heading))), " ", h("span", { class: "dim num small" }, number(cost))));
    return h("li", {}, first, " ", about, below.length ? disclosed(count(below.length, "heading"), h("ul", {}, below)) : null);
  }

  return {
    node,
    /** Show what is there now; of the same version it is not asked again. */
    show(now) {
      if (version === now) return;
      version = now;
      load(null);
    },
  };
}
