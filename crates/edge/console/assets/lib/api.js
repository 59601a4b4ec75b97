// Questions to the controller. Addresses are relative, so that the page works below the prefix of a proxy as well.

/** An answer that is none: the status (0: no connection) and the reason in words. */
export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** Signals `signin` when the controller asks for a token. */
export const access = new EventTarget();

/** The address of an endpoint. Empty parameters are left out. */
export function address(path, query = {}) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value].flat()) if (one !== undefined && one !== null && one !== "") parameters.append(name, one);
  }
  const text = parameters.toString();
  return `api/v1/${path}${text ? `?${text}` : ""}`;
}

/** The answer of an endpoint. Throws `ApiError`, or `AbortError` when `signal` ends it. */
export async function get(path, query, signal) {
  let response;
  try {
    response = await fetch(address(path, query), { signal, headers: { Accept: "application/json" }, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "The controller does not answer.");
  }
  if (response.status === 401) access.dispatchEvent(new Event("signin"));
  let body;
  try {
    body = await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(response.status, `The answer is not JSON (status ${response.status}).`);
  }
  if (!response.ok) throw new ApiError(response.status, body?.error ?? `Status ${response.status}.`);
  return body;
}

/** Exchanges a token for a cookie. False: it is another one. */
export async function signIn(token) {
  const response = await fetch("login", { method: "POST", body: new URLSearchParams({ token }), redirect: "manual" });
  return response.ok || response.type === "opaqueredirect";
}
