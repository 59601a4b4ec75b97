// What the controller sends by itself: its state every few seconds, and each event of its journal.

import { access, address, get } from "./api.js";

/** How many events are kept, as in the controller. */
const KEPT = 1000;
/** An answer of `/events` with so many has a successor. */
const PAGE = 500;
/** The state is sent every 5 s: without a message for so long the connection is taken for lost. */
const SILENCE = 13_000;
const LONGEST_WAIT = 15_000;

/** Signals: `now` (the state), `events` (the new ones), `connection`. */
class Live extends EventTarget {
  now = null;
  events = [];
  /** `connecting`, `live` or `lost`. */
  connection = "connecting";
  /** Of the last message, in milliseconds. */
  heard = 0;
  #source = null;
  #timer = 0;
  #failures = 0;

  start() {
    this.#resume();
    setInterval(() => this.#watch(), 1000);
    // Browsers have six connections to a host, for all their tabs: a page that is not seen holds none.
    document.addEventListener("visibilitychange", () => (document.hidden ? this.#pause() : this.#resume()));
    addEventListener("pagehide", () => this.#pause());
    addEventListener("pageshow", () => this.#resume());
    access.addEventListener("signin", () => this.stop());
  }

  /** Ends the connection until `restart`. */
  stop() {
    this.#source?.close();
    this.#source = null;
    clearTimeout(this.#timer);
    this.#timer = -1;
  }

  restart() {
    this.stop();
    this.#failures = 0;
    this.#open();
  }

  #pause() {
    if (this.#timer < 0) return;
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#source?.close();
    this.#source = null;
  }

  #resume() {
    if (!document.hidden && !this.#source && !this.#timer) this.#open();
  }

  #open() {
    this.#timer = 0;
    this.#source?.close();
    const source = new EventSource(address("stream"));
    this.#source = source;
    this.heard = Date.now();
    source.addEventListener("open", () => this.#fill().catch(() => {}));
    source.addEventListener("now", (message) => this.#state(JSON.parse(message.data)));
    source.addEventListener("change", (message) => this.#take([JSON.parse(message.data)]));
    source.addEventListener("error", () => this.#lost());
  }

  #lost() {
    if (this.#timer) return;
    this.#source?.close();
    this.#source = null;
    this.#set("lost");
    const wait = Math.min(LONGEST_WAIT, 1000 * 2 ** this.#failures);
    this.#failures += 1;
    this.#timer = setTimeout(() => this.#open(), wait);
    // The stream does not say why it failed; this does, and asks for the token where one is missing.
    get("now").catch(() => {});
  }

  #watch() {
    if (this.#source && this.connection === "live" && Date.now() - this.heard > SILENCE) this.#lost();
  }

  #state(now) {
    const restarted = this.now && this.now.started !== now.started;
    if (restarted) this.events = [];
    this.now = now;
    this.heard = Date.now();
    this.#failures = 0;
    this.#set("live");
    this.dispatchEvent(new Event("now"));
    if (restarted) this.#fill().catch(() => {});
  }

  /** What happened before the connection, or between two of them. */
  async #fill() {
    let since = this.events.at(-1)?.id;
    for (;;) {
      const { items } = await get("events", { since });
      this.#take(items, true);
      if (items.length < PAGE) return;
      since = items.at(-1).id;
    }
  }

  /** Events come by the stream and by `#fill`, in any order. */
  #take(items, past = false) {
    this.heard = Date.now();
    const known = new Set(this.events.map((event) => event.id));
    const fresh = items.filter((event) => !known.has(event.id));
    if (!fresh.length) return;
    this.events = [...this.events, ...fresh].sort((a, b) => a.id - b.id).slice(-KEPT);
    const signal = new Event("events");
    signal.fresh = fresh;
    signal.past = past;
    this.dispatchEvent(signal);
  }

  #set(connection) {
    if (this.connection === connection) return;
    this.connection = connection;
    this.dispatchEvent(new Event("connection"));
  }
}

/** The one connection of the page. */
export const live = new Live();
