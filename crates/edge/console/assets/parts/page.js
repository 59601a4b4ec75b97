// The head of a page about one thing, and sections below it.

import { h, put } from "../lib/dom.js";
import { bytes, count, duration, percent, rate, sentence, when } from "../lib/format.js";
import { facts } from "./figures.js";
import { icon } from "./icon.js";
import { objectLink } from "./object.js";
import { load } from "./states.js";
import { severity, tag } from "./status.js";

/**
 * A page about one thing: the way back, its name, and below what `draw(answer)` makes of the answer of `ask()`: `{states, content}`.
 * The head is there at once.
 */
export function page({ root, back, name, ask, draw, signal }) {
  const states = h("div", { class: "page-states" });
  const body = h("div", { class: "page" });
  root.append(
    h(
      "header",
      { class: "page-head" },
      h("a", { class: "back", href: back[0] }, icon("back"), back[1]),
      h("h1", { tabindex: "-1" }, name),
      states,
    ),
    body,
  );
  return load(
    body,
    ask,
    (answer) => {
      const drawn = draw(answer);
      put(states, drawn.states);
      return drawn.content;
    },
    signal,
  );
}

/** A part of a page. */
export function section(name, ...content) {
  return h("section", { class: "section", "aria-label": name }, h("h2", {}, name), content);
}

/** The requests of something. */
export function trafficFacts(traffic) {
  if (!traffic) return null;
  return facts(
    [
      ["Requests", rate(traffic.rate)],
      ["Errors (5xx)", percent(traffic.errors)],
      ["Median", duration(traffic.p50)],
      ["99 of 100", duration(traffic.p99)],
      ["To clients", `${bytes(traffic.bytes_rate)}/s`],
      ["In all", count(traffic.requests)],
    ],
    { "data-traffic": true },
  );
}

/** Findings, each with what to do. */
export function problemCards(problems) {
  return h(
    "ul",
    { class: "cards" },
    problems.map((problem) => h("li", { class: "card" }, problemCard(problem))),
  );
}

/** One finding in full. */
export function problemCard(problem) {
  return [
    h("p", { class: "card-head" }, severity(problem.severity), tag(problem.kind), objectLink(problem.object)),
    problem.field && h("p", {}, h("code", { class: "field-path" }, problem.field)),
    h("p", { class: "card-text" }, sentence(problem.detail)),
    facts(
      [
        problem.value !== undefined && problem.value !== null && ["Value", h("code", {}, problem.value || "(empty)")],
        problem.expected && ["Expected", problem.expected],
        problem.effect && ["Effect", problem.effect],
        problem.fix && ["Fix", sentence(problem.fix)],
        problem.since && ["Since", when(problem.since)],
      ],
      { "data-stacked": true },
    ),
  ];
}
