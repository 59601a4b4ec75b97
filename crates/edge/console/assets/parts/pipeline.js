// The pipeline: source → model → plan → live lane or reload lane → NGINX.
//
// The stages are boxes that flow as the room allows; the lines between them are drawn from where the boxes came to lie.
// Each event travels along the lines of its lane.

import { h, moves, put, s } from "../lib/dom.js";
import { brief, count, duration, plural, short, when } from "../lib/format.js";
import { link } from "../lib/router.js";
import { icon } from "./icon.js";
import { status } from "./status.js";

const STAGES = [
  ["source", "Source", "source"],
  ["model", "Model", "model"],
  ["plan", "Plan", "plan"],
  ["live", "Live lane", "live"],
  ["reload", "Reload lane", "reload"],
  ["nginx", "NGINX", "nginx"],
];
const LINES = [
  ["source", "model"],
  ["model", "plan"],
  ["plan", "live"],
  ["plan", "reload"],
  ["live", "nginx"],
  ["reload", "nginx"],
];
/** Events that travel at once: more would say no more. */
const TRAVELLERS = 10;

/** The diagram. `update(now, events)` fills it, `travel(event)` shows one on its way. */
export class Pipeline {
  #boxes = {};
  #paths = {};
  #travelling = 0;

  constructor() {
    this.lines = s("svg", { class: "pipe-lines", "aria-hidden": "true", focusable: "false" });
    const stages = STAGES.map(([name, title, glyph]) => {
      const body = h("div", { class: "stage-body" });
      const box = h("section", { class: "stage", "data-stage": name, "aria-label": title }, h("h3", {}, icon(glyph), title), body);
      this.#boxes[name] = { box, body };
      return box;
    });
    this.element = h("div", { class: "pipe" }, this.lines, stages);
    this.observer = new ResizeObserver(() => this.#connect());
    this.observer.observe(this.element);
  }

  end() {
    this.observer.disconnect();
  }

  update(now, events) {
    for (const [name] of STAGES) put(this.#boxes[name].body, CONTENT[name](now, events));
    const tone = now.live.error ? "error" : "live";
    this.#boxes.live.box.dataset.tone = tone;
    this.#boxes.reload.box.dataset.tone = now.reload.waits || now.reload.last?.ok === false ? "warning" : "reload";
    this.#connect();
  }

  /** The way of an event from the source to where it took effect. */
  travel(event) {
    const way = event.lane ?? { reload: "reload", "reload-failed": "reload", live: "live" }[event.kind];
    if (!way || !moves() || document.hidden || this.#travelling >= TRAVELLERS) return;
    this.#travelling += 1;
    const legs = [
      ["source", "model"],
      ["model", "plan"],
      ["plan", way],
      [way, "nginx"],
    ];
    const dot = s("circle", { r: 4, class: "traveller", "data-lane": way });
    this.lines.append(dot);
    this.#leg(dot, legs, 0)
      .catch(() => {})
      .finally(() => {
        dot.remove();
        this.#travelling -= 1;
      });
  }

  async #leg(dot, legs, at) {
    const [from, to] = legs[at] ?? [];
    if (!from) return;
    dot.style.setProperty("offset-path", `path("${this.#paths[`${from}-${to}`].getAttribute("d")}")`);
    await dot.animate([{ offsetDistance: "0%" }, { offsetDistance: "100%" }], { duration: 380, easing: "ease-in-out", fill: "forwards" })
      .finished;
    this.#boxes[to].box.animate([{ boxShadow: "0 0 0 3px var(--glow)" }, { boxShadow: "0 0 0 3px transparent" }], { duration: 600 });
    await this.#leg(dot, legs, at + 1);
  }

  #connect() {
    const frame = this.element.getBoundingClientRect();
    if (!frame.width) return;
    this.lines.setAttribute("viewBox", `0 0 ${frame.width} ${frame.height}`);
    for (const [from, to] of LINES) {
      const d = curve(this.#place(from, frame), this.#place(to, frame));
      const name = `${from}-${to}`;
      if (!this.#paths[name]) {
        this.#paths[name] = s("path", { "data-line": name });
        this.lines.prepend(this.#paths[name]);
      }
      this.#paths[name].setAttribute("d", d);
    }
  }

  #place(name, frame) {
    const { left, top, width, height } = this.#boxes[name].box.getBoundingClientRect();
    return { left: left - frame.left, top: top - frame.top, width, height };
  }
}

/** From the right side of a box to the left one of the next, or from its foot to the head of one below it. */
function curve(from, to) {
  if (to.left >= from.left + from.width) {
    const [x, y] = [from.left + from.width, from.top + from.height / 2];
    const [u, v] = [to.left, to.top + to.height / 2];
    const half = (u - x) / 2;
    return `M${x} ${y}C${x + half} ${y} ${u - half} ${v} ${u} ${v}`;
  }
  const middle = (box) => Math.round(box.left + box.width / 2);
  const [x, y, u, v] = [middle(from), from.top + from.height, middle(to), to.top];
  const half = (v - y) / 2;
  return `M${x} ${y}C${x} ${y + half} ${u} ${v - half} ${u} ${v}`;
}

function rows(entries) {
  return h(
    "dl",
    { class: "stage-rows" },
    entries
      .filter(Boolean)
      .map(([name, value, href]) => h("div", {}, h("dt", {}, name), h("dd", {}, href ? h("a", { href }, value) : value))),
  );
}

function lastMinute(events) {
  const from = Date.now() / 1000 - 60;
  return events.filter((event) => event.at >= from && event.lane).length;
}

const CONTENT = {
  source: (now, events) => [
    h("p", { class: "stage-lead" }, now.source === "directory" ? "Directory of manifests" : "Kubernetes API"),
    rows([
      ["Ingresses", count(now.counts.ingresses), link("ingresses")],
      ["Changes / min", count(lastMinute(events))],
    ]),
  ],
  model: (now) => [
    h(
      "p",
      { class: "stage-lead" },
      h(
        "a",
        { href: link("problems") },
        now.counts.problems ? status("warning", plural(now.counts.problems, "problem")) : status("ok", "No problems"),
      ),
    ),
    rows([
      ["Hosts", short(now.counts.hosts), link("hosts")],
      ["Paths", short(now.counts.paths)],
      ["Backends", short(now.counts.backends), link("backends")],
      ["Endpoints", short(now.counts.endpoints)],
    ]),
  ],
  plan: (now, events) => {
    const last = events.findLast((event) => event.lane);
    if (!last) return h("p", { class: "quiet" }, "Waits for the first change.");
    let verdict = last.lane === "reload" ? status("reload", "Needs a reload") : status("live", "Live, no reload");
    if (last.kind === "nginx-started") verdict = status("ok", "First configuration");
    return [
      h("p", { class: "stage-lead" }, verdict),
      h("p", { class: "stage-words", title: last.text }, last.reasons?.length ? last.reasons.join("; ") : last.text),
      h("p", { class: "quiet" }, when(last.at)),
    ];
  },
  live: (now) => [
    h("p", { class: "stage-lead" }, liveState(now.live)),
    rows([
      ["Records", short(now.live.records)],
      ["Median", measured(now.time_to_effect.live, "p50")],
      ["99 of 100", measured(now.time_to_effect.live, "p99")],
      now.live.without_room > 0 && ["Without room", count(now.live.without_room), link("problems", { tab: "budgets" })],
    ]),
  ],
  reload: (now) => [
    h("p", { class: "stage-lead" }, reloadState(now.reload)),
    (now.reload.waits ?? now.reload.pending[0]) && h("p", { class: "stage-words" }, now.reload.waits ?? now.reload.pending.join("; ")),
    rows([
      ["Done", count(sum(now.reloads.done))],
      ["Median", measured(now.time_to_effect.reload, "p50")],
      now.reload.last && ["Last", h("span", {}, when(now.reload.last.at), !now.reload.last.ok && ", failed")],
    ]),
  ],
  nginx: (now) => {
    const { running, wanted } = now.revision;
    return [
      h("p", { class: "stage-lead" }, now.ready ? status("ok", "Serving") : status("error", "Not ready")),
      rows([
        ["Version", now.nginx ?? "–"],
        ["Revision", h("code", {}, brief(running)), link("changes", { tab: "revisions" })],
        wanted && wanted !== running && ["Wanted", h("code", {}, brief(wanted))],
        ["Certificates", short(now.counts.certificates), link("certificates")],
      ]),
    ];
  },
};

function measured(quantiles, name) {
  return quantiles.count ? duration(quantiles[name]) : "–";
}

function liveState(live) {
  if (live.error) return status("error", `Failing: ${live.error}`);
  if (live.held_hosts) return status("waiting", `${plural(live.held_hosts, "host")} held`);
  return status("ok", "In step");
}

function reloadState(reload) {
  if (reload.waits) return status("waiting", "Waiting");
  if (reload.pending.length) return status("reload", "Pending");
  if (reload.last?.ok === false) return status("error", "Last one failed");
  return status("ok", "Idle");
}

/** The sum of the values of an object. */
export function sum(values) {
  return Object.values(values ?? {}).reduce((total, value) => total + value, 0);
}
