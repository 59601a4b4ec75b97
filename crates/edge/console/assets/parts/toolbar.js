// What a list is narrowed down by: a search, a namespace, and choices. All of it is in the address bar.

import { h } from "../lib/dom.js";
import { plural } from "../lib/format.js";
import { amend } from "../lib/router.js";
import { icon } from "./icon.js";

/** A field for a search. `changed` gets the text while it is typed. */
export function searchField(label, value, changed) {
  const input = h("input", {
    type: "search",
    placeholder: label,
    "aria-label": label,
    autocomplete: "off",
    spellcheck: "false",
    "data-search": true,
    oninput: () => changed(input.value.trim()),
  });
  input.value = value ?? "";
  return h("label", { class: "search" }, icon("search"), input, h("kbd", { "aria-hidden": "true" }, "/"));
}

/** A choice of one of a few: `[[value, name], …]`. The first is the one without a parameter. */
export function choice(label, options, value, changed) {
  const select = h(
    "select",
    { "aria-label": label, onchange: () => changed(select.value) },
    options.map(([key, name]) => h("option", { value: key }, name)),
  );
  select.value = value ?? options[0][0];
  return h("span", { class: "select" }, select);
}

/** Something that is on or off. */
export function toggle(label, on, changed) {
  const button = h(
    "button",
    {
      type: "button",
      class: "toggle",
      "aria-pressed": String(on),
      onclick: () => {
        const next = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(next));
        changed(next);
      },
    },
    label,
  );
  return button;
}

/** The tabs of a view: `[[hash, name], …]`, links all of them. */
export function tabs(label, entries, present) {
  return h(
    "nav",
    { class: "tabs", "aria-label": label },
    entries.map(([hash, name]) => h("a", { href: hash, "aria-current": hash === present && "page" }, name)),
  );
}

/**
 * The toolbar of a list. `filters` are made by `(value, changed) => element`, by the name of their parameter.
 * `ask(query)` gives the question of the list for the parameters of the address bar.
 */
export function toolbar({ search, one, many, query, filters = {}, ask }) {
  const values = { ...query };
  const total = h("output", { class: "total", "aria-live": "polite" });
  let list = null;
  const changed = (name) => (value) => {
    values[name] = value === true ? "true" : value === false ? "" : value;
    amend({ [name]: values[name] });
    list?.ask(ask(values));
  };
  const element = h(
    "div",
    { class: "toolbar", role: "search" },
    searchField(search, query.q, changed("q")),
    Object.entries(filters).map(([name, make]) => make(values[name], changed(name))),
    total,
  );
  return {
    element,
    ask: ask(values),
    counted: (count) => {
      total.textContent = plural(count, one, many);
    },
    attach: (made) => {
      list = made;
    },
  };
}

/** A field for a namespace. */
export function namespaceField(value, changed) {
  const input = h("input", {
    type: "text",
    class: "field",
    placeholder: "All namespaces",
    "aria-label": "Namespace",
    autocomplete: "off",
    spellcheck: "false",
    onchange: () => changed(input.value.trim()),
  });
  input.value = value ?? "";
  return input;
}
