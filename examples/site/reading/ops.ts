/** The filter of the table of ops: rows stay that have all words. */
/// <reference lib="dom" />

import { byId } from "../page.ts";

const input = byId<HTMLInputElement>("filter"), found = byId("found");
const rows = [...document.querySelectorAll<HTMLTableRowElement>("#ops tbody tr")]
  .map((row) => ({ row, text: row.textContent!.toLowerCase() }));

function show(): void {
  const words = input.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
  let count = 0;
  for (const { row, text } of rows) {
    row.hidden = !words.every((word) => text.includes(word));
    if (!row.hidden) count++;
  }
  found.textContent = `${count} of ${rows.length} ops`;
  history.replaceState(null, "", input.value === "" ? "#" : `#${encodeURIComponent(input.value)}`);
}

input.addEventListener("input", show);
input.value = decodeURIComponent(location.hash.slice(1));
show();
