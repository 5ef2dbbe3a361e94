/** Stages that pass elements on as they are: repeat, take, skip, shard, concatenate, takeWhile, ignoreErrors. */
import { wantObject } from "../../engine/core/arguments.ts";
import { optionCheck } from "../../engine/core/arguments.ts";
import { ValueError } from "../../engine/core/errors.ts";
import { messageOf } from "../../engine/core/thrown.ts";
import { commonType } from "./element.ts";
import {
  checkCount,
  type Elements,
  Failure,
  known,
  makeSource,
  sameAs,
  type Source,
  type State,
} from "./source.ts";
import { stageOver } from "./stage.ts";

/** Repeats the input `count` times or without end. */
export function repeatSource(input: Source, count: number): Source {
  const endless = checkCount(count, "count", -1) === -1;
  const size = endless ? Infinity : known(input.size, (n) => n * count);
  return makeSource({
    kind: "Repeat",
    ...sameAs(input),
    size: input.size === 0 || count === 0 ? 0 : size,
    settings: { stage: "Repeat", count },
    open(place, state?: { readonly pass: number; readonly empty: boolean; readonly input: State }) {
      let pass = state?.pass ?? 0, empty = state?.empty ?? true;
      let elements: Elements | null = state ? input.open(place, state.input) : null;
      return {
        async next() {
          for (;;) {
            if (!endless && pass >= count) return null;
            elements ??= input.open(place);
            const item = await elements.next();
            if (item !== null) {
              // As in TensorFlow, a pass of failures alone has no elements.
              if (!(item instanceof Failure)) empty = false;
              return item;
            }
            if (empty && endless) return null;
            // The last pass stays open, for its state.
            if (!endless && pass + 1 >= count) return null;
            await elements.close();
            elements = null;
            pass++;
            empty = true;
          }
        },
        async save() {
          elements ??= input.open(place);
          return { pass, empty, input: await elements.save() };
        },
        close: () => elements?.close(),
      };
    },
  });
}

/** Takes the first `count` elements. */
export function takeSource(input: Source, count: number): Source {
  const n = checkCount(count, "count", -1) === -1 ? Infinity : count;
  return stageOver(input, {
    kind: "Take",
    size: n === 0 ? 0 : known(input.size, (size) => Math.min(n, size)),
    settings: { stage: "Take", count },
    begin: () => ({ n: 0 }),
    async next({ input, own: taken }) {
      // Reading one more element would compute it.
      if (taken.n >= n) return null;
      const item = await input.next();
      if (item !== null && !(item instanceof Failure)) taken.n++;
      return item;
    },
  });
}

/** Skips the first `count` elements. */
export function skipSource(input: Source, count: number): Source {
  const n = checkCount(count, "count", -1) === -1 ? Infinity : count;
  return stageOver(input, {
    kind: "Skip",
    size: n === Infinity ? 0 : known(input.size, (size) => Math.max(0, size - n)),
    settings: { stage: "Skip", count },
    begin: () => ({ n: 0 }),
    async next({ input, own: skipped }) {
      if (n === Infinity) return null;
      for (;;) {
        const item = await input.next();
        if (item === null || skipped.n >= n) return item;
        if (item instanceof Failure) {
          // TensorFlow counts anew from there.
          skipped.n = 0;
          return item;
        }
        skipped.n++;
      }
    },
  });
}

/** Takes every `numShards`-th element, from number `index`. */
export function shardSource(input: Source, numShards: number, index: number): Source {
  const n = checkCount(numShards, "numShards", 1), first = checkCount(index, "index", 0);
  if (first >= n) {
    throw new ValueError(
      `Cannot take shard ${index} of ${numShards}: index must be between 0 and ${numShards - 1}`,
    );
  }
  return stageOver(input, {
    kind: "Shard",
    size: known(input.size, (size) => Math.max(0, Math.ceil((size - first) / n))),
    settings: { stage: "Shard", numShards, index },
    begin: () => ({ n: 0 }),
    async next({ input, own: seen }) {
      for (;;) {
        const item = await input.next();
        if (item === null || item instanceof Failure) return item;
        if (seen.n++ % n === first) return item;
      }
    },
  });
}

/** Yields the elements of one stage, then those of another. */
export function concatenateSource(first: Source, second: Source): Source {
  const inputs = [first, second];
  const sizes = inputs.map((input) => input.size);
  return makeSource({
    kind: "Concatenate",
    ...commonType(inputs, "concatenate"),
    size: sizes.includes(Infinity) ? Infinity : sizes.includes(null) ? null : sizes[0]! + sizes[1]!,
    inputs,
    settings: { stage: "Concatenate" },
    open(place, state?: { readonly at: number; readonly input: State }) {
      const begin = (from?: State): Elements =>
        inputs[at].open({ ...place, path: `${place.path}[${at}]` }, from);
      let at = state?.at ?? 0, elements = begin(state?.input);
      return {
        async next() {
          const item = await elements.next();
          if (item !== null || at === 1) return item;
          await elements.close();
          at = 1;
          elements = begin();
          return await elements.next();
        },
        save: async () => ({ at, input: await elements.save() }),
        close: () => elements.close(),
      };
    },
  });
}

/** Options of {@linkcode Dataset.ignoreErrors}. */
export interface IgnoreErrorsOptions {
  /** True: each left out error is reported by `console.warn`. Default false. */
  readonly logWarning?: boolean;
}

const checkIgnoreErrors = optionCheck<IgnoreErrorsOptions>("ignoreErrors", { logWarning: true });

/** Leaves out elements that could not be computed. */
export function ignoreErrorsSource(input: Source, options: IgnoreErrorsOptions): Source {
  checkIgnoreErrors(options);
  const { logWarning = false } = options;
  return stageOver(input, {
    kind: "IgnoreErrors",
    size: null,
    settings: { stage: "IgnoreErrors", logWarning },
    async next({ input, place }) {
      for (;;) {
        const item = await input.next();
        if (!(item instanceof Failure)) return item;
        // Leaving the iteration aborts the running calls: that is no error of an element.
        place.signal.throwIfAborted();
        const { error } = item;
        if (logWarning) {
          console.warn(`Error raised with error message ${messageOf(error)}`);
        }
      }
    },
  });
}

/** Options of {@linkcode Dataset.withOptions}. */
export interface DatasetOptions {
  /** False: elements of parallel calls may come in the order in which they are ready. Default true. */
  readonly deterministic?: boolean;
}

const checkDatasetOptions = optionCheck<DatasetOptions>("withOptions", { deterministic: true });

/** Sets options for the stages before that do not set them themselves. */
export function optionsSource(input: Source, options: DatasetOptions): Source {
  wantObject(options, "options", "withOptions");
  checkDatasetOptions(options);
  const { deterministic } = options;
  return makeSource({
    kind: "Options",
    ...sameAs(input),
    settings: { stage: "Options", deterministic },
    open: (place, state?: State) =>
      // As in TensorFlow, the last setting wins.
      input.open({ ...place, deterministic: place.deterministic ?? deterministic }, state),
  });
}
