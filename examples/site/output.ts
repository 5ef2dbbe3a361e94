/** Writes what a program logs into a page. */
/// <reference lib="dom" />

import type { Backend, Counts, ProgramMessage } from "./messages.ts";

/** Those that will be scrolled to their ends before the next frame: to do it for each line would lay out the page each time. */
const scrolled = new Set<HTMLElement>();

function scrollSoon(output: HTMLElement): void {
  if (scrolled.has(output)) return;
  scrolled.add(output);
  requestAnimationFrame(() => {
    scrolled.delete(output);
    output.scrollTop = output.scrollHeight;
  });
}

/** Adds a line. */
export function addLine(
  output: HTMLElement,
  { level, text }: Extract<ProgramMessage, { kind: "log" }>,
): void {
  const line = document.createElement("div");
  if (level !== "log") line.className = level;
  line.textContent = text;
  output.append(line);
  scrollSoon(output);
}

/** A run that ended. */
interface Run {
  readonly milliseconds: number;
  readonly backend: Backend;
  /** Null for one that failed. */
  readonly counts: Counts | null;
}

/** A line about a run that ended. */
export function summaryOf({ counts, milliseconds, backend }: Run): string {
  const where = backend === "webgpu" ? "WebGPU" : "the CPU";
  const time = `${
    milliseconds < 10 ? milliseconds.toFixed(1) : Math.round(milliseconds)
  } ms on ${where}`;
  if (counts === null) return `failed after ${time}`;
  const parts = [
    [counts.cpuKernels, "CPU kernels"],
    [counts.dispatches, "GPU dispatches"],
    [counts.readbacks, "readbacks"],
    [counts.hostCalls, "calls of your functions"],
  ].filter(([n]) => n !== 0).map(([n, what]) => `${what}: ${n}`);
  return [time, ...parts].join(", ");
}
