// Certificates: those that expire next first.

import { get, ApiError } from "../lib/api.js";
import { h } from "../lib/dom.js";
import { brief, count, counted, day } from "../lib/format.js";
import { here, link } from "../lib/router.js";
import { facts } from "../parts/figures.js";
import { List } from "../parts/list.js";
import { problemCards } from "../parts/page.js";
import { split } from "../parts/split.js";
import { empty } from "../parts/states.js";
import { status, validity } from "../parts/status.js";
import { namespaceField, toolbar } from "../parts/toolbar.js";
import { hostName } from "./hosts.js";

/** Names that are shown of one certificate. */
const SHOWN = 100;

export const title = "Certificates";
export const full = true;

/** Fills the view. */
export function show({ root, route, signal }) {
  const bar = toolbar({
    search: "Search names and Secrets",
    one: "certificate",
    query: route.query,
    filters: { namespace: namespaceField },
    ask:
      ({ q, namespace }) =>
      (offset, limit, ending) =>
        get("certificates", { q, namespace, offset, limit }, ending),
  });
  const list = new List({
    label: title,
    kind: "certificates",
    key: (certificate) => certificate.digest,
    ask: bar.ask,
    counted: bar.counted,
    href: (certificate) => {
      const { query } = here();
      return link("certificates", { ...query, item: certificate.digest });
    },
    none: () => empty("No certificates match", "Certificates come from the Secrets that Ingresses name in spec.tls."),
    columns: [
      { title: "Secret", class: "main", cell: (certificate) => certificate.secret ?? "Generated" },
      { title: "Validity", class: "state", cell: (certificate) => validity(certificate.days_left) },
      { title: "Names", class: "second", cell: (certificate) => (certificate.names ?? []).join(", ") || "–" },
      { title: "Expires", class: "wide", cell: (certificate) => day(certificate.not_after) },
      { title: "Issuer", class: "wide", cell: (certificate) => certificate.issuer || "–" },
      { title: "Hosts", class: "number", cell: (certificate) => counted(certificate.hosts_total, "host") },
    ],
  });
  bar.attach(list);
  const find = async (digest) => {
    const { items } = await get("certificates", { q: digest, limit: 10 }, signal);
    const found = items.find((item) => item.digest === digest) ?? (await scan(digest, signal));
    if (!found) throw new ApiError(404, "No host uses this certificate any more.");
    return found;
  };
  root.append(
    h("header", { class: "head" }, h("h1", { tabindex: "-1" }, title)),
    bar.element,
    split({ list, name: "Certificate", find, draw, signal }),
  );
  signal.addEventListener("abort", () => list.end());
}

async function scan(digest, signal) {
  for (let offset = 0; ; offset += 1000) {
    const { total, items } = await get("certificates", { offset, limit: 1000 }, signal);
    const found = items.find((item) => item.digest === digest);
    if (found || offset + 1000 >= total) return found;
  }
}

function draw(certificate) {
  const { names = [], hosts = [] } = certificate;
  return h(
    "div",
    { class: "card plain" },
    h("p", { class: "card-head" }, validity(certificate.days_left)),
    h("h3", {}, certificate.secret ?? "Generated certificate"),
    life(certificate),
    facts(
      [
        ["Issuer", certificate.issuer || "–"],
        ["Key", certificate.key || "–"],
        ["Serial", h("code", {}, certificate.serial)],
        ["Digest", h("code", {}, brief(certificate.digest))],
        ["OCSP", certificate.stapled ? status("ok", "Stapled") : "Not stapled"],
      ],
      { "data-stacked": true },
    ),
    h("h4", {}, `Names (${count(names.length)})`),
    h(
      "ul",
      { class: "names" },
      names.slice(0, SHOWN).map((name) => h("li", {}, h("code", {}, name))),
    ),
    h("h4", {}, `Used by (${count(certificate.hosts_total)})`),
    h(
      "ul",
      { class: "links" },
      hosts.map((host) => h("li", {}, h("a", { href: link(["hosts", host]) }, hostName(host)))),
      certificate.hosts_total > hosts.length &&
        h("li", {}, h("a", { href: link("hosts") }, `and ${count(certificate.hosts_total - hosts.length)} more`)),
    ),
    certificate.problems?.length > 0 && problemCards(certificate.problems),
  );
}

/** The part of its life that is over. */
function life({ not_before: from, not_after: until }) {
  const share = Math.max(0, Math.min(1, (Date.now() / 1000 - from) / (until - from)));
  return h(
    "div",
    { class: "life" },
    h(
      "span",
      { class: "life-bar", role: "img", "aria-label": `${Math.round(share * 100)}% of its life is over` },
      h("span", { style: { "inline-size": `${share * 100}%` } }),
    ),
    h("p", {}, h("span", {}, day(from)), h("span", {}, day(until))),
  );
}
