/** How does a document look? As its markup means it, or to the letter; the words of the question are marked in both. */

import { fill, h, said } from "/static/dom.js";

// Only these are made, whatever the hall says; it makes no others.
const TAGS = new Set("p h3 h4 h5 h6 ul ol li blockquote pre hr table thead tbody tr th td a em strong s code br span".split(" "));
const LINKED = /^https?:\/\//i;

// Who wants to see the letters wants to see those of the next document too.
let isExact = false;

/** Nodes for a text: `exact` gives it to the letter, `rendered` is what the hall made of it, `mark` marks a piece of it. */
export function passage(id, exact, rendered, mark) {
  const label = `Text of ${id}`;
  const letters = () => h("pre", { class: "document", tabindex: "0", "aria-label": label }, exact());
  if (!rendered) return [letters()];
  const prose = () => h("div", { class: "document prose", tabindex: "0", role: "region", "aria-label": label }, rendered.map((node) => drawn(node, mark)));
  let shown = (isExact ? letters : prose)();
  const buttons = ["Rendered", "Exact text"].map((name, index) =>
    h("button", { type: "button", class: "switch", "aria-pressed": String(isExact === Boolean(index)), onclick: () => choose(Boolean(index)) }, name));

  function choose(exactly) {
    isExact = exactly;
    buttons.forEach((button, index) => button.setAttribute("aria-pressed", String(exactly === Boolean(index))));
    const next = (exactly ? letters : prose)();
    shown.replaceWith(next);
    shown = next;
  }

  return [h("div", { class: "switches", role: "group", "aria-label": "How to show the text" }, buttons), shown];
}

function drawn(node, mark) {
  if (typeof node === "string") return span(mark(node));
  if (!TAGS.has(node.tag)) return span(said(JSON.stringify(node)));
  const children = node.children.map((child) => drawn(child, mark));
  if (node.tag === "table") return h("div", { class: "wide-table", tabindex: "0", role: "region", "aria-label": "Table" }, h("table", {}, children));
  return h(node.tag, properties(node), children);
}

/** What an element has beside its children. A link tells where it leads, and opens beside the page. */
function properties({ tag, href, start }) {
  if (tag === "a" && LINKED.test(href)) return { href, title: href, target: "_blank", rel: "noopener noreferrer" };
  return tag === "ol" && start !== 1 ? { start } : {};
}

function span(nodes) {
  return fill(document.createDocumentFragment(), nodes);
}
