/** How does the page ask the hall? Every answer is JSON, and every failure a sentence. */

const TOKEN = "context-hall-token";

let token = "";
let writeToken = "";

export class HallError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/** Take the token out of the address, where others could read it; say whether there was one. */
export function takeToken() {
  const given = /^#token=(.*)$/.exec(location.hash);
  if (given) {
    useToken(decoded(given[1]));
    history.replaceState(null, "", location.pathname + location.search);
  } else token ||= remembered();
  return given !== null;
}

/** Say whether a token is sent along, be it right or wrong. */
export function hasToken() {
  return token !== "";
}

export function useToken(value) {
  token = value;
  try {
    sessionStorage.setItem(TOKEN, value);
  } catch {
    // It is kept in memory then, until the page is loaded again.
  }
}

function remembered() {
  try {
    return sessionStorage.getItem(TOKEN) ?? "";
  } catch {
    return "";
  }
}

export function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Ask for something. */
export async function ask(path, parameters = {}, signal = undefined) {
  const query = new URLSearchParams(parameters).toString();
  return answer(await reach(query ? `${path}?${query}` : path, { signal }));
}

/** Ask who is there; what is written needs what this tells. */
export async function hall() {
  const found = await ask("/api/hall");
  writeToken = found.writeToken;
  return found;
}

/** Have something done. */
export async function tell(path, body, signal = undefined) {
  if (!writeToken) await hall();
  try {
    return await post(path, body, signal);
  } catch (error) {
    if (error.code !== "forbidden") throw error;
  }
  // A hall that was started anew has another token.
  await hall();
  return post(path, body, signal);
}

async function post(path, body, signal) {
  const headers = { "Content-Type": "application/json", "X-Hall-Write": writeToken };
  return answer(await reach(path, { method: "POST", headers, body: JSON.stringify(body), signal }));
}

/** Send a request that carries the token; the answer may be a stream. */
export async function reach(path, options = {}) {
  const authority = token ? { Authorization: `Bearer ${token}` } : {};
  try {
    return await fetch(path, { ...options, cache: "no-store", headers: { ...options.headers, ...authority } });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new HallError("unreachable", "The hall does not answer. Is `context serve` still running?");
  }
}

async function answer(response) {
  const found = await response.json().catch(() => null);
  if (response.ok && found !== null) return found;
  throw failure(response, found?.error);
}

export function failure(response, error) {
  if (response.status === 401) dispatchEvent(new Event("hall-locked"));
  const sentence = error?.detail || error?.message || `The hall answered with status ${response.status}.`;
  return new HallError(error?.code ?? "internal_error", sentence);
}
