/** What do the documents say? Ask a cache, move the budget, and see what an agent would get, and why. */

import { ask } from "/static/api.js";
import { action, bytes, copyable, count, disclosed, disclosure, empty, fault, fill, h, number, quoted, said } from "/static/dom.js";

const PAUSE_MS = 60;
const PAGE = 50;
const FIRST_BUDGET = 4000;
const STEPS = 1000;
// Beyond this many tokens the slider grows faster to the right, so that small budgets stay within reach.
const PLAIN_SLIDER = 20000;

export function view(root) {
  let tables = null;
  let wanted = "";
  const desks = new Map();

  async function load() {
    try {
      const { caches } = await ask("/api/caches");
      tables = caches;
      present();
    } catch (error) {
      fill(root, fault(error, " ", action("Try again", load, { class: "quiet" })));
    }
    root.dataset.ready = "true";
  }

  function present() {
    if (!tables.length) return fill(root, nothing());
    const chosen = tables.find(({ name }) => name === wanted) ?? tables.find(({ valid }) => valid) ?? tables[0];
    const unknown = wanted && chosen.name !== wanted ? fault(new Error(`There is no cache ${wanted} here`)) : null;
    if (!desks.has(chosen.name)) desks.set(chosen.name, desk(chosen));
    return fill(
      root,
      h("div", { class: "sided" }, list(tables, chosen), h("div", { class: "stack" }, unknown, desks.get(chosen.name).node)),
    );
  }

  return {
    show(rest) {
      wanted = rest;
      return tables === null ? load() : present();
    },
    async catchUp() {
      await load();
      for (const each of desks.values()) each.ask();
    },
  };
}

function nothing() {
  return empty(
    "No cache yet",
    [
      "A cache is a folder of documents, compiled so that an agent gets the ones that answer its question, whole and within a budget.",
      "Point `context build` at a folder of Markdown, then load this page again.",
    ],
    [["build a cache", "context build --sources docs --cache .context/caches/docs"]],
  );
}

function list(caches, chosen) {
  const items = caches.map((cache) => {
    const facts = cache.valid ? `${count(cache.document_count, "document")} · ${bytes(cache.total_bytes)}` : "";
    return h(
      "li",
      {},
      h(
        "a",
        { class: "pick", href: `#/caches/${encodeURIComponent(cache.name)}`, "aria-current": cache === chosen ? "true" : null },
        h("bdi", { class: "pick-name" }, ...said(cache.name)),
        h("span", { class: "dim" }, facts),
        cache.valid ? null : h("span", { class: "pill bad" }, cache.has_manifest ? "not valid" : "no manifest"),
      ),
    );
  });
  return h("nav", { class: "side", "aria-label": "Caches" }, h("h2", { class: "side-title" }, count(caches.length, "cache")), h("ul", {}, items));
}

/** Where one cache is asked. */
function desk(cache) {
  const rows = new Map();
  let ranking = null;
  let shown = PAGE;
  let pending = null;
  let timer = 0;
  let top = 0;

  const question = h("input", {
    type: "search", id: "question", autocomplete: "off", spellcheck: "false",
    placeholder: "rotate keys", "aria-describedby": "question-hint",
  });
  const slider = h("input", { type: "range", id: "budget-slider", min: 0, max: STEPS, step: 1, "aria-label": "Budget, in tokens" });
  const budget = h("input", { type: "number", id: "budget", min: 0, step: 1, value: FIRST_BUDGET, inputmode: "numeric" });
  const bar = h("div", { class: "budget-bar", role: "img", "aria-label": "Nothing is used yet" });
  const verdict = h("p", { class: "verdict", role: "status" });
  const trouble = h("div");
  const places = h("ol", { class: "places" });
  const more = h("div", { class: "more" });
  const calls = h("div", { class: "stack" });
  const node = h("div", { class: "stack" },
    h("form", { class: "ask card", onsubmit: (event) => { event.preventDefault(); rank(); } },
      h("label", { for: "question", class: "big-label" }, "What should the documents say?"),
      question,
      h("p", { class: "hint", id: "question-hint" }, "Documents rank by the share of their words that are words of yours. Case does not count."),
      h("div", { class: "budget-row" },
        h("label", { for: "budget" }, "Budget"), slider,
        h("span", { class: "budget-number" }, budget, h("span", { class: "dim" }, "tokens"))),
      bar, verdict),
    trouble, places, more, whyNot(cache, () => [question.value, wantedBudget()]),
    disclosed("The exact call", calls));

  const scale = () => (top > PLAIN_SLIDER ? 3 : 1);
  const wantedBudget = () => Math.max(0, Math.floor(Number(budget.value) || 0));
  const fromSlider = () => Math.round(top * (slider.value / STEPS) ** scale());
  const toSlider = () => (top ? Math.min(1, wantedBudget() / top) ** (1 / scale()) * STEPS : 0);

  function follow() {
    slider.value = toSlider();
    slider.setAttribute("aria-valuetext", count(wantedBudget(), "token"));
  }

  function soon() {
    clearTimeout(timer);
    timer = setTimeout(rank, PAUSE_MS);
    tellCalls();
  }

  async function rank() {
    clearTimeout(timer);
    pending?.abort();
    const mine = (pending = new AbortController());
    try {
      const found = await ask("/api/caches/ranking", asked(0, shown), mine.signal);
      if (mine === pending) take(found);
    } catch (error) {
      if (error.name !== "AbortError" && mine === pending) fill(trouble, fault(error));
    }
  }

  function asked(offset, limit) {
    return { cache: cache.name, query: question.value, budget: wantedBudget(), limit: Math.min(limit, 200), offset };
  }

  function take(found) {
    const isFirst = ranking === null;
    ranking = found;
    top = Math.max(found.total_tokens, 1);
    fill(trouble);
    // Not while somebody is typing there: the number would be set into what is typed.
    if (isFirst && wantedBudget() > top && document.activeElement !== budget) {
      budget.value = top;
      tellCalls();
      rank();
    }
    follow();
    present();
  }

  async function showMore() {
    const found = await ask("/api/caches/ranking", asked(ranking.places.length, PAGE));
    ranking = { ...ranking, places: [...ranking.places, ...found.places] };
    shown = ranking.places.length;
    present();
  }

  function present() {
    const best = Math.max(...ranking.places.map((place) => place.score), 0);
    const listed = ranking.places.map((place) => {
      if (!rows.has(place.id)) rows.set(place.id, row(cache, place.id));
      const each = rows.get(place.id);
      each.update(place, best, ranking);
      return each.node;
    });
    // Rows that stay where they are keep their focus.
    listed.forEach((each, index) => places.children[index] === each || places.insertBefore(each, places.children[index] ?? null));
    while (places.children.length > listed.length) places.lastChild.remove();
    fillBar(bar, ranking);
    fill(verdict, ...told(ranking));
    const left = ranking.considered - ranking.places.length;
    fill(more, left > 0 ? action(`Show ${number(Math.min(left, PAGE))} more of ${number(left)}`, showMore) : null);
  }

  function tellCalls() {
    const args = { cache: cache.name, query: question.value, budget: wantedBudget() };
    const command = `context resolve --cache ${quoted(args.cache)} --query ${quoted(args.query)} --budget ${args.budget}`;
    const request = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "context.resolve", arguments: args } };
    fill(calls, copyable("on the command line", command), copyable("over MCP", JSON.stringify(request, null, 2)));
  }

  question.addEventListener("input", soon);
  slider.addEventListener("input", () => {
    budget.value = fromSlider();
    slider.setAttribute("aria-valuetext", count(wantedBudget(), "token"));
    soon();
  });
  budget.addEventListener("input", () => {
    follow();
    soon();
  });
  tellCalls();
  rank();
  return { node, ask: rank };
}

function told({ tokens_used: used, budget, selected, considered }) {
  if (!considered) return ["This cache holds no documents."];
  const skipped = considered - selected;
  return [
    h("strong", {}, `${number(used)} of ${count(budget, "token")}`),
    ` · ${number(selected)} of ${count(considered, "document")} ${selected === 1 ? "fits" : "fit"}`,
    skipped ? ` · ${number(skipped)} skipped` : "",
  ];
}

/** Show the budget as a bar, with a segment for each document that fits. */
function fillBar(bar, ranking) {
  const fitting = ranking.places.filter((place) => place.fits);
  const seen = fitting.reduce((sum, place) => sum + place.tokens, 0);
  const segments = fitting.map((place) => segment(place.tokens, ranking.budget, `${place.id}: ${count(place.tokens, "token")}`));
  const rest = ranking.tokens_used - seen;
  if (rest > 0) segments.push(segment(rest, ranking.budget, `others: ${count(rest, "token")}`));
  bar.setAttribute("aria-label", `${number(ranking.tokens_used)} of ${count(ranking.budget, "token")} used`);
  fill(bar, segments);
}

function segment(tokens, budget, title) {
  const node = h("span", { title });
  node.style.setProperty("--share", budget ? tokens / budget : 0);
  return node;
}

/** A document in the order, which opens where it stands. */
function row(cache, id) {
  const rank = h("span", { class: "place-rank num" });
  const score = h("span", { class: "score-number num" });
  const fit = h("span", { class: "place-fit" });
  const meter = h("span", { class: "score", "aria-hidden": "true" }, h("span"));
  const inside = h("div", { class: "place-inside" });
  const sentences = h("ul", { class: "why" });
  const text = h("div");
  let place = null;
  let terms = [];
  let asked = { query: "", budget: 0 };
  let document_ = null;
  let marked = null;

  async function open() {
    if (!inside.childElementCount) fill(inside, sentences, text);
    await Promise.all([explain(), read()]);
  }

  async function explain() {
    try {
      const mine = asked;
      const { sentences: found } = await ask("/api/caches/why", { cache: cache.name, id, query: mine.query, budget: mine.budget });
      if (mine === asked) fill(sentences, found.map((each) => h("li", {}, ...said(each))));
    } catch (error) {
      fill(sentences, h("li", {}, fault(error)));
    }
  }

  async function read() {
    try {
      document_ ??= await ask("/api/caches/document", { cache: cache.name, id });
      mark();
    } catch (error) {
      fill(text, fault(error));
    }
  }

  function mark() {
    const now = terms.join(" ");
    if (document_ === null || marked === now) return;
    marked = now;
    const about = h("p", { class: "dim mono small" }, ...said(`${document_.source} · ${document_.version.slice(0, 19)}…`));
    fill(text, h("pre", { class: "document", tabindex: "0", "aria-label": `Text of ${id}` }, highlighted(document_.content, terms)), about);
  }

  const name = h("span", { class: "place-main" }, h("bdi", { class: "place-id" }, ...said(id)), h("span", { class: "score-row" }, meter, score));
  const { button } = disclosure(h("span", { class: "place-row" }, rank, name, fit), inside, { onOpen: open, properties: { class: "place-head" } });
  const node = h("li", { class: "place", "data-id": id }, button, inside);

  function update(found, best, ranking) {
    const isNew = place === null || asked.query !== ranking.query || asked.budget !== ranking.budget;
    place = found;
    terms = ranking.terms;
    asked = isNew ? { query: ranking.query, budget: ranking.budget } : asked;
    const words = count(found.total_words, "word");
    rank.textContent = found.rank;
    node.classList.toggle("skipped", !found.fits);
    meter.firstChild.style.setProperty("--share", best ? found.score / best : 0);
    score.textContent = found.term_matches ? `${found.score.toFixed(3)} · ${number(found.term_matches)} of ${words}` : `no match in ${words}`;
    fill(fit, ...fitting(found));
    if (isNew && !inside.hidden) {
      explain();
      mark();
    }
  }

  return { node, update };
}

function fitting(place) {
  const cost = h("span", { class: "num place-cost" }, count(place.tokens, "token"));
  if (place.fits) return [cost, h("span", { class: "pill good" }, "fits")];
  const reason = place.left_before ? `${number(place.left_before)} left` : "nothing left";
  return [cost, h("span", { class: "pill" }, `skipped, ${reason}`)];
}

const SPACE = /(\p{White_Space}+)/u;

/** Mark the words of a text that are terms: split at white space, in lower case, as the ranking does. */
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

/** Ask about any document, however far down it stands. */
function whyNot(cache, asked) {
  const input = h("input", { type: "text", id: "why-not", autocomplete: "off", spellcheck: "false", placeholder: "deployment.md" });
  const answer = h("div", { role: "status" });
  const form = h("form", { class: "card stack" },
    h("label", { for: "why-not" }, "Why not this document?"),
    h("div", { class: "row" }, input, h("button", {}, "Explain")),
    answer);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const [query, budget] = asked();
    try {
      const found = await ask("/api/caches/why", { cache: cache.name, query, budget, id: input.value.trim() });
      fill(answer, h("ul", { class: "why" }, found.sentences.map((each) => h("li", {}, ...said(each)))));
    } catch (error) {
      fill(answer, fault(error));
    }
  });
  return form;
}
