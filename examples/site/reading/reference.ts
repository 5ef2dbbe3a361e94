/** The search of the reference: names first, then words of what is said about them. */
/// <reference lib="dom" />

import { byId } from "../page.ts";
import { type Entry, search } from "./search.ts";

const MOST = 60;
const input = byId<HTMLInputElement>("search");
const results = byId("results"), found = byId("found");
const introduction = found.textContent!;
let entries: Promise<readonly Entry[]> | undefined;

async function show(): Promise<void> {
  const words = input.value.trim();
  history.replaceState(null, "", words === "" ? "#" : `#${encodeURIComponent(words)}`);
  entries ??= fetch("./reference.json").then((response) => response.json());
  const hits = words === "" ? [] : search(await entries, words);
  if (input.value.trim() !== words) return;
  results.replaceChildren(...hits.slice(0, MOST).map(item));
  found.textContent = words === ""
    ? introduction
    : `${hits.length} found${hits.length > MOST ? `, the first ${MOST} are shown` : ""}`;
}

function item([name, kind, place, about]: Entry): HTMLLIElement {
  const link = document.createElement("a");
  link.href = place;
  link.textContent = name;
  const words = document.createElement("span");
  words.className = "quiet";
  words.textContent = ` ${kind}. ${about}`;
  const li = document.createElement("li");
  li.append(link, words);
  return li;
}

input.addEventListener("input", show);
input.value = decodeURIComponent(location.hash.slice(1));
if (input.value !== "") await show();
