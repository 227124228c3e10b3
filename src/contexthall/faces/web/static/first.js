// Which colours did this person choose, and which view comes first? Read before the first paint: nothing flashes or waits.
try {
  const chosen = localStorage.getItem("context-hall-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // Storage may be forbidden; the system's choice holds then.
}
{
  const [, view] = /^#\/(caches|contexts|guild)\b/.exec(location.hash) ?? [, "caches"];
  document.head.append(Object.assign(document.createElement("link"), { rel: "modulepreload", href: `/static/${view}.js` }));
}
