/**
 * Stages that pass elements on as they are: shuffle, repeat, take, skip, prefetch, cache.
 * May import core, ops and this folder.
 */
import { optionCheck } from "../core/options.ts";
import { eagerKey } from "../ops/random_state.ts";
import type { Element } from "./element.ts";
import { Random } from "./random.ts";
import { checkCount, looked, makeSource, sameType, type Source } from "./source.ts";

/** Options of {@linkcode Dataset.shuffle}. */
export interface ShuffleOptions {
  /** Makes the order reproducible. Default: the global seed does, where one is set. */
  readonly seed?: number | string;
  /** False: every pass has the order of the first. Default true. */
  readonly reshuffleEachIteration?: boolean;
}

const checkOptions = optionCheck<ShuffleOptions>("shuffle", {
  seed: true,
  reshuffleEachIteration: true,
});

/** Elements drawn at random from a buffer of the next `bufferSize`. */
export function shuffleSource(
  input: Source,
  bufferSize: number,
  options: ShuffleOptions,
): Source {
  checkOptions(options);
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
      for await (const element of input.open(place)) {
        if (buffer.length < size) {
          buffer.push(element);
          continue;
        }
        const i = random.below(size);
        const chosen = buffer[i];
        buffer[i] = element;
        yield chosen;
      }
      while (buffer.length > 0) {
        const i = random.below(buffer.length);
        const chosen = buffer[i];
        buffer[i] = buffer[buffer.length - 1];
        buffer.pop();
        yield chosen;
      }
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
        if (++taken >= n) return;
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
        if (skipped++ >= n) yield element;
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
      const waiting: Promise<IteratorResult<Element, void>>[] = [];
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
        seen.push(element);
        yield element;
      }
      kept = seen;
    },
  });
}
