// A decision (`crates/core/decision`) as steps, in the order of NGINX's phases.

import { h } from "../lib/dom.js";
import { count, percent, sentence } from "../lib/format.js";
import { link } from "../lib/router.js";
import { meter } from "../parts/figures.js";

const HOST_BY = {
  name: () => "Rules have this host.",
  alias: () => "server-alias of these rules is this name.",
  alias_suffix: (suffix) => `server-alias of these rules is *${suffix}.`,
  wildcard: () => "The wildcard one label above has rules; the host itself has none.",
  alias_regex: (regex) => `server-alias of these rules is ~${regex}.`,
  catch_all: () => "No rule has the host.",
};

const PATH_BY = {
  exact: () => "The path as a whole.",
  regex: (text) => `The first regular expression that matches, ${text}: longer ones are tried first.`,
  missing_slash: () => "But for the slash at its end.",
  prefix: (text) => `The longest prefix, ${text}.`,
  default: () => "No rule matches: the default backend.",
};

/** The steps: `{name, value, why, tone, detail, left}`, where `left` are candidates that were not taken. */
export function steps(decision, asked) {
  const { rules, location, outcome } = decision;
  return [
    { name: "Request", value: h("code", {}, `${asked.method} ${decision.host}${decision.path}`), why: changed(decision, asked) },
    decision.certificate && { name: "Certificate", value: certificateOf(decision.certificate) },
    {
      name: "Host",
      value: rules.name === "_" ? "Any other host" : h("a", { href: link(["hosts", rules.name]) }, rules.name),
      why: HOST_BY[rules.by.kind]?.(rules.by.alias),
      left: (rules.instead_of ?? []).map((name) => `${name === "_" ? "Any other host" : name}: less specific`),
    },
    location && {
      name: "Path",
      value: h("code", {}, location.path),
      why: PATH_BY[location.by.kind]?.(location.by.text),
      left: sameHost(decision),
    },
    location && {
      name: "Ingress",
      value: location.ingress ? h("a", { href: link(["ingresses", location.ingress]) }, location.ingress) : "None",
      tone: location.ingress ? undefined : "warning",
    },
    ...(outcome.kind === "proxy" ? proxied(outcome) : answered(outcome)),
  ].filter(Boolean);
}

function changed(decision, asked) {
  const path = asked.url.replace(/^[a-z]+:\/\/[^/?#]*/i, "").split(/[?#]/)[0] || "/";
  return path === decision.path ? null : `Compared as ${decision.path}: decoded, dot segments resolved, slashes merged.`;
}

function certificateOf({ name, id }) {
  const text = name === "_" ? "The default certificate" : name;
  return id ? h("a", { href: link("certificates", { item: id }) }, text) : text;
}

function sameHost({ others, rules }) {
  const here = (others ?? []).filter((other) => other.host === rules.name);
  const shown = here.slice(0, 3).map((other) => `${other.path} of ${other.ingress}: ${other.because}`);
  return here.length > 3 ? [...shown, `and ${count(here.length - 3)} more, below`] : shown;
}

function answered(outcome) {
  return [
    {
      name: "Answer",
      tone: outcome.status < 400 ? "ok" : outcome.status < 500 ? "warning" : "error",
      value: h("strong", {}, `${outcome.status}`, outcome.location && [" to ", h("code", {}, outcome.location)]),
      why: `NGINX answers itself: ${outcome.because}.`,
      detail: outcome.page && h("p", {}, "The page is that of ", h("code", {}, outcome.page), " (custom-http-errors)."),
    },
  ];
}

function proxied({ backends, target, headers }) {
  return [
    ...backends.map((backend) => ({
      name: backends.length > 1 ? `Backend, ${percent(backend.percent / 100)}` : "Backend",
      tone: backend.endpoints.length ? "ok" : "error",
      value: backend.backend === "-" ? "The default backend" : h("a", { href: link(["backends", backend.backend]) }, backend.backend),
      why: `${sentence(backend.because)} Endpoint: ${backend.choice}.`,
      detail: endpoints(backend),
    })),
    {
      name: "The backend gets",
      value: h("code", {}, target),
      detail:
        headers.length > 0 &&
        h(
          "dl",
          { class: "headers" },
          headers.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
        ),
    },
  ];
}

const MOST = 12;

function endpoints({ endpoints: all }) {
  return h(
    "ul",
    { class: "endpoints" },
    all
      .slice(0, MOST)
      .map((endpoint) =>
        h(
          "li",
          {},
          h("code", {}, endpoint.address),
          typeof endpoint.percent === "number" && [
            meter(endpoint.percent / 100, `${percent(endpoint.percent / 100)} of the backend's requests`, "live"),
            h("span", { class: "bar-value", "aria-hidden": "true" }, percent(endpoint.percent / 100)),
          ],
        ),
      ),
    all.length > MOST && h("li", { class: "quiet" }, `and ${count(all.length - MOST)} more`),
  );
}
