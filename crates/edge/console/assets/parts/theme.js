// The theme: the system's, light, or dark. `theme.js` sets the chosen one before anything is drawn.

import { h, put } from "../lib/dom.js";
import { icon } from "./icon.js";

const THEMES = [
  ["system", "System theme"],
  ["light", "Light theme", "sun"],
  ["dark", "Dark theme", "moon"],
];

/** A button that goes through the themes. */
export function themeSwitch() {
  let at = Math.max(
    0,
    THEMES.findIndex(([name]) => name === document.documentElement.dataset.theme),
  );
  const button = h("button", {
    type: "button",
    class: "icon-button",
    onclick: () => {
      at = (at + 1) % THEMES.length;
      use();
    },
  });
  const show = () => {
    const [name, text, glyph = name] = THEMES[at];
    button.setAttribute("aria-label", `${text}; change`);
    button.title = text;
    put(button, icon(glyph));
  };
  const use = () => {
    const [name] = THEMES[at];
    if (name === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
    try {
      localStorage.setItem("narthex-theme", name);
    } catch {
      // It holds until the page is loaded again.
    }
    show();
  };
  show();
  return button;
}
