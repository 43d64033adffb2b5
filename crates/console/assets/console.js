const doc = document, live = doc.body.classList, all = (css) => [...doc.querySelectorAll(css)];
const on = (name, then) => doc.addEventListener(name, then, true);
let last = "";
// Dialogs are pages in #dialog.
on("htmx:afterSwap", ({ target }) => {
  if (target.open === false) target.showModal();
});
// Errors say where.
on("htmx:beforeSwap", ({ detail }) => (detail.shouldSwap ||= detail.xhr.getResponseHeader("hx-retarget")));
// A double click sends once.
on("submit", ({ target }) => {
  target.ariaBusy = true;
  setTimeout(() => (target.ariaBusy = null), 1e3);
});
on("click", (event) => {
  const { copy } = event.target.closest("[data-copy]")?.dataset ?? {};
  if (copy) navigator.clipboard?.writeText(all(copy)[0].textContent);
  const dialog = event.target.closest("[data-close]")?.closest("dialog");
  if (dialog) event.preventDefault(), dialog.close();
});
setInterval(() => {
  for (const time of all("time")) {
    const age = Math.max(0, (Date.now() - Date.parse(time.dateTime)) / 1e3 | 0);
    if (age < 3600 && /\d (s|min) ago/.test(time.textContent))
      time.textContent = (age < 60 ? age + " s" : (age / 60 | 0) + " min") + " ago";
  }
}, 5e3);
on("htmx:sseOpen", () => live.remove("lost"));
on("htmx:sseError", () => live.add("lost"));
// data-key names a key.
on("keydown", (event) => {
  const { target, ctrlKey, metaKey, altKey } = event, card = target.closest("article");
  if (event.repeat || ctrlKey || metaKey || altKey || doc.body.dataset.keys || target.closest("input,textarea,select,dialog")) return;
  const key = last + event.key.toLowerCase(), next = key == "j", cards = all("article");
  last = key == "g" ? key : "";
  if (next || key == "k")
    return cards[Math.max(0, cards.indexOf(card) + (next || !card ? 1 : -1))]?.querySelector("h2 a").focus();
  const found = all(`[data-key="${key}"]`).find((link) => [card, null].includes(link.closest("article")));
  if (found) event.preventDefault(), found.matches("input") ? found.focus() : found.click();
});
