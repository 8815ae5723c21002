/* Search as one types. `/` or Ctrl-K opens it; the index is loaded then. */
"use strict";

(() => {
  const root = document.documentElement.dataset.content_root;
  const SHOWN = 12;
  let dialog, input, list, loading, selected = 0;

  function build() {
    dialog = document.createElement("dialog");
    dialog.className = "search";
    dialog.setAttribute("aria-label", "Search");
    dialog.innerHTML = `
      <input type="search" placeholder="Operators, classes, guide …" autocomplete="off"
        spellcheck="false" aria-label="Search" role="combobox" aria-expanded="true"
        aria-controls="search-results">
      <ol class="search-results" id="search-results" role="listbox"></ol>
      <p class="search-help"><span><kbd>↑</kbd> <kbd>↓</kbd> choose</span>
        <span><kbd>Enter</kbd> open</span><span><kbd>Esc</kbd> close</span></p>`;
    document.body.append(dialog);
    input = dialog.querySelector("input");
    list = dialog.querySelector("ol");
    input.addEventListener("input", show);
    input.addEventListener("keydown", onKey);
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  }

  function load() {
    loading ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = `${root}_static/search-index.js`;
      script.onload = () => resolve(window.flambeauSearchIndex.map(prepared));
      script.onerror = () => reject(new Error(`cannot load ${script.src}`));
      document.head.append(script);
    });
    return loading;
  }

  function prepared([kind, title, place, address, text]) {
    const names = title.toLowerCase().split(" ");
    return {
      kind, title, place, address, text, names,
      squashed: title.toLowerCase().replace(/[_ ]/g, ""),
      lower: `${place} ${text}`.toLowerCase(),
    };
  }

  async function open(query = "") {
    if (!dialog) build();
    if (!dialog.open) dialog.showModal();
    input.value = query;
    input.select();
    await show();
  }

  // How well a word fits: names before places and texts, whole names before parts.
  function fit(entry, word) {
    if (entry.names.includes(word)) return 100;
    const start = entry.names.findIndex((name) => name.startsWith(word));
    if (start >= 0) return 70 - Math.min(entry.names[start].length - word.length, 30);
    const squashed = word.replace(/_/g, "");
    if (entry.squashed === squashed) return 90;
    if (entry.squashed.includes(squashed)) return 35 - Math.min(entry.squashed.length / 4, 15);
    const at = entry.lower.indexOf(word);
    if (at < 0) return 0;
    return at === 0 || /\W/.test(entry.lower[at - 1]) ? 10 : 4;
  }

  const WEIGHTS = { operator: 6, class: 5, function: 4, guide: 5, module: 3, family: 2 };

  function score(entry, words) {
    let total = WEIGHTS[entry.kind] ?? 0;
    for (const word of words) {
      const points = fit(entry, word);
      if (points === 0) return 0;
      total += points;
    }
    return total;
  }

  function isSubsequence(letters, name) {
    let at = 0;
    for (const letter of name) if (letter === letters[at]) at += 1;
    return at === letters.length;
  }

  // A name that was pasted from a program: `torch.nn.Linear`, `F.conv2d(x, w)`.
  function plain(query) {
    return query
      .replace(/\(.*$/, "")
      .replace(/^\s*(?:import\s+)?(?:torch|flambeau)\.(?=\w)/, "")
      .replace(/^\s*(?:F|nn\.functional)\.(?=\w)/, "");
  }

  function find(entries, query) {
    const words = plain(query).toLowerCase().split(/[\s.]+/).filter(Boolean);
    if (words.length === 0) return [];
    const ranked = [];
    for (const entry of entries) {
      const points = score(entry, words);
      if (points > 0) ranked.push([points, entry]);
    }
    ranked.sort((a, b) => b[0] - a[0] || a[1].title.length - b[1].title.length);
    if (ranked.length > 0) return ranked.slice(0, SHOWN).map(([, entry]) => entry);
    const letters = words.join("");  // a letter was left out
    return entries
      .filter((e) => letters.length > 2 && isSubsequence(letters, e.squashed))
      .sort((a, b) => a.squashed.length - b.squashed.length)
      .slice(0, SHOWN);
  }

  function element(name, kind, text) {
    const made = document.createElement(name);
    made.className = kind;
    made.textContent = text;
    return made;
  }

  function excerpt(entry, words) {
    const at = entry.text.toLowerCase().indexOf(words[0] ?? "");
    const start = at > 60 ? entry.text.lastIndexOf(" ", at - 30) + 1 : 0;
    return (start > 0 ? "… " : "") + entry.text.slice(start, start + 160);
  }

  function row(entry, index, words) {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = root + entry.address;
    link.id = `search-result-${index}`;
    link.setAttribute("role", "option");
    const title = element("span", "search-title", entry.title.split(" ")[0]);
    if (entry.kind === "guide") title.textContent = entry.title;
    if (entry.place) title.append(" ", element("small", "", entry.place));
    link.append(element("span", "search-kind", entry.kind), title);
    if (entry.text) link.append(element("span", "search-text", excerpt(entry, words)));
    item.append(link);
    return item;
  }

  async function show() {
    const query = input.value.trim();
    let entries;
    try {
      entries = await load();
    } catch (error) {
      list.replaceChildren(element("li", "search-none", `Search does not work: ${error.message}`));
      return;
    }
    if (query !== input.value.trim()) return;
    const found = find(entries, query);
    const words = query.toLowerCase().split(/\s+/);
    list.replaceChildren(...found.map((entry, index) => row(entry, index, words)));
    if (query && found.length === 0)
      list.append(element("li", "search-none", `Nothing is called “${query}”.`));
    select(0);
  }

  function select(index) {
    const links = [...list.querySelectorAll("a")];
    selected = Math.max(0, Math.min(index, links.length - 1));
    links.forEach((link, at) => link.setAttribute("aria-selected", String(at === selected)));
    links[selected]?.scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", links[selected]?.id ?? "");
  }

  function onKey(event) {
    const moves = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in moves) {
      event.preventDefault();
      select(selected + moves[event.key]);
    } else if (event.key === "Escape") {
      event.preventDefault();  // which would only empty the field
      dialog.close();
    } else if (event.key === "Enter") {
      event.preventDefault();
      const link = list.querySelectorAll("a")[selected];
      if (link) {
        dialog.close();
        location.href = link.href;
      }
    }
  }

  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
    const slash = event.key === "/" && !typing && !event.ctrlKey && !event.metaKey;
    const control = event.key === "k" && (event.ctrlKey || event.metaKey);
    if (slash || control) {
      event.preventDefault();
      open();
    }
  });
  for (const button of document.querySelectorAll("[data-search]"))
    button.addEventListener("click", () => open());

  // On a phone the sidebar is folded: the header has a button too.
  const header = document.querySelector(".mobile-header .header-right");
  if (header) {
    const button = document.createElement("button");
    button.className = "header-search";
    button.setAttribute("aria-label", "Search");
    button.innerHTML = `<svg width="20" height="20" viewBox="0 0 24 24" fill="none"
      stroke="currentColor" stroke-width="2"><circle cx="10.5" cy="10.5" r="6.5"/>
      <path d="m15.500 15.500 5 5"/></svg>`;
    button.addEventListener("click", () => open());
    header.prepend(button);
  }
})();
