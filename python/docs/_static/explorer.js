/* The operator explorer: choices, coverage of what they leave, a list. State is in the address. */
"use strict";

(() => {
  const { backends, dtypes, operators } = window.flambeauOperators;
  const MISSING = "missing";
  const has = (row, backend) => row.backends[backend].how !== MISSING;

  // Each choice: what it is called, and which of its values a row has.
  const FACETS = {
    family: { title: "Family", values: (row) => [row.family] },
    kind: { title: "Kind", values: (row) => [row.kind] },
    backend: {
      title: "Backend",
      values: (row) => backends.map(({ name }) => (has(row, name) ? name : `not ${name}`)),
    },
    dtype: {
      title: "Dtype",
      values: (row) => (row.dtypes_follow_body ? dtypes : row.dtypes),
      order: dtypes,
    },
    reverse: { title: "Reverse mode", values: (row) => [row.reverse] },
    forward: { title: "Forward mode", values: (row) => [row.forward] },
  };
  const differentiable = (row) => !["not applicable", "none"].includes(row.reverse);
  const COVERAGE = [
    ...backends.map(({ name }) => ({ title: name, of: () => true, has: (row) => has(row, name) })),
    { title: "reverse mode", of: differentiable, has: (row) => row.reverse !== MISSING },
    { title: "forward mode", of: differentiable, has: (row) => row.forward !== MISSING },
    {
      title: "second order",
      of: differentiable,
      has: (row) => row.reverse !== MISSING && row.second_order_lacks.length === 0,
    },
    { title: "reference", of: () => true, has: (row) => row.has_reference || row.properties > 0 },
    { title: "example", of: () => true, has: (row) => row.has_example },
  ];

  const place = document.getElementById("explorer");
  const chosen = Object.fromEntries(Object.keys(FACETS).map((name) => [name, new Set()]));
  let query = "";

  function make(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  // State and address -----------------------------------------------------------------------------

  function read() {
    const parameters = new URLSearchParams(location.search);
    query = parameters.get("q") ?? "";
    for (const name of Object.keys(FACETS))
      chosen[name] = new Set((parameters.get(name) ?? "").split(",").filter(Boolean));
  }

  function write() {
    const parameters = new URLSearchParams();
    if (query) parameters.set("q", query);
    for (const [name, values] of Object.entries(chosen))
      if (values.size) parameters.set(name, [...values].join(","));
    const text = parameters.toString().replaceAll("%2C", ",");
    history.replaceState(null, "", text ? `?${text}` : location.pathname);
  }

  // Which rows ------------------------------------------------------------------------------------

  function fits(row, except) {
    const text = [row.name, ...row.forms, ...row.aliases, row.summary].join(" ").toLowerCase();
    if (!query.toLowerCase().split(/\s+/).every((word) => text.includes(word))) return false;
    return Object.entries(chosen).every(
      ([name, values]) =>
        name === except || !values.size || FACETS[name].values(row).some((v) => values.has(v)),
    );
  }

  function counts(name) {
    const found = new Map();
    for (const row of operators)
      for (const value of FACETS[name].values(row)) found.set(value, found.get(value) ?? 0);
    for (const row of operators.filter((r) => fits(r, name)))
      for (const value of FACETS[name].values(row)) found.set(value, found.get(value) + 1);
    const order = FACETS[name].order;
    return [...found].sort(([a], [b]) =>
      order ? order.indexOf(a) - order.indexOf(b) : a.localeCompare(b));
  }

  // Drawing ---------------------------------------------------------------------------------------

  const input = make("input", {
    type: "search", placeholder: "Name or description", "aria-label": "Filter by text",
    autocomplete: "off", spellcheck: "false",
  });
  const summary = make("p", { class: "explorer-count", role: "status", "aria-live": "polite" });
  const clear = make("button", { type: "button", class: "explorer-clear" }, "Show all");
  const bars = make("div", { class: "explorer-bars" });
  const facets = make("div", { class: "explorer-facets" });
  const list = make("ol", { class: "explorer-list" });

  function chip(name, value, count) {
    const on = chosen[name].has(value);
    const button = make(
      "button",
      { type: "button", "aria-pressed": on, "data-facet": name, "data-value": value },
      value, make("small", {}, String(count)),
    );
    if (count === 0 && !on) button.disabled = true;
    return button;
  }

  function drawFacets() {
    const focused = document.activeElement?.dataset ?? {};
    facets.replaceChildren(
      ...Object.entries(FACETS).map(([name, { title }]) =>
        make("fieldset", {}, make("legend", {}, title),
          ...counts(name).map(([value, count]) => chip(name, value, count)))),
    );
    if (focused.facet)
      facets.querySelector(
        `[data-facet="${focused.facet}"][data-value="${CSS.escape(focused.value)}"]`)?.focus();
  }

  function drawBars(rows) {
    bars.replaceChildren(
      ...COVERAGE.map((part) => {
        const among = rows.filter(part.of);
        const number = among.filter(part.has).length;
        const share = among.length ? number / among.length : 0;
        const bar = make("span", { class: "explorer-bar", style: `--share: ${share}` });
        return make("div", {}, make("span", {}, part.title), bar,
          make("span", { class: "explorer-share" }, `${number} / ${among.length}`));
      }),
    );
  }

  function badge(text, kind) {
    return make("span", { class: `badge ${kind}` }, text);
  }

  function item(row) {
    const link = make("a", { href: `../${row.page}` }, row.name);
    const where = backends.map(({ name }) => badge(name, has(row, name) ? "yes" : "no"));
    const how = [badge(row.kind, "")];
    if (differentiable(row)) {
      how.push(badge(`reverse: ${row.reverse}`, row.reverse === MISSING ? "no" : ""));
      how.push(badge(`forward: ${row.forward}`, row.forward === MISSING ? "no" : ""));
    }
    if (!row.dtypes_follow_body) how.push(badge(`${row.dtypes.length} dtypes`, ""));
    return make("li", {},
      make("div", { class: "explorer-name" }, link, make("small", {}, row.family)),
      make("p", {}, row.summary.replaceAll("`", "")),
      make("div", { class: "badges" }, ...where, ...how));
  }

  function draw() {
    const rows = operators.filter((row) => fits(row));
    const narrowed = query || Object.values(chosen).some((values) => values.size);
    summary.textContent = `${rows.length} of ${operators.length} operators`;
    clear.hidden = !narrowed;
    if (input.value !== query) input.value = query;
    drawBars(rows);
    drawFacets();
    list.replaceChildren(...rows.map(item));
    if (!rows.length) list.append(make("li", {}, "No operator is like that."));
  }

  function changed() {
    write();
    draw();
  }

  // Keys and clicks -------------------------------------------------------------------------------

  input.addEventListener("input", () => {
    query = input.value.trim();
    changed();
  });
  facets.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    const values = chosen[button.dataset.facet];
    if (!values.delete(button.dataset.value)) values.add(button.dataset.value);
    changed();
  });
  clear.addEventListener("click", () => {
    query = "";
    for (const values of Object.values(chosen)) values.clear();
    changed();
    input.focus();
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]"))
      return;
    const typing = event.target.closest?.("input, textarea, select");
    if (event.key === "f" && !typing) {
      event.preventDefault();
      input.select();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const links = [...list.querySelectorAll("a")];
      const at = links.indexOf(document.activeElement);
      if (at < 0 && document.activeElement !== input) return;
      event.preventDefault();
      const next = at + (event.key === "ArrowDown" ? 1 : -1);
      if (next < 0) input.focus();
      else links[Math.min(next, links.length - 1)]?.focus();
    }
  });
  window.addEventListener("popstate", () => {
    read();
    draw();
  });

  const wide = window.matchMedia("(min-width: 60em)").matches;
  const filters = make("details", { class: "explorer-filters" },
    make("summary", {}, "Filters"), facets);
  filters.open = wide;
  place.append(
    make("div", { class: "explorer-top" }, input, summary, clear),
    bars,
    make("p", { class: "explorer-keys" }, make("kbd", {}, "f"), " filter  ",
      make("kbd", {}, "↑"), make("kbd", {}, "↓"), " move  ", make("kbd", {}, "Enter"), " open"),
    make("div", { class: "explorer-body" }, filters, list),
  );
  read();
  draw();
})();
