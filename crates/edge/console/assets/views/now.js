// Now: the pipeline live, and what it saved.

import { get } from "../lib/api.js";
import { h, put, soon } from "../lib/dom.js";
import { clock, count, duration, percent, plural, rate, sentence, span } from "../lib/format.js";
import { live } from "../lib/live.js";
import { link } from "../lib/router.js";
import { bars, columns } from "../parts/figures.js";
import { Pipeline, sum } from "../parts/pipeline.js";
import { empty, skeleton } from "../parts/states.js";
import { eventRow } from "./events.js";

const SHOWN = 10;
const SLOT = 10;
const SLOTS = 60;

export const title = "Now";

/** Fills the view. */
export function show({ root, signal }) {
  const pipeline = new Pipeline();
  const hero = h("section", { class: "hero", "aria-labelledby": "avoided" });
  const feed = h("ol", { class: "feed", "aria-label": "Latest events" });
  const activity = h("div", { class: "activity" });
  const effect = h("div", {});
  const why = h("div", {});
  const busiest = h("div", {});
  const body = h(
    "div",
    { class: "now", hidden: true },
    hero,
    h("section", { "aria-label": "Pipeline" }, pipeline.element),
    h(
      "div",
      { class: "panels" },
      h(
        "div",
        { class: "panel-stack" },
        panel("Latest changes", feed, [link("changes"), "All changes"]),
        panel("Busiest hosts", busiest, [link("hosts"), "All hosts"]),
      ),
      h(
        "div",
        { class: "panel-stack" },
        panel("Activity, last 10 minutes", activity),
        panel("Time to effect", effect),
        panel("Reloads avoided, by change", why),
      ),
    ),
  );
  const waiting = h("div", {}, skeleton(6));
  root.append(h("h1", { class: "hidden", tabindex: "-1" }, "Now"), waiting, body);

  const draw = () => {
    if (!live.now) return;
    body.hidden = false;
    waiting.remove();
    put(hero, headline(live.now));
    pipeline.update(live.now, live.events);
    put(effect, timeToEffect(live.now.time_to_effect));
    put(why, avoided(live.now.reloads));
    put(activity, timeline(live.events));
  };
  const drawFeed = () => {
    const newest = live.events.slice(-SHOWN).reverse();
    put(
      feed,
      newest.length
        ? newest.map((event) => eventRow(event))
        : h("li", { class: "feed-none" }, empty("Quiet", "Nothing has changed since the controller started.", "ok")),
    );
  };
  const drawSoon = soon(250, draw);
  let counts = true;
  const ask = () => {
    if (!counts) return;
    get("traffic", { by: "host", limit: 6 }, signal).then(
      (answer) => put(busiest, traffic(answer.items)),
      (error) => {
        if (error.name === "AbortError") return;
        // Without metrics there is nothing to ask for until the controller starts again.
        counts = error.status !== 503;
        put(busiest, empty("Not counted", sentence(error.message)));
      },
    );
  };
  live.addEventListener(
    "now",
    () => {
      draw();
      ask();
    },
    { signal },
  );
  live.addEventListener(
    "events",
    ({ fresh, past }) => {
      drawFeed();
      drawSoon();
      if (!past) fresh.forEach((event) => pipeline.travel(event));
    },
    { signal },
  );
  signal.addEventListener("abort", () => {
    pipeline.end();
    drawSoon.cancel();
  });
  draw();
  drawFeed();
  if (live.now) ask();
}

function panel(name, content, more) {
  return h(
    "section",
    { class: "panel", "aria-label": name },
    h("header", {}, h("h2", {}, name), more && h("a", { href: more[0] }, more[1])),
    content,
  );
}

function headline({ reloads, started }) {
  const [avoidedTotal, done, failed] = [sum(reloads.avoided), sum(reloads.done), sum(reloads.failed)];
  const mean = reloads.mean_seconds;
  const share = avoidedTotal + done > 0 ? avoidedTotal / (avoidedTotal + done) : null;
  let cost = "Changes that took effect without a reload of NGINX are counted here";
  if (avoidedTotal > 0) cost = "Not one reload has been necessary to measure what they would have cost";
  if (avoidedTotal > 0 && mean) {
    cost = ["They would have taken ", h("strong", {}, span(avoidedTotal * mean)), `, by the ${duration(mean)} that a reload takes here`];
  }
  return [
    h(
      "div",
      { class: "hero-main" },
      h("h2", { id: "avoided" }, "Reloads avoided"),
      h("p", { class: "hero-number" }, count(avoidedTotal)),
      h("p", { class: "hero-cost" }, cost),
    ),
    h(
      "dl",
      { class: "hero-side" },
      pair("Took effect live", share === null ? "–" : percent(share, share > 0.99 && share < 1 ? 2 : 1)),
      pair("Reloads done", count(done)),
      pair("Reloads failed", count(failed), failed > 0 && "error"),
      pair("Running for", started ? span(Math.max(0, Date.now() / 1000 - started)) : "–"),
    ),
  ];
}

function pair(name, value, tone) {
  return h("div", { "data-tone": tone }, h("dt", {}, name), h("dd", {}, value));
}

/** Both lanes on one scale of tens, from a tenth of a millisecond to ten seconds. */
function timeToEffect(lanes) {
  const place = (seconds) => Math.max(0, Math.min(1, (Math.log10(seconds) + 4) / 5)) * 100;
  const lane = (name, label) => {
    const quantiles = lanes[name];
    if (!quantiles?.count)
      return h("div", { class: "effect" }, h("p", { class: "effect-name" }, label), h("p", { class: "quiet" }, "Nothing measured yet"));
    const [from, to] = [place(quantiles.p50), place(quantiles.p99)];
    return h(
      "div",
      { class: "effect", "data-lane": name },
      h("p", { class: "effect-name" }, label, h("span", { class: "quiet" }, ` ${plural(quantiles.count, "change")}`)),
      h(
        "div",
        { class: "effect-scale", "aria-hidden": "true" },
        h("span", { class: "effect-range", style: { "inset-inline-start": `${from}%`, "inline-size": `${Math.max(1.5, to - from)}%` } }),
      ),
      h(
        "p",
        { class: "effect-figures" },
        ["p50", "p90", "p99"].map((key) => h("span", {}, h("span", { class: "quiet" }, key), ` ${duration(quantiles[key])}`)),
      ),
    );
  };
  return h(
    "div",
    { class: "effects" },
    lane("live", "Live lane"),
    lane("reload", "Reload lane"),
    h(
      "p",
      { class: "effect-axis", "aria-hidden": "true" },
      ["0.1 ms", "1 ms", "10 ms", "100 ms", "1 s", "10 s"].map((text) => h("span", {}, text)),
    ),
  );
}

function avoided(reloads) {
  return sum(reloads.avoided)
    ? bars(reloads.avoided, { tone: "live" })
    : empty("None yet", "Each change that would have needed a reload is counted here.");
}

function timeline(events) {
  const end = Math.ceil(Date.now() / 1000 / SLOT) * SLOT;
  const slots = Array.from({ length: SLOTS }, () => ({ live: 0, reload: 0 }));
  for (const event of events) {
    const at = SLOTS - 1 - Math.floor((end - event.at) / SLOT);
    if (at >= 0 && at < SLOTS && event.lane && event.kind !== "nginx-started") slots[at][event.lane] += 1;
  }
  const totals = { live: slots.reduce((all, slot) => all + slot.live, 0), reload: slots.reduce((all, slot) => all + slot.reload, 0) };
  const label = `${plural(totals.live, "update")} of the live lane and ${plural(totals.reload, "reload")} in the last 10 minutes`;
  return [
    columns(slots, ["live", "reload"], label),
    h(
      "p",
      { class: "activity-axis", "aria-hidden": "true" },
      h("span", {}, clock(end - SLOT * SLOTS).slice(0, 5)),
      h("span", {}, clock(end).slice(0, 5)),
    ),
    h(
      "p",
      { class: "legend" },
      h("span", { "data-part": "live" }, `${count(totals.live)} live`),
      h("span", { "data-part": "reload" }, plural(totals.reload, "reload")),
    ),
  ];
}

function traffic(items) {
  if (!items.length) return empty("No requests", "None in the last 10 seconds.");
  return h(
    "table",
    { class: "table compact" },
    h("caption", { class: "hidden" }, "Hosts by requests in a second"),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        ["Host", "Requests", "Errors", "p99"].map((name, at) => h("th", { scope: "col", class: at && "number" }, name)),
      ),
    ),
    h(
      "tbody",
      {},
      items.map((item) =>
        h(
          "tr",
          {},
          h("td", {}, h("a", { href: link(["hosts", item.key]) }, item.key)),
          h("td", { class: "number" }, rate(item.rate)),
          h("td", { class: "number", "data-tone": item.errors > 0.01 && "error" }, percent(item.errors)),
          h("td", { class: "number" }, duration(item.p99)),
        ),
      ),
    ),
  );
}
