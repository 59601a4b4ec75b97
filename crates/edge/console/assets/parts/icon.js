// Icons: 16 × 16, drawn with lines in the colour of the text.

import { s } from "../lib/dom.js";

const PATHS = {
  now: "M1.5 8h3l2-5 3 10 2-5h3",
  hosts: "M8 1.5a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13ZM1.5 8h13M8 1.5c2.2 2 2.2 11 0 13M8 1.5c-2.2 2-2.2 11 0 13",
  explain: "M3 2v7a3 3 0 0 0 3 3h7M10.5 9.5 13 12l-2.5 2.5M3 5.5h6.5",
  problems: "M8 2 14.5 13.5h-13ZM8 6.5v3M8 11.5v.1",
  certificates: "M3.5 7h9v7h-9ZM5.5 7V4.5a2.5 2.5 0 0 1 5 0V7M8 10v1.5",
  changes: "M8 4v4l2.5 2M2 8a6 6 0 1 0 1.8-4.3L2 5.5M2 2v3.5h3.5",
  nginx: "M2 2.5h12v4.5H2ZM2 9.5h12v4H2ZM4.5 4.75h.1M4.5 11.5h.1",
  settings: "M2 4.5h6M12 4.5h2M2 11.5h2M8 11.5h6M10 2.5v4M6 9.5v4",
  ok: "M3 8.5 6.5 12 13 4.5",
  warning: "M8 2 14.5 13.5h-13ZM8 6.5v3M8 11.5v.1",
  error: "M5 1.5h6l3.5 3.5v6L11 14.5H5L1.5 11V5ZM5.8 5.8l4.4 4.4M10.2 5.8 5.8 10.2",
  info: "M8 1.5a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13ZM8 7.5V11M8 5v.1",
  waiting: "M4 2h8M4 14h8M5 2c0 3.5 6 4.5 6 8v4M11 2c0 3.5-6 4.5-6 8v4",
  off: "M3 8h10",
  live: "M9 1.5 3.5 9H8l-1 5.5L12.5 7H8Z",
  reload: "M13.5 8A5.5 5.5 0 1 1 11.8 4L13.5 5.7M13.5 2v3.7H9.8",
  search: "M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9ZM10.3 10.3 14 14",
  sun: "M8 5a3 3 0 1 1 0 6 3 3 0 0 1 0-6ZM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1",
  moon: "M13.5 9.5A6 6 0 0 1 6.5 2.5 6 6 0 1 0 13.5 9.5Z",
  system: "M2 3h12v8H2ZM6 14h4M8 11v3",
  copy: "M5.5 5.5h8v8h-8ZM10.5 5.5v-3h-8v8h3",
  back: "M9.5 3 4.5 8l5 5",
  next: "M6.5 3l5 5-5 5",
  close: "M3.5 3.5l9 9M12.5 3.5l-9 9",
  keyboard: "M1.5 4h13v8.5h-13ZM4 7h.1M7 7h.1M10 7h.1M12 7h.1M5 10h6",
  source: "M8 1.5 14 5v6l-6 3.5L2 11V5ZM2 5l6 3.5L14 5M8 8.5v6",
  model: "M2 2.5h5v4H2ZM9 9.5h5v4H9ZM4.5 6.5v5H9",
  plan: "M2.5 8H6M6 8c3 0 2-4.5 7.5-4.5M6 8c3 0 2 4.5 7.5 4.5M11.5 1.5l2 2-2 2M11.5 10.5l2 2-2 2",
};

/** An icon. It says nothing to a screen reader: the text beside it does. */
export function icon(name) {
  return s(
    "svg",
    { class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true", focusable: "false" },
    s("path", { d: PATHS[name] ?? PATHS.info }),
  );
}

/** The mark: the arches of a porch. */
export function mark() {
  const arches = "M7 25V15.5a4 4 0 0 1 8 0V25M17 25V15.5a4 4 0 0 1 8 0V25M5.5 25h21M9 7.5h14";
  return s(
    "svg",
    { class: "mark", viewBox: "0 0 32 32", "aria-hidden": "true", focusable: "false" },
    s("rect", { width: 32, height: 32, rx: 8 }),
    s("path", { d: arches }),
  );
}
