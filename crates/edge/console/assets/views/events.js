// One event of the journal, as a row of the feed and of the timeline.

import { h } from "../lib/dom.js";
import { clock, count, duration, when } from "../lib/format.js";
import { linked, objectLink } from "../parts/object.js";
import { eventKind, tag } from "../parts/status.js";

/** Objects that are named below the text. */
const SHOWN = 4;

/** An event in a list. `exact`: with the time of day. */
export function eventRow(event, { exact = false } = {}) {
  const { parts, others } = linked(event.text, event.objects ?? []);
  return h(
    "li",
    { class: "event", "data-kind": event.kind },
    h("div", { class: "event-kind" }, eventKind(event.kind)),
    h("div", { class: "event-what" }, h("p", { class: "event-text" }, sentence(parts)), details(event, others)),
    h(
      "div",
      { class: "event-when" },
      typeof event.seconds === "number" && h("span", { class: "event-took" }, duration(event.seconds)),
      exact ? h("time", { datetime: new Date(event.at * 1000).toISOString() }, clock(event.at)) : when(event.at),
    ),
  );
}

/** With a capital letter, unless the first word is a name. */
function sentence([first, ...rest]) {
  return [first.charAt(0).toUpperCase() + first.slice(1), ...rest];
}

function details(event, others) {
  const named = (event.objects ?? []).length;
  const unnamed = named ? Math.max(0, (event.objects_total ?? 0) - named) + Math.max(0, others.length - SHOWN) : 0;
  const reasons = (event.reasons ?? []).filter((reason) => !event.text.includes(reason));
  if (!others.length && !reasons.length && !unnamed) return null;
  return h(
    "p",
    { class: "event-objects" },
    reasons.map((reason) => tag(reason, "reload")),
    others.slice(0, SHOWN).map((object) => objectLink(object)),
    unnamed > 0 && h("span", { class: "quiet" }, `and ${count(unnamed)} more`),
  );
}
