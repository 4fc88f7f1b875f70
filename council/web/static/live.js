// Live updates; every page works without. On news the page is fetched again, and each section with
// `data-live` and an id is brought up to date in place: focus, open details and typed text stay.
"use strict";
(() => {
  const { events } = document.body.dataset, WAIT_MS = 80, RETRY_MS = 5000;
  const line = document.getElementById("connection");
  const sections = (root) => root.querySelectorAll("[data-live][id]");
  let timer = 0, busy = false, again = false, lost = false;

  function follow() {
    const stream = new EventSource(events);
    const soon = () => { clearTimeout(timer); timer = setTimeout(refresh, WAIT_MS); };
    stream.onmessage = soon;
    for (const kind of ["changed", "reset"]) stream.addEventListener(kind, soon);
    // Also at first: what happened between the making of the page and now was not told.
    stream.onopen = () => { if (lost) say(""); lost = false; soon(); };
    stream.onerror = () => {
      lost = true;
      say("Connection lost; trying again");
      if (stream.readyState === EventSource.CLOSED) setTimeout(follow, RETRY_MS);
    };
    addEventListener("pagehide", () => stream.close(), { once: true });
  }

  function say(words, href) {
    const made = document.createElement(href ? "a" : "span");
    made.textContent = words;
    if (href) { made.href = href; made.addEventListener("click", () => say("")); }
    line.replaceChildren(...(words ? [made] : []));
  }

  async function refresh() {
    if (busy || document.hidden) { again = true; return; }
    busy = true; again = false;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (answer.ok) update(new DOMParser().parseFromString(await answer.text(), "text/html"));
    } catch { lost = true; } finally {
      busy = false;
      if (again) refresh();
    }
  }

  function update(fresh) {
    const known = new Set([...document.querySelectorAll("[data-new]")].map((one) => one.id));
    const places = new Set([...sections(fresh)].map((one) => one.id));
    // A phase that begins or a council that ends shows other sections: then all is loaded anew.
    const fits = [...sections(document)].every((one) => places.has(one.id))
      && [...places].every((id) => document.getElementById(id));
    if (!fits && ![...document.forms].some(isHeld)) { location.reload(); return; }
    for (const section of sections(fresh)) {
      const old = document.getElementById(section.id);
      if (old) morph(old, section);
    }
    document.title = fresh.title;
    dress();
    const news = [...document.querySelectorAll("[data-new]")].filter((one) => !known.has(one.id));
    const away = news.filter((one) => one.getBoundingClientRect().top > innerHeight);
    if (away.length) say(away.length === 1 ? "New below" : `${away.length} new below`, `#${away[0].id}`);
  }

  const isField = (one) => /^(INPUT|TEXTAREA|SELECT)$/.test(one.nodeName);
  const isTyped = (one) => one.type !== "hidden" && (one.nodeName === "SELECT"
    ? !([...one.options].find((option) => option.defaultSelected) || one.options[0])?.selected
    : one.value !== one.defaultValue || one.checked !== one.defaultChecked);
  const isHeld = (one) => one.nodeType === Node.ELEMENT_NODE && (one.contains(document.activeElement)
    || [...one.querySelectorAll("input, textarea, select")].some(isTyped));

  function morph(old, fresh) {
    if (old.nodeType !== Node.ELEMENT_NODE) {
      if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
      return;
    }
    if (isField(old) && (old === document.activeElement || isTyped(old))) return;
    const keeps = (name) => name === "open" && old.nodeName === "DETAILS";
    for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name) && !keeps(name)) old.removeAttribute(name);
    for (const { name, value } of fresh.attributes) if (!keeps(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
    let at = old.firstChild;
    for (const one of [...fresh.childNodes]) {
      let match = one.id ? [...old.children].find((child) => child.id === one.id) : at;
      if (!match || match.nodeName !== one.nodeName || (match.id || "") !== (one.id || "")) {
        old.insertBefore(document.importNode(one, true), at);
        continue;
      }
      if (match === at) at = at.nextSibling; else old.insertBefore(match, at);
      morph(match, one);
    }
    while (at) { const next = at.nextSibling; if (!isHeld(at)) at.remove(); at = next; }
  }

  // Times: in the reader's zone, and counting.
  function span(seconds) {
    const s = Math.max(0, Math.floor(seconds)), [d, h, m] = [s / 86400, s / 3600, s / 60].map(Math.floor);
    return s < 60 ? `${s}s` : s < 3600 ? `${m}m` : s < 86400 ? `${h}h${m % 60 ? `${m % 60}m` : ""}` : `${d}d${h % 24 ? `${h % 24}h` : ""}`;
  }
  function tick() {
    for (const one of document.querySelectorAll("time[data-until]")) {
      one.textContent = span((Date.parse(one.dateTime) - Date.now()) / 1000);
    }
  }
  let ofToday, ofOther;
  function dress() { // made here and not above: it takes longer than a page to be painted
    const clock = { hour: "2-digit", minute: "2-digit" }, today = new Date().toDateString();
    ofToday ??= new Intl.DateTimeFormat("en-GB", clock);
    ofOther ??= new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", ...clock });
    for (const one of document.querySelectorAll("time[data-when]")) {
      const at = new Date(one.dateTime);
      one.textContent = (at.toDateString() === today ? ofToday : ofOther).format(at);
      one.title = one.dateTime;
    }
    tick();
  }

  // A long answer survives a closed tab until it is sent.
  function drafts() {
    for (const form of document.querySelectorAll("form[data-draft]")) {
      const key = `council ${location.pathname} ${form.dataset.draft}`, area = form.querySelector("textarea");
      const kept = localStorage.getItem(key);
      if (kept && !area.value && !document.querySelector("[data-notice]")) area.value = kept;
      form.addEventListener("input", () => localStorage.setItem(key, area.value));
      form.addEventListener("submit", () => localStorage.removeItem(key));
    }
  }

  function begin() {
    const address = new URL(location.href);
    address.searchParams.delete("done");
    if (address.href !== location.href) history.replaceState(null, "", address);
    addEventListener("visibilitychange", () => { if (again) refresh(); });
    try { drafts(); } catch { /* no storage here */ }
    dress();
    setInterval(tick, 1000);
    if (events) follow();
  }
  if (document.hidden) begin(); else requestAnimationFrame(() => setTimeout(begin)); // paint first
})();
