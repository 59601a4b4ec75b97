// A unified diff as a table of lines.

import { h } from "../lib/dom.js";
import { plural } from "../lib/format.js";

/** Lines that are shown of a difference. */
const MOST = 3000;

/** The lines with their numbers in both texts; signs say what the colours do. */
export function diff(text) {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  const body = h("tbody", {});
  let [before, after, added, removed] = [0, 0, 0, 0];
  for (const line of lines.slice(0, MOST)) {
    if (line.startsWith("---") || line.startsWith("+++")) continue;
    const head = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line);
    if (head) {
      [before, after] = [Number(head[1]), Number(head[2])];
      body.append(row("hunk", "", "", "", line));
    } else if (line.startsWith("+")) {
      body.append(row("added", "", after, "+", line.slice(1)));
      after += 1;
      added += 1;
    } else if (line.startsWith("-")) {
      body.append(row("removed", before, "", "−", line.slice(1)));
      before += 1;
      removed += 1;
    } else {
      body.append(row("same", before, after, "", line.slice(1)));
      before += 1;
      after += 1;
    }
  }
  return [
    h(
      "p",
      { class: "diff-sum" },
      `${plural(added, "line")} added, ${plural(removed, "line")} removed`,
      lines.length > MOST && ` (the first ${MOST} lines are shown)`,
    ),
    h(
      "div",
      { class: "diff-frame", tabindex: "0", role: "group", "aria-label": "Difference of the texts" },
      h(
        "table",
        { class: "diff" },
        h("caption", { class: "hidden" }, "Lines that were removed and added"),
        h(
          "thead",
          { class: "hidden" },
          h(
            "tr",
            {},
            ["Line before", "Line after", "Change", "Text"].map((name) => h("th", { scope: "col" }, name)),
          ),
        ),
        body,
      ),
    ),
  ];
}

const SIGNS = { added: "Added", removed: "Removed" };

function row(kind, before, after, sign, text) {
  return h(
    "tr",
    { "data-change": kind },
    h("td", { class: "diff-number" }, before),
    h("td", { class: "diff-number" }, after),
    h("td", { class: "diff-sign" }, h("span", { "aria-hidden": "true" }, sign), SIGNS[kind] && h("span", { class: "hidden" }, SIGNS[kind])),
    h("td", { class: "diff-text" }, text),
  );
}
