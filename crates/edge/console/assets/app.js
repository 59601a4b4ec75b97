// The frame: navigation, connection, theme, and the view of the address bar.

import { access } from "./lib/api.js";
import { h, put } from "./lib/dom.js";
import { clock, count, short, tick } from "./lib/format.js";
import { live } from "./lib/live.js";
import { here, link, parse } from "./lib/router.js";
import { icon, mark } from "./parts/icon.js";
import { keys } from "./parts/keys.js";
import { signIn } from "./parts/signin.js";
import { empty } from "./parts/states.js";
import { themeSwitch } from "./parts/theme.js";
import * as backend from "./views/backend.js";
import * as certificates from "./views/certificates.js";
import * as changes from "./views/changes.js";
import * as explain from "./views/explain.js";
import * as host from "./views/host.js";
import { backends, hosts, ingresses } from "./views/hosts.js";
import * as ingress from "./views/ingress.js";
import * as nginx from "./views/nginx.js";
import * as now from "./views/now.js";
import * as problems from "./views/problems.js";
import * as settings from "./views/settings.js";

const NAVIGATION = [
  ["now", "Now"],
  ["hosts", "Hosts"],
  ["explain", "Explain"],
  ["problems", "Problems"],
  ["certificates", "Certificates"],
  ["changes", "Changes"],
  ["nginx", "NGINX"],
  ["settings", "Settings"],
];

/** Views by name: those of a list, and of one of its items. */
const VIEWS = {
  now: [now],
  hosts: [hosts, host],
  ingresses: [ingresses, ingress],
  backends: [backends, backend],
  explain: [explain],
  problems: [problems],
  certificates: [certificates],
  changes: [changes],
  nginx: [nginx],
  settings: [settings],
};

const main = h("main", { id: "main", tabindex: "-1" });
const badges = Object.fromEntries(NAVIGATION.map(([name]) => [name, h("span", { class: "badge" })]));
const links = Object.fromEntries(
  NAVIGATION.map(([name, text]) => [name, h("a", { href: link(name) }, icon(name), h("span", {}, text), badges[name])]),
);
const connection = h("div", { class: "connection", role: "status" });
const banner = h("div", { class: "banner", role: "alert", hidden: true });
const instance = h("p", { class: "instance" });
const version = h("p", { class: "version" });

function frame() {
  const shortcuts = keys(main, NAVIGATION);
  put(
    document.getElementById("app"),
    h(
      "header",
      { class: "side" },
      h("a", { class: "brand", href: link("now") }, mark(), h("span", {}, "Narthex")),
      instance,
      h(
        "nav",
        { class: "menu", "aria-label": "Views" },
        h(
          "ul",
          {},
          NAVIGATION.map(([name]) => h("li", {}, links[name])),
        ),
      ),
      h("div", { class: "side-foot" }, connection, version, h("div", { class: "side-tools" }, themeSwitch(), shortcuts.button)),
    ),
    h("div", { class: "content" }, banner, main),
    shortcuts.dialog,
  );
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    main.focus();
  });
}

let leave = null;

/** What of an address asks for another view: everything but what is chosen in it. */
function viewOf(address) {
  const { view, rest, query } = parse(new URL(address).hash);
  return JSON.stringify([view, rest, { ...query, item: undefined }]);
}

/** Shows the view of the address bar. */
function navigate() {
  const route = here();
  const first = leave === null;
  leave?.abort();
  leave = new AbortController();
  const [list, one] = VIEWS[route.view] ?? [];
  const view = route.rest.length && one ? one : list;
  const root = h("div", { class: view?.full ? "view full" : "view", "data-view": route.view });
  put(main, root);
  const name = !view ? "Not found" : typeof view.title === "function" ? view.title(route) : view.title;
  document.title = `${name} · Narthex`;
  const section = view?.section_of ?? (["ingresses", "backends"].includes(route.view) ? "hosts" : route.view);
  for (const [other, element] of Object.entries(links)) {
    if (other === section) element.setAttribute("aria-current", "page");
    else element.removeAttribute("aria-current");
  }
  if (view) view.show({ root, route, signal: leave.signal });
  else root.append(h("h1", { tabindex: "-1" }, name), empty("No such view", "The link may be of another version of the console."));
  links[section]?.scrollIntoView({ block: "nearest", inline: "center" });
  main.scrollTop = 0;
  if (!first) root.querySelector("h1")?.focus({ preventScroll: true });
}

function connected() {
  const states = { connecting: ["waiting", "Connecting"], live: ["ok", "Live"], lost: ["error", "Disconnected"] };
  const [tone, text] = states[live.connection];
  put(connection, h("span", { class: "pulse", "data-tone": tone }), text);
  const lost = live.connection === "lost";
  banner.hidden = !lost;
  document.body.toggleAttribute("data-lost", lost);
  if (lost)
    put(
      banner,
      icon("error"),
      h("span", {}, live.now ? `Disconnected. What is shown is of ${clock(live.heard / 1000)}.` : "The controller does not answer."),
      h("button", { type: "button", class: "button small", onclick: () => live.restart() }, "Connect now"),
    );
}

function drawNow() {
  const { now: state } = live;
  put(
    instance,
    [state.pod, state.class && state.class !== state.pod ? state.class : null].filter(Boolean).join(" · ") ||
      (state.source === "directory" ? "Directory" : "Cluster"),
  );
  put(
    version,
    `${state.version}${state.commit ? ` (${state.commit.slice(0, 7)})` : ""}`,
    state.leader === false ? " · replica" : state.leader ? " · leader" : "",
  );
  put(badges.hosts, short(state.counts.hosts));
  put(badges.certificates, short(state.counts.certificates));
  put(badges.problems, state.counts.problems ? [count(state.counts.problems)] : "");
  badges.problems.toggleAttribute("data-warning", state.counts.problems > 0);
  put(badges.nginx, state.ready ? "" : "!");
}

access.addEventListener("signin", () =>
  signIn(document.body, () => {
    live.restart();
    navigate();
  }),
);
live.addEventListener("connection", connected);
live.addEventListener("now", drawNow);
addEventListener("hashchange", ({ oldURL, newURL }) => viewOf(oldURL) === viewOf(newURL) || navigate());
setInterval(tick, 1000);

frame();
connected();
live.start();
navigate();
