/** Stages that call the user's functions: map, one element at a time or several at once, filter, takeWhile, scan. */
import { InvalidArgumentError, ValueError } from "../../engine/core/errors.ts";
import { optionCheck } from "../../engine/core/arguments.ts";
import { specText } from "../../engine/core/tensor_spec.ts";
import {
  checkCount,
  type Elements,
  Failure,
  ignoreRejection,
  type Item,
  makeSource,
  manyOf,
  nextOf,
  type Outcome,
  type Place,
  Queue,
  type Source,
  type State,
} from "./source.ts";
import { Caller, stageOver } from "./stage.ts";
import { type ElementFunction, traceFunction } from "./trace.ts";

/** Lets the runtime choose a number. TensorFlow's `tf.data.AUTOTUNE`. */
export const AUTOTUNE: number = -1;

/** Options of {@linkcode Dataset.map}. */
export interface MapOptions {
  /** Most elements that are computed at once: script bodies that await overlap. Default one. */
  readonly numParallelCalls?: number;
  /** False: elements may come in the order in which they are ready. Default: the option of `withOptions`, else true. */
  readonly deterministic?: boolean;
}

const checkOptions = optionCheck<
  MapOptions & { workers?: unknown; Tout?: unknown; vectorized?: unknown }
>("map", {
  numParallelCalls: true,
  deterministic: true,
  workers: true,
  Tout: true,
  vectorized: true,
});

/** Checks a number of calls at once. Throws `ValueError` for an invalid one. */
export function callCount(numParallelCalls: number): number {
  if (numParallelCalls !== AUTOTUNE) return checkCount(numParallelCalls, "numParallelCalls", 1);
  return (globalThis.navigator as { hardwareConcurrency?: number } | undefined)
    ?.hardwareConcurrency ?? 4;
}

/** Applies a function to elements. */
export function mapSource(
  input: Source,
  fn: ElementFunction,
  options: MapOptions,
): Source {
  checkOptions(options);
  const { numParallelCalls = 1, deterministic } = options;
  const traced = traceFunction(fn, input, "map");
  const calls = callCount(numParallelCalls);
  const { specs, structure, isFresh, concrete: f } = traced;
  const mapped = {
    specs,
    structure,
    isFresh,
    size: input.size,
    settings: { stage: "Map", f, calls: { calls: numParallelCalls, deterministic } } as const,
  };
  if (calls === 1) {
    return stageOver(input, {
      kind: "Map",
      ...mapped,
      traced,
      async next({ input, call }) {
        const item = await input.next();
        return item === null || item instanceof Failure ? item : await call(item);
      },
      many: traced.takesBatches
        ? async ({ input, callAll }, n) => await callAll(await nextOf(input, n))
        : traced.runStacked !== null
        ? async ({ input, callStacked }, n) => await callStacked(await manyOf(input, n))
        : undefined,
    });
  }
  const source: Source = makeSource({
    kind: "ParallelMap",
    ...mapped,
    inputs: [input],
    open(place: Place, state?: CallsState) {
      const caller = new Caller(traced, source, place, state?.number);
      const elements = input.open(place, state?.input);
      const parallel = new ParallelCalls(elements, caller, {
        calls,
        inOrder: deterministic ?? place.deterministic ?? true,
        again: state?.pending ?? [],
      });
      const { takesBatches, runStacked } = traced;
      if (!takesBatches && runStacked === null) return parallel;
      return {
        next: () => parallel.next(),
        many: async (n) =>
          !parallel.isIdle
            ? await nextOf(parallel, n)
            : takesBatches
            ? await caller.callAll(await nextOf(elements, n))
            : await caller.callStacked(await manyOf(elements, n)),
        save: () => parallel.save(),
        close: () => parallel.close(),
      };
    },
  });
  return source;
}

type CallsState = {
  readonly number: number;
  readonly input: State;
  /** Inputs whose results were not given yet, with their numbers: they are computed again. */
  readonly pending?: readonly Call[];
};

type Call = { readonly number: number; readonly item: Outcome };

/** A running call. */
interface Begun {
  /** The call's input; null at the end of the inputs. */
  readonly of: Promise<Call | null>;
  readonly outcome: Promise<Item>;
}

/** Runs several calls at once; results come in the order of the inputs, or as they are ready. */
class ParallelCalls implements Elements {
  readonly #input: Queue;
  readonly #caller: Caller;
  readonly #calls: number;
  readonly #inOrder: boolean;
  readonly #begun: Begun[] = [];
  #again: Call[];
  #ended = false;

  constructor(
    input: Elements,
    caller: Caller,
    calls: { readonly calls: number; readonly inOrder: boolean; readonly again: readonly Call[] },
  ) {
    this.#input = new Queue(input);
    this.#caller = caller;
    this.#calls = calls.calls;
    this.#inOrder = calls.inOrder;
    this.#again = [...calls.again];
  }

  /** True where it has begun nothing whose result is still to come. */
  get isIdle(): boolean {
    return this.#begun.length === 0 && this.#again.length === 0;
  }

  async next(): Promise<Item> {
    for (;;) {
      while (!this.#ended && this.#begun.length < this.#calls) this.#begun.push(this.#begin());
      if (this.#begun.length === 0) return null;
      const chosen = this.#inOrder ? this.#begun[0] : await Promise.race(
        this.#begun.map((call) => call.outcome.then(() => call)),
      );
      const item = await chosen.outcome;
      this.#begun.splice(this.#begun.indexOf(chosen), 1);
      if (item !== null) return item;
    }
  }

  async save(): Promise<CallsState> {
    const pending = await Promise.all(this.#begun.map((call) => call.of));
    return {
      number: this.#caller.given,
      input: await this.#input.save(),
      pending: [...pending.filter((call) => call !== null), ...this.#again],
    };
  }

  close(): void {
    // Pending calls are not awaited: their results are dropped.
    ignoreRejection(this.#input.close());
  }

  #begin(): Begun {
    const of = this.#nextCall();
    const outcome = of.then((call) =>
      call === null ? null : this.#caller.call(call.item, call.number)
    );
    return { of, outcome: ignoreRejection(outcome) };
  }

  async #nextCall(): Promise<Call | null> {
    const again = this.#again.shift();
    if (again) return again;
    const item = await this.#input.next();
    if (item === null) {
      this.#ended = true;
      return null;
    }
    return { item, number: item instanceof Failure ? 0 : this.#caller.number() };
  }
}

/** Keeps the elements for which a function returns true: all of them, or those before the first other one. */
export function predicateSource(
  input: Source,
  predicate: ElementFunction,
  method: "filter" | "takeWhile",
): Source {
  const kind = method === "filter" ? "Filter" : "TakeWhile";
  const traced = traceFunction(predicate, input, method);
  const [spec] = traced.specs;
  if (
    traced.specs.length !== 1 || spec.dtype !== "bool" ||
    (spec.shape !== null && spec.shape.length !== 0)
  ) {
    throw new ValueError(
      `\`predicate\` return type must be convertible to a scalar boolean tensor. Was ${
        traced.specs.map(specText).join(", ")
      }.`,
    );
  }
  return stageOver(input, {
    kind,
    size: null,
    settings: { stage: kind, f: traced.concrete },
    traced,
    begin: () => ({ ended: false }),
    async next({ input, own, call }) {
      while (!own.ended) {
        const item = await input.next();
        if (item === null || item instanceof Failure) return item;
        const answer = await call(item);
        if (answer instanceof Failure) return answer;
        if (answer[0].size !== 1) {
          return new Failure(
            new InvalidArgumentError(`${kind} predicate \`f\` must return a scalar bool.`, {
              op: `${kind}Dataset`,
            }),
          );
        }
        if (answer[0].at(0)) return item;
        own.ended = kind === "TakeWhile";
      }
      return null;
    },
  });
}
