// Keys: `/` for the search of a view, `g` and a letter for a view, `?` for the list of them. They can be switched off.

import { h } from "../lib/dom.js";
import { go, link } from "../lib/router.js";
import { icon } from "./icon.js";

const LETTERS = { now: "n", hosts: "h", explain: "e", problems: "p", certificates: "c", changes: "r", nginx: "x", settings: "s" };
/** How long `g` waits for its letter. */
const WAIT = 1500;
const STORED = "narthex-keys";

/** The button that shows the keys, and the dialog. */
export function keys(main, navigation) {
  let on = read();
  let waits = 0;
  const box = h("input", {
    type: "checkbox",
    onchange: () => {
      on = box.checked;
      write(on);
    },
  });
  box.checked = on;
  const rows = [
    ["/", "Search in the view"],
    ...navigation.map(([name, text]) => [`g ${LETTERS[name]}`, text]),
    ["↑ ↓", "Along the rows of a list; also Page Up, Page Down, Home, End"],
    ["Esc", "Close what is open"],
    ["?", "These keys"],
  ];
  const dialog = h(
    "dialog",
    { class: "keys", "aria-labelledby": "keys-title" },
    h(
      "form",
      { method: "dialog" },
      h("header", {}, h("h2", { id: "keys-title" }, "Keys"), h("button", { class: "icon-button", "aria-label": "Close" }, icon("close"))),
      h(
        "dl",
        {},
        rows.map(([key, text]) =>
          h(
            "div",
            {},
            h(
              "dt",
              {},
              key.split(" ").map((one) => h("kbd", {}, one)),
            ),
            h("dd", {}, text),
          ),
        ),
      ),
      h("label", { class: "check" }, box, "Use keys of single letters"),
    ),
  );
  const button = h(
    "button",
    { type: "button", class: "icon-button", "aria-label": "Keys", title: "Keys (?)", onclick: () => dialog.showModal() },
    icon("keyboard"),
  );
  const actions = {
    "/": () => main.querySelector("[data-search]")?.focus(),
    "?": () => dialog.open || dialog.showModal(),
    g: () => {
      waits = Date.now() + WAIT;
    },
  };
  addEventListener("keydown", (event) => {
    if (!on || event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, textarea, select, dialog")) return;
    const view = Date.now() < waits && Object.keys(LETTERS).find((name) => LETTERS[name] === event.key);
    waits = 0;
    const action = view ? () => go(link(view)) : actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  return { button, dialog };
}

function read() {
  try {
    return localStorage.getItem(STORED) !== "off";
  } catch {
    return true;
  }
}

function write(on) {
  try {
    localStorage.setItem(STORED, on ? "on" : "off");
  } catch {
    // It holds until the page is loaded again.
  }
}
