/** Spans of a run summed up by the nodes of graphs, and by what ran eagerly. */

import type { ShownSpan } from "./messages.ts";

/** The known properties of a node. */
export interface NodeRow {
  /** Its longest run. */
  readonly span: ShownSpan;
  readonly runs: number;
  /** Milliseconds of the host, over all runs. */
  readonly host: number;
  /** Milliseconds of the GPU by its own clock; null where it has not told. */
  readonly gpu: number | null;
  /** Bytes of its results, or of what it moved, in one run. */
  readonly bytes: number;
}

/** Categories of spans that are rows; a dispatch is one where no step lies around it. */
const KINDS = ["step", "script", "readback", "upload", "dispatch"];

/** Returns the spans that contain a span, the nearest first. */
export function ancestors(span: ShownSpan, spans: readonly ShownSpan[]): ShownSpan[] {
  const found: ShownSpan[] = [];
  for (let at = span.parent; at >= 0; at = spans[at]!.parent) found.push(spans[at]!);
  return found;
}

/** Rows, those that took longest first. */
export function nodeRows(spans: readonly ShownSpan[]): NodeRow[] {
  const gpuTimes = timesOnGpu(spans);
  const rows = new Map<string, NodeRow>();
  const put = (
    span: ShownSpan,
    more: { host?: number; gpu?: number | undefined; runs?: number },
  ) => {
    const key = `${span.category} ${span.name}`, row = rows.get(key);
    const { host = 0, gpu, runs = 0 } = more;
    const isLonger = !row || span.end - span.start > row.span.end - row.span.start;
    rows.set(key, {
      span: isLonger ? span : row.span,
      runs: (row?.runs ?? 0) + runs,
      host: (row?.host ?? 0) + host,
      gpu: gpu === undefined ? row?.gpu ?? null : (row?.gpu ?? 0) + gpu,
      bytes: row?.bytes ?? span.bytes ?? 0,
    });
  };
  for (const span of spans) {
    if (span.track === "gpu" || !KINDS.includes(span.category)) continue;
    const step = ancestors(span, spans).find(({ category }) => category === "step");
    // A step's script is named by its node too.
    if (step && span.category === "script") continue;
    if (step && span.category === "dispatch") put(step, { gpu: gpuTimes.get(span) });
    else put(span, { host: span.end - span.start, gpu: gpuTimes.get(span), runs: 1 });
  }
  const total = ({ host, gpu }: NodeRow): number => Math.max(host, gpu ?? 0);
  return [...rows.values()].sort((a, b) => total(b) - total(a));
}

/** Times by the GPU's clock: dispatches run there in the order in which the host made them. */
function timesOnGpu(spans: readonly ShownSpan[]): Map<ShownSpan, number> {
  const made = spans.filter((s) => s.category === "dispatch" && s.track !== "gpu");
  const ran = spans.filter((s) => s.category === "dispatch" && s.track === "gpu");
  if (made.some(({ name }, i) => i < ran.length && name !== ran[i]!.name)) return new Map();
  return new Map(ran.map(({ start, end }, i) => [made[i]!, end - start]));
}
