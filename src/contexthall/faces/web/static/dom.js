/**
 * How does something become visible? Through text nodes alone: whatever the hall passes on was written by somebody else.
 * Nothing here, and nothing that uses it, ever hands a string to a parser of HTML.
 */

/** Make an element. Properties are attributes, which true and false switch on and off; `on…` is a listener. */
export function h(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== undefined && value !== null) node.setAttribute(name, value);
  }
  return add(node, children);
}

export function fill(node, ...children) {
  node.replaceChildren();
  return add(node, children);
}

function add(node, children) {
  // One by one: a call takes only so many arguments, and a text may have more marks than that.
  for (const child of children.flat()) if (child !== null && child !== undefined && child !== false) node.append(child);
  return node;
}

// Joiners, soft hyphens and the choice of an emoji's style stay as they are, one at a time: scripts and emoji need them.
const UNSEEN = /(?![\n\t\r\u00ad\u200c\u200d\ufe0e\ufe0f])([\p{Cc}\p{Cf}\p{Co}\p{DI}])\1*|[\u00ad\u200c\u200d\ufe0e\ufe0f]{2,}/gu;
// So many are named; a text with more of them is no text, and its page must not stand still for it.
const MOST_NAMED = 1000;

/** Give nodes for a text in which nothing hides: characters that are not seen are named. */
export function said(text) {
  const whole = String(text ?? "");
  const nodes = [];
  let from = 0;
  for (const run of whole.matchAll(UNSEEN)) {
    if (nodes.length >= 2 * MOST_NAMED) break;
    nodes.push(document.createTextNode(whole.slice(from, run.index)), named(run[0]));
    from = run.index + run[0].length;
  }
  return [...nodes, document.createTextNode(whole.slice(from).replace(UNSEEN, "¤"))];
}

function named(run) {
  const [character, ...more] = run;
  const point = `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
  const times = more.length ? ` × ${number(more.length + 1)}` : "";
  return h("span", { class: "unseen", title: "A character that cannot be seen" }, point + times);
}

/** Give nodes for a sentence in which `…` marks what is to be typed. */
export function worded(sentence) {
  return sentence.split("`").flatMap((part, index) => (index % 2 ? [h("code", {}, ...said(part))] : said(part)));
}

const NUMBERS = new Intl.NumberFormat("en");

export function number(value) {
  return NUMBERS.format(value);
}

export function count(value, one, many = `${one}s`) {
  return `${number(value)} ${value === 1 ? one : many}`;
}

export function bytes(value) {
  if (value < 1000) return count(value, "byte");
  return value < 1e6 ? `${(value / 1000).toFixed(1)} kB` : `${(value / 1e6).toFixed(1)} MB`;
}

const STEPS = [
  [60, 1, "s"],
  [3600, 60, "min"],
  [86400, 3600, "h"],
  [60 * 86400, 86400, "d"],
];

/** Say how long ago something was, at `now`. */
export function age(moment, now = Date.now()) {
  const seconds = Math.max(0, (now - Date.parse(moment)) / 1000);
  if (Number.isNaN(seconds)) return "";
  if (seconds < 10) return "just now";
  const step = STEPS.find(([below]) => seconds < below);
  return step ? `${Math.floor(seconds / step[1])} ${step[2]} ago` : moment.slice(0, 10);
}

/** An age that stays true while it is looked at. */
export function ago(moment) {
  return h("time", { datetime: moment, title: moment, "data-age": true }, age(moment));
}

export function keepAgesTrue() {
  setInterval(() => {
    for (const node of document.querySelectorAll("time[data-age]")) {
      const text = age(node.getAttribute("datetime"));
      if (node.textContent !== text) node.textContent = text;
    }
  }, 5000);
}

/** A button that does one thing at a time, and says meanwhile that it does. */
export function action(label, work, properties = {}) {
  const button = h("button", { type: "button", ...properties }, label);
  button.addEventListener("click", () => busy(button, work));
  return button;
}

export async function busy(button, work) {
  if (button.getAttribute("aria-disabled") === "true") return;
  button.setAttribute("aria-disabled", "true");
  button.classList.add("busy");
  try {
    await work();
  } finally {
    button.removeAttribute("aria-disabled");
    button.classList.remove("busy");
  }
}

const LONGEST = 100000;

/** Fill an element with a text, and give a button for the rest of one that is long. */
export function folded(node, text) {
  fill(node, said(text.slice(0, LONGEST)));
  if (text.length <= LONGEST) return null;
  const rest = h("button", { type: "button", class: "quiet" }, `Show all ${bytes(text.length)}`);
  rest.addEventListener("click", () => {
    fill(node, said(text));
    rest.remove();
  });
  return rest;
}

/** A text to take along. */
export function copyable(label, text) {
  const code = h("code");
  const rest = folded(code, text);
  const shown = h("pre", { tabindex: "0", "aria-label": label }, code);
  const button = h("button", { type: "button", class: "quiet copy", "aria-label": `Copy ${label}` }, "Copy");
  button.addEventListener("click", () => copy(text, shown, button));
  return h("div", { class: "copyable" }, h("div", { class: "copy-head" }, h("span", {}, label), button), shown, rest);
}

async function copy(text, code, button) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    // Without the clipboard, what is selected can still be copied by hand.
    getSelection().selectAllChildren(code);
    button.textContent = "Selected";
  }
  setTimeout(() => (button.textContent = "Copy"), 1600);
}

/** Quote a word for a shell, where it needs it. */
export function quoted(word) {
  return /^[\w./:@%+=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** What went wrong, where it went wrong. */
export function fault(error, ...more) {
  return h("p", { class: "fault", role: "alert" }, ...worded(sentence(error?.message || String(error))), ...more);
}

export function sentence(text) {
  // What begins with a name and a colon begins with somebody's own spelling.
  const whole = /^\S+:/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…`]$/.test(whole) ? whole : `${whole}.`;
}

/** What to do where there is nothing yet. */
export function empty(title, lines, commands = []) {
  return h(
    "div",
    { class: "empty" },
    h("h2", {}, title),
    lines.map((line) => h("p", {}, ...worded(line))),
    commands.map(([label, command]) => copyable(label, command)),
  );
}

export function skeleton(rows = 3) {
  return h("div", { class: "skeleton", "aria-hidden": "true" }, Array.from({ length: rows }, () => h("i")));
}

/** A heading that opens and closes what is below it; the inside is made when it is first needed. */
export function disclosure(head, inside, { isOpen = false, onOpen = null, properties = {} } = {}) {
  const chevron = h("span", { class: "chevron", "aria-hidden": "true" });
  const button = h("button", { type: "button", "aria-expanded": "false", ...properties }, chevron, head);
  inside.hidden = true;
  const set = (open) => {
    button.setAttribute("aria-expanded", String(open));
    inside.hidden = !open;
    if (open) onOpen?.();
  };
  button.addEventListener("click", () => set(inside.hidden));
  if (isOpen) set(true);
  return { button, set };
}

/** A section that is only its title, until it is opened. */
export function disclosed(title, inside) {
  const { button } = disclosure(h("span", {}, title), inside, { properties: { class: "plain-head" } });
  return h("section", {}, button, inside);
}
