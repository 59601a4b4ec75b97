// One backend: its endpoints with the share of the requests that each gets.

import { get } from "../lib/api.js";
import { h } from "../lib/dom.js";
import { count, percent, plural, title as words } from "../lib/format.js";
import { link } from "../lib/router.js";
import { facts, meter, table } from "../parts/figures.js";
import { page, problemCards, section, trafficFacts } from "../parts/page.js";
import { empty } from "../parts/states.js";
import { status } from "../parts/status.js";
import { backendName } from "./hosts.js";

export const title = ({ rest }) => backendName(rest[0]);
export const section_of = "hosts";

/** Fills the view. */
export function show({ root, route, signal }) {
  const name = route.rest[0];
  page({
    root,
    back: [link("backends"), "Backends"],
    name: backendName(name),
    signal,
    ask: () => get(`backends/${encodeURIComponent(name)}`, {}, signal),
    draw,
  });
}

function draw(detail) {
  const backend = detail.backend ?? detail;
  const there = detail.endpoints.length;
  const users = backend.ingresses ?? [];
  const states = [there ? status("ok", plural(there, "endpoint")) : status("error", "No endpoint: requests get 503")];
  const content = [
    trafficFacts(backend.traffic),
    facts([
      backend.service && ["Service", `${backend.namespace}/${backend.service}`],
      backend.port && ["Port", backend.port],
      ["Balancing", words(backend.balancing ?? "")],
      ["Used by", plural(backend.used_by_paths ?? 0, "path")],
    ]),
    section("Endpoints", endpointTable(detail)),
    detail.choices?.length > 0 && section("Split", choices(detail.choices)),
    users.length > 0 &&
      section(
        `Ingresses (${count(users.length)}${users.length === 20 ? " or more" : ""})`,
        h(
          "ul",
          { class: "links" },
          users.map((name) => h("li", {}, h("a", { href: link(["ingresses", name]) }, name))),
        ),
      ),
    detail.problems?.length > 0 && section("Problems", problemCards(detail.problems)),
  ];
  return { states, content };
}

/** The endpoints of a backend with their weights. */
export function endpointTable({ endpoints }) {
  if (!endpoints.length) return empty("No endpoint", "Requests get 503 until a Pod behind the Service is ready.", "error");
  const largest = Math.max(...endpoints.map((endpoint) => endpoint.share ?? 0), 1e-9);
  return table(
    "Endpoints",
    [
      ["Address", (row) => h("code", {}, row.address.includes(":") ? `[${row.address}]:${row.port}` : `${row.address}:${row.port}`)],
      ["Weight", (row) => count(row.weight), "number"],
      [
        "Share of requests",
        (row) =>
          row.share === undefined || row.share === null
            ? h("span", { class: "quiet" }, "By measured times or a hash")
            : h(
                "span",
                { class: "share" },
                meter(row.share / largest, `${percent(row.share)} of the requests`, "live"),
                h("span", { class: "bar-value" }, percent(row.share)),
              ),
      ],
    ],
    endpoints,
  );
}

/** The backends that get a part of another one's requests. */
export function choices(list) {
  return [
    h("h3", {}, "Canary"),
    table(
      "Canary",
      [
        ["Backend", (row) => h("a", { href: link(["backends", row.backend]) }, row.backend)],
        ["By header", (row) => (row.header ? h("code", {}, row.header) : "–")],
        ["By cookie", (row) => (row.cookie ? h("code", {}, row.cookie) : "–")],
        ["Of the rest", (row) => percent(row.weight), "number"],
      ],
      list,
    ),
  ];
}
