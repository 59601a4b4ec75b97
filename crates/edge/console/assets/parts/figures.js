// Small drawings of numbers. Each says in words what it shows.

import { h, s } from "../lib/dom.js";
import { count, percent } from "../lib/format.js";

/** A bar of which `share` (0 to 1) is filled. */
export function meter(share, label, tone) {
  const value = Math.max(0, Math.min(1, share || 0));
  return h(
    "span",
    { class: "meter", "data-tone": tone, role: "img", "aria-label": label ?? percent(value) },
    h("span", { class: "meter-fill", style: { "inline-size": `${value * 100}%` } }),
  );
}

/** How full something finite is. */
export function fill(share, label) {
  return meter(share, label, share >= 0.95 ? "error" : share >= 0.8 ? "warning" : undefined);
}

/** Names with numbers as bars, the largest first. */
export function bars(values, { most = 8, format = count, tone } = {}) {
  const sorted = Object.entries(values)
    .filter(([, value]) => value > 0)
    .sort((a, b) => b[1] - a[1]);
  const largest = sorted[0]?.[1] ?? 1;
  return h(
    "dl",
    { class: "bars" },
    sorted
      .slice(0, most)
      .map(([name, value]) =>
        h(
          "div",
          {},
          h("dt", {}, name.replaceAll("_", " ")),
          h(
            "dd",
            {},
            h("span", { class: "bar", "aria-hidden": "true", "data-tone": tone, style: { "--share": value / largest } }),
            h("span", { class: "bar-value" }, format(value)),
          ),
        ),
      ),
  );
}

/** Columns over time, each of parts that stand on one another: `[{live: 3, reload: 1}, …]`, oldest first. */
export function columns(values, parts, label) {
  const [width, height, gap] = [6, 40, 2];
  const largest = Math.max(4, ...values.map((value) => parts.reduce((sum, part) => sum + (value[part] ?? 0), 0)));
  const drawn = values.flatMap((value, at) => {
    let base = height;
    return parts.map((part) => {
      const size = ((value[part] ?? 0) / largest) * height;
      base -= size;
      return size > 0 && s("rect", { x: at * (width + gap), y: base, width, height: Math.max(size, 1), rx: 1, "data-part": part });
    });
  });
  const total = values.length * (width + gap) - gap;
  return s(
    "svg",
    { class: "columns", viewBox: `0 0 ${total} ${height + 1}`, preserveAspectRatio: "none", role: "img", "aria-label": label },
    s("line", { x1: 0, x2: total, y1: height + 0.5, y2: height + 0.5 }),
    drawn,
  );
}

/** The figures that a thing is known by: `[[name, value], …]`. */
export function facts(rows, attributes) {
  return h(
    "dl",
    { class: "facts", ...attributes },
    rows.filter(Boolean).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
  );
}

/** A table of few rows: `columns` are `[title, cell, class]`. */
export function table(caption, columnsOf, rows) {
  return h(
    "div",
    { class: "table-frame", tabindex: "0", role: "group", "aria-label": caption },
    h(
      "table",
      { class: "table" },
      h("caption", { class: "hidden" }, caption),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          columnsOf.map(([title, , kind]) => h("th", { scope: "col", class: kind }, title)),
        ),
      ),
      h(
        "tbody",
        {},
        rows.map((row, at) =>
          h(
            "tr",
            {},
            columnsOf.map(([, cell, kind]) => h("td", { class: kind }, cell(row, at))),
          ),
        ),
      ),
    ),
  );
}
