// A form that takes a while says so, and is not sent twice.
for (const form of document.querySelectorAll("form.ask, form[data-slow]")) {
  form.addEventListener("submit", () => {
    const button = form.querySelector("button[type=submit]");
    if (!button) return;
    button.textContent = "Working …";
    button.setAttribute("aria-busy", "true");
    setTimeout(() => { button.disabled = true; }, 0);
  });
}

// A link to a chunk opens it.
const open = () => {
  const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  if (target && target.tagName === "DETAILS") { target.open = true; target.scrollIntoView({ block: "nearest" }); }
};
addEventListener("hashchange", open);
open();
