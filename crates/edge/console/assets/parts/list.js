// A table of any length of which only the rows in sight are in the document.
//
// Rows have one height, which the style sheet sets (`--row`), so the place of each is known without drawing the others.
// Pages of rows are asked for when they come into sight, and kept. A row has one link, which arrow keys go along.

import { h, put } from "../lib/dom.js";
import { failure } from "./states.js";

const PAGE = 100;
/** Rows above and below the ones in sight. */
const SPARE = 6;

/** The rows of a question. `ask(offset, limit, signal)` gives `{total, items}`. */
class Pages {
  total = null;
  #pages = new Map();
  #abort = new AbortController();

  constructor(ask) {
    this.ask = ask;
  }

  item(at) {
    return this.#pages.get(Math.floor(at / PAGE))?.items?.[at % PAGE];
  }

  /** Asks for the rows from `first` to `last` that are not there. */
  want(first, last, arrived, failed) {
    for (let page = Math.floor(first / PAGE); page <= Math.floor(Math.max(last, 0) / PAGE); page += 1) {
      if (this.#pages.has(page)) continue;
      this.#pages.set(page, {});
      this.ask(page * PAGE, PAGE, this.#abort.signal).then(
        (answer) => {
          this.total = answer.total;
          this.#pages.set(page, { items: answer.items });
          arrived();
        },
        (error) => {
          this.#pages.delete(page);
          if (error.name !== "AbortError") failed(error);
        },
      );
    }
  }

  end() {
    this.#abort.abort();
  }
}

/**
 * A list. Options: `label`; `kind`, which the style sheet has columns for; `columns`, of `{title, cell(item), class}`;
 * `ask(offset, limit, signal)`; `href(item)` of a row's link, whose content is the first cell; `key(item)`; `none`, shown for no rows;
 * `counted(total)`.
 */
export class List {
  #rows = new Map();
  #selected = null;
  #frame = 0;
  #next = null;

  constructor(options) {
    this.options = options;
    this.pages = new Pages(options.ask);
    this.space = h("div", { class: "list-space", role: "rowgroup" });
    this.notice = h("div", { class: "list-notice" });
    const heads = options.columns.map(({ title, class: kind }) => h("div", { role: "columnheader", class: kind }, title));
    this.view = h(
      "div",
      { class: "list-view", role: "table", "aria-label": options.label, tabindex: options.href ? "-1" : "0" },
      h("div", { role: "rowgroup", class: "list-head" }, h("div", { role: "row", "aria-rowindex": 1 }, heads)),
      this.space,
    );
    this.element = h("div", { class: "list", "data-kind": options.kind }, this.view, this.notice);
    this.view.addEventListener("scroll", () => this.#later(), { passive: true });
    this.view.addEventListener("keydown", (event) => this.#key(event));
    this.observer = new ResizeObserver(() => this.#measure());
    this.observer.observe(this.view);
    this.#want(0, PAGE - 1);
    put(this.notice, h("p", { class: "hidden", role: "status" }, "Loading"));
    this.element.setAttribute("aria-busy", "true");
  }

  /** Asks again from the top: what is shown stays until the answer is there. */
  ask(ask) {
    this.#replace(ask ?? this.options.ask, true);
  }

  /** Asks again for what is in sight. */
  refresh() {
    if (!this.#next && this.pages.total !== null) this.#replace(this.options.ask, false);
  }

  /** Marks the row with this key. */
  select(key) {
    this.#selected = key;
    this.#draw();
  }

  end() {
    this.observer.disconnect();
    this.pages.end();
    this.#next?.end();
    cancelAnimationFrame(this.#frame);
  }

  #replace(ask, top) {
    this.#next?.end();
    this.options.ask = ask;
    const next = new Pages(ask);
    this.#next = next;
    this.element.setAttribute("aria-busy", "true");
    const [first, last] = top ? [0, 0] : this.#sight();
    const arrived = () => {
      if (this.#next === next) {
        this.pages.end();
        this.pages = next;
        this.#next = null;
        if (top) this.view.scrollTop = 0;
      }
      this.#arrived();
    };
    next.want(first, Math.max(first, Math.min(last, (this.pages.total ?? 1) - 1)), arrived, (error) => {
      if (this.#next === next) this.#next = null;
      if (top) this.#failed(error);
    });
  }

  #want(first, last) {
    this.pages.want(
      first,
      last,
      () => this.#arrived(),
      (error) => this.#failed(error),
    );
  }

  #arrived() {
    this.element.removeAttribute("aria-busy");
    this.options.counted?.(this.pages.total);
    put(this.notice, this.pages.total === 0 && this.options.none());
    this.view.setAttribute("aria-rowcount", this.pages.total + 1);
    this.#measure();
  }

  #failed(error) {
    this.element.removeAttribute("aria-busy");
    put(
      this.notice,
      failure(error, () => this.ask()),
    );
  }

  #measure() {
    this.height = parseFloat(getComputedStyle(this.view).getPropertyValue("--row")) || 44;
    this.space.style.blockSize = `${(this.pages.total ?? 0) * this.height}px`;
    this.#draw();
  }

  /** Numbers of the first and the last row to draw. */
  #sight() {
    const first = Math.max(0, Math.floor(this.view.scrollTop / this.height) - SPARE);
    const last = Math.ceil((this.view.scrollTop + this.view.clientHeight) / this.height) + SPARE;
    return [first, Math.min(last, (this.pages.total ?? 0) - 1)];
  }

  #later() {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
    });
  }

  /** Draws the rows in sight that are not there as they should be. */
  #draw() {
    if (this.pages.total === null) return;
    const [first, last] = this.#sight();
    this.#want(first, last);
    const focused = this.space.contains(document.activeElement) ? Number(document.activeElement.closest("[data-at]")?.dataset.at) : -1;
    for (const [at, row] of this.#rows) {
      const stays = at < this.pages.total && (at === focused || (at >= first && at <= last));
      if (!stays) {
        row.remove();
        this.#rows.delete(at);
      }
    }
    for (let at = first; at <= last; at += 1) {
      const item = this.pages.item(at);
      const row = this.#rows.get(at);
      const stays = row && row.item === item && row.picked === this.#isSelected(item) && row.height === this.height;
      if (stays) continue;
      const drawn = this.#row(at, item);
      if (row) row.replaceWith(drawn);
      else this.#insert(at, drawn);
      this.#rows.set(at, drawn);
      if (at === focused) drawn.querySelector("a")?.focus({ preventScroll: true });
    }
    this.#tabStop(focused < 0 ? Math.ceil(this.view.scrollTop / this.height) : focused);
  }

  /** In the order of the rows, which is that of the keyboard and of screen readers. */
  #insert(at, row) {
    let after = null;
    for (const [other, element] of this.#rows) if (other > at && (after === null || other < after[0])) after = [other, element];
    this.space.insertBefore(row, after?.[1] ?? null);
  }

  #isSelected(item) {
    return item !== undefined && this.#selected !== null && this.options.key(item) === this.#selected;
  }

  #row(at, item) {
    const picked = this.#isSelected(item);
    const cells = this.options.columns.map(({ cell, class: kind }, column) => {
      const content = item === undefined ? h("span", { class: "bone" }) : cell(item);
      const linked = column === 0 && item !== undefined && this.options.href;
      return h(
        "div",
        { role: "cell", class: kind },
        linked ? h("a", { href: this.options.href(item), tabindex: "-1", "aria-current": picked && "true" }, content) : content,
      );
    });
    const row = h(
      "div",
      {
        role: "row",
        class: "list-row",
        "aria-rowindex": at + 2,
        "data-at": at,
        "data-picked": picked,
        style: { transform: `translateY(${at * this.height}px)` },
      },
      cells,
    );
    return Object.assign(row, { item, picked, height: this.height });
  }

  /** One row can be reached by the tabulator, the others by arrows from there. */
  #tabStop(at) {
    const rows = [...this.#rows].sort(([a], [b]) => a - b);
    const stop = rows.find(([number]) => number >= at) ?? rows.at(-1);
    for (const [number, row] of rows) row.querySelector("a")?.setAttribute("tabindex", number === stop?.[0] ? "0" : "-1");
  }

  #key(event) {
    const row = event.target.closest?.("[data-at]");
    if (!row || event.altKey || event.ctrlKey || event.metaKey) return;
    const at = Number(row.dataset.at);
    const screen = Math.max(1, Math.floor(this.view.clientHeight / this.height) - 1);
    const steps = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + screen, PageUp: at - screen, Home: 0, End: this.pages.total - 1 };
    if (!(event.key in steps)) return;
    event.preventDefault();
    this.#focus(Math.max(0, Math.min(this.pages.total - 1, steps[event.key])));
  }

  #focus(at) {
    const head = this.view.querySelector(".list-head").offsetHeight;
    const [top, bottom] = [at * this.height, (at + 1) * this.height];
    const room = this.view.clientHeight - head;
    if (top < this.view.scrollTop) this.view.scrollTop = top;
    else if (bottom > this.view.scrollTop + room) this.view.scrollTop = bottom - room;
    this.#draw();
    // A row that is not there yet has no link; it gets the focus when the arrows come by again.
    this.#rows.get(at)?.querySelector("a")?.focus({ preventScroll: true });
    this.#tabStop(at);
  }
}
