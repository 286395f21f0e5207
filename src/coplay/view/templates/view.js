"use strict";
// Keys, the filter, and following what changes. Everything works without it, but for these three.
(() => {
  const EVERY = 3000;
  const get = (id) => document.getElementById(id);
  const live = document.body.dataset.live;
  let mark = "", shown = {}, timer = 0, asking = false;

  // ------------------------------------------------------------ following

  function tell(text) {
    get("status").textContent = text;
    get("status").hidden = !text;
  }

  // The markup comes from this page's own server, which has escaped all that files say; the policy admits no script in it.
  function put(id, html) {
    const box = get(id);
    if (!box || shown[id] === html) return;
    const link = document.activeElement && box.contains(document.activeElement) ? document.activeElement.getAttribute("href") || document.activeElement.value : null;
    const chosen = [...box.querySelectorAll("input:checked")].map((one) => one.value);
    const open = [...box.querySelectorAll("details")].map((one) => one.open);
    box.innerHTML = html;
    shown[id] = html;
    for (const one of box.querySelectorAll("input[type=checkbox]")) one.checked = chosen.includes(one.value);
    box.querySelectorAll("details").forEach((one, i) => { one.open = open[i] || false; });
    if (link) {
      const again = [...box.querySelectorAll("a, input")].find((one) => (one.getAttribute("href") || one.value) === link);
      if (again) again.focus({ preventScroll: true });
    }
  }

  async function follow() {
    if (asking || document.hidden) return;
    asking = true;
    clearTimeout(timer);
    try {
      const answer = await fetch(live + "?mark=" + mark, { cache: "no-store" });
      if (answer.status === 404) {
        tell("This is no longer there: it was deleted or moved. What is shown is how it was last.");
      } else if (!answer.ok) {
        tell("coplay view could not read this: " + (await answer.text()));
      } else {
        const found = await answer.json();
        mark = found.mark;
        for (const [id, html] of Object.entries(found.parts)) put(id, html);
        filter();
        tell("");
      }
    } catch (_) {
      tell("coplay view has ended or does not answer. What is shown is how it was last.");
    }
    asking = false;
    document.body.dataset.followed = String(Number(document.body.dataset.followed || 0) + 1);
    if (!document.hidden) timer = setTimeout(follow, EVERY);
  }

  if (live) {
    document.addEventListener("visibilitychange", () => {
      clearTimeout(timer);
      if (!document.hidden) follow();
    });
    timer = setTimeout(follow, EVERY);
  }

  // ------------------------------------------------------------ the filter

  const box = get("filter");

  function filter() {
    if (!box) return;
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = [...document.querySelectorAll("#rows tr[data-text]")];
    let left = 0;
    for (const row of rows) {
      row.hidden = !words.every((word) => row.dataset.text.includes(word));
      if (!row.hidden) left += 1;
    }
    if (words.length) get("count").textContent = left + " of " + rows.length;
    else if (shown.count) get("count").innerHTML = shown.count;
  }

  if (box) {
    shown.count = get("count").innerHTML;
    box.addEventListener("input", filter);
    get("search").addEventListener("submit", (event) => {
      event.preventDefault();
      move(1, -1);
    });
    if (box.value) follow();  // the server has left out the rows that did not fit
  }
  const pick = get("pick");
  if (pick) pick.addEventListener("change", () => pick.requestSubmit());

  // ------------------------------------------------------------ keys

  const links = () => [...document.querySelectorAll("a[data-row]")].filter((one) => !one.closest("[hidden]"));

  function move(by, from) {
    const rounds = [...document.querySelectorAll("[data-round]")];
    const all = rounds.length ? rounds : links();
    const at = from === undefined ? all.findIndex((one) => one === document.activeElement || one.contains(document.activeElement) || (one.closest("tr") && one.closest("tr").contains(document.activeElement))) : from;
    const next = all[Math.min(Math.max(at + by, 0), all.length - 1)];
    if (!next) return;
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: rounds.length ? "start" : "nearest" });
  }

  function choose() {
    const row = document.activeElement.closest("tr");
    const one = row && row.querySelector("input[type=checkbox]");
    if (one) one.checked = !one.checked;
  }

  const KEYS = {
    j: () => move(1), k: () => move(-1),
    "/": () => { if (box) box.select(), box.focus(); else location.href = "/"; },
    "?": () => { const keys = get("keys"); keys.open = !keys.open; if (keys.open) keys.scrollIntoView({ block: "end" }); },
    x: choose,
    c: () => { const form = get("compare"); if (form) form.requestSubmit(); },
    g: () => { const link = get("to-games"); if (link) link.click(); },
    u: () => (get("up") || get("home")).click(),
  };

  addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Escape" && event.target === box) {
      box.value = "";
      filter();
      box.blur();
      return;
    }
    if (event.target === box && event.key === "ArrowDown") {
      event.preventDefault();
      move(1, -1);
      return;
    }
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {  // elsewhere they scroll
      if (event.target !== document.body && !event.target.closest("tr") || !links().length) return;
      event.preventDefault();
      move(event.key === "ArrowDown" ? 1 : -1);
      return;
    }
    if (event.target.closest("input:not([type=checkbox]), select, textarea, .prompt") || !Object.hasOwn(KEYS, event.key)) return;
    event.preventDefault();
    KEYS[event.key]();
  });
})();
