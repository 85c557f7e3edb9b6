// The page for a customer's administrator: usage by what it was for, and what is left of the budget.
// All text from the worker becomes text of the document, never markup.

import { ask, keep } from "./api.js";
import { showBudget } from "./budget.js";
import { drawChart, pieces } from "./chart.js";
import { fillTable } from "./table.js";
import { cut, instant, preferred, say, speak, whole } from "./words.js";

const BEHIND_MS = 5 * 60_000; // a worker that counts is a minute behind at most
const place = Object.fromEntries([...document.querySelectorAll("[id]")].map((found) => [found.id, found]));
let token = "";
let shown = null; // the last answer, to be told again in another language
let told = () => ""; // the status, for the same reason
let asking = new AbortController();
let later = 0;

function tell(sentence, wrong = false) {
  told = sentence;
  place.status.textContent = sentence();
  place.status.className = wrong ? "wrong" : "";
}

/** The token of this tab. One in the fragment is taken out of the address at once. */
function findToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given !== null) {
    history.replaceState(null, "", location.pathname + location.search);
    sessionStorage.setItem("token", given);
  }
  return sessionStorage.getItem("token") ?? "";
}

function closeDoor(sentence, wrong) {
  token = "";
  sessionStorage.removeItem("token");
  hideAnswer();
  place.question.hidden = true;
  place.door.hidden = false;
  place.token.value = "";
  place.token.focus();
  tell(sentence, wrong);
}

function hideAnswer() {
  shown = null;
  place.usage.hidden = place.budget.hidden = true;
  place.who.textContent = "";
}

/** Run one question at a time: a newer one ends the one before. What fails for now is asked again. */
async function attempt(work) {
  asking.abort();
  clearTimeout(later);
  asking = new AbortController();
  const { signal } = asking;
  place.main.setAttribute("aria-busy", "true");
  tell(() => say("loading"));
  try {
    await work(signal);
  } catch (error) {
    if (!signal.aborted) fail(error, work);
  } finally {
    if (!signal.aborted) place.main.removeAttribute("aria-busy");
  }
}

function fail(error, work) {
  const { status, message, again } = error;
  if (status === undefined) throw error;
  if (status === 401) return closeDoor(() => say("wrongToken"), true);
  if (work === enter || work === show) hideAnswer();
  if (again !== undefined) later = setTimeout(() => attempt(work), again * 1000);
  if (status === 0) tell(() => say("unreachable", again), true);
  else if (again !== undefined) tell(() => say("unready", message, again), true);
  else tell(() => say(status === 403 ? "forbidden" : "wrong", message), true);
}

async function enter(signal) {
  const { tenants } = await (await ask("tenants", {}, token, signal)).json();
  place.tenant.replaceChildren(...tenants.map((name) => new Option(cut(name), name)));
  nameNobody();
  place["tenant-choice"].hidden = tenants.length < 2;
  place.door.hidden = true;
  place.question.hidden = false;
  await show(signal);
}

function nameNobody() {
  for (const option of place.tenant.options) if (option.value === "") option.textContent = say("nobody");
}

function asked() {
  const fields = { by: place.by.value, from: place.from.value, to: place.to.value };
  const query = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ""));
  return place.tenant.options.length > 0 ? { ...query, tenant: place.tenant.value } : query;
}

async function show(signal) {
  const query = asked();
  const [response, budget] = await Promise.all([usage(query, signal), budgetOf(query, signal)]);
  if (response === null) {
    hideAnswer();
    return tell(() => say("noTenants"));
  }
  const answer = await response.json();
  [place.from.value, place.to.value] = [answer.from, answer.to];
  shown = { answer, budget, at: Date.parse(response.headers.get("Date")) };
  render();
}

/** Null: the token is for every tenant, and there is none yet. */
async function usage(query, signal) {
  try {
    return await ask("usage", query, token, signal);
  } catch (error) {
    if (error.status === 400 && query.tenant === undefined) return null;
    throw error;
  }
}

/** Null: nothing is decided. Nobody decides about usage that names no tenant. */
async function budgetOf(query, signal) {
  try {
    return await (await ask("budget", query.tenant === undefined ? {} : { tenant: query.tenant }, token, signal)).json();
  } catch (error) {
    if (error.status === 404 || (error.status === 400 && query.tenant === undefined)) return null;
    throw error;
  }
}

function render() {
  const { answer, budget, at } = shown;
  const found = pieces(answer);
  const empty = answer.total.tokens === 0 && answer.total.requests === 0;
  place.who.textContent = answer.tenant === "" ? say("nobody") : cut(answer.tenant);
  showBudget(place.budget, budget);
  place["usage-heading"].textContent = say("heading", say(answer.by), answer.from, answer.to);
  place["usage-heading"].dataset.by = answer.by;
  showFreshness(answer, at);
  place.numbers.hidden = place.download.hidden = empty;
  place.figure.hidden = answer.total.tokens === 0;
  drawChart(place.figure, answer, found);
  fillTable(place.table, answer, found);
  place.usage.hidden = false;
  tell(() => (empty ? say("nothing") : say("ready", whole(answer.total.tokens), whole(answer.total.requests))));
}

function showFreshness({ complete_until: complete }, now) {
  const behind = complete === null || now - Date.parse(complete) > BEHIND_MS;
  place.fresh.className = behind ? "behind" : "";
  if (complete === null) place.fresh.textContent = say("incomplete");
  else place.fresh.textContent = say(behind ? "behind" : "complete", instant(complete));
}

/** What is shown, as a file. */
async function download(answer, signal) {
  const query = { tenant: answer.tenant, from: answer.from, to: answer.to, by: answer.by, format: "csv" };
  const name = await keep(await ask("usage", { ...query, bom: place.bom.checked ? "1" : "0" }, token, signal));
  tell(() => say("downloaded", name));
}

function choose(language) {
  const chosen = speak(language);
  sessionStorage.setItem("language", chosen);
  for (const button of place.languages.children) button.setAttribute("aria-pressed", String(button.value === chosen));
  nameNobody();
  const [sentence, kind] = [told, place.status.className];
  if (shown !== null) render();
  tell(sentence, kind === "wrong");
}

function begin() {
  token = findToken();
  if (token === "") closeDoor(() => say("noToken"));
  else attempt(enter);
}

place.door.addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("token", place.token.value.trim());
  place.token.value = "";
  begin();
});
place.question.addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(show);
});
for (const field of [place.tenant, place.by]) field.addEventListener("change", () => attempt(show));
place.languages.addEventListener("click", (event) => event.target.value && choose(event.target.value));
place.leave.addEventListener("click", () => {
  asking.abort();
  clearTimeout(later);
  closeDoor(() => say("noToken"));
});
place.csv.addEventListener("click", () => {
  const { answer } = shown;
  attempt((signal) => download(answer, signal));
});
addEventListener("hashchange", () => location.hash.includes("token=") && begin());

choose(sessionStorage.getItem("language") ?? preferred(navigator.languages));
begin();
