/**
 * Spans of time for whoever listens: what ran when. Nobody listens most of the time, and then nothing is measured.
 */

/** Something that took time. */
export interface Span {
  readonly name: string;
  /** What sort of thing: `run`, `plan`, `pass`, `step`, `dispatch`, `readback`, `upload`, `script`. */
  readonly category: string;
  /** When it began, in milliseconds as `performance.now()` counts them. */
  readonly start: number;
  readonly end: number;
  /** Where: on the GPU by its own clock, on the host, or awaited there, so that spans may overlap. */
  readonly track: "gpu" | "host" | "awaited";
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

/** Who listens, or null. Read it before measuring anything. */
export let tracer: ((span: Span) => void) | null = null;

export function setTracer(listener: ((span: Span) => void) | null): void {
  tracer = listener;
}

/** Runs `fn` and tells who listens how long it took, awaiting it where it is a promise. */
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
