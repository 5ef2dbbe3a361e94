/** Samples of classes, and how often a class is expected in one, on the host. */
import { InvalidArgumentError } from "../../../core/errors.ts";
import { threefry } from "../../pointwise/threefry.ts";

/** Classes with probabilities, of which one is drawn by a number of `[0, 1)`. */
export interface Classes {
  readonly range: number;
  /** Number of classes that may be drawn. */
  readonly possible: number;
  draw(u: number): number;
  probability(id: number): number;
}

/** Classes of one probability. */
export function uniformClasses(range: number): Classes {
  return {
    range,
    possible: range,
    draw: (u) => Math.floor(u * range),
    probability: () => Math.fround(1 / range),
  };
}

/** Classes whose probabilities fall as Zipf's law says: the logarithm of a number is uniform. */
export function logUniformClasses(range: number): Classes {
  const all = Math.log1p(range);
  return {
    range,
    possible: range,
    draw: (u) => (Math.floor(Math.exp(u * all)) - 1) % range,
    probability: (id) => Math.log((id + 2) / (id + 1)) / all,
  };
}

/** Classes with weights. */
export function weightedClasses(weights: ArrayLike<number>): Classes {
  const sums = new Float64Array(weights.length);
  let total = 0, possible = 0;
  for (let i = 0; i < sums.length; i++) {
    if (!(weights[i] >= 0)) {
      throw new InvalidArgumentError(`The weight of a class is ${weights[i]}`);
    }
    sums[i] = total += weights[i];
    if (weights[i] > 0) possible++;
  }
  return {
    range: sums.length,
    possible,
    draw: (u) => {
      let low = 0, high = sums.length - 1;
      while (low < high) {
        const middle = (low + high) >>> 1;
        if (sums[middle] > u * total) high = middle;
        else low = middle + 1;
      }
      return low;
    },
    probability: (id) => weights[id] / total,
  };
}

/** Classes that were drawn, and how often each would be expected in such a sample. */
export interface Drawn {
  readonly ids: readonly number[];
  expected(id: number): number;
}

/** Draws `count` classes, each at most once where they are to be `unique`. */
export function drawClasses(
  classes: Classes,
  { count, unique, key: [k0, k1] }: {
    readonly count: number;
    readonly unique: boolean;
    readonly key: readonly [number, number];
  },
): Drawn {
  if (unique && count > classes.possible) {
    throw new InvalidArgumentError(
      `Sampler's range is too small: ${count} different classes of ${classes.possible}`,
    );
  }
  const words = new Uint32Array(2), ids: number[] = [], seen = new Set<number>();
  let tries = 0;
  while (ids.length < count) {
    threefry(k0, k1, tries++, 0, words);
    const id = classes.draw(((words[0] >>> 5) * 2 ** 26 + (words[1] >>> 6)) / 2 ** 53);
    if (unique && seen.has(id)) continue;
    seen.add(id);
    ids.push(id);
  }
  // Of a sample that took so many tries: the probability that a class is in it.
  const expected = (id: number): number => {
    const p = classes.probability(id);
    return tries === count ? p * count : -Math.expm1(tries * Math.log1p(-p));
  };
  return { ids, expected };
}
