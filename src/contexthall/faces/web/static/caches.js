/** What do the documents say? Ask a cache, move the budget, and see what an agent would get, and why. */

import { ask } from "/static/api.js";
import { answer } from "/static/answer.js";
import { contents } from "/static/contents.js";
import { addressWriter, FIRST_BUDGET, fromAddress, toAddress } from "/static/asking.js";
import { action, ago, bytes, copyable, count, disclosed, empty, fault, fill, h, number, quoted, said } from "/static/dom.js";
import { documentRow, sectionRow, told } from "/static/places.js";
import { reader } from "/static/reading.js";

const PAUSE_MS = 60;
const ADDRESS_PAUSE_MS = 400;
const PAGE = 50;
// The hall looks at the sources of a cache once a second at most, and less often if that takes long.
const LOOK_MS = 3000;
const STEPS = 1000;
// Beyond this many tokens the slider grows faster to the right, so that small budgets stay within reach.
const PLAIN_SLIDER = 20000;

export function view(root, meeting) {
  let tables = null;
  let wanted = "";
  let parameters = new URLSearchParams();
  let usualForm = "json";
  let isNews = true;
  let chosen = null;
  let side = null;
  let asking = null;
  let drawn = "";
  const desks = new Map();
  const states = new Map();
  const notice = h("div");

  async function load() {
    try {
      const [{ caches }, hall] = await Promise.all([ask("/api/caches"), meeting()]);
      tables = caches;
      usualForm = hall.reply;
      present();
      look();
    } catch (error) {
      fill(root, fault(error, " ", action("Try again", load, { class: "quiet" })));
    }
    root.dataset.ready = "true";
  }

  function present() {
    if (!tables.length) return fill(root, nothing());
    chosen = tables.find(({ name }) => name === wanted) ?? tables.find(({ valid }) => valid) ?? tables[0];
    const unknown = wanted && chosen.name !== wanted ? fault(new Error(`There is no cache ${wanted} here`)) : null;
    if (!desks.has(chosen.name)) desks.set(chosen.name, desk(chosen, usualForm, askOthers));
    const { node, take } = desks.get(chosen.name);
    side = list(tables, chosen, states);
    tellState();
    fill(root, h("div", { class: "sided" }, side, h("div", { class: "stack" }, unknown, notice, node)));
    if (isNews) take(fromAddress(parameters, usualForm));
    isNews = false;
    return root;
  }

  /** Have the links to the other caches ask the same of them, and the way back to this view lead to what is asked. */
  function askOthers(cache, asked) {
    asking = [cache, asked];
    for (const link of root.querySelectorAll("a[data-cache]")) link.href = toAddress(link.dataset.cache, { ...asked, read: null }, usualForm);
    document.querySelector('nav a[data-view="caches"]').href = toAddress(cache, asked, usualForm);
  }

  /** Look whether the caches still say what their sources say, as long as somebody looks at them. */
  async function look() {
    if (document.hidden || root.hidden || !tables?.length) return;
    const found = await ask("/api/caches/states").catch(() => null);
    if (found !== null) await takeStates(found.caches);
  }

  /** Take in the states; what is typed or focused stays. A cache that was built again is asked again. */
  async function takeStates(found) {
    const versions = new Map(tables.map((cache) => [cache.name, cache.cache_version]));
    const isSame = found.length === tables.length && found.every(({ name, cache_version }) => versions.get(name) === cache_version);
    if (!isSame) tables = (await ask("/api/caches").catch(() => ({ caches: tables }))).caches;
    states.clear();
    for (const state of found) states.set(state.name, state);
    chosen = tables.find(({ name }) => name === chosen.name);
    if (!chosen) return present();
    const news = JSON.stringify([tables, found]);
    if (news !== drawn) drawAgain();
    drawn = news;
    for (const { name, cache_version } of tables) if (versions.get(name) !== cache_version) desks.get(name)?.ask();
    return undefined;
  }

  function drawAgain() {
    const focused = side.contains(document.activeElement) ? document.activeElement.dataset.cache : null;
    const next = list(tables, chosen, states);
    side.replaceWith(next);
    side = next;
    if (asking !== null) askOthers(...asking);
    if (focused) [...side.querySelectorAll("a")].find((link) => link.dataset.cache === focused)?.focus();
    tellState();
  }

  function tellState() {
    const state = states.get(chosen.name);
    fill(notice, state?.state === "stale" ? stale(state) : null);
  }

  setInterval(look, LOOK_MS);
  document.addEventListener("visibilitychange", look);

  return {
    show(rest, asked) {
      wanted = rest;
      parameters = asked;
      isNews = true;
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

function list(caches, chosen, states) {
  const items = caches.map((cache) => {
    const facts = cache.valid ? `${count(cache.document_count, "document")} · ${bytes(cache.total_bytes)}` : "";
    return h(
      "li",
      {},
      h(
        "a",
        { class: "pick", href: `#/caches/${encodeURIComponent(cache.name)}`, "data-cache": cache.name, "aria-current": cache === chosen ? "true" : null },
        h("bdi", { class: "pick-name" }, ...said(cache.name)),
        h("span", { class: "dim" }, facts),
        cache.valid ? freshness(states.get(cache.name)) : null,
        cache.valid ? null : h("span", { class: "pill bad" }, cache.has_manifest ? "not valid" : "no manifest"),
      ),
    );
  });
  return h("nav", { class: "side", "aria-label": "Caches" }, h("h2", { class: "side-title" }, count(caches.length, "cache")), h("ul", {}, items));
}

const MEANINGS = {
  fresh: "It says what its sources say",
  stale: "Its sources have changed since it was built",
  unknown: "It does not know its sources, or they cannot be read",
};

/** When a cache was built, and whether it still says what its sources say. */
function freshness(state) {
  if (!state) return null;
  const label = state.state === "stale" ? `stale (${number(state.changed)} changed)` : state.state;
  return h("span", { class: "row standing" },
    h("span", { class: `pill state-pill ${state.state}`, title: MEANINGS[state.state] }, label),
    state.created_at ? h("span", { class: "dim" }, "built ", ago(state.created_at)) : null);
}

function stale({ name, changed }) {
  return h("section", { class: "note stale", "aria-label": "What changed" },
    h("p", {}, `${count(changed, "file")} of its sources ${changed === 1 ? "has" : "have"} changed since this cache was built.`),
    copyable("build it again", `context refresh ${quoted(name)}`));
}

/** Where one cache is asked. */
function desk(cache, usualForm, onAsked) {
  const rows = new Map();
  const writer = addressWriter(ADDRESS_PAUSE_MS);
  let asked = null;
  let ranking = null;
  let shown = PAGE;
  let pending = null;
  let timer = 0;
  let top = 0;

  const question = h("input", {
    type: "search", id: "question", autocomplete: "off", spellcheck: "false", "aria-describedby": "question-hint",
  });
  const hint = h("p", { class: "hint", id: "question-hint" });
  const slider = h("input", { type: "range", id: "budget-slider", min: 0, max: STEPS, step: 1, "aria-label": "Budget, in tokens" });
  const budget = h("input", { type: "number", id: "budget", min: 0, step: 1, value: FIRST_BUDGET, inputmode: "numeric" });
  const forms = ["json", "text"].map((form) =>
    h("button", { type: "button", class: "switch", "data-form": form, onclick: () => choose({ form }) }, form === "json" ? "JSON" : "Text"));
  const formRow = h("div", { class: "row", hidden: true },
    h("span", {}, "An agent gets"), h("div", { class: "switches", role: "group", "aria-label": "What an agent gets" }, forms));
  const bar = h("div", { class: "budget-bar", role: "img", "aria-label": "Nothing is used yet" });
  const verdict = h("p", { class: "verdict", role: "status" });
  const words = h("ul", { class: "words" });
  const trouble = h("div");
  const places = h("ol", { class: "places" });
  const more = h("div", { class: "more" });
  const calls = h("div", { class: "stack" });
  const reply = answer();
  const why = whyNot(cache, () => asked);
  const holds = contents(cache.name, (read) => addressOf({ read }));
  const answers = h("div", { class: "stack" }, places, more, why.node, disclosed("The exact call", calls));
  const results = h("div", { class: "stack" }, holds.node, answers);
  const reading = reader(cache.name, (read) => addressOf({ read }));
  const node = h("div", { class: "stack" },
    h("form", { class: "ask card", onsubmit: (event) => { event.preventDefault(); writer.settle(); rank(); } },
      h("label", { for: "question", class: "big-label" }, "What do you want to know?"),
      question, hint,
      h("div", { class: "budget-row" },
        h("label", { for: "budget" }, "Budget"), slider,
        h("span", { class: "budget-number" }, budget, h("span", { class: "dim" }, "tokens"))),
      formRow, bar, verdict, words, reply.node),
    trouble, results, reading.node);

  const addressOf = (changes) => toAddress(cache.name, { ...asked, ...changes }, usualForm);
  const scale = () => (top > PLAIN_SLIDER ? 3 : 1);
  const wantedBudget = () => Math.max(0, Math.floor(Number(budget.value) || 0));
  // A cache of format 1 costs no more than its documents.
  const usualBudget = () => (ranking?.format === 1 ? Math.min(FIRST_BUDGET, top) : FIRST_BUDGET);
  const fromSlider = () => Math.round(top * (slider.value / STEPS) ** scale());
  const toSlider = () => (top ? Math.min(1, wantedBudget() / top) ** (1 / scale()) * STEPS : 0);

  function follow() {
    slider.value = toSlider();
    slider.setAttribute("aria-valuetext", count(wantedBudget(), "token"));
  }

  /** Ask what the address asks. */
  function take(now) {
    writer.forget();
    if (question.value !== now.query) question.value = now.query;
    budget.value = now.budget ?? usualBudget();
    accept({ ...now, budget: wantedBudget() });
    follow();
    rank();
  }

  /** Somebody chose something: it is asked at once, and is a step of its own. */
  function choose(changes) {
    writer.settle();
    accept({ ...asked, ...changes });
    writer.soon(addressOf({}));
    writer.settle();
    rank();
  }

  function accept(now) {
    asked = now;
    for (const each of forms) each.setAttribute("aria-pressed", String(each.dataset.form === asked.form));
    results.hidden = Boolean(asked.read);
    reading.node.hidden = !asked.read;
    if (asked.read) reading.show(asked.read, asked.query);
    onAsked(cache.name, asked);
    tellCalls();
  }

  /** Somebody types or drags. */
  function soon() {
    clearTimeout(timer);
    timer = setTimeout(rank, PAUSE_MS);
    accept({ ...asked, query: question.value, budget: wantedBudget(), read: null });
    writer.soon(addressOf({}));
  }

  async function rank() {
    clearTimeout(timer);
    pending?.abort();
    const mine = (pending = new AbortController());
    try {
      const found = await ask("/api/caches/ranking", { ...request(), offset: 0, limit: Math.min(shown, 200) }, mine.signal);
      if (mine === pending) accepted(found);
    } catch (error) {
      if (error.name !== "AbortError" && mine === pending) fill(trouble, fault(error));
    }
  }

  function request() {
    return { cache: cache.name, query: asked.query, budget: asked.budget, format: asked.form };
  }

  function accepted(found) {
    const isFirst = ranking === null;
    if (!isFirst && ranking.format !== found.format) rows.clear();
    ranking = { ...found, form: asked.form };
    const isOfSections = found.format === 2;
    top = Math.max(found.total_tokens, isOfSections ? FIRST_BUDGET : 1);
    fill(trouble);
    hint.textContent = isOfSections ? HINTS.sections : HINTS.documents;
    question.placeholder = isOfSections ? "How do I rotate keys?" : "rotate keys";
    why.describe(isOfSections);
    tellCalls();
    // Not while somebody is typing there: the number would be set into what is typed.
    if (isFirst && !isOfSections && wantedBudget() > top && document.activeElement !== budget) {
      budget.value = top;
      accept({ ...asked, budget: top });
      rank();
    }
    follow();
    present();
  }

  async function showMore() {
    const found = await ask("/api/caches/ranking", { ...request(), offset: ranking.places.length, limit: PAGE });
    ranking = { ...ranking, places: [...ranking.places, ...found.places] };
    shown = ranking.places.length;
    present();
  }

  function present() {
    const askedWords = new Set([...(ranking.unmatched ?? []), ...ranking.places.flatMap((place) => place.matched ?? [])]).size;
    const isAsked = ranking.format !== 2 || Boolean(ranking.query.trim());
    holds.node.hidden = isAsked;
    answers.hidden = bar.hidden = reply.node.hidden = !isAsked;
    formRow.hidden = !isAsked || ranking.format !== 2;
    hint.hidden = Boolean(ranking.query.trim()); // it has been read by then; whoever cannot see is told it still
    if (!isAsked) holds.show(ranking.version ?? cache.cache_version);
    const listed = ranking.places.map((place) => {
      if (!rows.has(place.id)) rows.set(place.id, rowOf(place.id));
      const each = rows.get(place.id);
      each.update(place, askedWords, ranking);
      return each.node;
    });
    // Rows that stay where they are keep their focus.
    listed.forEach((each, index) => places.children[index] === each || places.insertBefore(each, places.children[index] ?? null));
    while (places.children.length > listed.length) places.lastChild.remove();
    fillBar(bar, ranking);
    fill(verdict, ...summary(ranking));
    fill(words, notes(ranking));
    reply.follow(request());
    const left = ranking.considered - ranking.places.length;
    fill(more, left > 0 ? action(`Show ${number(Math.min(left, PAGE))} more of ${number(left)}`, showMore) : null);
  }

  function rowOf(id) {
    return ranking.format === 2 ? sectionRow(cache.name, id, (read) => addressOf({ read })) : documentRow(cache.name, id);
  }

  function tellCalls() {
    const hasForms = ranking?.format === 2;
    const form = hasForms ? asked.form : "json";
    const args = { cache: cache.name, query: asked.query, budget: asked.budget, ...(form === usualForm || !hasForms ? {} : { format: form }) };
    const command = `context resolve --cache ${quoted(args.cache)} --query ${quoted(args.query)} --budget ${args.budget}${form === "text" ? " --format text" : ""}`;
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "context.resolve", arguments: args } };
    fill(calls, copyable("on the command line", command), copyable("over MCP", JSON.stringify(call, null, 2)));
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
  for (const each of [question, slider, budget]) each.addEventListener("change", () => writer.settle());
  return { node, ask: rank, take };
}

const HINTS = {
  documents: "Documents rank by the share of their words that are words of yours. Case does not count.",
  sections: "Ask in your own words. Sections rank by the words they share with the question, rare words count most. “rotating” also finds “rotate”.",
};

function summary({ format, query, tokens_used: used, budget, selected, considered }) {
  const unit = format === 2 ? "section" : "document";
  if (!considered && format === 2) return [query.trim() ? "No section matches." : "Nothing is asked yet."];
  if (!considered) return ["This cache holds no documents."];
  const skipped = considered - selected;
  return [
    h("strong", {}, `${number(used)} of ${count(budget, "token")}`),
    ` · ${number(selected)} of ${count(considered, unit)} ${selected === 1 ? "fits" : "fit"}`,
    skipped ? ` · ${number(skipped)} skipped` : "",
  ];
}

/** What became of the words of the question that found nothing. */
function notes({ unmatched = [], ignored = [] }) {
  const note = (label, found, kind) => (found.length ? h("li", { class: kind }, label, h("bdi", {}, ...said(found.join(", ")))) : null);
  return [note("No section has: ", unmatched, "unmatched"), note("Too common to count: ", ignored, "ignored")];
}

/** Show the budget as a bar, with a segment for each document that fits. */
function fillBar(bar, ranking) {
  const fitting = ranking.places.filter((place) => place.fits);
  const costs = fitting.map((place) => place.cost ?? place.tokens);
  const segments = fitting.map((place, index) => segment(costs[index], ranking.budget, `${place.id}: ${count(costs[index], "token")}`));
  const rest = ranking.tokens_used - costs.reduce((sum, cost) => sum + cost, 0);
  if (rest > 0) segments.push(segment(rest, ranking.budget, `the rest: ${count(rest, "token")}`));
  bar.setAttribute("aria-label", `${number(ranking.tokens_used)} of ${count(ranking.budget, "token")} used`);
  fill(bar, segments);
}

function segment(tokens, budget, title) {
  const node = h("span", { title });
  node.style.setProperty("--share", budget ? Math.min(1, tokens / budget) : 0);
  return node;
}

/** Ask about any document or section, however far down it stands. */
function whyNot(cache, asked) {
  const input = h("input", { type: "text", id: "why-not", autocomplete: "off", spellcheck: "false" });
  const label = h("label", { for: "why-not" });
  const found = h("div", { role: "status" });
  const form = h("form", { class: "card stack" }, label, h("div", { class: "row" }, input, h("button", {}, "Explain")), found);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const { query, budget, form: format } = asked();
    try {
      const why = await ask("/api/caches/why", { cache: cache.name, query, budget, format, id: input.value.trim() });
      fill(found, h("ul", { class: "why" }, told(why.sentences)));
    } catch (error) {
      fill(found, fault(error));
    }
  });
  return {
    node: form,
    describe(isOfSections) {
      label.textContent = isOfSections ? "Why not this section, or this page?" : "Why not this document?";
      input.placeholder = isOfSections ? "deployment.md#rollback" : "deployment.md";
    },
  };
}
