"use strict";
// Tables that sort by a column and filter by a word, and everything unfolded on paper.
(function () {
  function value(row, column) {
    const cell = row.cells[column];
    if (cell.dataset.v !== undefined) return Number(cell.dataset.v);
    return cell.classList.contains("number") ? null : cell.textContent;
  }

  // Unknown values come last whichever way the column runs.
  function order(a, b, sign) {
    if (a === null || b === null) return (a === null) - (b === null);
    if (typeof a === "number" && typeof b === "number") return sign * (a - b);
    return sign * String(a).localeCompare(String(b), "en", { numeric: true });
  }

  function sort(table, column) {
    const heads = [...table.tHead.rows[0].cells];
    const numbers = heads[column].classList.contains("number");
    const now = heads[column].getAttribute("aria-sort");
    const next = now ? (now === "descending" ? "ascending" : "descending") : numbers ? "descending" : "ascending";
    heads.forEach((head) => head.removeAttribute("aria-sort"));
    heads[column].setAttribute("aria-sort", next);
    const sign = next === "ascending" ? 1 : -1;
    const rows = [...table.tBodies[0].rows].map((row) => [value(row, column), row]);
    rows.sort((a, b) => order(a[0], b[0], sign));
    table.tBodies[0].append(...rows.map((pair) => pair[1]));
  }

  function sortable(table) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      button.addEventListener("click", () => sort(table, column));
      head.replaceChildren(button);
    });
  }

  function filterable(block) {
    const table = block.querySelector("table");
    const rows = [...table.tBodies[0].rows];
    const label = document.createElement("label");
    const input = document.createElement("input");
    const count = document.createElement("span");
    input.type = "search";
    input.placeholder = "filter";
    input.setAttribute("aria-label", "filter the rows of " + table.caption.textContent);
    count.setAttribute("role", "status");
    count.className = "quiet";
    label.className = "filter";
    label.append(input, count);
    const apply = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        shown += row.hidden ? 0 : 1;
      }
      count.textContent = shown + " of " + rows.length + " rows";
    };
    input.addEventListener("input", apply);
    apply();
    block.querySelector(".scroll").before(label);
  }

  document.querySelectorAll("table.sortable").forEach(sortable);
  document.querySelectorAll(".table[data-filter]").forEach(filterable);

  let unfolded = [];
  window.addEventListener("beforeprint", () => {
    unfolded = [...document.querySelectorAll("details:not([open])")];
    unfolded.forEach((one) => { one.open = true; });
  });
  window.addEventListener("afterprint", () => {
    unfolded.forEach((one) => { one.open = false; });
  });
})();
