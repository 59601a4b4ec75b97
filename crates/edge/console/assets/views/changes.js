// Changes: what happened, and what each reload changed in the text of nginx.conf.

import { get } from "../lib/api.js";
import { h, put } from "../lib/dom.js";
import { brief, bytes, clock, count, day, duration, plural, when } from "../lib/format.js";
import { live } from "../lib/live.js";
import { amend, link } from "../lib/router.js";
import { diff } from "../parts/diff.js";
import { empty, load, skeleton } from "../parts/states.js";
import { EVENT_KINDS, status, tag } from "../parts/status.js";
import { choice, searchField, tabs } from "../parts/toolbar.js";
import { eventRow } from "./events.js";

/** Events that are shown at once. */
const SHOWN = 60;

export const title = "Changes";

/** Fills the view. */
export function show(context) {
  const { tab } = context.route.query;
  context.root.append(
    h(
      "header",
      { class: "head" },
      h("h1", { tabindex: "-1" }, title),
      tabs(
        "Changes",
        [
          [link("changes"), "Timeline"],
          [link("changes", { tab: "revisions" }), "Revisions"],
        ],
        link("changes", { tab }),
      ),
    ),
  );
  (tab === "revisions" ? revisions : timeline)(context);
}

function timeline({ root, route, signal }) {
  const wanted = { q: route.query.q ?? "", kind: route.query.kind ?? "" };
  let shown = SHOWN;
  const total = h("output", { class: "total", "aria-live": "polite" });
  const list = h("ol", { class: "timeline" });
  const more = h("div", {});
  const draw = () => {
    const text = wanted.q.toLowerCase();
    const fits = (event) =>
      (!wanted.kind || event.kind === wanted.kind) &&
      (!text || [event.text, ...(event.objects ?? []), ...(event.reasons ?? [])].some((part) => part.toLowerCase().includes(text)));
    const found = live.events.filter(fits).reverse();
    total.textContent = plural(found.length, "event");
    put(list, byDay(found.slice(0, shown)));
    if (!found.length)
      put(
        list,
        h(
          "li",
          {},
          live.events.length
            ? empty("No event matches", "The controller keeps the last 1,000.")
            : empty("Quiet", "Nothing has happened since the controller started.", "ok"),
        ),
      );
    put(
      more,
      found.length > shown &&
        h(
          "button",
          {
            type: "button",
            class: "button",
            onclick: () => {
              shown += SHOWN * 2;
              draw();
            },
          },
          `Show more of ${count(found.length)}`,
        ),
    );
  };
  const set = (name) => (value) => {
    wanted[name] = value;
    shown = SHOWN;
    amend({ [name]: value });
    draw();
  };
  root.append(
    h(
      "div",
      { class: "toolbar", role: "search" },
      searchField("Search events", wanted.q, set("q")),
      choice("Kind", [["", "All kinds"], ...EVENT_KINDS], wanted.kind, set("kind")),
      total,
    ),
    list,
    more,
  );
  live.addEventListener("events", draw, { signal });
  if (live.connection === "connecting") put(list, h("li", {}, skeleton(6)));
  else draw();
}

/** Rows with a head for each day. */
function byDay(events) {
  let last = null;
  return events.flatMap((event) => {
    const date = day(event.at);
    const head = date !== last && h("li", { class: "timeline-day" }, h("h2", {}, date));
    last = date;
    return [head, eventRow(event, { exact: true })];
  });
}

function revisions({ root, route, signal }) {
  const body = h("div", {});
  root.append(body);
  const ask = () =>
    load(
      body,
      () => get("revisions", { limit: 200 }, signal),
      ({ items }) => (items.length ? compare(items, route.query, signal) : empty("No revision yet", "NGINX was not started yet.")),
      signal,
    );
  ask();
  live.addEventListener(
    "events",
    ({ fresh, past }) => {
      if (!past && fresh.some(({ kind }) => ["reload", "reload-failed", "nginx-started"].includes(kind))) ask();
    },
    { signal },
  );
}

function compare(items, query, signal) {
  const kept = items.filter((item) => item.revision && item.bytes !== undefined && item.bytes !== null);
  const panel = h("div", { class: "diff-panel", "aria-live": "polite" });
  const rows = new Map();
  const name = (item) => `${brief(item.revision)}, ${clock(item.at)}${item.running ? " (running)" : ""}`;
  const select = (label, value) =>
    choice(
      label,
      kept.map((item) => [item.revision, name(item)]),
      value,
      () => draw(),
    );
  const to = kept.find((item) => item.revision === query.to) ?? kept[0];
  const from = select("From", query.from ?? kept[kept.indexOf(to) + 1]?.revision ?? to?.revision);
  const until = select("To", to?.revision);
  const value = (element) => element.querySelector("select").value;
  const draw = () => {
    const [a, b] = [value(from), value(until)];
    for (const [revision, row] of rows) row.toggleAttribute("data-picked", revision === b);
    if (!a || !b) return put(panel, empty("One revision", "There is nothing yet to compare it with."));
    put(panel);
    return load(
      panel,
      () => get("revisions/diff", { from: a, to: b }, signal),
      (answer) => (answer.diff ? diff(answer.diff) : empty("The same text", "Both revisions have the same nginx.conf.", "ok")),
      signal,
    );
  };
  const pick = (item) => {
    const at = kept.indexOf(item);
    until.querySelector("select").value = item.revision;
    from.querySelector("select").value = (kept[at + 1] ?? item).revision;
    amend({ from: value(from), to: value(until) });
    draw();
  };
  const list = h(
    "ol",
    { class: "revisions" },
    items.map((item) => {
      const row = revisionRow(item, kept.includes(item) && pick);
      if (item.revision && !rows.has(item.revision)) rows.set(item.revision, row);
      return row;
    }),
  );
  for (const element of [from, until]) element.addEventListener("change", () => amend({ from: value(from), to: value(until) }));
  draw();
  return h(
    "div",
    { class: "compare" },
    list,
    h(
      "section",
      { class: "compare-diff", "aria-label": "Difference" },
      h(
        "header",
        {},
        h("h2", {}, "What changed"),
        kept.length > 0 && h("div", { class: "compare-pick" }, from, h("span", { "aria-hidden": "true" }, "→"), until),
      ),
      panel,
    ),
  );
}

function revisionRow(item, pick) {
  const what = item.kind === "start" ? "Start" : "Reload";
  const head = h(
    "span",
    { class: "revision-head" },
    item.ok ? status("ok", what) : status("error", `${what} failed`),
    item.running && tag("Running", "live"),
    h("code", {}, brief(item.revision)),
  );
  return h(
    "li",
    { class: "revision" },
    pick ? h("button", { type: "button", onclick: () => pick(item) }, head) : head,
    h("p", { class: "revision-why" }, (item.reasons ?? []).join("; ") || "No reason recorded"),
    item.message && h("p", { class: "note" }, item.message),
    h(
      "p",
      { class: "quiet" },
      when(item.at),
      ` · ${duration(item.seconds)}`,
      item.bytes ? ` · ${bytes(item.bytes)}` : " · text not kept",
      item.namespaces?.length > 0 && ` · ${item.namespaces.slice(0, 3).join(", ")}${item.namespaces.length > 3 ? "…" : ""}`,
    ),
  );
}
