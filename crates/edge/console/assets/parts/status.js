// A status is always a shape and a word; the colour only adds to them.

import { h } from "../lib/dom.js";
import { title } from "../lib/format.js";
import { icon } from "./icon.js";

/** A status: `tone` is `ok`, `warning`, `error`, `info`, `waiting`, `live`, `reload` or `off`. */
export function status(tone, text) {
  return h("span", { class: "status", "data-tone": tone }, icon(tone), h("span", {}, text));
}

/** A word in a frame: a type, a kind, where a value comes from. */
export function tag(text, tone) {
  return h("span", { class: "tag", "data-tone": tone }, text);
}

const STATES = {
  served: "ok",
  "last-accepted": "warning",
  quarantined: "error",
  refused: "error",
  "without-room": "error",
  "not-ours": "off",
};

/** The state of an Ingress. */
export function ingressState(state) {
  return status(STATES[state] ?? "info", title(state));
}

/** The states that an Ingress can have. */
export const INGRESS_STATES = Object.keys(STATES);

/** How grave a problem is. */
export function severity(level) {
  return status(level === "error" ? "error" : "warning", level === "error" ? "Error" : "Warning");
}

/** How long a certificate is still valid. */
export function validity(days) {
  if (days === null || days === undefined) return status("off", "Unknown");
  if (days < 0) return status("error", `Expired ${Math.ceil(-days)} d ago`);
  const text = days < 2 ? `${Math.floor(days * 24)} h left` : `${Math.floor(days)} days left`;
  return status(days < 3 ? "error" : days < 21 ? "warning" : "ok", text);
}

const KINDS = {
  change: ["info", "Change"],
  live: ["live", "Live"],
  reload: ["reload", "Reload"],
  "reload-failed": ["error", "Reload failed"],
  "nginx-started": ["ok", "NGINX started"],
  problem: ["warning", "Problem"],
  resolved: ["ok", "Resolved"],
  held: ["waiting", "Held"],
};

/** What sort of event it is. */
export function eventKind(kind) {
  const [tone, text] = KINDS[kind] ?? ["info", title(kind)];
  return status(tone, text);
}

/** The kinds of events with their names. */
export const EVENT_KINDS = Object.entries(KINDS).map(([kind, [, text]]) => [kind, text]);
