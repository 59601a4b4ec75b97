// Elements are made here and nowhere else: text becomes text nodes, styles are set as properties, so that the strict CSP holds
// and nothing that a tenant wrote is ever read as markup.

const SVG = "http://www.w3.org/2000/svg";

/** An element of HTML. Children are elements, text, or lists of them; absent ones are left out. */
export function h(name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** An element of SVG. */
export function s(name, attributes, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

/** Replaces the content of an element. */
export function put(element, ...children) {
  element.replaceChildren(...flat(children));
  return element;
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) set(element, name, value);
  element.append(...flat(children));
  return element;
}

function set(element, name, value) {
  if (value === undefined || value === null || value === false) return;
  if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
  else if (name === "style") for (const [property, text] of Object.entries(value)) element.style.setProperty(property, text);
  else element.setAttribute(name, value === true ? "" : value);
}

function flat(children) {
  return children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false && child !== "");
}

/** A function that is called once, `delay` milliseconds after the first of several calls. */
export function soon(delay, work) {
  let timer = 0;
  const call = () => {
    if (!timer)
      timer = setTimeout(() => {
        timer = 0;
        work();
      }, delay);
  };
  call.cancel = () => {
    clearTimeout(timer);
    timer = 0;
  };
  return call;
}

/** Whether motion is wanted. */
export function moves() {
  return !matchMedia("(prefers-reduced-motion: reduce)").matches;
}
