/** Which tools are within reach? The roster: complete before any member runs, and kept true by events. */

import { ask, tell } from "/static/api.js";
import { action, ago, count, disclosure, empty, fault, fill, h, number, said, sentence, skeleton } from "/static/dom.js";

const LOG_LINES = 200;
const LAST_CALLS = 10;

// The roster does not wait for what is needed once a member is opened.
const later = () => import("/static/tool.js");

export function view(root, meeting) {
  const cards = new Map();
  const roster = h("ul", { class: "roster" });
  const totals = h("p", { class: "dim num" });
  const trouble = h("div");
  const search = h("input", { type: "search", placeholder: "Find a member or a tool", "aria-label": "Find a member or a tool", autocomplete: "off", spellcheck: "false" });
  const none = h("p", { class: "dim none", hidden: true }, "Nobody here is called that, and neither is a tool.");
  let isLoaded = false;
  let wanted = "";

  async function load() {
    try {
      const { members } = await ask("/api/guild");
      present(members);
    } catch (error) {
      fill(isLoaded ? trouble : root, fault(error, " ", action("Try again", load, { class: "quiet" })));
    }
    root.dataset.ready = "true";
  }

  function present(members) {
    if (!members.length) return nobody();
    if (!isLoaded) fill(root, h("div", { class: "view-head" }, totals, h("div", { class: "row" }, search, action("Refresh all", refreshAll))), trouble, none, roster);
    isLoaded = true;
    fill(trouble);
    const names = new Set(members.map((member) => member.name));
    for (const [name, card] of cards) if (!names.has(name)) (card.node.remove(), cards.delete(name));
    takeAll(members);
    open();
    requestAnimationFrame(() => performance.mark("roster-painted"));
    later().catch(() => {});
    return undefined;
  }

  async function nobody() {
    const { guild } = await meeting().catch(() => ({ guild: false }));
    isLoaded = false;
    cards.clear();
    fill(root, guild ? vacant() : unnamed());
  }

  /** Take in what is known of members now; what is open, typed or focused in their cards stays. */
  function takeAll(members) {
    for (const member of members) {
      if (cards.has(member.name)) cards.get(member.name).update(member);
      else cards.set(member.name, memberCard(member, takeAll));
      const { node } = cards.get(member.name);
      if (!node.isConnected) roster.append(node);
    }
    sum();
    seek();
  }

  function sum() {
    const all = [...cards.values()].map((card) => card.member());
    const tools = all.reduce((total, member) => total + member.tools.length, 0);
    const tokens = all.reduce((total, member) => total + member.tokens, 0);
    totals.textContent = [count(all.length, "member"), count(tools, "tool"), `about ${count(tokens, "token")}`].join(" · ");
  }

  function seek() {
    const text = search.value.trim().toLowerCase();
    let isAnyoneThere = !text;
    for (const card of cards.values()) {
      const isHit = !text || card.words().includes(text);
      card.node.hidden = !isHit;
      isAnyoneThere ||= isHit;
    }
    none.hidden = isAnyoneThere;
  }

  async function refreshAll() {
    try {
      const { members } = await tell("/api/guild/refresh", { member: null });
      fill(trouble);
      takeAll(members);
    } catch (error) {
      fill(trouble, fault(error));
    }
  }

  function open() {
    const card = cards.get(wanted);
    if (!card) return;
    wanted = "";
    card.open();
    card.node.scrollIntoView({ block: "nearest" });
  }

  search.addEventListener("input", seek);

  return {
    show(rest) {
      wanted = rest;
      return isLoaded ? open() : load();
    },
    hear(_kind, member) {
      if (isLoaded && member) takeAll([member]);
      else load();
    },
    catchUp: load,
  };
}

function unnamed() {
  return empty(
    "No guild is named",
    [
      "A guild is a directory of other MCP servers, whose tools are listed here whether they run or not.",
      "Its members are programs that the hall starts, so there is none until somebody names one.",
    ],
    [
      ["write a member", "context guild add time --guild guild-members -- uvx mcp-server-time"],
      ["or take over those that an agent has", "context guild import .mcp.json --guild guild-members --write"],
      ["serve the guild", `context serve --http ${location.port || 80} --guild guild-members`],
    ],
  );
}

function vacant() {
  return empty(
    "Nobody is in the guild yet",
    ["A member is a directory with a `plugin.json`. `context guild add` writes one for any server that a command starts."],
    [["write a member", "context guild add time -- uvx mcp-server-time"]],
  );
}

/** One member of the roster. */
function memberCard(first, takeAll) {
  let member = first;
  let isOpened = false;
  let toolCard = null;
  let ofMember = null;
  const tools = new Map();
  const facts = {
    dot: h("span", { class: "dot", "aria-hidden": "true" }),
    status: h("span", { class: "status-word" }),
    tools: h("span", { class: "num" }),
    tokens: h("span", { class: "num dim" }),
    when: h("span", { class: "num dim" }),
    pills: h("span", { class: "pills" }),
    line: h("span", { class: "member-line" }),
    why: h("span", { class: "member-why" }),
  };
  const trouble = h("div");
  const news = h("div", { class: "stack tight" });
  const extra = h("div", { class: "stack tight" });
  const list = h("ul", { class: "tools" });
  const off = h("div");
  const inside = h("div", { class: "member-inside" });

  const head = h("span", { class: "member-row" },
    h("span", { class: "member-who" }, h("span", { class: "member-name" }, h("bdi", {}, ...said(first.displayName || first.name)), facts.pills), facts.line, facts.why),
    h("span", { class: "member-status" }, facts.dot, facts.status),
    h("span", { class: "member-count" }, facts.tools, facts.tokens),
    h("span", { class: "member-age" }, facts.when));
  const { button, set } = disclosure(head, inside, { onOpen: open, properties: { class: "member-head" } });
  const node = h("li", { class: "member", "data-member": first.name }, button, inside);

  const stop = action("Stop", () => ordered("/api/guild/stop"), { class: "quiet" });
  const log = action("Log", () => toggle(log, showLog), { class: "quiet", "aria-expanded": "false" });
  const activity = action("Activity", () => toggle(activity, showActivity), { class: "quiet", "aria-expanded": "false" });

  async function open() {
    if (isOpened) return;
    isOpened = true;
    fill(inside, skeleton(2));
    try {
      ({ toolCard, ofMember } = await later());
      presentFirst();
    } catch {
      isOpened = false;
      fill(inside, fault(new Error("This part of the page could not be loaded"), " ", action("Load the page again", () => location.reload(), { class: "quiet" })));
    }
  }

  function presentFirst() {
    const actions = h("div", { class: "row" }, action("Refresh", refresh, { class: "quiet" }), stop, activity, log);
    const about = h("p", { class: "dim small" }, ...said([member.name, member.version && `version ${member.version}`, member.transport, member.key !== member.name && member.key].filter(Boolean).join(" · ")));
    fill(inside, h("div", { class: "member-bar" }, about, actions), trouble, news, extra, list, off);
    presentInside();
  }

  function update(next) {
    member = next;
    node.dataset.status = member.status;
    facts.dot.className = `dot ${member.status}`;
    facts.status.textContent = member.status === "disconnected" ? "idle" : member.status;
    facts.tools.textContent = count(member.tools.length, "tool");
    facts.tokens.textContent = member.tokens ? `${number(member.tokens)} tokens` : "";
    fill(facts.when, member.cachedAt ? ago(member.cachedAt) : "never listed");
    fill(facts.line, ...said(member.status === "error" ? member.error : member.description));
    fill(facts.why, ...(member.progress ? said(sentence(member.progress)) : member.freshness === "outdated" ? said(member.reason) : []));
    fill(facts.pills, pills(member));
    if (toolCard) presentInside();
  }

  function presentInside() {
    stop.hidden = member.status !== "connected";
    fill(news, tidings(member), member.changes.length ? changes() : null);
    presentTools();
    fill(off, member.switchedOff.length ? switchedOff() : null);
  }

  /** The tools that agents neither see nor call, by the manifest's word. */
  function switchedOff() {
    const items = member.switchedOff.map((name) => h("li", { class: "row" }, h("bdi", { class: "mono" }, ...said(name)), action("Switch on", () => switchTool(name, true), { class: "quiet" })));
    return h("section", { "aria-label": "Switched off" }, h("h3", {}, "Switched off"), h("ul", { class: "notes" }, items));
  }

  const switchTool = (tool, on) => ordered("/api/guild/switch", { tool, on });

  /** Keep the cards of tools that stay, in the order of the list. */
  function presentTools() {
    const names = new Set(member.tools.map((tool) => tool.name));
    for (const [name, card] of tools) if (!names.has(name)) (card.node.remove(), tools.delete(name));
    member.tools.forEach((tool, index) => {
      if (tools.has(tool.name)) tools.get(tool.name).update(tool);
      else tools.set(tool.name, toolCard(ofMember(member.name), tool, () => switchTool(tool.name, false)));
      const card = tools.get(tool.name).node;
      if (list.children[index] !== card) list.insertBefore(card, list.children[index] ?? null);
    });
    if (!member.tools.length) fill(list, h("li", { class: "dim none" }, member.switchedOff.length ? "All its tools are switched off." : "No tools are known yet. Refresh asks the member for them."));
    else list.querySelector(".none")?.remove();
  }

  async function ordered(path, more = {}) {
    try {
      const found = await tell(path, { member: member.name, ...more });
      fill(trouble);
      takeAll(found.members ?? [found.member]);
    } catch (error) {
      fill(trouble, fault(error));
    }
  }

  const refresh = () => ordered("/api/guild/refresh");

  /** Show below the buttons what one of them is for, or nothing if it was there. */
  function toggle(wanted, show) {
    const isShown = wanted?.getAttribute("aria-expanded") === "true";
    for (const each of [log, activity]) each.setAttribute("aria-expanded", String(each === wanted && !isShown));
    fill(extra);
    return isShown ? undefined : show();
  }

  const showLog = () => read("/api/guild/log", { lines: LOG_LINES }, ({ log: text }) =>
    text ? h("pre", { class: "answer log", tabindex: "0", "aria-label": "Log" }, ...said(text)) : h("p", { class: "dim" }, "The server has said nothing on standard error."));

  async function showActivity() {
    const { record } = await import("/static/activity.js");
    const calls = h("section", { "aria-label": "Activity" }, skeleton(3)); // one that is empty cannot be seen
    fill(extra, calls);
    return record(calls, "h3", { member: member.name }, LAST_CALLS)();
  }

  async function read(path, parameters, draw) {
    fill(extra, skeleton(3));
    try {
      fill(extra, draw(await ask(path, { member: member.name, ...parameters })));
    } catch (error) {
      fill(extra, fault(error));
    }
  }

  /** What changed since it was approved; it can be approved once it has been seen. */
  function changes() {
    const words = member.held ? "Until they are approved, agents get the definitions as they were." : "Agents get the new definitions.";
    const items = member.changes.map(({ tool, kind, fields }) => h("li", {}, h("bdi", { class: "mono" }, ...said(tool)), ` ${kind}`, fields?.length ? h("span", { class: "dim" }, ...said(` (${fields.join(", ")})`)) : null));
    return h("section", { class: "note stale", "aria-label": "Changed definitions" },
      h("h3", {}, "Definitions changed since they were approved"),
      h("p", {}, words), h("ul", {}, items), action("Show the difference", showDifference));
  }

  function showDifference() {
    return toggle(null, () => read("/api/guild/difference", {}, ({ difference }) => differing(difference)));
  }

  function differing(difference, note = null) {
    return h("div", { class: "stack tight" }, note, diff(difference), action("Approve", () => approve(difference), { class: "primary" }));
  }

  /** Approve what was seen: if the member offers something else by now, show that first. */
  async function approve(seen) {
    try {
      const { difference } = await ask("/api/guild/difference", { member: member.name });
      if (difference !== seen) return fill(extra, differing(difference, fault(new Error("It has changed again. This is how it differs now."))));
    } catch (error) {
      return fill(trouble, fault(error));
    }
    await ordered("/api/guild/approve", { difference: seen });
    if (member.changes.length) return undefined;
    const done = h("p", { class: "dim", role: "status", tabindex: "-1" }, "Approved.");
    fill(extra, done);
    return done.focus(); // the button that had it is gone
  }

  update(first);
  return {
    node,
    update,
    open: () => set(true),
    member: () => member,
    words: () => [member.name, member.displayName, ...member.tools.map((tool) => tool.name)].join("\n").toLowerCase(),
  };
}

function pills(member) {
  return [
    member.freshness === "outdated" ? h("span", { class: "pill warn" }, "outdated") : null,
    member.held ? h("span", { class: "pill warn" }, "held") : null,
    member.changes.length && !member.held ? h("span", { class: "pill warn" }, "changed") : null,
  ];
}

/** What a person should know before using this member. */
function tidings(member) {
  const because = member.reason ? `: ${member.reason}` : "";
  return [
    member.status === "error" ? h("p", { class: "fault" }, ...said(sentence(member.error))) : null,
    member.freshness === "outdated" ? h("p", { class: "note stale" }, ...said(`The list is outdated${because}. It is served until a refresh brings another.`)) : null,
    member.freshness === "missing" && member.status !== "error" ? h("p", { class: "dim" }, ...said(`There is no list yet${because}.`)) : null,
    member.notes.length ? h("ul", { class: "notes" }, member.notes.map((note) => h("li", {}, ...said(note)))) : null,
  ];
}

const LINES = { "+": "added", "-": "removed", "@": "at" };

function diff(text) {
  const lines = text.split("\n").map((line) => {
    const kind = /^(\+\+\+|---)/.test(line) ? "at" : (LINES[line[0]] ?? "");
    return h("span", { class: `line ${kind}` }, ...said(line), "\n");
  });
  return h("pre", { class: "diff", tabindex: "0", "aria-label": "Difference" }, lines);
}
