/**
 * Elements of several datasets: the dataset of the next element is read from a dataset of numbers, or drawn at random.
 */
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import { InvalidArgumentError, ValueError } from "../../engine/core/errors.ts";
import { optionCheck } from "../../engine/core/arguments.ts";
import { eagerKey } from "../../engine/ops/random/state.ts";
import { commonType, isInteger } from "./element.ts";
import { Random } from "./random.ts";
import {
  type Elements,
  Failure,
  type Item,
  makeSource,
  Parts,
  type Place,
  type Source,
  type State,
} from "./source.ts";

/** Chooses the next dataset: its number, a failure, or null at the end. */
interface Chooser extends Pick<Elements, "save" | "close"> {
  next(ended: readonly boolean[]): Promise<number | Failure | null>;
}

type ChosenState = {
  readonly chooser: State;
  readonly ended: readonly boolean[];
  readonly inputs: readonly State[];
};

function chosenSource(
  kind: string,
  inputs: readonly Source[],
  { stopOnEmpty, others, choose }: {
    readonly stopOnEmpty: boolean;
    /** Sources that the chooser reads. */
    readonly others: readonly Source[];
    readonly choose: (place: Place, state?: State) => Chooser;
  },
): Source {
  if (inputs.length === 0) {
    throw new ValueError("Cannot choose from an empty list: wanted at least one dataset");
  }
  return makeSource({
    kind,
    ...commonType(inputs, kind === "Sample" ? "sample from" : "choose from"),
    size: null,
    inputs: [...others, ...inputs],
    open(place: Place, state?: ChosenState): Elements {
      const chooser = choose(place, state?.chooser);
      const ended = [...state?.ended ?? inputs.map(() => false)];
      const parts = new Parts(inputs, place, state?.inputs);
      return {
        async next(): Promise<Item> {
          for (;;) {
            if (ended.every(Boolean)) return null;
            const i = await chooser.next(ended);
            if (i === null || i instanceof Failure) return i;
            if (ended[i]) continue;
            const item = await parts.all[i].next();
            if (item !== null) return item;
            if (stopOnEmpty) ended.fill(true);
            ended[i] = true;
          }
        },
        save: async (): Promise<ChosenState> => ({
          chooser: await chooser.save(),
          ended: [...ended],
          inputs: await parts.save(),
        }),
        async close() {
          await chooser.close();
          await parts.close();
        },
      };
    },
  });
}

/** Chooses each element's dataset by a dataset of numbers. */
export function chooseSource(
  inputs: readonly Source[],
  choices: Source,
  stopOnEmpty: boolean,
): Source {
  if (!isInteger(choices)) {
    throw new TypeError(
      `Cannot choose by elements ${
        choices.specs.join(", ")
      }: choiceDataset must be of scalar integers`,
    );
  }
  return chosenSource("DirectedInterleave", inputs, {
    stopOnEmpty,
    others: [choices],
    choose(place, state) {
      const elements = choices.open({ ...place, path: `${place.path}[choice]` }, state);
      return {
        async next() {
          const item = await elements.next();
          if (item === null || item instanceof Failure) return item;
          const i = Number(item[0].at(0));
          if (i >= 0 && i < inputs.length) return i;
          return new Failure(
            new InvalidArgumentError(
              `Selector index out of range: ${i}, there are ${inputs.length} datasets`,
              { op: "DirectedInterleaveDataset" },
            ),
          );
        },
        save: () => elements.save(),
        close: () => elements.close(),
      };
    },
  });
}

type SampleState = {
  readonly base: string;
  readonly passes: number;
  readonly random: readonly number[];
};

/** Options of {@linkcode sampleFromDatasets}. */
export interface SampleOptions {
  /** Relative weights of the datasets. Default: equal. */
  readonly weights?: readonly number[];
  /** Makes the order reproducible. Default: the global seed does, where one is set. */
  readonly seed?: number | string;
  /** True: the first dataset that ends, ends all. Default false: the others go on. */
  readonly stopOnEmptyDataset?: boolean;
  /** True: each pass draws another order. Default false, as in TensorFlow. */
  readonly rerandomizeEachIteration?: boolean;
}

const checkSample = optionCheck<SampleOptions>("sampleFromDatasets", {
  weights: true,
  seed: true,
  stopOnEmptyDataset: true,
  rerandomizeEachIteration: true,
});

/** Draws each element's dataset by weights. */
export function sampleSource(inputs: readonly Source[], options: SampleOptions): Source {
  checkSample(options);
  const { weights = inputs.map(() => 1), seed, rerandomizeEachIteration = false } = options;
  const isWeight = (w: unknown): boolean => typeof w === "number" && w >= 0 && w < Infinity;
  if (weights.length !== inputs.length || !weights.every(isWeight) || !weights.some((w) => w > 0)) {
    throw new ValueError(
      `Cannot sample from ${inputs.length} datasets by weights [${weights}]: wanted a number from 0 for each, and one above`,
    );
  }
  commonType(inputs, "sample from");
  const drawn = inputs.filter((_, i) => weights[i] > 0);
  // Datasets of weight 0 are never read; a single other dataset is the result, with its size.
  if (drawn.length === 1) return drawn[0];
  const chances = weights.filter((w) => w > 0);
  let base = String(eagerKey(seed)), passes = 0;
  return chosenSource("Sample", drawn, {
    stopOnEmpty: options.stopOnEmptyDataset ?? false,
    others: [],
    choose(_, from) {
      const state = from as SampleState | undefined;
      if (state) ({ base, passes } = state);
      const random = new Random(
        `${base}/${rerandomizeEachIteration ? (state ? passes : passes++) : "same"}`,
      );
      if (state) random.state = state.random;
      return {
        next(ended) {
          const open = chances.map((w, i) => (ended[i] ? 0 : w));
          const total = open.reduce((a, b) => a + b, 0);
          if (total === 0) return Promise.resolve(null);
          let rest = random.fraction() * total;
          const i = open.findIndex((w) => (rest -= w) < 0);
          return Promise.resolve(i >= 0 ? i : open.findLastIndex((w) => w > 0));
        },
        save: (): SampleState => ({ base, passes, random: random.state }),
        close: () => {},
      };
    },
  });
}
