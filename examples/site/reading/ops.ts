/** The filter of the table of ops: rows stay that have all words, some of them until one asks for all. */
/// <reference lib="dom" />

import { byId } from "../page.ts";

/** Rows that are shown at first: on a phone all of them are eighty screens. */
const FIRST = 40;

const input = byId<HTMLInputElement>("filter"), found = byId("found"), more = byId("more");
const rows = [...document.querySelectorAll<HTMLTableRowElement>("#ops tbody tr")]
  .map((row) => ({ row, text: row.textContent!.toLowerCase() }));
let most = FIRST;

function show(): void {
  const words = input.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
  let count = 0;
  for (const { row, text } of rows) {
    const stays = words.every((word) => text.includes(word));
    row.hidden = !stays || count >= most;
    if (stays) count++;
  }
  found.textContent = `${count} of ${rows.length} ops`;
  more.hidden = count <= most;
  more.textContent = `Show all ${count}`;
  history.replaceState(null, "", input.value === "" ? "#" : `#${encodeURIComponent(input.value)}`);
}

input.addEventListener("input", () => {
  most = FIRST;
  show();
});
more.onclick = () => {
  const next = rows.filter(({ row }) => !row.hidden).length;
  most = Infinity;
  show();
  // The button is gone: who goes on by keys goes on where the rows went on.
  const [link] = rows.filter(({ row }) => !row.hidden).slice(next)
    .flatMap(({ row }) => [...row.querySelectorAll("a")]);
  link?.focus({ preventScroll: true });
};
input.value = decodeURIComponent(location.hash.slice(1));
show();
