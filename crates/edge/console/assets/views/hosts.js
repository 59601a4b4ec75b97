// Hosts, Ingresses and backends as lists.

import { get } from "../lib/api.js";
import { h } from "../lib/dom.js";
import { count, counted, duration, percent, rate, title as words, when } from "../lib/format.js";
import { link } from "../lib/router.js";
import { List } from "../parts/list.js";
import { empty } from "../parts/states.js";
import { INGRESS_STATES, ingressState, status } from "../parts/status.js";
import { choice, namespaceField, tabs, toolbar } from "../parts/toolbar.js";

/** Traffic changes all the time: what is in sight is asked for again so often. */
const REFRESH = 5000;

const TRAFFIC = [
  { title: "Requests", class: "number wide", cell: ({ traffic }) => rate(traffic?.rate) },
  { title: "Errors", class: "number wide", cell: ({ traffic }) => errors(traffic) },
  { title: "p99", class: "number wide", cell: ({ traffic }) => duration(traffic?.p99) },
];

function errors(traffic) {
  if (!traffic) return "–";
  return traffic.errors >= 0.01 ? status("error", percent(traffic.errors)) : percent(traffic.errors);
}

/** The name of a host; `_` has all that have no rules. */
export function hostName(host) {
  return host === "_" ? [h("span", {}, "Any other host"), " ", h("code", { class: "quiet" }, "_")] : host;
}

/** The name of a backend; `-` is the default one. */
export function backendName(name) {
  return name === "-" ? "Default backend" : name;
}

function hostState(host) {
  if (host.held) return status("waiting", "Held");
  if (host.problems) return status("warning", count(host.problems));
  return status("ok", "Served");
}

const LISTS = {
  hosts: {
    title: "Hosts",
    search: "Search hosts",
    one: "host",
    columns: [
      { title: "Host", class: "main", cell: (host) => hostName(host.host) },
      { title: "State", class: "state", cell: hostState },
      { title: "Namespace", class: "second", cell: (host) => (host.namespaces ?? []).join(", ") || "–" },
      { title: "Paths", class: "number", cell: (host) => counted(host.paths, "path") },
      {
        title: "TLS",
        class: "wide",
        cell: (host) => (host.passthrough ? "Passed through" : host.certificate ? "Own certificate" : "Default"),
      },
      ...TRAFFIC,
    ],
    key: (host) => host.host,
  },
  ingresses: {
    title: "Ingresses",
    search: "Search Ingresses",
    one: "Ingress",
    many: "Ingresses",
    filters: {
      state: (value, changed) =>
        choice("State", [["", "All states"], ...INGRESS_STATES.map((state) => [state, words(state)])], value, changed),
    },
    columns: [
      { title: "Ingress", class: "main", cell: (ingress) => ingress.name },
      { title: "State", class: "state", cell: (ingress) => ingressState(ingress.state) },
      { title: "Namespace", class: "second", cell: (ingress) => ingress.namespace },
      { title: "Hosts", class: "wide", cell: (ingress) => (ingress.hosts ?? []).join(", ") || "–" },
      { title: "Paths", class: "number", cell: (ingress) => counted(ingress.paths, "path") },
      { title: "Problems", class: "number wide", cell: (ingress) => count(ingress.problems) },
      { title: "Age", class: "number wide", cell: (ingress) => when(ingress.created) },
    ],
    key: (ingress) => `${ingress.namespace}/${ingress.name}`,
  },
  backends: {
    title: "Backends",
    search: "Search backends",
    one: "backend",
    columns: [
      { title: "Backend", class: "main", cell: (backend) => backendName(backend.name) },
      { title: "State", class: "state", cell: (backend) => (backend.endpoints ? status("ok", "Ready") : status("error", "No endpoint")) },
      { title: "Balancing", class: "second", cell: (backend) => words(backend.balancing ?? "") },
      { title: "Endpoints", class: "number", cell: (backend) => counted(backend.endpoints, "endpoint") },
      { title: "Paths", class: "number wide", cell: (backend) => count(backend.used_by_paths) },
      ...TRAFFIC,
    ],
    key: (backend) => backend.name,
  },
};

/** The tabs of the three lists. */
function listTabs(present) {
  return tabs(
    "Lists",
    Object.entries(LISTS).map(([name, { title }]) => [link(name), title]),
    link(present),
  );
}

function view(name) {
  const { title, search, one, many, filters, columns, key } = LISTS[name];
  return {
    title,
    full: true,
    show({ root, route, signal }) {
      const bar = toolbar({
        search,
        one,
        many,
        query: route.query,
        filters: { namespace: namespaceField, ...filters },
        ask: (query) => (offset, limit, ending) => get(name, { ...query, offset, limit }, ending),
      });
      const list = new List({
        label: title,
        kind: name,
        columns,
        key,
        ask: bar.ask,
        counted: bar.counted,
        href: (item) => link([name, key(item)]),
        none: () => empty(`No ${many ?? `${one}s`} match`, "Try a shorter search, or another namespace."),
      });
      bar.attach(list);
      root.append(h("header", { class: "head" }, h("h1", { tabindex: "-1" }, title), listTabs(name)), bar.element, list.element);
      const timer = setInterval(() => document.hidden || list.refresh(), REFRESH);
      signal.addEventListener("abort", () => {
        clearInterval(timer);
        list.end();
      });
    },
  };
}

export const hosts = view("hosts");
export const ingresses = view("ingresses");
export const backends = view("backends");
