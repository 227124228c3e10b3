/** What is each directory for, and is that still true? The project as a tree that is drawn as far as it is opened. */

import { ask } from "/static/api.js";
import { action, ago, copyable, count, empty, fault, fill, h, number, quoted, said, skeleton, worded } from "/static/dom.js";

const STATES = ["fresh", "stale", "missing"];
const PAGE = 200;
// A look takes the longer the larger the project is; most of the time the hall shall be left alone.
const LOOK_MS = 3000;
const REST = 20;
// So many hits are shown opened; more would bury what is looked for.
const FEW = 60;
const METADATA = new Set(["version", "scope", "fingerprint", "last_updated", "derived_fields"]);

export function view(root, meeting) {
  let listing = null;
  let tree = null;
  let selected = null;
  let only = "";
  let sought = "";
  const opened = new Set(["."]);
  const branches = h("div", { class: "tree" });
  const filters = h("div", { class: "filters", role: "group", "aria-label": "Show directories that are" });
  const detail = h("div", { class: "detail", tabindex: "-1" });
  const search = h("input", { type: "search", "aria-label": "Find a directory", placeholder: "Find a directory", autocomplete: "off", spellcheck: "false" });
  const rules = h("div");
  const panes = h("div", { class: "panes" }, h("div", { class: "pane-tree" }, h("div", { class: "tree-tools" }, filters, search), branches, rules), detail);

  async function load() {
    try {
      listing = await ask("/api/contexts");
      const { project } = await meeting().catch(() => ({}));
      tree = grown(listing.entries, project || "project");
      present();
    } catch (error) {
      fill(root, fault(error, " ", action("Try again", load, { class: "quiet" })));
    }
    root.dataset.ready = "true";
  }

  function present() {
    if (listing.error) return fill(root, fault(new Error(listing.error)));
    const head = h("div", { class: "view-head" }, h("p", { class: "dim" }, ...worded(summary(listing))), action("Look again", lookAgain, { class: "quiet" }));
    fill(root, listing.tracked ? null : noneYet(), head, panes);
    fill(rules, ruleFiles(listing.rules ?? []));
    presentFilters();
    presentTree();
    detail.hidden = !listing.tracked && selected === null;
    return detail.hidden ? undefined : choose(selected ?? ".", false);
  }

  async function lookAgain() {
    await load();
    if (selected !== null) await open(selected);
  }

  /** Look again and again whether something changed, as long as somebody looks, and not while they act in the tree. */
  async function follow() {
    const begun = performance.now();
    if (!document.hidden && !root.hidden && listing && !listing.error && !branches.contains(document.activeElement)) {
      const found = await ask("/api/contexts").catch(() => null);
      if (found !== null && JSON.stringify(found) !== JSON.stringify(listing) && !branches.contains(document.activeElement)) await lookAgain();
    }
    setTimeout(follow, Math.max(LOOK_MS, REST * (performance.now() - begun)));
  }

  setTimeout(follow, LOOK_MS);

  function presentFilters() {
    const counts = tree.counts;
    const all = STATES.reduce((sum, state) => sum + counts[state], 0);
    const button = (state, label, value) =>
      h("button", {
        type: "button", class: `filter ${state}`, "aria-pressed": String(only === state), onclick: () => narrow(state, sought),
      }, h("span", { class: "dot", "aria-hidden": "true" }), `${label} `, h("span", { class: "num" }, number(value)));
    fill(filters, button("", "all", all), STATES.map((state) => button(state, state, counts[state])));
  }

  function narrow(state, text) {
    const focus = [...filters.children].indexOf(document.activeElement);
    only = state;
    sought = text;
    presentFilters();
    filters.children[focus]?.focus();
    presentTree();
  }

  function presentTree() {
    const kept = only || sought ? matching(tree, only, sought.toLowerCase()) : null;
    if (kept && !kept.hits) return fill(branches, h("p", { class: "dim none" }, "No directory is like that."));
    const isOpen = (node) => (kept && kept.hits <= FEW ? true : opened.has(node.scope));
    return fill(branches, h("ul", { class: "root" }, branch(tree, { kept, isOpen })));
  }

  function branch(node, how) {
    const children = how.kept ? node.children.filter((child) => how.kept.nodes.has(child)) : node.children;
    const below = h("ul", { hidden: true });
    const toggle = children.length ? opener(node, children, below, how) : h("span", { class: "no-chevron" });
    const head = h("button", { type: "button", class: "tree-name", "data-scope": node.scope, "aria-current": node.scope === selected ? "true" : null, onclick: () => goTo(node.scope) },
      h("span", { class: `dot ${node.state}`, "aria-hidden": "true" }),
      h("bdi", { class: "tree-label" }, ...said(node.name)),
      h("span", { class: `state ${node.state}` }, node.state),
      node.drift ? h("span", { class: "drift" }, node.drift) : null,
      h("span", { class: "tree-summary" }, ...said(node.summary)),
      children.length ? h("span", { class: "below" }, ...tally(node)) : null);
    return h("li", {}, h("div", { class: "tree-row" }, toggle, head), below);
  }

  function opener(node, children, below, how) {
    const button = h("button", { type: "button", class: "tree-toggle", "aria-label": `Directories in ${node.name}`, "aria-expanded": "false" }, h("span", { class: "chevron", "aria-hidden": "true" }));
    const set = (open) => {
      button.setAttribute("aria-expanded", String(open));
      below.hidden = !open;
      if (open && !below.childElementCount) unfold(below, children, how);
    };
    button.addEventListener("click", () => {
      const open = below.hidden;
      if (open) opened.add(node.scope);
      else opened.delete(node.scope);
      set(open);
    });
    set(how.isOpen(node));
    return button;
  }

  function unfold(below, children, how, from = 0) {
    below.append(...children.slice(from, from + PAGE).map((child) => branch(child, how)));
    const left = children.length - from - PAGE;
    if (left <= 0) return;
    const more = h("li", {}, action(`Show ${number(Math.min(left, PAGE))} more of ${number(left)}`, () => {
      more.remove();
      unfold(below, children, how, from + PAGE);
    }, { class: "quiet" }));
    below.append(more);
  }

  function goTo(scope) {
    const hash = `#/contexts/${encodeURIComponent(scope)}`;
    if (location.hash === hash) choose(scope, true);
    else location.hash = hash;
  }

  function choose(scope, byPerson) {
    selected = scope;
    detail.hidden = false;
    for (const each of branches.querySelectorAll(".tree-name")) {
      if (each.dataset.scope === scope) each.setAttribute("aria-current", "true");
      else each.removeAttribute("aria-current");
    }
    open(scope);
    if (byPerson && matchMedia("(max-width: 820px)").matches) detail.scrollIntoView({ block: "start" });
  }

  async function open(scope) {
    const timer = setTimeout(() => fill(detail, skeleton(4)), 120);
    try {
      const found = await ask("/api/contexts/show", { scope });
      if (scope === selected) fill(detail, ...portrait(scope, found));
    } catch (error) {
      if (scope === selected) fill(detail, fault(error));
    } finally {
      clearTimeout(timer);
    }
  }

  search.addEventListener("input", () => narrow(only, search.value.trim()));

  return {
    show(rest) {
      const byPerson = selected !== null;
      selected = rest || selected;
      if (tree === null) {
        // An address leads to a directory that can be seen in its tree.
        rest.split("/").forEach((_name, index, way) => opened.add(way.slice(0, index).join("/") || "."));
        return load();
      }
      return rest ? choose(rest, byPerson) : undefined;
    },
    catchUp: lookAgain,
  };
}

function summary({ total_directories: total, skipped_directories: skipped, tracked }) {
  const verb = total === 1 || tracked === 1 ? "has" : "have";
  const small = skipped ? ` ${count(skipped, "directory", "directories")} too small to need one.` : "";
  return `${number(tracked)} of ${count(total, "directory", "directories")} ${verb} a context.${small}`;
}

/** List the rule files that are there, and what they name that is gone. */
function ruleFiles(rules) {
  if (!rules.length) return null;
  const row = ({ path, about, gone = [], error = "" }) => {
    const fault = gone.length ? ` names ${gone.join(", ")}, not there` : error && ` ${error}`;
    return h("li", {}, h("code", {}, ...said(path)), ...said(` for ${about}`), fault ? h("span", { class: "stale" }, ...said(fault)) : null);
  };
  return h("section", { class: "rule-files" }, h("h2", { class: "side-title" }, "Rule files"), h("ul", {}, rules.map(row)));
}

function noneYet() {
  return empty(
    "No context yet",
    ["A context says what a directory is for, and knows when that stops being true. `context init` drafts one for every directory that deserves it; people and agents correct them."],
    [["draft contexts", "context init"]],
  );
}

/** Make a tree of entries; directories that are only on the way are there too. */
function grown(entries, project) {
  const nodes = new Map();
  const node = (scope) => {
    if (nodes.has(scope)) return nodes.get(scope);
    const cut = scope.lastIndexOf("/");
    const made = { scope, name: scope === "." ? project : scope.slice(cut + 1), state: "none", children: [], counts: none(), summary: "" };
    nodes.set(scope, made);
    if (scope !== ".") node(cut < 0 ? "." : scope.slice(0, cut)).children.push(made);
    return made;
  };
  const root = node(".");
  for (const entry of entries) Object.assign(node(entry.scope), { state: entry.state, drift: drift(entry), summary: entry.summary ?? entry.error ?? "" });
  total(root);
  return root;
}

/** How far a context has drifted; a fresh one may rest on evidence that changed elsewhere. */
const drift = (told) => told.drift ?? (told.claims ? "evidence" : "");

const none = () => ({ fresh: 0, stale: 0, missing: 0 });

function total(node) {
  if (node.state in node.counts) node.counts[node.state] += 1;
  for (const child of node.children) {
    total(child);
    for (const state of STATES) node.counts[state] += child.counts[state];
  }
}

/** Say which nodes lead to a directory in `state` whose path holds `text`, and how many there are. */
function matching(root, state, text) {
  const nodes = new Set();
  let hits = 0;
  const visit = (node) => {
    const isHit = node.state !== "none" && (!state || node.state === state) && node.scope.toLowerCase().includes(text);
    const leads = node.children.map(visit).some(Boolean);
    hits += isHit;
    if (isHit || leads) nodes.add(node);
    return isHit || leads;
  };
  visit(root);
  return { nodes, hits };
}

/** Say how many directories below are not fresh. */
function tally(node) {
  const own = node.state;
  return ["stale", "missing"].flatMap((state) => {
    const below = node.counts[state] - (own === state ? 1 : 0);
    return below ? [h("span", { class: `tally ${state}` }, `${number(below)} ${state}`, h("span", { class: "wide" }, " below"))] : [];
  });
}

/** A context, field by field. */
function portrait(scope, found) {
  const head = h("header", { class: "portrait-head" },
    h("h2", {}, h("bdi", {}, ...said(scope === "." ? "The project" : scope))),
    found.state ? h("span", { class: `pill state-pill ${found.state}` }, found.state) : null,
    drift(found) ? h("span", { class: "pill drift" }, drift(found)) : null);
  if (!found.found) return [head, absent(found.error)];
  const { context } = found;
  const derived = new Set(Array.isArray(context.derived_fields) ? context.derived_fields.map((each) => String(each).split(".")[0]) : []);
  // A drafted word on maintenance is the same everywhere, so it comes last.
  const isLast = ([name]) => name === "maintenance" && derived.has(name);
  const fields = Object.entries(context).filter(([name]) => !METADATA.has(name)).sort((one, other) => isLast(one) - isLast(other));
  return [
    head,
    h("p", { class: "dim" }, "Written ", ago(String(context.last_updated)), ...said(` · fingerprint ${context.fingerprint}`)),
    found.state === "stale" ? changed(scope, found) : null,
    found.cited ? doubted(scope, found.cited) : null,
    h("dl", { class: "fields" }, fields.flatMap(([name, value]) => [
      h("dt", {}, ...said(titled(name)), derived.has(name) ? h("span", { class: "tag", title: "The machine drafted this field" }, "drafted") : null),
      h("dd", { "data-field": name }, drawn(value)),
    ])),
  ].filter(Boolean);
}

/** Nothing is wrong with a directory that nobody has described yet; with a file that cannot be read there is. */
function absent(error) {
  if (!error.startsWith("No .context.yaml")) return fault(new Error(error));
  return h("div", { class: "note" },
    h("p", {}, "Nobody has said yet what this directory is for."),
    copyable("draft a context", "context init"));
}

const SIGNS = { added: "+", removed: "−", modified: "~" };

function changed(scope, found) {
  const kinds = Object.entries(SIGNS).flatMap(([kind, sign]) =>
    (found.changed?.[kind] ?? []).map((file) => h("li", { class: kind }, h("span", { class: "sign", "aria-hidden": "true" }, sign), h("bdi", {}, ...said(file)), h("span", { class: "dim" }, kind))));
  const words = kinds.length ? "Since it was written, these files have changed:" : "The files are not those that it was written for.";
  return h("section", { class: "note stale", "aria-label": "What changed" },
    h("h3", {}, "What changed"),
    h("p", {}, words),
    kinds.length ? h("ul", { class: "changes" }, kinds) : null,
    copyable("draft it again", `context regen ${quoted(scope)}`),
    h("p", { class: "hint" }, ...worded("If it is still true as it stands, `context rehash` says so.")));
}

/** Each claim that does not hold, beside what became of its evidence. */
function doubted(scope, cited) {
  return h("section", { class: "note stale", "aria-label": "Claims in doubt" },
    h("h3", {}, "Claims in doubt"),
    h("ul", { class: "changes" }, cited.map((each) => h("li", {},
      h("bdi", {}, ...said(each.text)),
      h("span", { class: "dim" }, ...said(` cites ${each.path}${each.symbol ? `#${each.symbol}` : ""}, which ${each.is === "gone" ? "is gone" : "has changed"}`))))),
    copyable("say that they hold", `context rehash ${quoted(scope)}`));
}

function titled(name) {
  const words = name.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

const HEADINGS = ["name", "path", "what"];
const SAYINGS = ["summary", "purpose", "description"];

/** Draw any value that a context may hold. */
function drawn(value) {
  if (Array.isArray(value)) return h("ul", { class: "values" }, value.map((each) => h("li", {}, isObject(each) ? entry(each) : drawn(each))));
  return isObject(value) ? inner(Object.entries(value)) : h("span", { class: "value" }, prose(String(value)));
}

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** Code between back-quotes is code, where they come in pairs. */
function prose(text) {
  return text.split("`").length % 2 ? worded(text) : said(text);
}

/** Something with a name and a saying, such as a file and its purpose. */
function entry(value) {
  const [heading, saying] = [HEADINGS, SAYINGS].map((names) => names.find((name) => typeof value[name] === "string"));
  const rest = Object.entries(value).filter(([name]) => name !== heading && name !== saying);
  return h("div", { class: "entry" },
    heading ? h("bdi", { class: "entry-name" }, ...said(value[heading])) : null,
    saying ? h("p", {}, prose(value[saying])) : null,
    rest.length ? inner(rest) : null);
}

function inner(entries) {
  return h("dl", { class: "inner" }, entries.flatMap(([name, each]) => [h("dt", {}, ...said(titled(name))), h("dd", {}, drawn(each))]));
}
