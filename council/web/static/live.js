// Live updates. Every page works without this; with it, a page follows what happens.
//
// On news of the stream (or after being away) the page is fetched again, and each section with
// `data-live` and an id is brought up to date in place: focus, selection, open details, what is
// typed and where the reader is stay. The server's words are never taken for markup of ours: they
// come parsed as the page itself does.
"use strict";
(() => {
  // `fresh` is where the whole of a page is that may come without what takes long. What takes long
  // is fetched once, and then once in a while; the sections that wait for it say `data-later`.
  const { events, fresh, lost, found } = document.body.dataset;
  const WAIT_MS = 60, RETRY_MS = 5000, TICK_MS = 1000, WHOLE_MS = 60000;
  const short = new URL(location.href);
  const isWhole = short.searchParams.has("figures");
  if (fresh) short.searchParams.delete("figures");
  let wholeAt = isWhole ? Date.now() + WHOLE_MS : 0, later = 0;
  const seen = new Map(); // what the server last said of each section
  let timer = 0, isBusy = false, isAgain = false, wasLost = false;

  const sections = (root) => root.querySelectorAll("[data-live][id]");
  for (const one of sections(document)) seen.set(one.id, one.outerHTML);

  // -- Following ------------------------------------------------------------------------------

  function follow() {
    const stream = new EventSource(events);
    const soon = () => { clearTimeout(timer); timer = setTimeout(refresh, WAIT_MS); };
    stream.onmessage = soon;
    for (const kind of ["changed", "reset"]) stream.addEventListener(kind, soon);
    stream.onopen = () => {
      if (!wasLost) return;
      wasLost = false;
      say("connection", found);
      setTimeout(() => say("connection", ""), RETRY_MS);
      refresh();
    };
    stream.onerror = () => {
      wasLost = true;
      say("connection", lost);
      if (stream.readyState !== EventSource.CLOSED) return;
      setTimeout(follow, RETRY_MS);
    };
    addEventListener("pagehide", () => stream.close(), { once: true });
  }

  function say(id, words) {
    const place = document.getElementById(id);
    if (place && place.textContent !== words) place.textContent = words;
  }

  async function refresh() {
    if (isBusy || document.hidden) { isAgain = true; return; }
    isBusy = true;
    isAgain = false;
    try {
      const takesLong = fresh && Date.now() >= wholeAt;
      if (takesLong) wholeAt = Date.now() + WHOLE_MS;
      clearTimeout(later);
      if (fresh && !takesLong) later = setTimeout(refresh, wholeAt - Date.now());
      const whole = isWhole ? location.href : fresh;
      const answer = await fetch(takesLong ? whole : short, { headers: { Accept: "text/html" } });
      if (answer.ok) update(new DOMParser().parseFromString(await answer.text(), "text/html"));
    } catch {
      wasLost = true; // the stream says so, and says when it is found again
    } finally {
      isBusy = false;
      if (isAgain) refresh();
    }
  }

  function update(fresh) {
    const before = new Set([...document.querySelectorAll("[data-new]")].map((one) => one.id));
    for (const section of sections(fresh)) {
      const old = document.getElementById(section.id);
      const waits = "later" in section.dataset;
      if (!old || waits || seen.get(section.id) === section.outerHTML) continue;
      seen.set(section.id, section.outerHTML);
      morph(old, section);
    }
    if (document.title !== fresh.title) document.title = fresh.title;
    dress(document);
    announce([...document.querySelectorAll("[data-new]")].filter((one) => !before.has(one.id)));
  }

  // -- Bringing one tree up to another, in place ----------------------------------------------

  const isField = (one) => /^(INPUT|TEXTAREA|SELECT)$/.test(one.nodeName);
  const isTyped = (one) => one.nodeName === "SELECT"
    ? !([...one.options].find((option) => option.defaultSelected) || one.options[0])?.selected
    : one.value !== one.defaultValue || one.checked !== one.defaultChecked;
  // A form into which somebody typed stays until it is sent, also where it would stand no more.
  const isHeld = (one) => one.nodeType === Node.ELEMENT_NODE
    && (one.contains(document.activeElement)
      || [...one.querySelectorAll("input:not([type=hidden]), textarea, select")].some(isTyped));
  const isSame = (a, b) => a.nodeName === b.nodeName && (a.id || "") === (b.id || "");

  function morph(old, fresh) {
    if (old.nodeType !== Node.ELEMENT_NODE) {
      if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
      return;
    }
    if (isField(old) && (old === document.activeElement || isTyped(old))) return;
    const isFolded = old.nodeName === "DETAILS" || old.nodeName === "DIALOG";
    for (const { name } of [...old.attributes]) {
      if (!fresh.hasAttribute(name) && !(isFolded && name === "open")) old.removeAttribute(name);
    }
    for (const { name, value } of fresh.attributes) {
      if (isFolded && name === "open") continue;
      if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    let at = old.firstChild;
    for (const one of [...fresh.childNodes]) {
      let match = at;
      if (one.id) match = [...old.childNodes].find((child) => isSame(child, one)) || null;
      else if (!match || !isSame(match, one)) match = null;
      if (!match) {
        old.insertBefore(document.importNode(one, true), at);
        continue;
      }
      if (match === at) at = at.nextSibling;
      else old.insertBefore(match, at);
      morph(match, one);
    }
    while (at) {
      const next = at.nextSibling;
      if (!isHeld(at)) at.remove();
      at = next;
    }
  }

  // -- What came below what is read -----------------------------------------------------------

  function announce(fresh) {
    const below = fresh.filter((one) => one.getBoundingClientRect().top > innerHeight);
    if (!below.length) return;
    const words = document.body.dataset;
    const link = document.createElement("a");
    link.href = `#${below[0].id}`;
    link.textContent = below.length === 1 ? words.newOne : words.new.replace("#", below.length);
    link.addEventListener("click", () => link.remove());
    document.getElementById("news").replaceChildren(link);
  }

  // -- Times ----------------------------------------------------------------------------------

  function span(seconds) {
    const left = Math.max(0, Math.floor(seconds));
    if (left < 60) return `${left} s`;
    if (left < 3600) return `${Math.floor(left / 60)} min`;
    if (left < 86400) return `${Math.floor(left / 3600)} h ${Math.floor((left % 3600) / 60)} min`;
    const { days } = document.body.dataset;
    return `${Math.floor(left / 86400)} ${days} ${Math.floor((left % 86400) / 3600)} h`;
  }

  function tick() {
    for (const one of document.querySelectorAll("time[data-since], time[data-until]")) {
      const apart = (Date.now() - Date.parse(one.dateTime)) / 1000;
      const words = span("since" in one.dataset ? apart : -apart);
      if (one.textContent !== words) one.textContent = words;
    }
  }

  function dress(root) {
    const lang = document.documentElement.lang === "en" ? "en-GB" : document.documentElement.lang;
    const clock = { hour: "2-digit", minute: "2-digit" };
    const ofToday = new Intl.DateTimeFormat(lang, clock);
    const form = new Intl.DateTimeFormat(lang, {
      day: "numeric", month: "short", year: "numeric", ...clock,
    });
    const toTheSecond = new Intl.DateTimeFormat(lang, {
      day: "numeric", month: "short", year: "numeric", ...clock, second: "2-digit",
    });
    for (const one of root.querySelectorAll("time[data-when]")) {
      const at = new Date(one.dateTime);
      const isToday = at.toDateString() === new Date().toDateString();
      one.title = one.dateTime;
      one.textContent = (one.dataset.when ? toTheSecond : isToday ? ofToday : form).format(at);
    }
    tick();
  }

  // -- Drafts ---------------------------------------------------------------------------------

  const sentKey = "council-sent";
  const keyOf = (form) => `council-draft ${location.pathname} ${form.id}`;
  const fieldsOf = (form) => [...form.elements].filter((one) => one.name && isField(one)
    && !/^(hidden|checkbox|radio|file|submit)$/.test(one.type));

  function drafts() {
    const sent = sessionStorage.getItem(sentKey);
    if (sent && document.querySelector("[data-notice]")) localStorage.removeItem(sent);
    sessionStorage.removeItem(sentKey);
    for (const form of document.querySelectorAll("form[data-draft]")) {
      const kept = JSON.parse(localStorage.getItem(keyOf(form)) || "{}");
      for (const one of fieldsOf(form)) {
        if (kept[one.name] !== undefined && !isTyped(one) && !one.defaultValue) {
          one.value = kept[one.name];
        }
      }
      form.addEventListener("input", () => {
        const typed = fieldsOf(form).filter(isTyped).map((one) => [one.name, one.value]);
        localStorage.setItem(keyOf(form), JSON.stringify(Object.fromEntries(typed)));
      });
      form.addEventListener("submit", () => sessionStorage.setItem(sentKey, keyOf(form)));
    }
  }

  // -- Forms that ask at once, such as a slider ----------------------------------------------

  for (const form of document.querySelectorAll("form[data-submit]")) {
    form.addEventListener("change", () => form.requestSubmit());
  }

  // -- Beginning ------------------------------------------------------------------------------

  const address = new URL(location.href);
  for (const one of ["notice", "seal", "lang"]) address.searchParams.delete(one);
  if (address.href !== location.href) history.replaceState(null, "", address);
  addEventListener("visibilitychange", () => { if (isAgain) refresh(); });
  try { drafts(); } catch { /* no storage here: nothing is kept */ }
  dress(document);
  setInterval(tick, TICK_MS);
  if (fresh && !isWhole) refresh();
  if (events) follow();
})();
