// A list beside what is chosen of it. Where there is room for one of them, the choice covers the list.

import { h, put } from "../lib/dom.js";
import { amend, here } from "../lib/router.js";
import { icon } from "./icon.js";
import { load } from "./states.js";

/**
 * The two sides. `list`: the list; `name`: of the side panel; `find(key)`: what is chosen; `draw(item)`: its content.
 * The key is in the address bar, as `item`.
 */
export function split({ list, name, find, draw, signal }) {
  const content = h("div", { class: "aside-body" });
  const close = h("button", { type: "button", class: "icon-button", "aria-label": "Close", onclick: () => choose(null) }, icon("close"));
  const aside = h(
    "aside",
    { class: "aside", "aria-label": name, hidden: true, tabindex: "-1" },
    h("div", { class: "aside-head" }, h("h2", {}, name), close),
    content,
  );
  const element = h("div", { class: "split" }, list.element, aside);
  let present = null;

  const open = (key) => {
    if (key === present) return;
    present = key;
    aside.hidden = !key;
    element.toggleAttribute("data-open", Boolean(key));
    list.select(key ?? null);
    if (!key) return;
    put(content);
    load(content, () => find(key), draw, signal);
    aside.scrollTop = 0;
  };
  const choose = (key) => {
    amend({ item: key });
    const before = present;
    open(key);
    if (!key) list.element.querySelector(`a[href*="${CSS.escape(encodeURIComponent(before ?? ""))}"]`)?.focus();
  };
  // A click on a row is a step in the history of the page; the view stays.
  addEventListener("hashchange", () => open(here().query.item ?? null), { signal });
  element.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && present) choose(null);
  });
  queueMicrotask(() => open(here().query.item ?? null));
  return element;
}
