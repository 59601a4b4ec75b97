// Runs before anything is drawn, so that a chosen theme does not flash.
(() => {
  try {
    const chosen = localStorage.getItem("narthex-theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    // Without storage the theme is the system's.
  }
})();
