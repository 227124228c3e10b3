/** What is asked of a cache, as the address says it: #/caches/NAME?q=rotate+keys&budget=400. */

export const FIRST_BUDGET = 4000;

/** What an address asks; what it leaves out is as usual. */
export function fromAddress(parameters, usualForm) {
  const budget = parameters.get("budget");
  return {
    query: parameters.get("q") ?? "",
    budget: /^\d{1,15}$/.test(budget ?? "") ? Number(budget) : null,
    form: ["json", "text"].includes(parameters.get("form")) ? parameters.get("form") : usualForm,
    read: parameters.get("read"),
  };
}

/** The address that asks the same again. */
export function toAddress(cache, { query, budget, form, read }, usualForm) {
  const parameters = new URLSearchParams();
  if (query) parameters.set("q", query);
  if (budget !== null && budget !== FIRST_BUDGET) parameters.set("budget", budget);
  if (form !== usualForm) parameters.set("form", form);
  if (read) parameters.set("read", read);
  const asked = parameters.toString();
  return `#/caches/${encodeURIComponent(cache)}${asked ? `?${asked}` : ""}`;
}

/** Writes the address while somebody types: what was asked before stays one step back. */
export function addressWriter(pauseMs) {
  let timer = 0;
  let isEditing = false;
  let wanted = null;

  function write() {
    clearTimeout(timer);
    if (wanted === null || wanted === location.hash) return;
    if (isEditing) history.replaceState(null, "", wanted);
    else history.pushState(null, "", wanted);
    isEditing = true;
  }

  return {
    soon(address) {
      wanted = address;
      clearTimeout(timer);
      timer = setTimeout(write, pauseMs);
    },
    /** What is asked now is meant: the next change is a step of its own. */
    settle() {
      write();
      wanted = null;
      isEditing = false;
    },
    /** Somebody went somewhere else. */
    forget() {
      clearTimeout(timer);
      wanted = null;
      isEditing = false;
    },
  };
}
