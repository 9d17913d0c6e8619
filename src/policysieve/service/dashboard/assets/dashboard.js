"use strict";
// Pages work without this script. With it they follow what happens, filter as one types, and copy.

const wait = 250; // milliseconds after the last letter
const pace = 2000; // between two looks at a study

const fresh = async () => {
  const response = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (!response.ok || response.redirected) throw new Error(`${response.status}`);
  return new DOMParser().parseFromString(await response.text(), "text/html");
};

const texts = (part) => [...part.querySelectorAll("[data-value]")].map((one) => one.textContent);

// Put the parts of the page that live in the place of those that are there.
const renew = (next) => {
  const added = [...next.querySelectorAll("[data-live]")].some((one) => !document.getElementById(one.id));
  if (added) return location.reload(); // the first rounds bring new parts
  for (const old of document.querySelectorAll("[data-live]")) {
    const part = next.getElementById(old.id);
    if (!part || part.innerHTML === old.innerHTML || old.contains(document.activeElement)) continue;
    const before = texts(old);
    for (const fold of old.querySelectorAll("details[open][id]")) {
      part.querySelector(`#${fold.id}`)?.setAttribute("open", "");
    }
    old.replaceWith(part);
    const values = [...part.querySelectorAll("[data-value]")];
    if (values.length !== before.length) continue;
    values.forEach((one, place) => one.classList.toggle("changed", one.textContent !== before[place]));
  }
};

const look = async () => {
  try {
    renew(await fresh());
  } catch {
    return false; // the service is away; the next look may find it
  }
  return true;
};

const filters = [...document.querySelectorAll("[data-filter]")];
if (filters.length) {
  const form = filters[0].form;
  let timer = 0;
  const filter = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      const query = new URLSearchParams(new FormData(form));
      for (const [name, value] of [...query]) if (!value || value === "all") query.delete(name);
      history.replaceState(null, "", query.size ? `?${query}` : location.pathname);
      look();
    }, wait);
  };
  for (const one of filters) one.addEventListener("input", filter);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    filter();
  });
  form.querySelector("button").hidden = true;
}

for (const box of document.querySelectorAll("pre[data-copy]")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet copy";
  button.textContent = "Copy";
  button.setAttribute("aria-label", `Copy the lines for ${box.dataset.copy}`);
  button.addEventListener("click", async () => {
    const lines = box.textContent;
    try {
      await navigator.clipboard.writeText(lines);
    } catch { // pages that are not on this machine and not encrypted have no clipboard
      const range = document.createRange();
      range.selectNodeContents(box);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      document.execCommand("copy");
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  box.after(button);
}

// A study is followed by its events; a list is looked at now and then.
const control = document.querySelector("[data-events]");
if (control) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet live";
  const state = (text, pressed) => {
    button.textContent = text;
    button.setAttribute("aria-pressed", `${pressed}`);
    button.dataset.state = text;
  };
  let source = null, due = false, last = 0, timer = 0;
  const update = () => {
    due = true;
    clearTimeout(timer);
    timer = setTimeout(async () => {
      if (document.hidden) return;
      due = false;
      last = Date.now();
      await look();
    }, Math.max(0, last + pace - Date.now()));
  };
  const listen = () => {
    source = new EventSource(control.dataset.events);
    source.addEventListener("open", () => state("live", true));
    source.addEventListener("change", update);
    source.addEventListener("error", () => state("reconnecting", true));
    state("connecting", true);
  };
  button.addEventListener("click", () => {
    if (source) {
      source.close();
      source = null;
      state("paused", false);
    } else {
      listen();
      update();
    }
  });
  document.addEventListener("visibilitychange", () => { if (!document.hidden && due) update(); });
  addEventListener("pagehide", () => source?.close());
  control.append(button);
  listen();
  if (document.querySelector("#live-health button[disabled]")) setTimeout(look, 3000);
} else {
  const every = document.querySelector("[data-live][data-every]")?.dataset.every;
  if (every) setInterval(() => { if (!document.hidden) look(); }, 1000 * every);
}
