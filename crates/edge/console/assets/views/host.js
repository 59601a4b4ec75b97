// One host: its paths, where each leads, and the settings in effect with where they come from.

import { get } from "../lib/api.js";
import { h, put } from "../lib/dom.js";
import { brief, count, day, plural, when } from "../lib/format.js";
import { link } from "../lib/router.js";
import { facts, table } from "../parts/figures.js";
import { icon } from "../parts/icon.js";
import { page, problemCards, section, trafficFacts } from "../parts/page.js";
import { empty, load } from "../parts/states.js";
import { status, tag, validity } from "../parts/status.js";
import { choices, endpointTable } from "./backend.js";
import { backendName, hostName } from "./hosts.js";
import { origin } from "./settings.js";

/** Paths that are shown at once. */
const SHOWN = 50;

export const title = ({ rest }) => rest[0];
export const section_of = "hosts";

/** Fills the view. */
export function show({ root, route, signal }) {
  const host = route.rest[0];
  page({
    root,
    back: [link("hosts"), "Hosts"],
    name: hostName(host),
    signal,
    ask: () => get(`hosts/${encodeURIComponent(host)}`, {}, signal),
    draw: (detail) => draw(detail, route.query, signal),
  });
}

function draw(detail, query, signal) {
  const states = [
    detail.held ? status("waiting", "Newest routes wait for a reload") : status("ok", "Served"),
    detail.problems?.length > 0 && status("warning", plural(detail.problems.length, "problem")),
    detail.passthrough && tag("TLS passed through"),
    tag(detail.server === "shared" ? "Shared server" : "Server of its own"),
  ];
  const content = [
    trafficFacts(detail.traffic),
    facts([
      ["Certificate", certificate(detail)],
      detail.aliases?.length > 0 && ["Aliases", detail.aliases.join(", ")],
      detail.redirect_to && ["Redirected to", h("a", { href: link(["hosts", detail.redirect_to]) }, detail.redirect_to)],
      [
        "Try it",
        h(
          "a",
          {
            href: link("explain", {
              url: `${detail.certificate ? "https" : "http"}://${detail.host === "_" ? "example.org" : detail.host.replace("*", "any")}/`,
            }),
          },
          "Explain a request",
        ),
      ],
    ]),
    section(`Paths (${count(detail.paths_total ?? detail.paths.length)})`, paths(detail, query, signal)),
    detail.problems?.length > 0 && section("Problems", problemCards(detail.problems)),
  ];
  return { states, content };
}

function certificate({ certificate: own }) {
  if (!own) return "The default one";
  return [
    h("a", { href: link("certificates", { item: own.digest }) }, own.secret ?? brief(own.digest)),
    " ",
    validity(own.days_left),
    h("span", { class: "quiet" }, ` until ${day(own.not_after)}`),
  ];
}

function paths(detail, query, signal) {
  if (!detail.paths.length) return empty("No paths", "The host has a certificate or an alias, but no rule.");
  const list = h("ul", { class: "paths" });
  const more = h("div", {});
  const grow = (from) => {
    const part = detail.paths.slice(from, from + SHOWN);
    list.append(...part.map((path) => pathRow(path, detail, query, signal)));
    const rest = detail.paths.length - from - part.length;
    put(
      more,
      rest > 0 &&
        h(
          "button",
          { type: "button", class: "button", onclick: () => grow(from + SHOWN) },
          `Show ${Math.min(SHOWN, rest)} of ${count(rest)} more`,
        ),
    );
  };
  grow(0);
  return [h("p", { class: "quiet" }, "In the order in which NGINX tries them."), list, more];
}

function pathRow(path, detail, query, signal) {
  const body = h("div", { class: "path-body" });
  const open = () => {
    if (body.childElementCount || !row.open) return;
    put(body, pathDetail(path, detail, signal));
  };
  const backend = path.backend ?? "-";
  const row = h(
    "details",
    { class: "path", ontoggle: open, open: query.path === path.path },
    h(
      "summary",
      {},
      icon("next"),
      h("span", { class: "path-match" }, tag(path.type), h("code", {}, path.path)),
      h(
        "span",
        { class: "path-to" },
        backendName(backend),
        path.canary?.length > 0 && tag(`+ ${plural(path.canary.length, "canary", "canaries")}`),
      ),
      path.problems > 0 ? status("warning", count(path.problems)) : null,
    ),
    body,
  );
  return h("li", {}, row);
}

function pathDetail(path, detail, signal) {
  const endpoints = h("div", {});
  if (path.backend)
    load(
      endpoints,
      () => get(`backends/${encodeURIComponent(path.backend)}`, {}, signal),
      (answer) => endpointTable(answer),
      signal,
    );
  const settings = path.settings ?? detail.settings?.[path.ingress] ?? [];
  return [
    facts([
      ["Ingress", path.ingress ? h("a", { href: link(["ingresses", path.ingress]) }, path.ingress) : "None"],
      path.created && ["Created", when(path.created)],
      ["Backend", path.backend ? h("a", { href: link(["backends", path.backend]) }, path.backend) : "The default one"],
      ["Profile", path.profile ? h("code", {}, path.profile) : "The base profile"],
    ]),
    path.canary?.length > 0 && choices(path.canary),
    path.backend && [h("h3", {}, "Endpoints"), endpoints],
    h("h3", {}, "Settings in effect"),
    settingTable(settings),
  ];
}

/** The settings with a value of their own; the defaults on demand. */
function settingTable(settings) {
  const box = h("div", {});
  const written = settings.filter((row) => row.from !== "default");
  const draw = (rows) => {
    const rest = settings.length - rows.length;
    put(
      box,
      rows.length
        ? table(
            "Settings in effect",
            [
              ["Setting", (row) => h("code", { class: "name" }, row.name)],
              ["Value", (row) => h("code", { class: "value" }, row.value || "–")],
              ["From", (row) => origin(row.from, row.object)],
            ],
            rows,
          )
        : h("p", { class: "quiet" }, "Every setting has its default."),
      rest > 0 && h("button", { type: "button", class: "button small", onclick: () => draw(settings) }, `Show ${plural(rest, "default")}`),
    );
  };
  draw(written);
  return box;
}
