/** A place in a ranking: a document or a section, which opens where it stands and says why it stands there. */

import { ask } from "/static/api.js";
import { count, disclosure, fault, fill, h, number, said } from "/static/dom.js";
import { passage } from "/static/prose.js";

/** A document of a cache of format 1. */
export function documentRow(cache, id) {
  return row(cache, id, {
    name: [h("bdi", { class: "place-id" }, ...said(id))],
    read: () => ask("/api/caches/document", { cache, id }),
    textKey: (ranking) => ranking.terms.join(" "),
    keeps: true,
    text(document_, ranking) {
      const about = h("p", { class: "where dim mono small" }, ...said(`${document_.source} · ${document_.version.slice(0, 19)}…`));
      const mark = (text) => highlighted(text, ranking.terms);
      return [...passage(id, () => mark(document_.content), document_.rendered, mark), about];
    },
    update(place) {
      const words = count(place.total_words, "word");
      return place.term_matches ? `${place.score.toFixed(3)} · ${number(place.term_matches)} of ${words}` : `no match in ${words}`;
    },
    cost: (place) => place.tokens,
    share: (place) => place.score,
  });
}

/** A section of a cache of format 2; `link` gives the address at which it is read on its page. */
export function sectionRow(cache, id, link) {
  const way = h("span", { class: "place-id crumbs" });
  const where = h("span", { class: "where dim mono small" });
  const onward = h("a", { class: "onward" }, "Read on in its page");
  return row(cache, id, {
    name: [way, where],
    read: (ranking) => ask("/api/caches/section", { cache, id, query: ranking.query }),
    textKey: (ranking) => ranking.query,
    keeps: false,
    text(section) {
      onward.href = link(id);
      const about = h("p", { class: "where dim mono small" }, ...said(`${id} · ${section.version.slice(0, 19)}…`));
      return [...sectionText(section), about, h("p", {}, onward)];
    },
    update(place) {
      fill(way, ...crumbs(place.crumbs));
      fill(where, ...said(`${place.page} · ${lines(place.lines)}`));
      return `${number(place.score)} · ${place.matched.join(", ")}`;
    },
    cost: (place) => place.cost,
    share: (place, words) => (words ? place.matched.length / words : 0),
    reasonsTitle: "Why it stands here",
  });
}

function row(cache, id, kind) {
  const rank = h("span", { class: "place-rank num" });
  const score = h("span", { class: "score-number num" });
  const fit = h("span", { class: "place-fit" });
  const meter = h("span", { class: "score", "aria-hidden": "true" }, h("span"));
  const inside = h("div", { class: "place-inside" });
  const sentences = h("ul", { class: "why" });
  const reasons = h("div", { class: "stack tight" }, kind.reasonsTitle ? h("h3", {}, kind.reasonsTitle) : null, sentences);
  const text = h("div");
  let ranking = null;
  let found = null;
  let shown = null;

  async function open() {
    if (!inside.childElementCount) fill(inside, kind.reasonsTitle ? [text, reasons] : [reasons, text]);
    await Promise.all([explain(), read()]);
  }

  async function explain() {
    const { query, budget, form } = ranking;
    const mine = ranking;
    try {
      const why = await ask("/api/caches/why", { cache, id, query, budget, format: form });
      if (mine === ranking) fill(sentences, told(why.sentences));
    } catch (error) {
      fill(sentences, h("li", {}, fault(error)));
    }
  }

  async function read() {
    const mine = ranking;
    if (shown === kind.textKey(mine)) return;
    try {
      if (found === null || !kind.keeps) found = await kind.read(mine);
      if (mine !== ranking) return;
      shown = kind.textKey(mine);
      fill(text, kind.text(found, mine));
    } catch (error) {
      fill(text, fault(error));
    }
  }

  const main = h("span", { class: "place-main" }, kind.name, h("span", { class: "score-row" }, meter, score));
  const { button } = disclosure(h("span", { class: "place-row" }, rank, main, fit), inside, { onOpen: open, properties: { class: "place-head" } });
  const node = h("li", { class: "place", "data-id": id }, button, inside);

  function update(place, words, now) {
    const isNew = ranking === null || ["query", "budget", "form"].some((each) => ranking[each] !== now[each]);
    ranking = isNew ? now : ranking;
    rank.textContent = place.rank;
    node.classList.toggle("skipped", !place.fits);
    // Absolute: the same bar means the same of every question. Of words that match, or that are asked for.
    meter.firstChild.style.setProperty("--share", Math.min(1, kind.share(place, words)));
    fill(score, ...said(kind.update(place)));
    fill(fit, ...fitting(place, kind.cost(place)));
    if (isNew && !inside.hidden) open();
  }

  return { node, update };
}

function fitting(place, cost) {
  const tokens = h("span", { class: "num place-cost" }, count(cost, "token"));
  if (place.fits) return [tokens, h("span", { class: "pill good" }, "fits")];
  const reason = place.left_before ? `${number(place.left_before)} left` : "nothing left";
  return [tokens, h("span", { class: "pill" }, `skipped, ${reason}`)];
}

/** Sentences as the items of a list. */
export function told(sentences) {
  return sentences.map((each) => h("li", {}, ...said(each)));
}

export function lines([first, last]) {
  return first === last ? `line ${number(first)}` : `lines ${number(first)}–${number(last)}`;
}

/** The way from a page's title to a section's heading. */
export function crumbs(way) {
  return way.flatMap((each, index) => [index ? h("span", { class: "crumb-border" }, " › ") : null, h("bdi", {}, marked(each))]);
}

/** A text that came in pieces: every second one matches the question. */
export function marked(pieces) {
  return pieces.flatMap((piece, index) => (index % 2 ? [h("mark", {}, ...said(piece))] : said(piece)));
}

/** The text of a section, rendered or to the letter. */
export function sectionText({ id, content, rendered }) {
  const matches = new Set(content.filter((_piece, index) => index % 2));
  const mark = (text) => text.split(WORD).flatMap((part) => (matches.has(part) ? [h("mark", {}, ...said(part))] : said(part)));
  return passage(id, () => marked(content), rendered, matches.size ? mark : said);
}

const WORD = /([\p{L}\p{M}\p{N}_]+)/u;
const SPACE = /(\p{White_Space}+)/u;

/** Mark the words of a text that are terms: split at white space, in lower case, as format 1 ranks. */
function highlighted(content, terms) {
  const wanted = new Set(terms);
  const nodes = [];
  let plain = "";
  for (const part of content.split(SPACE)) {
    if (!wanted.has(part.toLowerCase())) {
      plain += part;
      continue;
    }
    nodes.push(...said(plain), h("mark", {}, ...said(part)));
    plain = "";
  }
  return [...nodes, ...said(plain)];
}
