// Review by keyboard: claims, drafts that survive, a lease that is kept while somebody reads. Without it every button works.

// A draft goes when its label is stored, and not before: a label that was refused can be given again.
const stored = document.querySelector("[data-stored]");
if (stored) try { localStorage.removeItem(`ragauge-draft-${stored.dataset.stored}`); } catch { /* none was kept */ }

const form = document.getElementById("label");
if (form) {
  const claims = [...form.querySelectorAll(".claims > li")];
  let at = -1;

  const move = (step) => {
    if (!claims.length) return;
    if (at >= 0) claims[at].classList.remove("at");
    at = Math.min(Math.max(at + step, 0), claims.length - 1);
    claims[at].classList.add("at");
    claims[at].focus({ preventScroll: true });
    claims[at].scrollIntoView({ block: "nearest" });
  };
  const leave = () => {
    if (at >= 0) { claims[at].classList.remove("at"); claims[at].blur(); }
    at = -1;
  };
  for (const button of form.querySelectorAll("[data-move]")) button.addEventListener("click", () => move(Number(button.dataset.move)));

  const writing = (target) => target.closest("textarea, select, input:not([type=radio]):not([type=checkbox])") !== null;

  // Before the page's own keys: while a claim is chosen, digits are about it and not about the whole answer.
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || writing(event.target) || document.querySelector("dialog[open]")) return;
    if (event.key === "Escape" && at >= 0) { event.preventDefault(); leave(); return; }
    if (at >= 0 && /^[1-9]$/.test(event.key)) {
      const radio = claims[at].querySelectorAll("input[type=radio]")[Number(event.key) - 1];
      event.preventDefault();
      if (!radio) return;
      radio.checked = true;
      radio.dispatchEvent(new Event("change", { bubbles: true }));
      if (at < claims.length - 1) move(1); else leave();
      return;
    }
    if (event.target.matches("input[type=radio], input[type=checkbox]")) {
      const found = [...document.querySelectorAll("[data-key]")].find((one) => one.dataset.key === event.key);
      if (found && event.key.length === 1) { event.preventDefault(); found.matches("textarea") ? found.focus() : found.click(); }
    }
  }, true);
  for (const [place, claim] of claims.entries()) {
    claim.addEventListener("focusin", () => { if (at !== place) { if (at >= 0) claims[at].classList.remove("at"); at = place; claim.classList.add("at"); } });
    claim.addEventListener("focusout", (event) => { if (!claim.contains(event.relatedTarget)) { claim.classList.remove("at"); if (at === place) at = -1; } });
  }

  // What does not go together is said; the person decides.
  const warn = document.getElementById("warn");
  const check = () => {
    const bad = form.querySelectorAll(".claims input[data-tone=bad]:checked").length;
    if (warn) warn.textContent = bad ? `${bad} of ${claims.length} you call bad.` : "";
    for (const button of form.querySelectorAll(".verdicts button")) button.classList.toggle("main", bad > 0 && button.dataset.tone === "bad");
  };
  form.addEventListener("change", check);

  // A draft in this browser, until the label is stored.
  const key = `ragauge-draft-${form.dataset.item}`;
  const status = document.getElementById("draft");
  const fields = () => [...form.elements].filter((one) => one.name && one.type !== "hidden" && one.type !== "submit" && one.type !== "button");
  const keep = () => {
    const found = {};
    for (const one of fields()) {
      if (one.type === "radio" || one.type === "checkbox") { if (one.checked) found[one.name] = one.value; }
      else if (one.value) found[one.name] = one.value;
    }
    try {
      if (Object.keys(found).length) localStorage.setItem(key, JSON.stringify(found)); else localStorage.removeItem(key);
      if (status) status.textContent = Object.keys(found).length ? "Kept as a draft in this browser." : "";
    } catch { /* a browser that keeps nothing: the form still works */ }
  };
  try {
    const found = JSON.parse(localStorage.getItem(key) || "{}");
    for (const one of fields()) {
      if (!(one.name in found)) continue;
      if (one.type === "radio" || one.type === "checkbox") one.checked = one.value === found[one.name];
      else { one.value = found[one.name]; const box = one.closest("details"); if (box) box.open = true; }
    }
    if (Object.keys(found).length && status) status.textContent = "Your draft is back.";
  } catch { /* no draft */ }
  check();
  let timer = 0;
  form.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(keep, 200); });
  form.addEventListener("submit", () => { clearTimeout(timer); keep(); });

  // The lease, in the reader's own time; kept while the page is looked at.
  const time = form.querySelector("time[data-epoch]");
  const show = (epoch) => { if (time && epoch) time.textContent = new Date(epoch * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" }); };
  if (time) {
    show(Number(time.dataset.epoch));
    const hold = async () => {
      if (document.hidden) return;
      const body = new URLSearchParams({ csrf: form.elements.csrf.value, item: form.dataset.item });
      try {
        const answer = await fetch("/review/hold", { method: "POST", body });
        if (!answer.ok) return;
        const found = await answer.json();
        if (found.lost) { if (status) status.textContent = "This item is no longer yours: somebody else may have it. Reload the page."; } else show(found.expires);
      } catch { /* the server is away: the lease runs on without it */ }
    };
    setInterval(hold, 300000);
    document.addEventListener("visibilitychange", hold);
  }
}
