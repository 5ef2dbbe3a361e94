/** The speed page: a few rows timed on this machine, in Weft and beside it. */
/// <reference lib="dom" />

import type { SpeedMessage, SpeedRequest, SpeedSystem } from "./messages.ts";
import { adapterInfo, byId, chooseDevice, chosenDevice } from "./page.ts";
import { ROWS } from "./speed_rows.ts";

const table = byId<HTMLTableElement>("table"), status = byId("status");
const runButton = byId<HTMLButtonElement>("run"), stopButton = byId<HTMLButtonElement>("stop");

const NAMES: Readonly<Record<SpeedSystem, string>> = {
  weft: "Weft",
  tfjs: "TensorFlow.js",
  jax: "jax-js",
};

let worker: Worker | null = null;
/** The columns. */
let systems: SpeedSystem[] = ["weft", "tfjs"];

function cell(kind: "td" | "th", text: string, scope?: string): HTMLTableCellElement {
  const element = document.createElement(kind);
  element.textContent = text;
  if (scope) element.setAttribute("scope", scope);
  return element;
}

/** An empty table. */
function clear(): void {
  systems = ["weft", "tfjs", ...(byId<HTMLInputElement>("jax").checked ? ["jax" as const] : [])];
  table.style.setProperty("--columns", String(systems.length + 1));
  const head = document.createElement("tr");
  head.append(
    cell("th", "What", "col"),
    ...systems.map((name) => cell("th", NAMES[name], "col")),
    cell("th", "Weft is", "col"),
  );
  table.tHead!.replaceChildren(head);
  table.tBodies[0]!.replaceChildren(...ROWS.map(({ what, compiled }) => {
    const row = document.createElement("tr");
    row.append(cell("th", what + (compiled ? " ƒ" : ""), "row"));
    row.append(...[...systems, "ratio"].map(() => cell("td", "–")));
    return row;
  }));
}

/** A time in as many digits as tell something. */
function milliseconds(time: number): string {
  return time < 1 ? time.toFixed(3) : time < 100 ? time.toFixed(1) : time.toFixed(0);
}

function hear(message: SpeedMessage): void {
  switch (message.kind) {
    case "system": {
      const at = systems.indexOf(message.name);
      const head = table.tHead!.rows[0]!.cells[at + 1]!;
      const note = document.createElement("span");
      note.className = "quiet";
      note.textContent = message.engine ?? message.error ?? "";
      head.replaceChildren(NAMES[message.name], document.createElement("br"), note);
      break;
    }
    case "row":
      showRow(message);
      break;
    case "done":
      end("Done");
      break;
    case "lost":
      end(`Ended: ${message.error}`);
  }
}

function showRow({ row, times, agrees }: Extract<SpeedMessage, { kind: "row" }>): void {
  const { cells } = table.tBodies[0]!.rows[row]!;
  for (const { name, milliseconds: time } of times) {
    cells[systems.indexOf(name) + 1]!.textContent = `${milliseconds(time)} ms`;
  }
  const own = times.find(({ name }) => name === "weft");
  const others = times.filter(({ name }) => name !== "weft").map((t) => t.milliseconds);
  const ratio = cells[systems.length + 1]!;
  if (own && others.length > 0) {
    const times = Math.min(...others) / own.milliseconds;
    ratio.textContent = times >= 1
      ? `${times.toFixed(1)} × as fast`
      : `${(1 / times).toFixed(1)} × slower`;
    ratio.className = times >= 1 ? "good" : "warn";
  }
  if (!agrees) {
    ratio.className = "error";
    ratio.textContent = "results differ";
  }
  status.textContent = `${row + 1} of ${ROWS.length}`;
}

function end(text: string): void {
  worker?.terminate();
  worker = null;
  status.textContent = text;
  runButton.disabled = false;
  stopButton.disabled = true;
}

function run(): void {
  clear();
  status.textContent = "Loading…";
  runButton.disabled = true;
  stopButton.disabled = false;
  worker = new Worker(new URL("./speed_worker.js", import.meta.url), { type: "module" });
  worker.onmessage = ({ data }: MessageEvent<SpeedMessage>) => hear(data);
  worker.onerror = (event) => {
    event.preventDefault();
    end(`Ended: ${event.message}`);
  };
  worker.postMessage({ backend: chosenDevice(), systems } satisfies SpeedRequest);
}

/** Names the machine: what its adapter says of itself, and how many threads it has. */
async function nameMachine(): Promise<void> {
  const info = await adapterInfo();
  const adapter = info === null
    ? "no WebGPU adapter"
    : [info.description || info.device, info.vendor, info.architecture].filter(Boolean)
      .join(", ") || "an adapter that does not tell its name";
  byId("machine").textContent =
    `This machine: ${adapter}; ${navigator.hardwareConcurrency} processor threads`;
}

byId("run").onclick = run;
byId("stop").onclick = () => end("Stopped");
byId("jax").onchange = () => {
  if (worker === null) clear();
};
clear();
await Promise.all([chooseDevice(), nameMachine()]);
byId<HTMLSelectElement>("device").onchange = () => {
  if (worker === null) clear();
};
