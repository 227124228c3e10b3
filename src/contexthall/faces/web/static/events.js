/** What is happening in the hall right now? A stream of events that is taken up again whenever it breaks off. */

import { failure, reach } from "/static/api.js";

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15000;
// The hall says every 15 seconds that it is still here.
const SILENCE_MS = 40000;

/** Read server-sent events out of pieces of text; `take(kind, data)` gets each. */
export function parser(take) {
  let rest = "";
  let event = { kind: "message", data: [] };
  const line = (text) => {
    if (text === "") {
      if (event.data.length) take(event.kind, event.data.join("\n"));
      event = { kind: "message", data: [] };
      return;
    }
    const [, field, value] = /^([^:]*):? ?(.*)$/s.exec(text);
    if (field === "event") event.kind = value;
    if (field === "data") event.data.push(value);
  };
  return (text) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop();
    for (const each of lines) line(each.replace(/\r$/, ""));
  };
}

/** Listen for ever. `onEvent(kind, data)`, `onOpen(isFirst)`, `onLost(error, waitMs)`. Gives a function that tries at once. */
export function listen({ onEvent, onOpen, onLost }) {
  let wait = FIRST_WAIT_MS;
  let isFirst = true;
  let hurry = () => {};
  const opened = () => {
    wait = FIRST_WAIT_MS;
    onOpen(isFirst);
    isFirst = false;
  };
  const forEver = async () => {
    for (;;) {
      const error = await read(onEvent, opened).catch((caught) => caught);
      onLost(error, wait);
      if (error.code === "unauthorized") return; // until the page is loaded again, with the token
      await new Promise((resolve) => {
        hurry = resolve;
        setTimeout(resolve, wait);
      });
      wait = Math.min(wait * 2, LONGEST_WAIT_MS);
    }
  };
  forEver();
  return () => hurry();
}

async function read(onEvent, onOpen) {
  const stop = new AbortController();
  const response = await reach("/api/events", { signal: stop.signal });
  if (!response.ok) throw failure(response, (await response.json().catch(() => null))?.error);
  const feed = parser((kind, data) => (kind === "hello" ? onOpen() : onEvent(kind, JSON.parse(data))));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const silence = setTimeout(() => stop.abort(), SILENCE_MS);
    const { done, value } = await reader.read().finally(() => clearTimeout(silence));
    if (done) throw new Error("the stream has ended");
    feed(value);
  }
}
