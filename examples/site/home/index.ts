/** The first page: a program that runs as one edits it, with its plan. Nothing of the library is loaded before one turns to it. */
/// <reference lib="dom" />

import { Editor } from "../editing/editor.ts";
import type { Backend, Picture, ProgramMessage } from "../messages.ts";
import { addLine, summaryOf } from "../output.ts";
import { byId, preferredDevice, ProgramRunner } from "../page.ts";
import { packed } from "../share.ts";
import { drawThread } from "./thread.ts";

/** Milliseconds after the last key until the program runs, and that a program may take. */
const PAUSE = 350, MOST = 3000;

const live = byId("live"), code = byId<HTMLTextAreaElement>("code");
const output = byId("output"), picture = byId("picture"), status = byId("status");
const stopButton = byId<HTMLButtonElement>("stop");

const runner = new ProgramRunner(tell), editor = new Editor(code, () => void run());
let backend: Backend | null = null;
let isFresh = true, isTurnedTo = false;
let pause: ReturnType<typeof setTimeout> | undefined, watch: typeof pause;

/** Takes away what the program before printed, once. */
function clear(): void {
  if (isFresh) output.replaceChildren();
  isFresh = false;
}

function tell(message: ProgramMessage): void {
  if (message.kind === "begun") watch = setTimeout(end, MOST, `it took more than ${MOST / 1000} s`);
  else if (message.kind === "log") {
    const { line, text } = message;
    clear();
    addLine(output, message);
    if (line !== undefined) editor.mark({ line, text });
  } else {
    clearTimeout(watch);
    clear();
    live.ariaBusy = "false";
    status.textContent = summaryOf(message);
    // Its timers may go on, and end with the next run.
    if (message.ok) show(message.plans);
  }
}

/** Shows the largest plan; none where nothing was planned. */
function show(plans: readonly Picture[]): void {
  const [largest] = [...plans].sort((a, b) => b.svg.length - a.svg.length);
  picture.innerHTML = largest?.svg ?? "";
  picture.ariaLabel = largest?.title ?? "No plan: the program runs no graph";
  byId("no-plan").hidden = largest !== undefined;
  const svg = picture.querySelector("svg");
  if (svg) drawThread(svg);
}

async function run(): Promise<void> {
  halt();
  backend ??= (await preferredDevice()).backend;
  isFresh = true;
  editor.unmark();
  live.ariaBusy = "true";
  status.textContent = "running…";
  stopButton.disabled = false;
  runner.run({ code: code.value, backend });
}

/** Ends what runs or is to run; false where there is nothing. */
function halt(): boolean {
  clearTimeout(pause);
  clearTimeout(watch);
  return runner.stop();
}

function end(why: string): void {
  if (!halt()) return;
  clear();
  stopButton.disabled = true;
  live.ariaBusy = "false";
  status.textContent = `stopped: ${why}`;
}

async function link(): Promise<void> {
  byId<HTMLAnchorElement>("open").href = `./playground.html#code=${await packed(code.value)}`;
}

/** Runs the program when one first points to it or goes into it: the library is loaded then. */
function turnTo(): void {
  if (isTurnedTo) return;
  isTurnedTo = true;
  void run();
}

for (const event of ["focusin", "pointerenter", "pointerdown"]) {
  live.addEventListener(event, turnTo);
}
code.addEventListener("input", () => {
  // What was begun is of an older text.
  halt();
  pause = setTimeout(run, PAUSE);
  void link();
});
byId("run").onclick = () => void run();
stopButton.onclick = () => end("by you");
byId<HTMLButtonElement>("time").onclick = async ({ currentTarget }) => {
  const button = currentTarget as HTMLButtonElement, { timeHere } = await import("./speed.ts");
  await timeHere(button);
};
const first = picture.querySelector("svg");
if (first) drawThread(first);
await link();
