/** Loops of connectionist temporal classification over the steps of one example, in float64. */

/** The logits of one example, `[steps, batch, classes]`. */
export interface CtcExample {
  readonly logits: Float32Array | Float64Array;
  /** Number of its steps. */
  readonly steps: number;
  readonly batch: number;
  readonly item: number;
  readonly classes: number;
  readonly blank: number;
}

/** `log(exp(a) + exp(b))`. */
function logAdd(a: number, b: number): number {
  if (a === -Infinity) return b;
  if (b === -Infinity) return a;
  return Math.max(a, b) + Math.log1p(Math.exp(-Math.abs(a - b)));
}

/** Logarithms of the probabilities of classes, step after step. */
function logProbabilities({ logits, steps, batch, item, classes }: CtcExample): Float64Array {
  const out = new Float64Array(steps * classes);
  for (let t = 0; t < steps; t++) {
    const row = (t * batch + item) * classes;
    let top = -Infinity, sum = 0;
    for (let c = 0; c < classes; c++) top = Math.max(top, logits[row + c]);
    for (let c = 0; c < classes; c++) sum += Math.exp(logits[row + c] - top);
    const total = top + Math.log(sum);
    for (let c = 0; c < classes; c++) out[t * classes + c] = logits[row + c] - total;
  }
  return out;
}

/** Returns the loss of labels, and writes its gradient, which is zero where no alignment is possible. */
export function ctcItem(
  given: CtcExample & {
    readonly labels: ArrayLike<number>;
    readonly gradient: Float32Array | Float64Array;
  },
): number {
  const { steps, batch, item, classes, blank, labels, gradient } = given;
  const logs = logProbabilities(given), places = 2 * labels.length + 1;
  const classAt = (s: number): number => s % 2 === 0 ? blank : labels[s >> 1];
  // A label may follow the one before without a blank where they differ.
  const skips = (s: number): boolean =>
    s % 2 === 1 && s > 1 && labels[s >> 1] !== labels[(s >> 1) - 1];
  if (steps === 0) return labels.length === 0 ? 0 : Infinity;
  const table = (): Float64Array => new Float64Array(steps * places).fill(-Infinity);
  const before = table(), after = table();
  before[0] = logs[blank];
  if (places > 1) before[1] = logs[classAt(1)];
  for (let t = 1; t < steps; t++) {
    for (let s = 0; s < places; s++) {
      const from = (t - 1) * places + s;
      let sum = before[from];
      if (s > 0) sum = logAdd(sum, before[from - 1]);
      if (skips(s)) sum = logAdd(sum, before[from - 2]);
      before[t * places + s] = sum + logs[t * classes + classAt(s)];
    }
  }
  const last = steps * places - 1;
  const total = places > 1 ? logAdd(before[last], before[last - 1]) : before[last];
  if (total === -Infinity) return Infinity;
  after[last] = 0;
  if (places > 1) after[last - 1] = 0;
  for (let t = steps - 2; t >= 0; t--) {
    for (let s = 0; s < places; s++) {
      const step = (to: number): number =>
        after[(t + 1) * places + to] + logs[(t + 1) * classes + classAt(to)];
      let sum = step(s);
      if (s + 1 < places) sum = logAdd(sum, step(s + 1));
      if (s + 2 < places && skips(s + 2)) sum = logAdd(sum, step(s + 2));
      after[t * places + s] = sum;
    }
  }
  for (let t = 0; t < steps; t++) {
    const row = (t * batch + item) * classes;
    for (let c = 0; c < classes; c++) gradient[row + c] = Math.exp(logs[t * classes + c]);
    for (let s = 0; s < places; s++) {
      const share = before[t * places + s] + after[t * places + s] - total;
      gradient[row + classAt(s)] -= Math.exp(share);
    }
  }
  return -total;
}

/** Labels and their score. */
export interface BeamPath {
  readonly labels: readonly number[];
  readonly score: number;
}

/** Returns the likeliest class of each step without blanks, and the negated sum of their logits. */
export function bestPath(
  { logits, steps, batch, item, classes, blank }: CtcExample,
  merges: boolean,
): BeamPath {
  const labels: number[] = [];
  let score = 0, before = -1;
  for (let step = 0; step < steps; step++) {
    const row = (step * batch + item) * classes;
    let best = 0;
    for (let c = 1; c < classes; c++) if (logits[row + c] > logits[row + best]) best = c;
    score -= logits[row + best];
    if (best !== blank && !(merges && best === before)) labels.push(best);
    before = best;
  }
  return { labels, score };
}

/** A beginning of labels: logarithms of the probabilities that it ends in a blank or in its last label. */
interface Beam {
  readonly labels: readonly number[];
  blank: number;
  label: number;
}

/** Returns the likeliest labels of a search that keeps `width` beginnings, best first. */
export function searchBeams(example: CtcExample, width: number): BeamPath[] {
  const { steps, classes, blank } = example, logs = logProbabilities(example);
  let beams: Beam[] = [{ labels: [], blank: 0, label: -Infinity }];
  for (let t = 0; t < steps; t++) {
    const next = new Map<string, Beam>();
    const at = (labels: readonly number[]): Beam => {
      const key = labels.join();
      let beam = next.get(key);
      if (!beam) next.set(key, beam = { labels, blank: -Infinity, label: -Infinity });
      return beam;
    };
    for (const { labels, blank: ended, label } of beams) {
      const all = logAdd(ended, label), last = labels.at(-1);
      for (let c = 0; c < classes; c++) {
        const p = logs[t * classes + c];
        if (c === blank) {
          const same = at(labels);
          same.blank = logAdd(same.blank, all + p);
          continue;
        }
        if (c === last) {
          const same = at(labels);
          same.label = logAdd(same.label, label + p);
        }
        const more = at([...labels, c]);
        more.label = logAdd(more.label, (c === last ? ended : all) + p);
      }
    }
    beams = [...next.values()].sort((a, b) => scoreOf(b) - scoreOf(a)).slice(0, width);
  }
  return beams.map((beam) => ({ labels: beam.labels, score: scoreOf(beam) }));
}

function scoreOf({ blank, label }: Beam): number {
  return logAdd(blank, label);
}
