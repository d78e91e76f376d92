"use strict";
(() => {
  // Opens whatever is folded around an element that a link leads to.
  const reveal = () => {
    const id = decodeURIComponent(location.hash.slice(1));
    const goal = id && !id.includes("=") && document.getElementById(id);
    if (!goal) return;
    for (let e = goal; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
    goal.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  reveal();

  // A link to the place where the reader already is opens it again.
  addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (link && link.getAttribute("href") === location.hash) reveal();
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    navigator.clipboard.writeText(button.dataset.copy).then(() => {
      button.classList.add("done");
      setTimeout(() => button.classList.remove("done"), 1200);
    }, () => { getSelection().selectAllChildren(button); });
  });

  // Paper shows what is folded too.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const e of folded) e.open = true;
  });
  addEventListener("afterprint", () => { for (const e of folded) e.open = false; });

  // The index's filters; their state is the URL's fragment, so that a view can be sent to someone.
  const form = document.getElementById("filters");
  if (!form) return;
  const rows = [...document.querySelectorAll("tr[data-case]")];
  const tiles = new Map([...document.querySelectorAll("a[data-for]")].map((t) => [t.dataset.for, t]));
  const apply = () => {
    const wanted = [...new FormData(form)].filter(([, value]) => value);
    let shown = 0;
    for (const row of rows) {
      const fits = wanted.every(([key, value]) => key === "text"
        ? row.cells[0].textContent.toLowerCase().includes(value.toLowerCase())
        : row.dataset[key] === value);
      row.hidden = !fits;
      tiles.get(row.dataset.case).hidden = !fits;
      shown += fits;
    }
    for (const kernel of document.querySelectorAll("tr.kernel")) {
      kernel.hidden = !kernel.querySelector("a[data-for]:not([hidden])");
    }
    for (const family of document.querySelectorAll(".map tbody")) {
      family.hidden = !family.querySelector("tr.kernel:not([hidden])");
    }
    form.querySelector("output").textContent = `${shown} of ${rows.length} cases`;
    return wanted;
  };
  const read = () => {
    const text = location.hash.slice(1);
    if (text && !text.includes("=")) return;
    const state = new URLSearchParams(text);
    for (const field of form.elements) if (field.name) field.value = state.get(field.name) || "";
    apply();
  };
  const write = () => {
    const state = new URLSearchParams(apply()).toString();
    history.replaceState(null, "", state ? `#${state}` : location.pathname + location.search);
  };
  form.addEventListener("input", write);
  form.addEventListener("reset", () => setTimeout(write));
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", read);
  form.hidden = false;
  read();
  apply();
})();
