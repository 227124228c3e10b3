/** How does it go on? A section on its page: the page's outline beside it, its neighbours one step away. */

import { ask } from "/static/api.js";
import { count, fault, fill, h, number, said, skeleton } from "/static/dom.js";
import { crumbs, lines, sectionText } from "/static/places.js";

/** A reader for the pages of a cache; `link` gives the address of a section, or that of the answer. */
export function reader(cache, link) {
  const node = h("article", { class: "stack", "aria-label": "A section on its page" });
  let wanted = null;
  let page = null;

  async function show(id, query) {
    wanted = id;
    if (!node.childElementCount) fill(node, back(), skeleton());
    try {
      const section = await ask("/api/caches/section", { cache, id, query });
      if (page?.page !== section.page) page = await ask("/api/caches/outline", { cache, page: section.page });
      if (wanted === id) present(section);
    } catch (error) {
      if (wanted === id) fill(node, back(), fault(error));
    }
  }

  const back = () => h("p", {}, h("a", { href: link(null) }, "← Back to the answer"));

  function present(section) {
    const title = h("h2", { class: "crumbs", tabindex: "-1" }, crumbs(section.crumbs));
    const about = `${section.page} · ${lines(section.lines)} · ${count(section.tokens, "token")}`;
    fill(node, back(),
      h("div", { class: "reader" },
        outline(section.id),
        h("div", { class: "stack tight card" },
          title,
          h("p", { class: "where dim mono small" }, ...said(about)),
          sectionText(section),
          neighbours(section.id))));
    const [list, entry] = [node.querySelector(".outline"), node.querySelector(".outline [aria-current]")];
    list.scrollTop = entry.offsetTop - list.offsetTop - list.clientHeight / 2;
    title.focus({ preventScroll: true });
    node.scrollIntoView({ block: "start" });
  }

  function outline(current) {
    const items = page.sections.map(({ id, heading, level, tokens }) => {
      const entry = h("a", { class: "pick", href: link(id), "aria-current": id === current ? "true" : null },
        h("bdi", {}, ...said(heading || page.title)), h("span", { class: "dim num small" }, number(tokens)));
      entry.style.setProperty("--level", Math.max(0, level - 1));
      return h("li", {}, entry);
    });
    return h("nav", { class: "outline", "aria-label": "Outline of the page" },
      h("h3", { class: "side-title" }, `${count(items.length, "section")}, ${count(page.tokens, "token")}`), h("ul", {}, items));
  }

  function neighbours(current) {
    const at = page.sections.findIndex(({ id }) => id === current);
    const before = page.sections[at - 1];
    const after = page.sections[at + 1];
    const named = ({ heading }) => said(heading || page.title);
    return h("nav", { class: "neighbours", "aria-label": "Neighbours" },
      before ? h("a", { href: link(before.id), rel: "prev" }, "← ", h("bdi", {}, ...named(before))) : h("span"),
      after ? h("a", { href: link(after.id), rel: "next" }, h("bdi", {}, ...named(after)), " →") : null);
  }

  return { node, show };
}
