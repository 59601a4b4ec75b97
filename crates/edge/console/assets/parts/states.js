// What a view shows while it has nothing to show, and why.

import { h, put } from "../lib/dom.js";
import { sentence } from "../lib/format.js";
import { icon } from "./icon.js";

/** Nothing to show, and what that means. */
export function empty(title, text, tone = "info") {
  return h("div", { class: "blank", "data-tone": tone }, icon(tone), h("p", { class: "blank-title" }, title), text && h("p", {}, text));
}

/** A failed question: what the controller said, and a way to ask again. */
export function failure(error, retry) {
  const lost = error.status === 0;
  const title = lost
    ? "The controller does not answer"
    : error.status === 404
      ? "Not found"
      : error.status === 503
        ? "Not available"
        : "That failed";
  const text = lost ? "It may be restarting, or the port-forward has ended. The page tries again by itself." : sentence(error.message);
  return h(
    "div",
    { class: "blank", "data-tone": error.status === 503 || error.status === 404 ? "info" : "error", role: "status" },
    icon(error.status === 404 || error.status === 503 ? "info" : "error"),
    h("p", { class: "blank-title" }, title),
    h("p", {}, text),
    retry && h("button", { type: "button", class: "button", onclick: retry }, "Try again"),
  );
}

/** Grey bars in place of what is being loaded. They appear late, so that a quick answer does not flicker. */
export function skeleton(lines = 4) {
  const bars = Array.from({ length: lines }, (_, at) =>
    h("span", { class: "bone", style: { "inline-size": `${90 - ((at * 37) % 45)}%` } }),
  );
  return h("div", { class: "skeleton", role: "status" }, h("span", { class: "hidden" }, "Loading"), bars);
}

/** Fills an element with an answer, a skeleton before, and the reason if there is none. */
export async function load(element, ask, draw, signal) {
  if (!element.childElementCount) put(element, skeleton());
  element.setAttribute("aria-busy", "true");
  try {
    const answer = await ask();
    if (!signal?.aborted) put(element, draw(answer));
    return answer;
  } catch (error) {
    if (error.name === "AbortError" || signal?.aborted) return undefined;
    if (error.status === undefined) throw error;
    put(
      element,
      failure(error, () => load(element, ask, draw, signal)),
    );
    return undefined;
  } finally {
    element.removeAttribute("aria-busy");
  }
}
