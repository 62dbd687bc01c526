"use strict";
(function () {
  const form = document.getElementById("filter");
  const outcome = document.getElementById("filter-outcome");
  const tag = document.getElementById("filter-tag");
  const said = document.getElementById("filter-said");
  const rows = Array.from(document.querySelectorAll("details.row"));
  if (!form) return;
  function apply() {
    let shown = 0;
    for (const row of rows) {
      const fits = (!outcome.value || row.dataset.outcome === outcome.value) &&
        (!tag || !tag.value || row.dataset.tags.split(" ").includes(tag.value));
      row.hidden = !fits;
      if (fits) shown += 1;
    }
    said.textContent = shown + " of " + rows.length + " rows";
  }
  function open(state) {
    for (const row of rows) if (!row.hidden) row.open = state;
  }
  function reveal() {
    const found = /^#r\d+(c\d+)?$/.test(location.hash) && document.getElementById(location.hash.slice(1));
    const row = found && found.closest("details.row");
    if (row) { row.hidden = false; row.open = true; found.scrollIntoView(); }
  }
  form.hidden = false;
  form.addEventListener("change", apply);
  document.getElementById("open-all").addEventListener("click", function () { open(true); });
  document.getElementById("close-all").addEventListener("click", function () { open(false); });
  window.addEventListener("hashchange", reveal);
  apply();
  reveal();
})();
