// The chart: a pie of the largest rows, or columns by day. It says in words what it shows, with the table's numbers.

import { nameOf, percent, say, whole } from "./words.js";

const MOST = 7; // pieces with a row of their own; the rest is one more
const RADIUS = 100;

/** What the chart shows: the largest rows, and all others together. */
export function pieces(answer) {
  if (answer.by === "day") return days(answer);
  const used = answer.rows.filter((row) => row.tokens > 0);
  const shown = used.slice(0, MOST).map((row, place) => ({ name: nameOf(row), tokens: row.tokens, row, number: place + 1 }));
  const rest = sum(used.slice(MOST)) + answer.other.tokens;
  return rest > 0 ? [...shown, { name: say("rest"), tokens: rest, row: null, number: MOST + 1 }] : shown;
}

/** Every day from the first to the last: one without usage is an empty column. */
function days(answer) {
  const found = new Map(answer.rows.map((row) => [row.value, row]));
  const all = [];
  for (let at = new Date(`${answer.from}T00:00:00Z`); ; at.setUTCDate(at.getUTCDate() + 1)) {
    const day = at.toISOString().slice(0, 10);
    if (day > answer.to) return all;
    all.push({ name: day, tokens: found.get(day)?.tokens ?? 0, row: found.get(day) ?? null, number: 2 });
  }
}

function sum(rows) {
  return rows.reduce((total, row) => total + row.tokens, 0);
}

/** Draw it into a figure. */
export function drawChart(figure, answer, shown) {
  const total = sum(shown);
  const svg = element("svg", { role: "img", "aria-labelledby": "chart-title chart-words" });
  svg.append(worded("title", "chart-title", say("chart", say(answer.by), whole(total))));
  svg.append(worded("desc", "chart-words", shown.filter((piece) => piece.tokens > 0).map((piece) => words(piece, total)).join("; ")));
  if (answer.by === "day") columns(svg, shown, total);
  else pie(svg, shown, total);
  figure.replaceChildren(svg);
}

function pie(svg, shown, total) {
  svg.setAttribute("viewBox", "-105 -105 210 210");
  let before = 0;
  for (const piece of shown) {
    const share = piece.tokens / total;
    svg.append(slice(piece, before, share, total));
    if (share >= 0.04) svg.append(label(piece, before + share / 2, share));
    before += share;
  }
  svg.append(element("circle", { r: RADIUS, class: "rim" }));
}

function slice(piece, from, share, total) {
  const [x, y] = at(from, RADIUS);
  const [endX, endY] = at(from + share, RADIUS);
  const path = `M0 0 L${x} ${y} A${RADIUS} ${RADIUS} 0 ${share > 0.5 ? 1 : 0} 1 ${endX} ${endY} Z`;
  const shape = share > 0.9999 ? element("circle", { r: RADIUS }) : element("path", { d: path });
  return marked(shape, piece, total);
}

function label(piece, middle, share) {
  const [x, y] = share > 0.9999 ? [0, 0] : at(middle, RADIUS * 0.7);
  const text = element("text", { x, y, class: "number", "aria-hidden": "true" });
  text.textContent = String(piece.number);
  return text;
}

function at(share, radius) {
  const angle = 2 * Math.PI * (share - 0.25);
  return [Math.cos(angle) * radius, Math.sin(angle) * radius].map((place) => Number(place.toFixed(3)));
}

function columns(svg, shown, total) {
  svg.setAttribute("viewBox", "0 0 210 130");
  const highest = Math.max(1, ...shown.map((piece) => piece.tokens));
  const width = 200 / shown.length;
  shown.forEach((piece, place) => {
    const height = (120 * piece.tokens) / highest;
    const box = { x: 5 + place * width, y: 125 - height, width: width * 0.9, height };
    svg.append(marked(element("rect", box), piece, total));
  });
  svg.append(element("line", { x1: 5, y1: 125, x2: 205, y2: 125, class: "axis" }));
}

function marked(shape, piece, total) {
  shape.setAttribute("class", `piece p${piece.number}`);
  shape.dataset.tokens = piece.tokens;
  shape.append(worded("title", "", words(piece, total)));
  return shape;
}

function words(piece, total) {
  return say("piece", piece.name, whole(piece.tokens), percent(piece.tokens, total));
}

function worded(kind, id, text) {
  const found = element(kind, id ? { id } : {});
  found.textContent = text;
  return found;
}

function element(kind, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}
