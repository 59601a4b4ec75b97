// The address bar has the whole state of a view: `#/hosts/shop.example.com?q=cart`. What is there can be shared.

/** The route of a hash: the view's name, what follows, and the parameters. */
export function parse(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [view, ...rest] = path.split("/").map(decode);
  return { view: view || "now", rest, query: Object.fromEntries(new URLSearchParams(query)) };
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The hash of a route. */
export function link(path, query = {}) {
  const parameters = new URLSearchParams(
    Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== ""),
  );
  const text = parameters.toString();
  return `#/${[path].flat().map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

/** The route of the page. */
export function here() {
  return parse(location.hash);
}

/** Goes to a hash as a step that `back` undoes. */
export function go(hash) {
  location.hash = hash;
}

/** Changes parameters of the present route in place. */
export function amend(changes) {
  const { view, rest, query } = here();
  history.replaceState(null, "", link([view, ...rest], { ...query, ...changes }));
}
