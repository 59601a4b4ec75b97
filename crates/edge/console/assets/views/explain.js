// Explain: a request, and the way that it takes through the rules.

import { get } from "../lib/api.js";
import { h, put } from "../lib/dom.js";
import { count } from "../lib/format.js";
import { amend } from "../lib/router.js";
import { table } from "../parts/figures.js";
import { icon } from "../parts/icon.js";
import { empty, failure, skeleton } from "../parts/states.js";
import { status } from "../parts/status.js";
import { steps } from "./decision.js";

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
/** Rules that lose and are shown at once. */
const SHOWN = 20;

export const title = "Explain";

/** Fills the view. */
export function show({ root, route, signal }) {
  const { query } = route;
  const url = field(
    "input",
    {
      type: "text",
      inputmode: "url",
      placeholder: "https://shop.example.com/cart?id=7",
      required: true,
      autocomplete: "off",
      spellcheck: "false",
      "data-search": true,
    },
    query.url,
  );
  const method = h(
    "select",
    {},
    METHODS.map((name) => h("option", {}, name)),
  );
  if (query.method && !METHODS.includes(query.method)) method.append(h("option", {}, query.method));
  method.value = query.method ?? "GET";
  const client = field("input", { type: "text", placeholder: "203.0.113.7", autocomplete: "off" }, query.client);
  const headers = field("textarea", { rows: 3, placeholder: "X-Canary: always\nCookie: session=1", spellcheck: "false" }, query.headers);
  const result = h("div", { class: "decision", "aria-live": "polite" });
  const run = async () => {
    const asked = { url: withScheme(url.value.trim()), method: method.value, client: client.value.trim(), headers: headers.value.trim() };
    amend({ ...asked, method: asked.method === "GET" ? "" : asked.method });
    put(result, skeleton(6));
    try {
      const lines = asked.headers
        .split("\n")
        .map((line) => line.trim())
        .filter(Boolean);
      const decision = await get("request", { url: asked.url, method: asked.method, client: asked.client, header: lines }, signal);
      put(result, draw(decision, asked));
    } catch (error) {
      if (error.name === "AbortError") return;
      put(result, error.status === 400 ? empty("No request", error.message, "warning") : failure(error, run));
    }
  };
  const form = h(
    "form",
    {
      class: "ask",
      onsubmit: (event) => {
        event.preventDefault();
        run();
      },
    },
    h(
      "div",
      { class: "ask-line" },
      labelled("Method", method),
      labelled("URL", url, "grow"),
      h("button", { type: "submit", class: "button primary" }, icon("explain"), "Explain"),
    ),
    h(
      "details",
      { class: "ask-more", open: Boolean(query.headers || query.client) },
      h("summary", {}, icon("next"), "Headers and client"),
      h("div", { class: "ask-line" }, labelled("Headers, one in a line", headers, "grow"), labelled("Address of the client", client)),
    ),
  );
  put(
    result,
    empty(
      "What serves a request?",
      "Enter a URL. The answer is computed from the rules that NGINX has now; no request is sent.",
      "explain",
    ),
  );
  root.append(h("header", { class: "head" }, h("h1", { tabindex: "-1" }, title)), form, result);
  if (query.url) run();
}

function field(name, attributes, value) {
  const element = h(name, attributes);
  element.value = value ?? "";
  return element;
}

function labelled(text, element, kind) {
  return h("label", { class: "labelled", "data-kind": kind }, h("span", {}, text), element);
}

function withScheme(url) {
  return url && !/^[a-z]+:\/\//i.test(url) ? `http://${url}` : url;
}

function draw(decision, asked) {
  return [
    verdict(decision.outcome),
    h("ol", { class: "steps", "aria-label": "The way of the request" }, steps(decision, asked).map(step)),
    decision.conditions?.length > 0 &&
      part(
        "Unless",
        table(
          "Conditions",
          [
            ["If", (row) => row.when],
            ["Then", (row) => row.then],
          ],
          decision.conditions,
        ),
      ),
    decision.others?.length > 0 && part(`Rules that match and are not used (${count(decision.others.length)})`, others(decision.others)),
    h("p", { class: "command" }, h("span", { class: "quiet" }, "On the command line"), h("code", {}, command(asked))),
  ];
}

function part(name, ...content) {
  return h("section", { class: "section", "aria-label": name }, h("h2", {}, name), content);
}

function verdict(outcome) {
  if (outcome.kind === "proxy") {
    const [first] = outcome.backends;
    const many = outcome.backends.length > 1;
    return h(
      "p",
      { class: "verdict" },
      status("ok", "Proxied"),
      h(
        "strong",
        {},
        many ? `${outcome.backends.length} backends share it` : first.backend === "-" ? "the default backend" : first.backend,
      ),
    );
  }
  const tone = outcome.status < 400 ? "info" : outcome.status < 500 ? "warning" : "error";
  return h("p", { class: "verdict" }, status(tone, `Answered ${outcome.status}`), h("strong", {}, outcome.because));
}

function step({ name, value, why, tone, detail, left }) {
  return h(
    "li",
    { class: "step", "data-tone": tone },
    h(
      "div",
      { class: "step-main" },
      h("p", { class: "step-name" }, name),
      h("p", { class: "step-value" }, value),
      why && h("p", { class: "step-why" }, why),
      detail,
    ),
    left?.length > 0 &&
      h(
        "ul",
        { class: "step-left", "aria-label": "Not taken" },
        left.map((text) => h("li", {}, icon("off"), text)),
      ),
  );
}

function others(rules) {
  const list = h("div", {});
  const draw = (most) =>
    put(
      list,
      table(
        "Rules that match and are not used",
        [
          ["Ingress", (row) => h("code", {}, row.ingress)],
          ["Rule", (row) => h("code", {}, `${row.host === "_" ? "*" : row.host}${row.path}`)],
          ["Not used because", (row) => row.because],
        ],
        rules.slice(0, most),
      ),
      rules.length > most &&
        h("button", { type: "button", class: "button", onclick: () => draw(rules.length) }, `Show all ${count(rules.length)}`),
    );
  draw(SHOWN);
  return list;
}

function quoted(text) {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

function command({ url, method, client, headers }) {
  const parts = ["narthex explain request"];
  if (method !== "GET") parts.push(`-X ${quoted(method)}`);
  for (const line of headers
    .split("\n")
    .map((text) => text.trim())
    .filter(Boolean))
    parts.push(`-H ${quoted(line)}`);
  if (client) parts.push(`--client ${quoted(client)}`);
  return [...parts, quoted(url)].join(" ");
}
