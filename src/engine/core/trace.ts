/** Spans of time for a listener. Without a listener nothing is measured. */

/** A timed activity. */
export interface Span {
  readonly name: string;
  /** Its category: `run`, `plan`, `pass`, `step`, `op`, `dispatch`, `readback`, `upload`, `script`. */
  readonly category: string;
  /** Time of its beginning, in milliseconds of `performance.now()`. */
  readonly start: number;
  readonly end: number;
  /** Its track: on the GPU by its own clock, on the host, or awaited there, so that spans may overlap. */
  readonly track: "gpu" | "host" | "awaited";
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

/** The active listener, or null. Check it before measuring anything. */
export let tracer: ((span: Span) => void) | null = null;

export function setTracer(listener: ((span: Span) => void) | null): void {
  tracer = listener;
}

/** Runs `fn` and reports its duration to the listener, awaiting a promise. */
export function traced<R>(
  what: Pick<Span, "name" | "category" | "details">,
  fn: () => R,
): R {
  if (tracer === null) return fn();
  const start = performance.now();
  const end = (track: Span["track"]): void =>
    tracer?.({ ...what, start, end: performance.now(), track });
  let result: R;
  try {
    result = fn();
  } catch (e) {
    end("host");
    throw e;
  }
  if (!(result instanceof Promise)) end("host");
  else result.then(() => end("awaited"), () => end("awaited"));
  return result;
}
