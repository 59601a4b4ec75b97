// Numbers, times and names as text.

import { h } from "./dom.js";

const whole = new Intl.NumberFormat("en");
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const clockFormat = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const dayFormat = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

/** 12,481 */
export function count(value) {
  return value === undefined || value === null ? "–" : whole.format(value);
}

/** 12.5K, for where there is little room. */
export function short(value) {
  return value === undefined || value === null ? "–" : value < 100_000 ? whole.format(value) : compact.format(value);
}

/** `3 hosts`, `1 host`. */
export function plural(value, one, many = `${one}s`) {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** A number whose unit is shown where no head of a column says it. */
export function counted(value, one, many = `${one}s`) {
  return [count(value), h("span", { class: "unit" }, ` ${value === 1 ? one : many}`)];
}

function digits(value, places) {
  return value.toFixed(places).replace(/\.?0+$/, (end) => (places ? "" : end));
}

/** A duration of seconds: `2.1 ms`, `1.4 s`, `3 min 20 s`. */
export function duration(seconds) {
  if (seconds === undefined || seconds === null) return "–";
  if (seconds < 0.001) return `${digits(seconds * 1e6, 0)} µs`;
  if (seconds < 0.01) return `${digits(seconds * 1e3, 1)} ms`;
  if (seconds < 1) return `${digits(seconds * 1e3, 0)} ms`;
  if (seconds < 10) return `${digits(seconds, 1)} s`;
  if (seconds < 60) return `${digits(seconds, 0)} s`;
  return span(seconds);
}

/** A long time by its two largest units: `3 h 20 min`. */
export function span(seconds) {
  const units = [
    [86400, "d"],
    [3600, "h"],
    [60, "min"],
    [1, "s"],
  ];
  let rest = Math.round(seconds);
  const parts = [];
  for (const [size, name] of units) {
    const value = Math.floor(rest / size);
    rest -= value * size;
    if (value) parts.push(`${value} ${name}`);
    else if (parts.length) break;
  }
  return parts.slice(0, 2).join(" ") || "0 s";
}

/** A share of 1 as percent. */
export function percent(share, places = 1) {
  if (share === undefined || share === null) return "–";
  const smallest = 0.1 ** places;
  return share > 0 && share * 100 < smallest / 2 ? `<${digits(smallest, places)}%` : `${digits(share * 100, places)}%`;
}

/** Requests in a second. */
export function rate(value) {
  if (value === undefined || value === null) return "–";
  return `${value < 10 ? digits(value, 1) : short(Math.round(value))}/s`;
}

/** 29 kB */
export function bytes(value) {
  if (value === undefined || value === null) return "–";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let at = 0;
  while (value >= 1000 && at < units.length - 1) {
    value /= 1000;
    at += 1;
  }
  return `${digits(value, at && value < 100 ? 1 : 0)} ${units[at]}`;
}

/** 14:03:22 */
export function clock(at) {
  return clockFormat.format(at * 1000);
}

/** 3 Nov 2026 */
export function day(at) {
  return dayFormat.format(at * 1000);
}

function ago(at) {
  const seconds = Date.now() / 1000 - at;
  if (seconds < 1) return "now";
  return `${seconds < 60 ? `${Math.floor(seconds)} s` : span(seconds).split(/ (?=\d)/)[0]} ago`;
}

/** How long ago a moment was; it follows the clock while it is on the page. */
export function when(at, attributes) {
  if (!at) return h("span", attributes, "–");
  const date = new Date(at * 1000);
  return h("time", { ...attributes, datetime: date.toISOString(), title: `${day(at)}, ${clock(at)}`, "data-at": at }, ago(at));
}

/** Brings all of `when` up to date. */
export function tick(root = document) {
  for (const element of root.querySelectorAll("time[data-at]")) {
    const text = ago(Number(element.dataset.at));
    if (element.textContent !== text) element.textContent = text;
  }
}

/** A sentence: with a capital letter, and a period. */
export function sentence(text) {
  return text ? `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}` : "";
}

/** A digest, or a revision, as far as it is needed to tell it from others. */
export function brief(digest) {
  return digest ? digest.slice(0, 8) : "–";
}

/** `without-room` as `Without room`. */
export function title(text) {
  const words = text.replace(/[-_]/g, " ").replace(/([a-z])([A-Z])/g, (_, a, b) => `${a} ${b.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}
