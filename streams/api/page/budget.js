// The budget of day and month as bars.

import { instant, say, whole } from "./words.js";

const ACTIONS = new Set(["allow", "warn", "degrade", "block", "kill"]);

/** Show a budget; null: there is none. */
export function showBudget(section, budget) {
  const [, action, windows] = section.children;
  windows.replaceChildren();
  section.hidden = false;
  if (budget === null) {
    action.textContent = say("noBudget");
    return;
  }
  action.textContent = sentences(budget).join(" ");
  windows.append(...budget.windows.filter((each) => each.used !== null).map(bar));
}

function sentences(budget) {
  const told = [say(ACTIONS.has(budget.action) ? budget.action : "unknown_action")];
  if (budget.action !== "allow" && budget.until) told.push(`(${say("until", instant(budget.until))})`);
  if (budget.mode === "observe") told.push(say("observing"));
  if (budget.day !== budget.today) told.push(say("resting", budget.day));
  return told;
}

function bar(each) {
  const box = document.createElement("div");
  const heading = document.createElement("h3");
  const words = document.createElement("p");
  heading.textContent = say(`${each.window}_window`, each.name);
  words.textContent = state(each);
  box.append(heading);
  if (each.limit !== null) box.append(meter(each, heading.textContent, words.textContent));
  box.append(words);
  box.dataset.window = each.window;
  return box;
}

function state(each) {
  if (each.limit === null) return say("noLimit", whole(each.used));
  const left = each.left >= 0 ? say("left", whole(each.left)) : say("over", whole(-each.left));
  return `${say("used", whole(each.used), whole(each.limit))} · ${left}`;
}

function meter(each, name, text) {
  const frame = document.createElement("div");
  const fill = document.createElement("div");
  const share = each.limit > 0 ? Math.min(1, each.used / each.limit) : 1;
  frame.className = each.left > 0 ? "bar" : "bar over";
  fill.style.width = `${100 * share}%`;
  frame.append(fill);
  const told = { role: "meter", "aria-label": name, "aria-valuetext": text, "aria-valuemin": 0 };
  told["aria-valuemax"] = each.limit;
  told["aria-valuenow"] = Math.min(each.used, each.limit);
  for (const [key, value] of Object.entries(told)) frame.setAttribute(key, value);
  return frame;
}
