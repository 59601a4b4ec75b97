// One Ingress: what of it is served, and why not all.

import { get, ApiError } from "../lib/api.js";
import { h } from "../lib/dom.js";
import { count, plural, when } from "../lib/format.js";
import { link } from "../lib/router.js";
import { facts } from "../parts/figures.js";
import { page, problemCards, section } from "../parts/page.js";
import { ingressState, status } from "../parts/status.js";
import { hostName } from "./hosts.js";

export const title = ({ rest }) => rest[0];
export const section_of = "hosts";

/** Fills the view. */
export function show({ root, route, signal }) {
  page({ root, back: [link("ingresses"), "Ingresses"], name: route.rest[0], signal, ask: () => ask(route.rest[0], signal), draw });
}

async function ask(key, signal) {
  const [namespace, name] = key.split("/");
  const [ingresses, problems] = await Promise.all([
    get("ingresses", { namespace, q: name, limit: 1000 }, signal),
    get("problems", { namespace, q: name, limit: 1000 }, signal),
  ]);
  const ingress = ingresses.items.find((item) => item.namespace === namespace && item.name === name);
  if (!ingress) throw new ApiError(404, `There is no Ingress ${key} in the namespaces that the controller watches.`);
  return { ingress, problems: problems.items.filter((problem) => problem.object === `Ingress ${key}`) };
}

function draw({ ingress, problems }) {
  const hosts = ingress.hosts ?? [];
  const states = [ingressState(ingress.state), problems.length > 0 && status("warning", plural(problems.length, "problem"))];
  const content = [
    ingress.reason && h("p", { class: "note" }, ingress.reason),
    facts([
      ["Class", ingress.class ?? "None"],
      ["Paths", count(ingress.paths)],
      ["Created", when(ingress.created)],
      ["TLS Secrets", (ingress.tls ?? []).join(", ") || "None"],
    ]),
    section(
      `Hosts (${count(hosts.length)})`,
      h(
        "ul",
        { class: "links" },
        hosts.slice(0, 200).map((host) => h("li", {}, h("a", { href: link(["hosts", host]) }, hostName(host)))),
      ),
      hosts.length > 200 && h("p", { class: "quiet" }, `and ${count(hosts.length - 200)} more`),
    ),
    problems.length > 0 && section("Problems", problemCards(problems)),
  ];
  return { states, content };
}
