// Comforts for pages that are complete without them. Never decides, never moves what is shown.
"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  const all = (selector, from) => Array.from((from || document).querySelectorAll(selector));
  const one = (selector) => document.querySelector(selector);
  const make = (name, text, attributes) => {
    const element = document.createElement(name);
    element.textContent = text || "";
    for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
    return element;
  };

  // Errors and news take the focus.
  const focus = one("[data-focus]");
  if (focus) focus.focus();

  // Times: the reader's own zone beside UTC, and relative words that stay true.
  const zone = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
  const span = (seconds) => {
    const s = Math.floor(seconds), m = Math.floor(s / 60), h = Math.floor(m / 60), d = Math.floor(h / 24);
    if (d) return `${d} d${h % 24 ? ` ${h % 24} h` : ""}`;
    if (h) return `${h} h${m % 60 ? ` ${m % 60} min` : ""}`;
    if (m) return `${m} min${m < 5 && s % 60 ? ` ${s % 60} s` : ""}`;
    return `${s} s`;
  };
  const times = all(".when").map((element) => {
    const time = element.querySelector("time");
    return { time, rel: element.querySelector(".rel"), at: Date.parse(time.dateTime) };
  });
  for (const { time, at } of times) time.title = `${zone.format(at)} in your zone`;
  const tick = () => {
    const now = Date.now();
    for (const { rel, at } of times) {
      const away = (at - now) / 1000;
      const words = Math.abs(away) < 1 ? "now" : away > 0 ? `in ${span(away)}` : `${span(-away)} ago`;
      if (rel.textContent !== `(${words})`) rel.textContent = `(${words})`;
    }
  };
  tick();
  setInterval(tick, 1000);

  // A form is sent once; coming back with the back button makes it usable again.
  for (const form of all("form[data-once]")) {
    form.addEventListener("submit", (event) => {
      if (form.dataset.sent) return event.preventDefault();
      form.dataset.sent = "yes";
      const button = form.querySelector("button[type=submit]");
      button.setAttribute("aria-disabled", "true");
      button.after(make("p", "Sending …", { role: "status", class: "dim", "data-sending": "" }));
    });
  }
  addEventListener("pageshow", () => {
    for (const form of all("form[data-once]")) {
      delete form.dataset.sent;
      form.querySelector("button[type=submit]").removeAttribute("aria-disabled");
    }
    for (const note of all("[data-sending]")) note.remove();
  });

  // Copy.
  if (navigator.clipboard) {
    for (const source of all("[data-copy]")) {
      const button = make("button", "Copy", { type: "button", class: "quiet copy" });
      button.addEventListener("click", async () => {
        try {
          await navigator.clipboard.writeText(source.textContent);
          button.textContent = "Copied";
        } catch {
          button.textContent = "Not copied";
        }
      });
      source.after(button);
    }
  }

  // Live: says that something is new, and leaves the showing to the reader.
  const live = one("[data-live]");
  if (live && "EventSource" in window) {
    const what = live.dataset.live;
    const prefix = { queue: "act_", runs: "run_" }[what];
    const bar = prefix ? live : one("[data-live-bar]");
    const seen = new Set();
    let last = new Date();
    const clock = () => last.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });
    const say = (text, withLink) => {
      bar.replaceChildren(make("span", text));
      if (!withLink) return;
      const link = make("a", "show", { href: location.pathname + location.search });
      link.addEventListener("click", (event) => { event.preventDefault(); location.reload(); });
      bar.append(" – ", link);
    };
    const tell = () => {
      if (seen.size && prefix) say(`${seen.size} new or changed`, true);
      else if (seen.size) say(`This ${what} has changed`, true);
      else bar.replaceChildren();
    };
    const heard = (event) => {
      last = new Date();
      let entry;
      try { entry = JSON.parse(event.data); } catch { return; }
      const id = String(entry.stream || "").replace("action/", "act_").replace("run/", "run_");
      if (prefix ? id.startsWith(prefix) : id === live.dataset.id) seen.add(id);
      tell();
    };
    const stream = new EventSource("/v1/events/stream");
    stream.onopen = () => { last = new Date(); tell(); };
    stream.onmessage = heard;
    for (const kind of ["staged", "accepted", "refused", "vote_recorded", "approved", "rejected", "expired", "withdrawn", "cancelled", "deferred", "replan_required", "restaged", "commit_recorded", "attempt_succeeded", "attempt_refused", "attempt_not_delivered", "attempt_unknown", "found_done", "found_not_done", "check_inconclusive", "settled", "late_answer"]) {
      stream.addEventListener(`action.${kind}`, heard);
    }
    for (const kind of ["started", "step_started", "step_waiting", "step_ended", "step_skipped", "noted", "signalled", "healed", "cancel_requested", "resumed", "ended"]) {
      stream.addEventListener(`run.${kind}`, heard);
    }
    stream.onerror = () => say(`Live updates paused, last update ${clock()}`, true);
    addEventListener("pagehide", () => stream.close());
  }

  // Keys. They move and focus, and never decide.
  const KEY = "holdpoint-keys-off";
  const stored = (value) => {
    try {
      if (value !== undefined) localStorage.setItem(KEY, value);
      return localStorage.getItem(KEY) === "yes";
    } catch { return false; }
  };
  const rows = all("[data-row] [data-open]");
  const move = (step) => {
    if (!rows.length) return;
    const at = rows.indexOf(document.activeElement);
    rows[Math.min(rows.length - 1, Math.max(0, at < 0 ? 0 : at + step))].focus();
  };
  const go = (selector) => {
    const target = one(selector);
    if (target) { target.focus(); target.scrollIntoView({ block: "center" }); }
  };
  const keys = {
    j: ["next action", () => move(1)],
    k: ["previous action", () => move(-1)],
    o: ["open the action", () => rows.includes(document.activeElement) && document.activeElement.click()],
    "/": ["search", () => go("[data-search]")],
    a: ["go to the approval form", () => go("#approve textarea")],
    r: ["go to the rejection form", () => go("#reject textarea")],
    u: ["back to the queue", () => { const back = one("[data-back]"); if (back) back.click(); }],
    "?": ["this help", () => help()],
  };
  const jumps = { q: ["queue", "/queue"], h: ["history", "/history"], r: ["runs", "/runs"], t: ["tools", "/tools"] };
  const help = () => {
    let dialog = one("dialog");
    if (!dialog) {
      dialog = make("dialog", "", { "aria-labelledby": "keys-title" });
      dialog.append(make("h2", "Keyboard shortcuts", { id: "keys-title" }));
      const list = make("dl", "", { class: "facts" });
      const add = (key, words) => {
        const name = make("dt");
        name.append(make("kbd", key));
        list.append(name, make("dd", words));
      };
      for (const [key, [words]] of Object.entries(keys)) add(key, words);
      for (const [key, [words]] of Object.entries(jumps)) add(`g ${key}`, words);
      const field = make("div", "", { class: "check" });
      const box = make("input", "", { type: "checkbox", id: "keys-on" });
      box.checked = !stored();
      box.addEventListener("change", () => stored(box.checked ? "no" : "yes"));
      field.append(box, make("label", "Single keys do these things", { for: "keys-on" }));
      const close = make("button", "Close", { type: "button", class: "secondary" });
      close.addEventListener("click", () => dialog.close());
      dialog.append(list, make("p", "No key approves or rejects anything."), field, close);
      document.body.append(dialog);
    }
    if (!dialog.open) dialog.showModal();
  };
  for (const button of all("[data-help]")) button.addEventListener("click", help);
  let prefix = 0;
  addEventListener("keydown", (event) => {
    if (stored() || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target.closest("input, textarea, select, dialog, [contenteditable]")) return;
    if (prefix && Date.now() - prefix < 1500 && jumps[event.key]) {
      event.preventDefault();
      location.href = jumps[event.key][1];
      return;
    }
    prefix = event.key === "g" ? Date.now() : 0;
    if (keys[event.key]) {
      event.preventDefault();
      keys[event.key][1]();
    }
  });
})();
