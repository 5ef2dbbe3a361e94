/**
 * Stages that call the user's functions: map, one element at a time or several at once, filter, takeWhile, scan.
 */
import { InvalidArgumentError, ValueError } from "../core/errors.ts";
import { optionCheck } from "../core/options.ts";
import { specText } from "../core/tensor_spec.ts";
import {
  checkCount,
  type Elements,
  Failure,
  type Item,
  looked,
  makeSource,
  type Outcome,
  type Place,
  Queue,
  sameType,
  type Source,
  type State,
} from "./source.ts";
import {
  type ElementFunction,
  functionError,
  Numbering,
  type Traced,
  traceFunction,
} from "./trace.ts";

/** Lets the runtime choose a number. TensorFlow's `tf.data.AUTOTUNE`. */
export const AUTOTUNE: number = -1;

/** Options of {@linkcode Dataset.map}. */
export interface MapOptions {
  /** How many elements may be computed at once: script bodies that await overlap. Default one. */
  readonly numParallelCalls?: number;
  /** False: elements may come in the order in which they are ready. Default: what `withOptions` says, else true. */
  readonly deterministic?: boolean;
}

const checkOptions = optionCheck<MapOptions & { workers?: unknown; Tout?: unknown }>("map", {
  numParallelCalls: true,
  deterministic: true,
  workers: true,
  Tout: true,
});

/** A number of calls at once. Throws `ValueError` for what is none. */
export function callCount(numParallelCalls: number): number {
  if (numParallelCalls !== AUTOTUNE) return checkCount(numParallelCalls, "numParallelCalls", 1);
  return (globalThis.navigator as { hardwareConcurrency?: number } | undefined)
    ?.hardwareConcurrency ?? 4;
}

/** Elements put through a function. */
export function mapSource(
  input: Source,
  fn: ElementFunction,
  options: MapOptions,
): Source {
  checkOptions(options);
  const { numParallelCalls = 1, deterministic } = options;
  const traced = traceFunction(fn, input, "map");
  const calls = callCount(numParallelCalls);
  const source: Source = makeSource({
    kind: calls > 1 ? "ParallelMap" : "Map",
    specs: traced.specs,
    structure: traced.structure,
    isFresh: traced.isFresh,
    size: input.size,
    inputs: [input],
    settings: {
      stage: "Map",
      f: traced.concrete,
      calls: { calls: numParallelCalls, deterministic },
    },
    open(place: Place, state?: CallsState) {
      const caller = new Caller(traced, source, place, state?.number);
      const elements = input.open(place, state?.input);
      if (calls === 1) return oneByOne(elements, caller, (item) => caller.call(item));
      return new ParallelCalls(elements, caller, {
        calls,
        inOrder: deterministic ?? place.deterministic ?? true,
        again: state?.pending ?? [],
      });
    },
  });
  return source;
}

type CallsState = {
  readonly number: number;
  readonly input: State;
  /** Inputs whose results nobody has seen, with their numbers: they are computed again. */
  readonly pending?: readonly Call[];
};

type Call = { readonly number: number; readonly item: Outcome };

/** Calls a traced function, and counts. */
class Caller {
  readonly numbers: Numbering;
  readonly #traced: Traced;
  readonly #source: Source;
  readonly #place: Place;

  constructor(traced: Traced, source: Source, place: Place, from?: number) {
    this.numbers = new Numbering(place, from);
    this.#traced = traced;
    this.#source = source;
    this.#place = place;
  }

  async call(item: Outcome, number?: number): Promise<Outcome> {
    if (item instanceof Failure) return item;
    try {
      return await this.#traced.run(item, this.#place, number ?? this.numbers.next());
    } catch (error) {
      return new Failure(functionError(error, this.#source.name, this.#place));
    }
  }
}

function oneByOne(
  input: Elements,
  { numbers }: Caller,
  use: (item: Outcome) => Promise<Item>,
): Elements {
  return {
    async next() {
      const item = await input.next();
      return item === null ? null : await use(item);
    },
    save: async (): Promise<CallsState> => ({ number: numbers.given, input: await input.save() }),
    close: () => input.close(),
  };
}

/** A call that was begun. */
interface Begun {
  /** What it is of; null where there was no input left. */
  readonly of: Promise<Call | null>;
  readonly outcome: Promise<Item>;
}

/** Several calls at once; results in the order of the inputs, or as they are ready. */
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
    { calls, inOrder, again }: {
      readonly calls: number;
      readonly inOrder: boolean;
      readonly again: readonly Call[];
    },
  ) {
    this.#input = new Queue(input);
    this.#caller = caller;
    this.#calls = calls;
    this.#inOrder = inOrder;
    this.#again = [...again];
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
      number: this.#caller.numbers.given,
      input: await this.#input.save(),
      pending: [...pending.filter((call) => call !== null), ...this.#again],
    };
  }

  close(): void {
    // Nobody waits for calls whose results nobody wants.
    looked(this.#input.close());
  }

  #begin(): Begun {
    const of = this.#nextCall();
    const outcome = of.then((call) =>
      call === null ? null : this.#caller.call(call.item, call.number)
    );
    return { of, outcome: looked(outcome) };
  }

  async #nextCall(): Promise<Call | null> {
    const again = this.#again.shift();
    if (again) return again;
    const item = await this.#input.next();
    if (item === null) {
      this.#ended = true;
      return null;
    }
    return { item, number: item instanceof Failure ? 0 : this.#caller.numbers.next() };
  }
}

/** A stage whose function says true or false of each element; `use` says what becomes of it, null for nothing. */
function predicateSource(
  input: Source,
  predicate: ElementFunction,
  { kind, method, use }: {
    readonly kind: "Filter" | "TakeWhile";
    readonly method: string;
    readonly use: (answer: boolean) => "pass" | "drop" | "end";
  },
): Source {
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
  const source: Source = makeSource({
    kind,
    ...sameType(input),
    size: null,
    settings: { stage: kind, f: traced.concrete },
    open(place: Place, state?: CallsState & { readonly ended: boolean }) {
      const caller = new Caller(traced, source, place, state?.number);
      const elements = input.open(place, state?.input);
      let ended = state?.ended ?? false;
      return {
        async next() {
          while (!ended) {
            const item = await elements.next();
            if (item === null || item instanceof Failure) return item;
            const answer = await caller.call(item);
            if (answer instanceof Failure) return answer;
            if (answer[0].size !== 1) {
              return new Failure(
                new InvalidArgumentError(`${kind} predicate \`f\` must return a scalar bool.`, {
                  op: `${kind}Dataset`,
                }),
              );
            }
            const what = use(answer[0].at(0) as boolean);
            if (what === "pass") return item;
            ended = what === "end";
          }
          return null;
        },
        save: async () => ({
          ...{ number: caller.numbers.given, ended },
          input: await elements.save(),
        }),
        close: () => elements.close(),
      };
    },
  });
  return source;
}

/** Elements for which a function says true. */
export function filterSource(input: Source, predicate: ElementFunction): Source {
  return predicateSource(input, predicate, {
    ...{ kind: "Filter", method: "filter" },
    use: (answer) => (answer ? "pass" : "drop"),
  });
}

/** Elements as long as a function says true. */
export function takeWhileSource(input: Source, predicate: ElementFunction): Source {
  return predicateSource(input, predicate, {
    ...{ kind: "TakeWhile", method: "takeWhile" },
    use: (answer) => (answer ? "pass" : "end"),
  });
}
