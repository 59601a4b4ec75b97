// Problems: what is wrong, what was expected, what to do; budgets; quarantine.

import { get, ApiError } from "../lib/api.js";
import { h, put } from "../lib/dom.js";
import { bytes, count, percent, plural, title as words, when } from "../lib/format.js";
import { live } from "../lib/live.js";
import { here, link } from "../lib/router.js";
import { fill, meter, table } from "../parts/figures.js";
import { List } from "../parts/list.js";
import { objectName } from "../parts/object.js";
import { problemCard } from "../parts/page.js";
import { split } from "../parts/split.js";
import { empty, load } from "../parts/states.js";
import { ingressState, severity } from "../parts/status.js";
import { choice, namespaceField, tabs, toolbar } from "../parts/toolbar.js";

export const title = "Problems";
export const full = true;

/** Fills the view. */
export function show(context) {
  const tab = context.route.query.tab ?? "list";
  context.root.append(
    h(
      "header",
      { class: "head" },
      h("h1", { tabindex: "-1" }, title),
      tabs(
        "Problems",
        [
          [link("problems"), "Findings"],
          [link("problems", { tab: "quarantine" }), "Quarantine"],
          [link("problems", { tab: "budgets" }), "Budgets"],
        ],
        link("problems", { tab: tab === "list" ? undefined : tab }),
      ),
    ),
  );
  (({ quarantine, budgets })[tab] ?? findings)(context);
}

function keyOf(problem) {
  return [problem.object, problem.kind, problem.field].join("|");
}

function findings({ root, route, signal }) {
  const severities = (value, changed) =>
    choice(
      "Severity",
      [
        ["", "Errors and warnings"],
        ["error", "Errors"],
        ["warning", "Warnings"],
      ],
      value,
      changed,
    );
  const bar = toolbar({
    search: "Search problems",
    one: "problem",
    query: route.query,
    filters: { namespace: namespaceField, severity: severities },
    ask:
      ({ q, namespace, severity: level, kind }) =>
      (offset, limit, ending) =>
        get("problems", { q, namespace, severity: level, kind, offset, limit }, ending),
  });
  const list = new List({
    label: title,
    kind: "problems",
    key: keyOf,
    ask: bar.ask,
    counted: bar.counted,
    href: (problem) => {
      const { view, query } = here();
      return link(view, { ...query, item: keyOf(problem) });
    },
    none: () => empty("No problems", "Every object that the controller reads is as it should be.", "ok"),
    columns: [
      { title: "Object", class: "main", cell: (problem) => objectName(problem.object) },
      { title: "Severity", class: "state", cell: (problem) => severity(problem.severity) },
      {
        title: "Problem",
        class: "second",
        cell: (problem) => [h("span", { class: "strong" }, words(problem.kind)), " ", h("span", { class: "quiet" }, problem.detail)],
      },
      { title: "Since", class: "number wide", cell: (problem) => when(problem.since) },
    ],
  });
  bar.attach(list);
  const find = async (key) => {
    const [object, kind] = key.split("|");
    const name = object
      .slice(object.indexOf(" ") + 1)
      .split("/")
      .at(-1);
    const { items } = await get("problems", { q: name, kind, limit: 1000 }, signal);
    const found = items.find((item) => keyOf(item) === key);
    if (!found) throw new ApiError(404, "The problem is gone: it was resolved.");
    return found;
  };
  root.append(
    bar.element,
    split({ list, name: "Problem", find, draw: (problem) => h("div", { class: "card plain" }, problemCard(problem)), signal }),
  );
  live.addEventListener(
    "events",
    ({ fresh, past }) => {
      if (!past && fresh.some(({ kind }) => kind === "problem" || kind === "resolved")) list.refresh();
    },
    { signal },
  );
  signal.addEventListener("abort", () => list.end());
}

function quarantine({ root, route, signal }) {
  const state = "quarantined";
  const bar = toolbar({
    search: "Search Ingresses",
    one: "Ingress in quarantine",
    many: "Ingresses in quarantine",
    query: route.query,
    filters: { namespace: namespaceField },
    ask:
      ({ q, namespace }) =>
      (offset, limit, ending) =>
        get("ingresses", { q, namespace, state, offset, limit }, ending),
  });
  const key = (ingress) => `${ingress.namespace}/${ingress.name}`;
  const list = new List({
    label: "Quarantine",
    kind: "quarantine",
    key,
    ask: bar.ask,
    counted: bar.counted,
    href: (ingress) => link(["ingresses", key(ingress)]),
    none: () =>
      empty(
        "Nothing in quarantine",
        "NGINX accepted what every Ingress asks for. One that it refuses is served as it was last accepted, and is listed here.",
        "ok",
      ),
    columns: [
      { title: "Ingress", class: "main", cell: key },
      { title: "State", class: "state", cell: (ingress) => ingressState(ingress.state) },
      { title: "Why", class: "second", cell: (ingress) => ingress.reason ?? "–" },
    ],
  });
  bar.attach(list);
  root.append(bar.element, list.element);
  signal.addEventListener("abort", () => list.end());
}

function budgets({ root, signal }) {
  const body = h("div", { class: "page" });
  root.append(body);
  load(
    body,
    () => get("budgets", { limit: 1000 }, signal),
    ({ items }) =>
      items.length ? h("div", { class: "budgets" }, items.map(budget)) : empty("No budgets", "Nothing that is finite is in use."),
    signal,
  );
}

function budget(item) {
  const inBytes = item.capacity > 1_000_000;
  const size = inBytes ? bytes : count;
  const share = item.capacity ? item.used / item.capacity : 0;
  const refused = item.namespaces.reduce((total, row) => total + (row.refused ?? 0), 0);
  const largest = Math.max(...item.namespaces.map((row) => row.used), 1);
  const rows = h("div", {});
  const draw = (most) =>
    put(
      rows,
      table(
        `Namespaces of ${item.resource}`,
        [
          ["Namespace", (row) => row.namespace],
          [
            "Used",
            (row) =>
              h("span", { class: "share" }, meter(row.used / largest, size(row.used)), h("span", { class: "bar-value" }, size(row.used))),
          ],
          ["Of all", (row) => percent(row.share), "number"],
          ["Held back", (row) => (row.refused ? severityCount(row.refused) : "0"), "number"],
        ],
        item.namespaces.slice(0, most),
      ),
      item.namespaces.length > most &&
        h("button", { type: "button", class: "button", onclick: () => draw(50) }, `Show ${item.namespaces.length - most} more`),
    );
  draw(8);
  return h(
    "section",
    { class: "card budget", "aria-label": words(item.resource) },
    h(
      "header",
      {},
      h("h2", {}, words(item.resource)),
      h("p", {}, `${size(item.used)} of ${size(item.capacity)}`, h("span", { class: "quiet" }, ` (${percent(share)})`)),
    ),
    fill(share, `${percent(share)} used`),
    refused > 0 && h("p", { class: "note" }, `${plural(refused, "object")} held back: the namespace has used up its share.`),
    item.namespaces.length > 0 && rows,
  );
}

function severityCount(refused) {
  return h("span", { "data-tone": "error" }, count(refused));
}
