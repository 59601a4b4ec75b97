// NGINX: the generations of its workers, the connections that they hold, and the shared dictionaries.

import { get } from "../lib/api.js";
import { h, put } from "../lib/dom.js";
import { brief, bytes, count, percent, plural, when } from "../lib/format.js";
import { live } from "../lib/live.js";
import { link } from "../lib/router.js";
import { facts, fill, meter, table } from "../parts/figures.js";
import { section } from "../parts/page.js";
import { empty, failure, skeleton } from "../parts/states.js";
import { status } from "../parts/status.js";

const REFRESH = 3000;

export const title = "NGINX";

/** Fills the view. */
export function show({ root, signal }) {
  const body = h("div", { class: "page" }, skeleton(6));
  root.append(h("header", { class: "head" }, h("h1", { tabindex: "-1" }, title)), body);
  let drawn = false;
  const ask = async () => {
    try {
      put(body, draw(await get("workers", {}, signal)));
      drawn = true;
    } catch (error) {
      if (error.name !== "AbortError" && (!drawn || error.status)) put(body, failure(error, ask));
    }
  };
  ask();
  if (!live.now) live.addEventListener("now", ask, { signal, once: true });
  const timer = setInterval(() => document.hidden || body.contains(document.activeElement) || ask(), REFRESH);
  signal.addEventListener("abort", () => clearInterval(timer));
}

function draw({ masters = [], workers = [], dictionaries = [] }) {
  const old = workers.filter((worker) => worker.generation === "old");
  const held = old.reduce((sum, worker) => sum + (worker.connections ?? 0), 0);
  return [
    facts([
      ["Version", live.now?.nginx ?? "–"],
      ["State", !live.now ? "–" : live.now.ready ? status("ok", "Serving") : status("error", "Not ready")],
      [
        "Master",
        masters.length ? masters.map((master) => h("span", {}, `${master.pid}, started `, when(master.start))) : status("error", "None"),
      ],
      ["Workers", `${count(workers.length - old.length)} current, ${count(old.length)} old`],
      ["Held by old workers", old.length ? plural(held, "connection") : "Nothing"],
    ]),
    section("Generations", workers.length ? generations(workers) : empty("No worker", "NGINX is not running.", "error")),
    section(
      "Workers",
      table(
        "Workers",
        [
          ["Process", (row) => h("code", {}, row.pid)],
          [
            "Generation",
            (row) => (row.generation === "old" ? status("waiting", row.closing ? "Old, closing" : "Old") : status("ok", "Current")),
          ],
          ["Revision", (row) => h("code", {}, brief(row.revision))],
          ["Connections", (row) => count(row.connections), "number"],
          ["Memory", (row) => bytes(row.resident_bytes), "number"],
          ["Started", (row) => when(row.start), "number"],
        ],
        workers,
      ),
    ),
    section(
      "Shared dictionaries",
      dictionaries.length
        ? table(
            "Shared dictionaries",
            [
              ["Name", (row) => h("code", {}, row.name)],
              [
                "Used",
                (row) =>
                  h(
                    "span",
                    { class: "share" },
                    fill(row.used, `${percent(row.used)} used`),
                    h("span", { class: "bar-value" }, percent(row.used)),
                  ),
              ],
              ["Free", (row) => bytes(row.free_bytes), "number"],
              ["Size", (row) => bytes(row.bytes), "number"],
            ],
            [...dictionaries].sort((a, b) => b.used - a.used),
          )
        : empty("Not known", "NGINX does not answer on its control socket."),
    ),
  ];
}

/** Workers by what they run, the newest first: what an old generation still holds is why it is there. */
function generations(workers) {
  const groups = new Map();
  for (const worker of workers) {
    const key = `${worker.generation}|${worker.revision ?? ""}`;
    groups.set(key, [...(groups.get(key) ?? []), worker]);
  }
  const connections = (group) => group.reduce((sum, worker) => sum + (worker.connections ?? 0), 0);
  const largest = Math.max(1, ...[...groups.values()].map(connections));
  return h(
    "ol",
    { class: "generations" },
    [...groups.values()].map((group) => {
      const [first] = group;
      const old = first.generation === "old";
      const number = connections(group);
      return h(
        "li",
        { class: "generation", "data-generation": first.generation },
        h(
          "div",
          { class: "generation-head" },
          old ? status("waiting", "Finishing its connections") : status("ok", "Takes connections"),
          h("a", { href: link("changes", { tab: "revisions", to: first.revision }) }, h("code", {}, brief(first.revision))),
        ),
        h(
          "div",
          { class: "generation-workers", "aria-hidden": "true" },
          group.map(() => h("span", { class: "worker" })),
        ),
        h(
          "p",
          {},
          `${plural(group.length, "worker")}, ${plural(number, "connection")}, since `,
          when(Math.min(...group.map((worker) => worker.start ?? Infinity))),
        ),
        meter(number / largest, plural(number, "connection"), old ? "warning" : "live"),
      );
    }),
  );
}
