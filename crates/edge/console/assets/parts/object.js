// Objects by their names: `Ingress shop/web`, `Host a.example`.

import { h } from "../lib/dom.js";
import { link } from "../lib/router.js";

const PAGES = { Host: "hosts", Backend: "backends", Ingress: "ingresses" };

function split(object) {
  const at = object.indexOf(" ");
  return at < 0 ? ["", object] : [object.slice(0, at), object.slice(at + 1)];
}

/** The name of an object, its kind less prominent. */
export function objectName(object) {
  const [kind, name] = split(object);
  return [name, " ", h("span", { class: "object-kind" }, kind)];
}

/** The name of an object, as a link to its page where there is one. */
export function objectLink(object) {
  const [kind, name] = split(object);
  const text = [h("span", { class: "object-kind" }, kind), " ", name];
  return PAGES[kind] ? h("a", { class: "object", href: link([PAGES[kind], name]) }, text) : h("span", { class: "object" }, text);
}

/** A text in which the names of objects are links, and the objects that it does not name. */
export function linked(text, objects) {
  const parts = [text];
  const others = [];
  for (const object of objects) {
    const [kind, name] = split(object);
    const at = name ? parts.findIndex((part) => typeof part === "string" && part.includes(name)) : -1;
    if (at < 0) others.push(object);
    if (at < 0 || !PAGES[kind]) continue;
    const start = parts[at].indexOf(name);
    parts.splice(at, 1, parts[at].slice(0, start), h("a", { href: link([PAGES[kind], name]) }, name), parts[at].slice(start + name.length));
  }
  return { parts, others };
}
