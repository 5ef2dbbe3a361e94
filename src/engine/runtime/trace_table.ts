/** The table of a recording: time by op. */
import type { TraceEvent } from "./trace.ts";

/** One line: all events of a category that share an op and a device. */
interface Line {
  readonly op: string;
  readonly work: string;
  readonly device: string;
  count: number;
  micros: number;
  bytes: number;
}

/** Categories with work in them; the others contain it. */
const WORK: ReadonlySet<string> = new Set([
  "step",
  "op",
  "dispatch",
  "script",
  "readback",
  "upload",
]);

/** Adds up a recording by op, the longest first. Times of a GPU are its own where it measures them, else those of recording its commands. */
export function traceTable(events: readonly TraceEvent[]): string {
  const lines = new Map<string, Line>();
  const isTimed = events.some((e) => e.cat === "dispatch" && e.tid === 2);
  const begun = new Map<number, number>();
  let stepEnd = -Infinity;
  for (const event of events) {
    const { name, cat, ph, ts, tid, id, args } = event;
    if (cat === undefined || !WORK.has(cat)) continue;
    if (cat === "step" && ph === "X") stepEnd = Math.max(stepEnd, ts + event.dur!);
    // Steps that are made of ops count them.
    if (cat === "op" && ts < stepEnd) continue;
    if (ph === "b") begun.set(id!, ts);
    const micros = ph === "X" ? event.dur! : ph === "e" ? ts - begun.get(id!)! : null;
    if (micros === null || (isTimed && cat === "dispatch" && tid !== 2)) continue;
    const op = String(args?.op ?? name);
    const isRecorded = args?.device === "GPU";
    const device = cat === "dispatch"
      ? "GPU"
      : isRecorded
      ? "host"
      : String(args?.device ?? "host");
    const work = isRecorded ? "recording" : cat, key = `${work} ${device} ${op}`;
    const line = lines.get(key) ?? { op, work, device, count: 0, micros: 0, bytes: 0 };
    line.count++;
    line.micros += micros;
    line.bytes += Number(args?.bytes ?? 0);
    lines.set(key, line);
  }
  const sorted = [...lines.values()].sort((a, b) => b.micros - a.micros);
  return textTable(
    ["op", "work", "device", "count", "ms", "bytes"],
    sorted.map((l) => [
      l.op,
      l.work,
      l.device,
      String(l.count),
      (l.micros / 1000).toFixed(3),
      l.bytes === 0 ? "" : String(l.bytes),
    ]),
  );
}

/** Aligns cells in columns: words at the left, numbers at the right. */
export function textTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const isNumber = head.map((_, i) => rows.length > 0 && rows.every((r) => /^[\d.]*$/.test(r[i])));
  const widths = head.map((h, i) => Math.max(h.length, ...rows.map((r) => r[i].length)));
  return [head, ...rows].map((cells) =>
    cells.map((c, i) => isNumber[i] ? c.padStart(widths[i]) : c.padEnd(widths[i])).join("  ")
      .trimEnd()
  ).join("\n");
}
