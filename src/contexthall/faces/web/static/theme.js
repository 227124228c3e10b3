// Which colours did this person choose? Read before the first paint, so that nothing flashes.
try {
  const chosen = localStorage.getItem("context-hall-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // Storage may be forbidden; the system's choice holds then.
}
