// What every screen shares: forms that apply themselves, keys, a list of the keys. Without it everything still works.

for (const form of document.querySelectorAll("form[data-apply]")) {
  form.addEventListener("change", () => form.requestSubmit());
}

// An element with data-key="j" is clicked (a link, a button) or focused (a field) when the key is pressed outside of fields.
const typing = (target) => target.closest("input, textarea, select, [contenteditable]") !== null;

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && typing(event.target)) { event.target.blur(); return; }
  if (typing(event.target) || document.querySelector("dialog[open]")) return;
  if (event.key === "?") { event.preventDefault(); help(); return; }
  for (const found of document.querySelectorAll("[data-key]")) {
    if (!found.dataset.key.split(" ").includes(event.key) || found.disabled) continue;
    event.preventDefault();
    if (found.matches("input, select, textarea")) { found.focus(); if (found.select) found.select(); } else { found.click(); }
    return;
  }
});

function help() {
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-label", "Keys");
  const title = document.createElement("h2");
  title.textContent = "Keys";
  const list = document.createElement("dl");
  list.className = "facts";
  for (const found of document.querySelectorAll("[data-key]")) {
    const key = document.createElement("dt");
    for (const name of found.dataset.key.split(" ")) {
      const shown = document.createElement("kbd");
      shown.textContent = name;
      key.append(shown, " ");
    }
    const what = document.createElement("dd");
    what.textContent = found.dataset.does || found.getAttribute("aria-label") || found.textContent.trim().slice(0, 60);
    list.append(key, what);
  }
  const close = document.createElement("button");
  close.textContent = "Close";
  close.addEventListener("click", () => dialog.close());
  dialog.append(title, list, close);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

for (const button of document.querySelectorAll("[data-help]")) {
  button.hidden = document.querySelector("[data-key]") === null;
  button.addEventListener("click", help);
}

// A page that waits for work in the background looks again by itself.
const waiting = document.querySelector("[data-again]");
if (waiting) setTimeout(() => location.reload(), 1000 * Number(waiting.dataset.again || 2));
