/** trace: records the work of the host and the devices in the format of Chrome's and Perfetto's viewers. */
import { wantFunction } from "../core/arguments.ts";
import { setTracer, type Span, tracer } from "../core/trace.ts";
import { gpuDevice } from "./devices/devices.ts";
import { traceTable } from "./trace_table.ts";

/** An event of Chrome's trace event format. */
export interface TraceEvent {
  /** Its subject. */
  readonly name: string;
  /** Its category: `run`, `plan`, `pass`, `step`, `op`, `dispatch`, `readback`, `upload`, `script`. */
  readonly cat?: string;
  /** `X`: a span; `b` and `e`: begin and end of one that may overlap others; `M`: a track's name. */
  readonly ph: "X" | "b" | "e" | "M";
  /** Microseconds since the trace began. */
  readonly ts: number;
  /** Duration in microseconds. */
  readonly dur?: number;
  /** Process; always 1. */
  readonly pid: number;
  /** Track: 1 is the host, 2 the GPU. */
  readonly tid: number;
  /** Ties `b` and `e` together. */
  readonly id?: number;
  /** Details. */
  readonly args?: Readonly<Record<string, unknown>>;
}

/** The recording of {@linkcode trace}; `JSON.stringify` makes the file for viewers. */
export interface Trace {
  /** The events. */
  readonly traceEvents: readonly TraceEvent[];
  /** Unit shown by viewers. */
  readonly displayTimeUnit: "ms";
}

/** The result of {@linkcode trace}. */
export interface TraceInfo<T> {
  /** The function's result. */
  readonly result: T;
  /** The recorded events. */
  readonly trace: Trace;
  /** Count, time and bytes by op as a text, the longest first. */
  readonly table: () => string;
}

const HOST = 1, GPU = 2;
const listeners = new Set<(span: Span) => void>();

function tellAll(span: Span): void {
  for (const tell of listeners) tell(span);
}

/**
 * Records the work of `fn`: runs, planning and its passes, steps, eager ops of the CPU, dispatches, readbacks, uploads and script bodies. If
 * the adapter has timestamps, dispatches also stand on a track of the GPU; each is a pass of its own during the
 * recording. Rejects with the error of `fn`. The form is Chrome's trace event format.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const f = tf.function((x: tf.Tensor) => tf.add(tf.square(x), 1));
 * const { result, trace, table } = await tf.trace(() => f(tf.scalar(3)));
 * console.log(trace.traceEvents.some((e) => e.cat === "plan")); // true
 * console.log(table()); // op work device count ms bytes…
 * // await Deno.writeTextFile("trace.json", JSON.stringify(trace));
 * ```
 */
export async function trace<T>(fn: () => T | Promise<T>): Promise<TraceInfo<T>> {
  wantFunction(fn, "fn", "trace");
  const spans: Span[] = [];
  const listen = (span: Span): unknown => spans.push(span);
  listeners.add(listen);
  if (tracer === null) setTracer(tellAll);
  const began = performance.now();
  try {
    const result = await fn();
    await gpuDevice()?.settleTrace?.();
    const traceEvents = eventsOf(spans, began);
    return {
      result,
      trace: { traceEvents, displayTimeUnit: "ms" },
      table: () => traceTable(traceEvents),
    };
  } finally {
    listeners.delete(listen);
    if (listeners.size === 0) setTracer(null);
  }
}

function eventsOf(spans: readonly Span[], began: number): TraceEvent[] {
  const events: TraceEvent[] = [["host", HOST], ["GPU", GPU]].map(([name, tid]) => ({
    name: "thread_name",
    ph: "M",
    ts: 0,
    pid: 1,
    tid: tid as number,
    args: { name },
  }));
  const micros = (ms: number): number => Math.round((ms - began) * 1e6) / 1e3;
  spans.forEach(({ name, category: cat, start, end, track, details }, id) => {
    const common = {
      name,
      cat,
      pid: 1,
      tid: track === "gpu" ? GPU : HOST,
      ...(details ? { args: details } : {}),
    };
    const ts = micros(start);
    if (track === "awaited") {
      events.push({ ...common, ph: "b", ts, id }, { ...common, ph: "e", ts: micros(end), id });
    } else events.push({ ...common, ph: "X", ts, dur: Math.max(0, micros(end) - ts) });
  });
  // A clock may be too coarse to tell a step's beginning from that of its first op.
  return events.sort((a, b) => a.ts - b.ts || Number(a.cat === "op") - Number(b.cat === "op"));
}
