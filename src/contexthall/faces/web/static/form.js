/**
 * How does a schema become a form? Each part of a schema becomes a control with `node`, `read(faults)` and `write(value)`.
 * `read` gives undefined for what is left out, and adds the inputs that are at fault to `faults`; null keeps it quiet.
 * What no control can hold is typed as JSON.
 */

import { fill, h, said } from "/static/dom.js";

const DEEPEST = 6;
const MOST_HOPS = 10;
let serial = 0;

/** Make the form of a tool's input schema. */
export function formOf(schema) {
  const names = Object.keys(schema.properties ?? {});
  const nothing = h("p", { class: "dim" }, "This tool takes no arguments.");
  const fields = group(schema, schema, 0);
  return {
    node: names.length ? fields.node : nothing,
    read: (faults) => fields.read(faults) ?? {},
    write: fields.write,
  };
}

/** Follow references and choices until one plain schema is left. */
function settled(schema, root) {
  let found = schema;
  for (let hop = 0; hop < MOST_HOPS && isObject(found); hop += 1) {
    const next = step(found, root);
    if (next === found) return found;
    found = next;
  }
  return isObject(found) ? found : {};
}

function step(schema, root) {
  const { $ref: reference, anyOf, oneOf, allOf, ...rest } = schema;
  if (typeof reference === "string") return { ...pointed(root, reference), ...rest };
  if (Array.isArray(allOf)) return allOf.map((part) => settled(part, root)).reduce(merged, rest);
  const choices = (anyOf ?? oneOf)?.filter?.((each) => each?.type !== "null");
  if (choices?.length === 1) return { ...choices[0], ...rest };
  if (choices?.length && choices.every((each) => "const" in each)) return { ...rest, enum: choices.map((each) => each.const) };
  if (Array.isArray(schema.type)) {
    const types = schema.type.filter((each) => each !== "null");
    if (types.length === 1) return { ...schema, type: types[0] };
  }
  return schema;
}

function merged(one, other) {
  const required = [...(one.required ?? []), ...(other.required ?? [])];
  return { ...one, ...other, properties: { ...one.properties, ...other.properties }, required };
}

function pointed(root, reference) {
  if (!reference.startsWith("#")) return {};
  const path = reference.slice(1).split("/").slice(1).map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  const found = path.reduce((value, part) => (isObject(value) ? value[part] : undefined), root);
  return isObject(found) ? found : {};
}

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** Choose the control for a schema. */
function control(given, root, { isRequired, depth, label }) {
  const schema = settled(given, root);
  const about = { schema, root, isRequired, depth, label, id: `field-${(serial += 1)}` };
  if (Array.isArray(schema.enum)) return choice(about, schema.enum);
  if ("const" in schema) return choice(about, [schema.const]);
  if (depth > DEEPEST) return json(about);
  return (CONTROLS[kind(schema)] ?? json)(about);
}

function kind(schema) {
  if (typeof schema.type === "string") return schema.type;
  if (isObject(schema.properties)) return "object";
  return schema.items ? "array" : "";
}

const CONTROLS = {
  string: text,
  number: figure,
  integer: figure,
  boolean: truth,
  array: many,
  object: (about) => (Object.keys(about.schema.properties ?? {}).length ? nested(about) : json(about)),
};

/** Put label, hint and fault around an input. */
function field({ schema, id, label, isRequired }, input, rules = []) {
  const trouble = h("p", { class: "field-fault", id: `${id}-fault`, hidden: true });
  const hints = [typeof schema.description === "string" ? schema.description : "", ...rules].filter(Boolean);
  const hint = hints.length ? h("p", { class: "hint", id: `${id}-hint` }, ...said(hints.join(" · "))) : null;
  input.id = id;
  input.setAttribute("aria-describedby", hint ? `${hint.id} ${trouble.id}` : trouble.id);
  if (isRequired) input.setAttribute("aria-required", "true");
  const node = h("div", { class: "field" }, h("label", { for: id }, ...named(schema, label, isRequired)), input, hint, trouble);
  const blame = (faults, sentence) => {
    if (faults === null) return;
    trouble.hidden = !sentence;
    fill(trouble, ...said(sentence));
    input.setAttribute("aria-invalid", String(Boolean(sentence)));
    if (sentence) faults.push(input);
  };
  return { node, blame };
}

function named(schema, label, isRequired) {
  const isTitled = typeof schema.title === "string" && schema.title !== label;
  return [
    h("bdi", { class: "mono" }, ...said(label)),
    isTitled ? [" ", h("span", { class: "field-title" }, ...said(schema.title))] : [],
    isRequired ? [" ", h("span", { class: "required" }, "required")] : [],
  ].flat();
}

function text(about) {
  const { schema, isRequired, label } = about;
  const input = h("textarea", { rows: 1, spellcheck: "false", class: "grows" });
  const rules = [schema.format && `format: ${schema.format}`, schema.minLength && `at least ${schema.minLength} characters`,
    schema.maxLength && `at most ${schema.maxLength} characters`, schema.pattern && `pattern: ${schema.pattern}`];
  const { node, blame } = field(about, input, rules);
  const control_ = {
    node,
    read(faults) {
      const value = input.value;
      blame(faults, isRequired && !value ? `${label} is required.` : lengthFault(value, schema, label));
      return value || undefined;
    },
    write: (value) => (input.value = typeof value === "string" ? value : ""),
  };
  control_.write(schema.default);
  return control_;
}

function lengthFault(value, { minLength = 0, maxLength = Infinity }, label) {
  const length = [...value].length;
  if (!length) return "";
  if (length < minLength) return `${label} needs at least ${minLength} characters.`;
  return length > maxLength ? `${label} may have at most ${maxLength} characters.` : "";
}

function figure(about) {
  const { schema, isRequired, label } = about;
  const isWhole = schema.type === "integer";
  const input = h("input", { type: "text", inputmode: isWhole ? "numeric" : "decimal", autocomplete: "off", class: "short" });
  const { node, blame } = field(about, input, [isWhole ? "a whole number" : "a number", range(schema)]);
  const control_ = {
    node,
    read(faults) {
      const typed = input.value.trim();
      const sentence = typed ? figureFault(Number(typed), schema, label, isWhole) : isRequired ? `${label} is required.` : "";
      blame(faults, sentence);
      return typed && !sentence ? Number(typed) : undefined;
    },
    write: (value) => (input.value = typeof value === "number" ? String(value) : ""),
  };
  control_.write(schema.default);
  return control_;
}

// A border that nobody types, such as 2^63 - 1, tells nobody anything.
const isTelling = (border) => Math.abs(border) <= Number.MAX_SAFE_INTEGER;

function range({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }) {
  return [
    isTelling(minimum) && `from ${minimum}`, exclusiveMinimum !== undefined && `above ${exclusiveMinimum}`,
    isTelling(maximum) && `to ${maximum}`, exclusiveMaximum !== undefined && `below ${exclusiveMaximum}`,
  ].filter(Boolean).join(" ");
}

function figureFault(value, schema, label, isWhole) {
  if (!Number.isFinite(value)) return `${label} is not a number.`;
  if (isWhole && !Number.isInteger(value)) return `${label} is not a whole number.`;
  if (isWhole && !Number.isSafeInteger(value)) return `${label} is too large for a browser to keep it exact.`;
  if (value < schema.minimum) return `${label} is at least ${schema.minimum}.`;
  if (value > schema.maximum) return `${label} is at most ${schema.maximum}.`;
  if (value <= schema.exclusiveMinimum) return `${label} is above ${schema.exclusiveMinimum}.`;
  return value >= schema.exclusiveMaximum ? `${label} is below ${schema.exclusiveMaximum}.` : "";
}

/** A tick where there is a value in any case; otherwise a choice that can be left out. */
function truth(about) {
  const { schema, isRequired } = about;
  if (!isRequired && typeof schema.default !== "boolean") return choice(about, [true, false]);
  const input = h("input", { type: "checkbox" });
  const { node } = field(about, input);
  node.classList.add("tick");
  input.checked = schema.default === true;
  return { node, read: () => input.checked, write: (value) => (input.checked = value === true) };
}

function choice(about, values) {
  const { schema, isRequired, label } = about;
  const options = values.map((value, index) => h("option", { value: index }, ...said(typeof value === "string" ? value : JSON.stringify(value))));
  const input = h("select", {}, h("option", { value: "" }, isRequired ? "choose…" : "left out"), options);
  const { node, blame } = field(about, input);
  const index = (value) => values.findIndex((each) => same(each, value));
  const control_ = {
    node,
    read(faults) {
      blame(faults, isRequired && input.value === "" ? `${label} is required.` : "");
      return input.value === "" ? undefined : values[Number(input.value)];
    },
    write: (value) => (input.value = index(value) < 0 ? "" : String(index(value))),
  };
  control_.write("const" in schema && isRequired ? schema.const : schema.default);
  return control_;
}

function many(about) {
  const { schema, root, isRequired, depth, label } = about;
  const items = h("div", { class: "items" });
  const controls = new Map();
  const add = (value, focus = false) => {
    const each = control(schema.items ?? {}, root, { isRequired: true, depth: depth + 1, label: `${label}[]` });
    if (value !== undefined) each.write(value);
    const remove = h("button", { type: "button", class: "quiet", "aria-label": `Remove this item of ${label}` }, "Remove");
    const item = h("div", { class: "item" }, each.node, remove);
    remove.addEventListener("click", () => {
      controls.delete(item);
      item.remove();
      more.focus();
    });
    controls.set(item, each);
    items.append(item);
    if (focus) item.querySelector("input, textarea, select, button")?.focus();
  };
  const more = h("button", { type: "button", class: "quiet", onclick: () => add(undefined, true) }, `Add an item`);
  const write = (value) => {
    controls.clear();
    fill(items);
    for (const each of Array.isArray(value) ? value : []) add(each);
  };
  write(schema.default ?? Array.from({ length: isRequired ? Math.min(schema.minItems ?? 0, 10) : 0 }));
  const node = fieldset(about, items, more);
  const read = (faults) => {
    const values = [...controls.values()].map((each) => each.read(faults) ?? null);
    return values.length || isRequired ? values : undefined;
  };
  return { node, read, write };
}

function nested(about) {
  const fields = group(about.schema, about.root, about.depth + 1);
  const untouched = fields.read(null);
  const read = (faults) => {
    // What is optional and untouched may stay incomplete.
    if (!about.isRequired && same(fields.read(null), untouched)) return undefined;
    return fields.read(faults) ?? {};
  };
  return { node: fieldset(about, fields.node), read, write: fields.write };
}

function fieldset({ schema, label, isRequired }, ...children) {
  const hint = typeof schema.description === "string" ? h("p", { class: "hint" }, ...said(schema.description)) : null;
  return h("fieldset", {}, h("legend", {}, ...named(schema, label, isRequired)), hint, children);
}

/** The properties of an object, those that are required first. */
function group(schema, root, depth) {
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const names = Object.keys(schema.properties ?? {}).sort((one, other) => required.has(other) - required.has(one));
  const controls = names.map((label) => [label, control(schema.properties[label], root, { isRequired: required.has(label), depth, label })]);
  return {
    node: h("div", { class: "fields-group" }, controls.map(([, each]) => each.node)),
    read(faults) {
      const values = controls.map(([label, each]) => [label, each.read(faults)]).filter(([, value]) => value !== undefined);
      return values.length ? Object.fromEntries(values) : undefined;
    },
    write: (value) => controls.forEach(([label, each]) => each.write(isObject(value) && Object.hasOwn(value, label) ? value[label] : undefined)),
  };
}

/** What no other control can hold. */
function json(about) {
  const { schema, isRequired, label } = about;
  const input = h("textarea", { rows: 2, spellcheck: "false", class: "mono grows", placeholder: "JSON" });
  const { node, blame } = field(about, input, ["typed as JSON"]);
  const control_ = {
    node,
    read(faults) {
      const typed = input.value.trim();
      const [value, sentence] = typed ? parsed(typed) : [undefined, isRequired ? `${label} is required.` : ""];
      blame(faults, sentence);
      return value;
    },
    write: (value) => (input.value = value === undefined ? "" : JSON.stringify(value, null, 2)),
  };
  control_.write(schema.default);
  return control_;
}

/** Give what a text says as JSON, or a sentence. */
export function parsed(text_) {
  try {
    return [JSON.parse(text_), ""];
  } catch (error) {
    return [undefined, `This is not JSON: ${error.message}.`];
  }
}

/** Say whether two values are the same as JSON, whatever the order of their keys. */
export function same(one, other) {
  return canonical(one) === canonical(other);
}

function canonical(value) {
  const sorted = (_, each) => (isObject(each) ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1))) : each);
  return JSON.stringify(value, sorted);
}
