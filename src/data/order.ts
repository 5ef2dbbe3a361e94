/**
 * Stages that pass elements on as they are: shuffle, repeat, take, skip, ignoreErrors, prefetch, cache.
 */
import { optionCheck } from "../core/options.ts";
import { eagerKey } from "../ops/random/state.ts";
import type { Element } from "./element.ts";
import { Random } from "./random.ts";
import { checkCount, Failure, looked, makeSource, sameType, type Source } from "./source.ts";

/** Options of {@linkcode Dataset.shuffle}. */
export interface ShuffleOptions {
  /** Makes the order reproducible. Default: the global seed does, where one is set. */
  readonly seed?: number | string;
  /** False: every pass has the order of the first. Default true. */
  readonly reshuffleEachIteration?: boolean;
}

const checkShuffle = optionCheck<ShuffleOptions>("shuffle", {
  seed: true,
  reshuffleEachIteration: true,
});

/** Elements drawn at random from a buffer of the next `bufferSize`. */
export function shuffleSource(
  input: Source,
  bufferSize: number,
  options: ShuffleOptions,
): Source {
  checkShuffle(options);
  const { seed, reshuffleEachIteration = true } = options;
  const size = checkCount(bufferSize, "bufferSize", 1);
  const base = eagerKey(seed);
  let passes = 0;
  return makeSource({
    kind: "Shuffle",
    ...sameType(input),
    size: input.size,
    async *open(place) {
      const random = new Random(`${base}/${reshuffleEachIteration ? passes++ : "same"}`);
      const buffer: Element[] = [];
      const draw = (): Element => {
        const i = random.below(buffer.length), chosen = buffer[i], last = buffer.pop()!;
        if (i < buffer.length) buffer[i] = last;
        return chosen;
      };
      for await (const element of input.open(place)) {
        if (element instanceof Failure) yield element;
        else if (buffer.push(element) === size) yield draw();
      }
      while (buffer.length > 0) yield draw();
    },
  });
}

/** The passes over the input one after the other, `count` of them or without end. */
export function repeatSource(input: Source, count: number): Source {
  const endless = checkCount(count, "count", -1) === -1;
  const size = input.size === 0 || count === 0
    ? 0
    : endless
    ? Infinity
    : input.size === null
    ? null
    : input.size * count;
  return makeSource({
    kind: "Repeat",
    ...sameType(input),
    size,
    async *open(place) {
      for (let pass = 0; endless || pass < count; pass++) {
        let empty = true;
        for await (const element of input.open(place)) {
          empty = false;
          yield element;
        }
        if (empty && endless) return;
      }
    },
  });
}

/** The first `count` elements. */
export function takeSource(input: Source, count: number): Source {
  const n = checkCount(count, "count", -1) === -1 ? Infinity : count;
  return makeSource({
    kind: "Take",
    ...sameType(input),
    size: n === 0 ? 0 : input.size === null ? null : Math.min(n, input.size),
    async *open(place) {
      if (n === 0) return;
      let taken = 0;
      for await (const element of input.open(place)) {
        yield element;
        // Asking for one more would compute it.
        if (!(element instanceof Failure) && ++taken >= n) return;
      }
    },
  });
}

/** All but the first `count` elements. */
export function skipSource(input: Source, count: number): Source {
  const n = checkCount(count, "count", -1) === -1 ? Infinity : count;
  return makeSource({
    kind: "Skip",
    ...sameType(input),
    size: n === Infinity ? 0 : input.size === null ? null : Math.max(0, input.size - n),
    async *open(place) {
      if (n === Infinity) return;
      let skipped = 0;
      for await (const element of input.open(place)) {
        if (skipped >= n) yield element;
        else if (element instanceof Failure) {
          // TensorFlow counts anew from there.
          skipped = 0;
          yield element;
        } else skipped++;
      }
    },
  });
}

/** Options of {@linkcode Dataset.ignoreErrors}. */
export interface IgnoreErrorsOptions {
  /** True: what is left out is told with `console.warn`. Default false. */
  readonly logWarning?: boolean;
}

const checkIgnoreErrors = optionCheck<IgnoreErrorsOptions>("ignoreErrors", { logWarning: true });

/** The elements that could be computed. */
export function ignoreErrorsSource(input: Source, options: IgnoreErrorsOptions): Source {
  checkIgnoreErrors(options);
  const { logWarning = false } = options;
  return makeSource({
    kind: "IgnoreErrors",
    ...sameType(input),
    size: null,
    async *open(place) {
      for await (const element of input.open(place)) {
        if (!(element instanceof Failure)) yield element;
        // Who leaves the iteration ends the calls in flight: that is no error of theirs.
        else if (place.signal.aborted) return;
        else if (logWarning) {
          const { error } = element;
          console.warn(
            `Error raised with error message ${error instanceof Error ? error.message : error}`,
          );
        }
      }
    },
  });
}

/** Elements computed ahead of their use. */
export function prefetchSource(input: Source, bufferSize: number): Source {
  const n = checkCount(bufferSize, "bufferSize", -1) === -1 ? 2 : bufferSize;
  return makeSource({
    kind: "Prefetch",
    ...sameType(input),
    size: input.size,
    async *open(place) {
      const elements = input.open(place);
      const waiting: Promise<IteratorResult<Element | Failure, void>>[] = [];
      try {
        for (;;) {
          while (waiting.length <= n) waiting.push(looked(elements.next()));
          const { done, value } = await waiting.shift()!;
          if (done) return;
          yield value;
        }
      } finally {
        looked(elements.return());
      }
    },
  });
}

/** Elements kept from the first complete pass, so that later ones need not compute them. */
export function cacheSource(input: Source): Source {
  let kept: readonly Element[] | undefined;
  return makeSource({
    kind: "Cache",
    ...sameType(input),
    size: input.size,
    async *open(place) {
      if (kept) {
        yield* kept;
        return;
      }
      const seen: Element[] = [];
      for await (const element of input.open(place)) {
        if (!(element instanceof Failure)) seen.push(element);
        yield element;
      }
      kept = seen;
    },
  });
}
