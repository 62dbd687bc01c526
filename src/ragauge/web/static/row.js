// The row page: a claim, chosen by mouse or key, lights up its words in the answer and its evidence in the chunk.

const buttons = [...document.querySelectorAll("button.claim")];
const marks = [...document.querySelectorAll("[data-claims]")];
const chunks = [...document.querySelectorAll("[data-rests]")];
const names = (element, key) => (element.dataset[key] || "").split(" ");
let chosen = "";

function choose(name, move) {
  chosen = chosen === name && move ? "" : name;
  for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.claim === chosen));
  for (const mark of marks) mark.classList.toggle("lit", chosen !== "" && names(mark, "claims").includes(chosen));
  for (const chunk of chunks) chunk.classList.toggle("lit", chosen !== "" && names(chunk, "rests").includes(chosen));
  document.body.classList.toggle("choosing", chosen !== "");
  if (chosen === "" || !move) return;
  const button = buttons.find((one) => one.dataset.claim === chosen);
  const chunk = button && button.dataset.chunk ? document.getElementById(button.dataset.chunk) : null;
  const evidence = chunk ? [...chunk.querySelectorAll("[data-claims]")].find((one) => names(one, "claims").includes(chosen)) : null;
  (evidence || chunk || document.getElementById("answer"))?.scrollIntoView({ block: "center" });
}

for (const button of buttons) button.addEventListener("click", () => choose(button.dataset.claim, true));

// Words of the answer are chosen as well: the claim of the colouring metric comes first.
document.getElementById("answer")?.addEventListener("click", (event) => {
  const mark = event.target.closest("[data-claims]");
  if (mark && !event.target.closest("a") && !String(getSelection())) {
    const all = names(mark, "claims");
    choose(all[(all.indexOf(chosen) + 1) % all.length], true);
  }
});

// n and p walk through the claims, with the focus, so that a screen reader follows.
function step(by) {
  if (!buttons.length) return;
  const at = buttons.findIndex((one) => one.dataset.claim === chosen);
  const next = buttons[at < 0 ? (by > 0 ? 0 : buttons.length - 1) : (at + by + buttons.length) % buttons.length];
  next.focus({ preventScroll: true });
  chosen = "";
  choose(next.dataset.claim, true);
}

if (buttons.length) {
  for (const [key, by, words] of [["n", 1, "Next claim"], ["p", -1, "Previous claim"]]) {
    const hidden = document.createElement("button");
    hidden.type = "button";
    hidden.hidden = true;
    hidden.dataset.key = key;
    hidden.dataset.does = words;
    hidden.addEventListener("click", () => step(by));
    document.body.append(hidden);
  }
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && chosen) choose(chosen, true);
});

// A citation puts the focus on the chunk that it names.
for (const link of document.querySelectorAll("a.cite, .why a")) {
  link.addEventListener("click", () => document.getElementById(link.hash.slice(1))?.focus({ preventScroll: true }));
}
