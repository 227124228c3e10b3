/** What did a tool answer? Text, JSON, images and errors, none of them trusted. */

import { bytes, fault, folded, h, said } from "/static/dom.js";

const LONGEST_JSON = 100000;
const IMAGE = /^image\/[a-z0-9.+-]+$/i;
const BASE64 = /^[A-Za-z0-9+/=\s]*$/;

/** Show the answer of /api/guild/call. */
export function outcome(answer) {
  if (answer.fault) return [fault(new Error(`The member refused: ${answer.fault.message} (${answer.fault.code})`)), data(answer.fault.data)];
  const { result } = answer;
  const blocks = Array.isArray(result?.content) ? result.content : [];
  const structured = result?.structuredContent;
  return [
    result?.isError ? h("p", { class: "fault" }, "The tool says that it failed.") : null,
    ...blocks.filter((block) => !repeats(block, structured)).map(drawn),
    structured === undefined ? null : json("Structured", structured),
    blocks.length || structured !== undefined ? null : json("Result", result),
    whole(result),
  ];
}

function data(value) {
  return value === undefined ? null : json("Data", value);
}

const DRAWN = {
  text: (block) => text(block.text),
  image: (block) => image(block),
  audio: (block) => h("p", { class: "dim" }, ...said(`Audio (${block.mimeType}), ${bytes(Math.floor((block.data?.length ?? 0) * 0.75))}.`)),
  resource_link: (block) => h("p", {}, "Resource ", h("bdi", { class: "mono" }, ...said(block.uri))),
  resource: (block) => (typeof block.resource?.text === "string" ? text(block.resource.text, block.resource.uri) : json("Resource", block.resource)),
};

function drawn(block) {
  const draw = Object.hasOwn(DRAWN, block?.type) ? DRAWN[block.type] : (each) => json("Block", each);
  return draw(block);
}

function text(content, label = "") {
  const whole_ = String(content);
  const value = looksLikeJson(whole_);
  return value === undefined ? panel(label || "Text", whole_) : json(label || "JSON", value);
}

function looksLikeJson(content) {
  if (!/^\s*[[{]/.test(content) || content.length > LONGEST_JSON) return undefined;
  try {
    return JSON.parse(content);
  } catch {
    return undefined;
  }
}

/** Say whether a text is the structured content once more, as the protocol advises. */
function repeats(block, structured) {
  if (structured === undefined || block?.type !== "text") return false;
  const value = looksLikeJson(String(block.text));
  return value !== undefined && JSON.stringify(value) === JSON.stringify(structured);
}

function image({ mimeType, data: content }) {
  if (!IMAGE.test(mimeType) || !BASE64.test(content)) return fault(new Error("An image that cannot be shown"));
  return h("figure", {}, h("img", { src: `data:${mimeType};base64,${content}`, alt: "An image that the tool answered with" }));
}

function json(label, value) {
  return panel(label, JSON.stringify(value, null, 2) ?? "nothing");
}

function panel(label, content) {
  const code = h("pre", { class: "answer", tabindex: "0", "aria-label": label });
  const rest = folded(code, content);
  return h("div", { class: "panel" }, h("span", { class: "panel-label" }, ...said(label)), code, rest);
}

function whole(result) {
  const inside = h("pre", { class: "answer", tabindex: "0" });
  const node = h("details", {}, h("summary", {}, "Whole result"), inside);
  node.addEventListener("toggle", () => node.open && !inside.textContent && inside.append(...said(JSON.stringify(result, null, 2))), { once: true });
  return node;
}
