"use strict";
// The replay: steps through recorded games. Text from models is only ever set as text, never as markup.
(() => {
  const source = document.getElementById("replay-data");
  if (!source) return;
  const data = JSON.parse(source.textContent);
  const get = (id) => document.getElementById(id);
  const stateClass = new Map(data.states.map(([name, i]) => [name, i === null ? "s-x" : "s-" + (i % 9)]));
  const at = { arm: 0, step: null, seed: null, episode: null, round: 0 };
  let game = null;

  function element(tag, className, text) {
    const node = document.createElement(tag);
    if (className) node.className = className;
    if (text !== undefined) node.textContent = text;
    return node;
  }
  const signed = (x) => (x < 0 ? "\u2212" : "") + Math.abs(x).toLocaleString("en", { maximumFractionDigits: 2 });
  const distinct = (values) => [...new Set(values)].sort((a, b) => a - b);
  const keep = (value, values) => (values.includes(value) ? value : values[0]);

  // Narrow the games down picker by picker; what was chosen stays chosen where it still exists.
  function choose() {
    let games = data.arms[at.arm].games;
    const options = {};
    for (const key of ["step", "seed", "episode"]) {
      options[key] = distinct(games.map((g) => g[key]));
      at[key] = keep(at[key], options[key]);
      games = games.filter((g) => g[key] === at[key]);
    }
    game = games[0] || null;
    at.round = game ? Math.min(Math.max(at.round, 0), Math.max(game.states.length - 1, 0)) : 0;
    return options;
  }

  function fill(select, values, chosen, label) {
    select.replaceChildren(...values.map((value) => {
      const option = element("option", "", label(value));
      option.value = value;
      option.selected = value === chosen;
      return option;
    }));
    select.parentElement.hidden = values.length < 2;
  }

  function draw() {
    const options = choose();
    const arm = data.arms[at.arm];
    const stage = (step) => (arm.stages[step] ? step + " (" + arm.stages[step] + ")" : String(step));
    const withGames = data.arms.map((_, i) => i).filter((i) => data.arms[i].games.length);
    fill(get("pick-arm"), withGames, at.arm, (i) => data.arms[i].label);
    fill(get("pick-step"), options.step, at.step, stage);
    fill(get("pick-seed"), options.seed, at.seed, String);
    fill(get("pick-episode"), options.episode, at.episode, String);
    get("strip").replaceChildren(...(game ? game.states : []).map(cell));
    drawRound();
  }

  function cell(state, i) {
    const button = element("button", stateClass.get(state) || "s-x", state.length < 5 ? state : "");
    button.type = "button";
    button.title = "round " + (i + 1) + ": " + state;
    button.append(element("small", "", i + 1));
    button.addEventListener("click", () => go(i));
    return button;
  }

  function go(round) {
    if (!game) return;
    at.round = Math.min(Math.max(round, 0), game.states.length - 1);
    drawRound();
    const arm = at.arm, { step, seed, episode } = at;
    try { history.replaceState(null, "", "#" + ["replay", arm, step, seed, episode, at.round + 1].join("/")); } catch (_) { /* a viewer that forbids it */ }
  }

  function drawRound() {
    [...get("strip").children].forEach((button, i) => {
      if (i === at.round) button.setAttribute("aria-current", "true"); else button.removeAttribute("aria-current");
    });
    if (!game || !game.states.length) {
      get("round").textContent = "No games are recorded for this arm.";
      get("cards").replaceChildren();
      return;
    }
    get("back").disabled = at.round === 0;
    get("forward").disabled = at.round === game.states.length - 1;
    const count = element("b", "", "Round " + (at.round + 1));
    get("round").replaceChildren(count, " of " + game.states.length + ", state " + game.states[at.round]);
    get("cards").replaceChildren(...data.arms[at.arm].seats.map(card));
    // What is new in a long prompt stands at its end; in the first round all of it is new.
    if (at.round > 0) for (const box of get("cards").querySelectorAll(".prompt")) box.scrollTop = box.scrollHeight;
  }

  function card(seat, s) {
    const turns = game.seats[s] || [];
    const turn = turns[at.round];
    const box = element("article", "seat seat-" + (s % 4));
    const who = element("div", "who", seat.name + (seat.role ? " (" + seat.role + ")" : ""));
    const total = turns.slice(0, at.round + 1).reduce((sum, t) => sum + (t.payoff || 0), 0);
    who.append(element("span", "", "total so far " + signed(total)));
    box.append(who);
    if (!turn) {
      box.append(element("p", "soft", "Nothing recorded for this round."));
      return box;
    }
    if (turn.dealt) box.append(element("p", "dealt", turn.dealt));
    if (turn.told !== undefined) box.append(element("h4", "", "told to this player alone, or not to all"), element("div", "letter", turn.told));
    if (turn.to) box.append(...letters(turn.to));
    for (const earlier of turn.before) {
      box.append(element("h4", "", "read"), prompt(earlier, null), element("h4", "", earlier.phase || "said"), said(earlier));
    }
    box.append(element("h4", "", "read"), prompt(turn, turns[at.round - 1]), element("h4", "", "replied"), did(turn));
    if (turn.probs) box.append(probabilities(turn.probs, s));
    return box;
  }

  // What some seats alone were told of a reply, as by a mediator: texts that are equal once, after all their readers.
  function letters(to) {
    if (!to.length) return [element("h4", "", "told to nobody")];
    const readers = new Map();
    for (const [seat, text] of to) readers.set(text, [...(readers.get(text) || []), seat]);
    return [...readers].flatMap(([text, seats]) => [element("h4", "", "told to " + seats.join(", ")), element("div", "letter", text)]);
  }

  // The exact prompt; lines that the round before did not have are marked, and many that it had are folded.
  function prompt(turn, before) {
    const box = element("div", "prompt");
    box.tabIndex = 0;
    if (!turn.read) {
      box.textContent = "(this player reads no text)";
      return box;
    }
    const earlier = before && before.read ? new Set(before.read) : null;
    const isNew = (line) => earlier !== null && !earlier.has(line);
    let broken = true;  // whether a new line begins here anyway
    for (let i = 0, end = 1; i < turn.read.length; i = end, end += 1) {
      while (end < turn.read.length && isNew(turn.read[end]) === isNew(turn.read[i])) end += 1;
      const text = turn.read.slice(i, end).map((line) => data.lines[line]).join("\n");
      const fold = earlier !== null && !isNew(turn.read[i]) && end - i > 3;
      if (!broken && !fold) box.append("\n");
      box.append(fold ? folded(text, end - i) : isNew(turn.read[i]) ? element("mark", "", text) : text);
      broken = fold;
    }
    return box;
  }

  function folded(text, lines) {
    const box = element("details", "same");
    box.append(element("summary", "", lines + " lines as in the round before"), text);
    return box;
  }

  // Behind the action of a reply that named none.
  const AFTERWARDS = " (chosen afterwards)";

  // A message: what was sent, and a word if nobody could read it.
  function said(reply) {
    const box = element("div", "did");
    box.append(element("div", "reply long", reply.reply === "" ? "(empty)" : reply.reply));
    if (reply.action === null) box.append(element("div", "action bad", "could not be read"));
    if (reply.fallback) box.append(element("div", "action", reply.action + AFTERWARDS));
    return box;
  }

  function did(turn) {
    const long = turn.reply.length > 12;
    const box = element("div", long ? "did wide" : "did");
    const reply = element("div", long ? "reply long" : "reply", turn.reply === "" ? "(empty)" : turn.reply);
    const action = turn.action === null ? element("div", "action bad", "illegal reply") : element("div", "action", turn.action + (turn.fallback ? AFTERWARDS : ""));
    const payoff = element("div", "payoff", turn.payoff === null ? "\u2013" : signed(turn.payoff));
    payoff.append(element("small", "", turn.payoff === null ? "void round" : "payoff"));
    box.append(reply, action, payoff);
    return box;
  }

  function probabilities(probs, s) {
    const box = element("div", "probs");
    const entries = Object.entries(probs);
    const rest = 1 - entries.reduce((sum, [, p]) => sum + p, 0);
    if (rest > 0.0005) entries.push([null, rest]);
    for (const [action, p] of entries) {
      const track = element("span", "track");
      const bar = element("span", action === null ? "fill rest" : "fill");
      bar.style.width = 100 * Math.min(Math.max(p, 0), 1) + "%";
      if (action !== null) bar.style.background = "var(--seat-" + (s % 4) + ")";
      track.append(bar);
      box.append(element("span", "", action === null ? "illegal" : action), track, element("span", "", (100 * p).toFixed(p > 0.1 ? 0 : 1) + "%"));
    }
    return box;
  }

  function fromAddress() {
    const parts = location.hash.split("/");
    if (parts[0] !== "#replay" || parts.length !== 6) return false;
    const [arm, step, seed, episode, round] = parts.slice(1).map(Number);
    if (!data.arms[arm]) return false;
    Object.assign(at, { arm, step, seed, episode, round: round - 1 || 0 });
    return true;
  }

  function follow() {
    if (!fromAddress()) return;
    draw();
    get("replay").scrollIntoView({ block: "start" });
  }

  for (const key of ["arm", "step", "seed", "episode"]) {
    get("pick-" + key).addEventListener("change", (event) => {
      at[key] = Number(event.target.value);
      draw();
      go(at.round);
    });
  }
  get("back").addEventListener("click", () => go(at.round - 1));
  get("forward").addEventListener("click", () => go(at.round + 1));
  addEventListener("hashchange", follow);
  addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.target.closest("select, input, textarea, .prompt")) return;
    const box = get("replay").getBoundingClientRect();
    if (!game || box.bottom < 0 || box.top > innerHeight) return;
    const round = { ArrowLeft: at.round - 1, ArrowRight: at.round + 1, Home: 0, End: game.states.length - 1 }[event.key];
    if (round === undefined) return;
    event.preventDefault();
    go(round);
  });

  at.arm = Math.max(data.arms.map((arm) => arm.games.length > 0).lastIndexOf(true), 0);
  at.step = Math.max(...data.arms[at.arm].games.map((g) => g.step));
  get("replay").hidden = false;
  draw();
  follow();
})();
