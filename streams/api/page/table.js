// The table: every row with its sums, what found no row, and the total.

import { nameOf, percent, say, whole } from "./words.js";

const SUMS = ["tokens", "requests", "prompt", "completion", "cached", "cache_hits", "saved"];

/** Fill the table; a row that is a piece of the chart bears the piece's number. */
export function fillTable(table, answer, shown) {
  const numbers = new Map(shown.map((piece) => [piece.row, piece.number]));
  const rest = shown.find((piece) => piece.row === null && answer.by !== "day")?.number;
  const lines = answer.rows.map((row) => line(nameOf(row), row, answer, answer.by === "day" ? undefined : numbers.get(row) ?? rest));
  if (answer.other.tokens || answer.other.requests) lines.push(line(say("other"), answer.other, answer, rest));
  const caption = document.createElement("caption");
  caption.textContent = say("caption", whole(lines.length));
  table.replaceChildren(caption, part("thead", [titles(answer)]), part("tbody", lines), part("tfoot", [line(say("total"), answer.total, answer)]));
}

function part(kind, lines) {
  const made = document.createElement(kind);
  made.append(...lines);
  return made;
}

function titles(answer) {
  const names = [say(answer.by), say("share"), ...SUMS.map((name) => say(name))];
  if (hasCost(answer)) names.push(say("cost", answer.currency));
  return part("tr", names.map((name) => heading("col", name)));
}

function line(name, sums, answer, number) {
  const head = heading("row", "");
  if (number !== undefined) head.append(swatch(number));
  const text = document.createElement("bdi");
  text.textContent = name;
  head.append(text);
  const cells = [percent(sums.tokens, answer.total.tokens), ...SUMS.map((sum) => whole(sums[sum]))];
  if (hasCost(answer)) cells.push(sums.cost ?? say("unknown"));
  const made = part("tr", [head, ...cells.map(cell)]);
  made.dataset.tokens = sums.tokens;
  return made;
}

/** Costs are told by model and day only, and where prices are known. */
function hasCost(answer) {
  return [answer.total, ...answer.rows].some((sums) => sums.cost !== null) && ["model", "day"].includes(answer.by);
}

function heading(scope, text) {
  const made = document.createElement("th");
  made.scope = scope;
  made.textContent = text;
  return made;
}

function cell(text) {
  const made = document.createElement("td");
  made.textContent = text;
  return made;
}

function swatch(number) {
  const made = document.createElement("span");
  made.className = `swatch p${number}`;
  made.textContent = String(number);
  return made;
}
