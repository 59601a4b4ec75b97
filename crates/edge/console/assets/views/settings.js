// Settings: the value in effect of each flag and each key of the ConfigMap, and where it comes from.

import { get } from "../lib/api.js";
import { h } from "../lib/dom.js";
import { count } from "../lib/format.js";
import { link } from "../lib/router.js";
import { List } from "../parts/list.js";
import { empty } from "../parts/states.js";
import { status, tag } from "../parts/status.js";
import { toggle, toolbar } from "../parts/toolbar.js";

export const title = "Settings";
export const full = true;

const ORIGINS = { annotation: "Annotation", configmap: "ConfigMap", flag: "Flag", default: "Default" };
const SCOPES = { live: ["live", "Live"], reload: ["reload", "Reload"], start: ["info", "Next start"] };

/** Where a value comes from, with the object that has it. */
export function origin(from, object) {
  const [kind, name] = (object ?? "").split(" ");
  return [
    tag(ORIGINS[from] ?? from, from === "default" ? undefined : "live"),
    " ",
    kind === "Ingress" && name ? h("a", { href: link(["ingresses", name]) }, name) : object && h("span", { class: "quiet" }, object),
  ];
}

/** Fills the view. */
export function show({ root, route, signal }) {
  const bar = toolbar({
    search: "Search settings",
    one: "setting",
    query: route.query,
    filters: { changed: (value, changed) => toggle("Only changed", value === "true", changed) },
    ask:
      ({ q, changed }) =>
      (offset, limit, ending) =>
        get("settings", { q, changed, offset, limit }, ending),
  });
  const list = new List({
    label: title,
    kind: "settings",
    key: (setting) => setting.name,
    ask: bar.ask,
    counted: bar.counted,
    none: () => empty("No setting matches", "Names are those of flags (--…), keys of the ConfigMap and annotations."),
    columns: [
      {
        title: "Setting",
        class: "main",
        cell: (setting) => [h("code", {}, setting.name), setting.problem && [" ", status("warning", "Not used as written")]],
      },
      {
        title: "Value",
        class: "second",
        cell: (setting) => h("code", { class: "value", title: setting.value }, setting.value === "" ? "(empty)" : setting.value),
      },
      {
        title: "Default",
        class: "wide",
        cell: (setting) => h("code", { class: "quiet", title: setting.default }, setting.default === "" ? "(empty)" : setting.default),
      },
      { title: "From", class: "state", cell: (setting) => origin(setting.from) },
      { title: "A change takes effect", class: "wide", cell: (setting) => status(...(SCOPES[setting.scope] ?? ["info", setting.scope])) },
      { title: "Annotations", class: "number wide", cell: (setting) => (setting.annotations ? count(setting.annotations) : "–") },
    ],
  });
  bar.attach(list);
  root.append(h("header", { class: "head" }, h("h1", { tabindex: "-1" }, title)), bar.element, list.element);
  signal.addEventListener("abort", () => list.end());
}
