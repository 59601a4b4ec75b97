// The token, where the controller asks for one.

import { signIn as exchange } from "../lib/api.js";
import { h, put } from "../lib/dom.js";
import { icon, mark } from "./icon.js";

let open = false;

/** Asks for the token over the page, once; `done` goes on. */
export function signIn(parent, done) {
  if (open) return;
  open = true;
  const input = h("input", { type: "password", id: "token", autocomplete: "current-password", required: true });
  const message = h("p", { class: "signin-message", role: "alert" });
  const button = h("button", { type: "submit", class: "button primary" }, "Sign in");
  const submit = async (event) => {
    event.preventDefault();
    button.disabled = true;
    const accepted = await exchange(input.value.trim()).catch(() => null);
    button.disabled = false;
    if (accepted) {
      open = false;
      dialog.close();
      dialog.remove();
      done();
      return;
    }
    put(message, icon("error"), accepted === null ? "The controller does not answer." : "This is not the token.");
    input.select();
  };
  const dialog = h(
    "dialog",
    { class: "signin", "aria-labelledby": "signin-title", oncancel: (event) => event.preventDefault() },
    h(
      "form",
      { onsubmit: submit },
      mark(),
      h("h2", { id: "signin-title" }, "Sign in to the console"),
      h("p", { class: "quiet" }, "The token is in the file that --console-token-file names."),
      h("label", { class: "labelled" }, h("span", {}, "Token"), input),
      message,
      button,
    ),
  );
  parent.append(dialog);
  dialog.showModal();
}
