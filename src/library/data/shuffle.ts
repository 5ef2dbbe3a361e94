/** shuffle: elements drawn at random from a buffer. */
import { optionCheck } from "../../engine/core/arguments.ts";
import { eagerKey, seedsOf } from "../../engine/ops/random/state.ts";
import type { Element } from "./element.ts";
import { Random } from "./random.ts";
import {
  checkCount,
  Failure,
  makeSource,
  type Place,
  sameAs,
  type Source,
  type State,
} from "./source.ts";

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

type ShuffleState = {
  /**
   * Base of the orders and number of earlier passes, so that passes after a resumed one have the orders that they would
   * have had.
   */
  readonly base: string;
  readonly passes: number;
  readonly random: readonly number[];
  readonly buffer: readonly Element[];
  readonly ended: boolean;
  readonly input: State;
};

/** Draws elements at random from a buffer of the next `bufferSize`. */
export function shuffleSource(
  input: Source,
  bufferSize: number,
  options: ShuffleOptions,
): Source {
  checkShuffle(options);
  const { seed, reshuffleEachIteration = true } = options;
  const size = checkCount(bufferSize, "bufferSize", 1);
  const seeds = seedsOf(seed);
  let base = String(eagerKey(seed));
  let passes = 0;
  return makeSource({
    kind: "Shuffle",
    ...sameAs(input),
    settings: { stage: "Shuffle", bufferSize, seeds, reshuffleEachIteration },
    open(place: Place, state?: ShuffleState) {
      if (state) ({ base, passes } = state);
      const pass = state ? passes : passes++;
      const random = new Random(`${base}/${reshuffleEachIteration ? pass : "same"}`);
      if (state) random.state = state.random;
      const elements = input.open(place, state?.input);
      const buffer = [...state?.buffer ?? []];
      let ended = state?.ended ?? false;
      return {
        async next() {
          while (!ended && buffer.length < size) {
            const item = await elements.next();
            if (item instanceof Failure) return item;
            if (item === null) ended = true;
            else buffer.push(item);
          }
          if (buffer.length === 0) return null;
          const i = random.below(buffer.length), chosen = buffer[i], last = buffer.pop()!;
          if (i < buffer.length) buffer[i] = last;
          return chosen;
        },
        save: async (): Promise<ShuffleState> => ({
          base,
          passes,
          random: random.state,
          buffer: [...buffer],
          ended,
          input: await elements.save(),
        }),
        close: () => elements.close(),
      };
    },
  });
}
