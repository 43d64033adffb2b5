const doc = document, all = (selector) => [...doc.querySelectorAll(selector)];
const on = (name, then, capture) => doc.addEventListener(name, then, capture);
let opener, last = "";
// Dialogs: pages loaded into #dialog.
on("htmx:afterSwap", ({ target }) => {
  if (target.id != "dialog" || target.open) return;
  opener = doc.activeElement;
  target.showModal();
});
on("close", () => opener?.focus(), true);
on("click", (event) => {
  const { copy } = event.target.closest("[data-copy]")?.dataset ?? {};
  if (copy) navigator.clipboard?.writeText(doc.querySelector(copy).textContent);
  const dialog = event.target.closest("[data-close]")?.closest("dialog");
  if (dialog) {
    event.preventDefault();
    dialog.close();
  }
});
// Ages grow.
setInterval(() => {
  for (const time of all("time")) {
    const age = (Date.now() - Date.parse(time.dateTime)) / 1e3;
    if (age < 3600 && /\d (s|min) ago$/.test(time.textContent))
      time.textContent = (age < 60 ? Math.max(0, age | 0) + " s" : ((age / 60) | 0) + " min") + " ago";
  }
}, 5e3);
const live = doc.body.classList;
on("htmx:sseOpen", () => live.remove("lost"));
on("htmx:sseError", () => live.add("lost"));
// Keys: data-key names the key of a link, a button or a field.
on("keydown", (event) => {
  const { target, key: pressed } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || doc.body.dataset.keys == "off") return;
  if (target.closest("input,textarea,select,dialog")) return;
  const key = last + pressed.toLowerCase(), card = target.closest("article");
  last = key == "g" ? key : "";
  if (key == "j" || key == "k") {
    const cards = all("article"), step = key == "j" ? 1 : -1;
    cards[Math.max(0, cards.indexOf(card) + (card ? step : 1))]?.querySelector("h2 a").focus();
    return;
  }
  const found = (card ?? doc).querySelector(`[data-key="${key}"]`) ?? doc.querySelector(`[data-key="${key}"]`);
  if (found) event.preventDefault(), found.matches("input") ? found.focus() : found.click();
});
