/**
 * Source: one stage of a pipeline. Stages pull from each other, one element at a time, and their positions can be
 * saved.
 */
import { counter } from "../../engine/core/collections/counter.ts";
import { ValueError } from "../../engine/core/errors.ts";
import { unstackRows } from "../../engine/core/arrays/rows.ts";
import { describe } from "../../engine/core/text.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import type { DrawCounts } from "../../engine/ops/random/state.ts";
import type { RunLimit } from "../../engine/runtime/run/run_context.ts";
import type { Element, ElementType } from "./element.ts";
import type { Settings } from "./settings.ts";

/** Position of a stage in an iteration. */
export interface Place {
  /** The stages from the consumer down, e.g. `Iterator::Root::Batch::Map`. */
  readonly path: string;
  /** Aborts when the iteration ends early or fails. */
  readonly signal: AbortSignal;
  /** Ends functions of elements with the iteration, and lets the event loop turn between them. */
  readonly limit: RunLimit | null;
  /** Counts of the draws of random ops in functions of elements. */
  readonly draws: DrawCounts;
  /** False where elements of stages without a setting of their own may come as they are ready. */
  readonly deterministic?: boolean | undefined;
}

/** The place of an element that could not be computed. Later elements come all the same. */
export class Failure {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

/** An element, or the failure in its place. */
export type Outcome = Element | Failure;
/** Elements side by side: of each component an array without other owners, with a row for each element. */
export class Stacked {
  readonly arrays: Element;
  readonly length: number;

  constructor(arrays: Element, length: number) {
    this.arrays = arrays;
    this.length = length;
  }

  /** Returns the elements by themselves. */
  each(): Element[] {
    const columns = this.arrays.map(unstackRows);
    return Array.from({ length: this.length }, (_, i) => columns.map((column) => column[i]));
  }
}

/** Some outcomes of a pass. */
export type Many = readonly Outcome[] | Stacked;
/** A stage's answer: an outcome, or null at the end and from then on. */
export type Item = Outcome | null;

/** Position of a stage: plain values, elements and failures, in lists and records. */
export type State =
  | null
  | undefined
  | boolean
  | number
  | string
  | NdArray
  | Failure
  | readonly State[]
  | { readonly [key: string]: State };

/** One pass over a stage's elements. */
export interface Elements {
  /** Resolves with the next item. The caller awaits each before it asks for another. */
  next(): Promise<Item>;
  /**
   * Resolves with the next `n` items, fewer at the end. Absent where asking for each is as good: scripts that take batches are called
   * once for all of them, and elementwise functions run once.
   */
  many?(n: number): Promise<Many>;
  /**
   * Returns the position of the pass, which `open(place, state)` resumes. Must not be called while an element is
   * pending.
   */
  save(): State | Promise<State>;
  /** Ends the pass and its inputs; no call follows. */
  close(): void | Promise<void>;
}

/** Contents of a stage. */
export interface SourceInit<S extends State = State> extends ElementType {
  /** TensorFlow's name of the stage without `Dataset`, e.g. `Map`. */
  readonly kind: string;
  /** Number of elements: `Infinity` for endless ones, null where it is unknown. */
  readonly size: number | null;
  /** The stages it reads. Default none. */
  readonly inputs?: readonly Source[];
  /** True where the elements have no other owner, so that they are handed out uncopied. Default false. */
  readonly isFresh?: boolean;
  /** The stage's settings; absent for stages that other programs cannot express. */
  readonly settings?: Settings | undefined;
  /** Starts or resumes a pass. `place` is this stage's own. */
  readonly open: (place: Place, state?: S) => Elements;
}

/** One stage of a pipeline. */
export interface Source extends Required<Omit<SourceInit, "settings">> {
  readonly settings?: Settings | undefined;
  /** Name for messages: `MapDataset:5`. */
  readonly name: string;
  /** Kinds of the stage and its inputs, e.g. `Map(Range)`, which a saved pass must match. */
  readonly kinds: string;
}

const nextSource = counter();

/** Names a stage and extends the path of its passes. */
export function makeSource<S extends State>(init: SourceInit<S>): Source {
  const { open, inputs = [], isFresh = false } = init;
  return {
    ...init,
    inputs,
    isFresh,
    kinds: inputs.length === 0
      ? init.kind
      : `${init.kind}(${inputs.map((input) => input.kinds).join(", ")})`,
    name: `${init.kind}Dataset:${nextSource()}`,
    open: (place, state) =>
      paced(open({ ...place, path: `${place.path}::${init.kind}` }, state as S), place),
  };
}

/**
 * Polls the pass before each item: a stage may ask for so many before it has one of its own that, without a turn of the event loop,
 * nothing could end the pass.
 */
function paced(elements: Elements, { limit, signal }: Place): Elements {
  if (limit === null) return elements;
  const inTurn = <R>(give: () => Promise<R>): Promise<R> => {
    if (limit.due() !== null) return Promise.reject(signal.reason);
    const pause = limit.pause();
    return pause === null ? give() : pause.then(() => {
      signal.throwIfAborted();
      return give();
    });
  };
  return {
    next: () => inTurn(() => elements.next()),
    ...(elements.many && { many: (n: number) => inTurn(() => elements.many!(n)) }),
    save: () => elements.save(),
    close: () => elements.close(),
  };
}

/** Returns the settings of a stage that passes elements on unchanged. */
export function sameAs(
  input: Source,
): ElementType & Required<Pick<SourceInit, "inputs" | "isFresh" | "size">> {
  const { specs, structure, isFresh, size } = input;
  return { specs, structure, isFresh, size, inputs: [input] };
}

/** Passes over several inputs that a stage reads side by side. */
export class Parts {
  readonly all: readonly Elements[];

  /** Opens or resumes the passes. */
  constructor(inputs: readonly Source[], place: Place, states?: readonly State[]) {
    this.all = inputs.map((input, i) =>
      input.open({ ...place, path: `${place.path}[${i}]` }, states?.[i])
    );
  }

  save(): Promise<State[]> {
    return Promise.all(this.all.map((part) => part.save()));
  }
  async close(): Promise<void> {
    for (const part of this.all) await part.close();
  }
}

/** Takes the next `n` of a pass, fewer at its end, one by one. */
export async function nextOf(elements: Elements, n: number): Promise<readonly Outcome[]> {
  const items = await manyOf(elements, n);
  return items instanceof Stacked ? items.each() : items;
}

/** Takes the next `n` of a pass, fewer at its end, as it gives them. */
export async function manyOf(elements: Elements, n: number): Promise<Many> {
  if (elements.many !== undefined) return await elements.many(n);
  const items: Outcome[] = [];
  while (items.length < n) {
    const item = await elements.next();
    if (item === null) break;
    items.push(item);
  }
  return items;
}

/** Derives a number of elements from another, where that is known. */
export function known(size: number | null, of: (size: number) => number): number | null {
  return size === null ? null : of(size);
}

/** Returns the result of `compute`, or its failure. */
export function outcomeOf(compute: () => Element): Outcome {
  try {
    return compute();
  } catch (error) {
    return new Failure(error);
  }
}

/** Checks a count. Throws `ValueError` for a value that is no integer of at least `least`. */
export function checkCount(value: unknown, what: string, least: number): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= least) return value;
  throw new ValueError(
    `Cannot take ${what} = ${
      typeof value === "number" ? value : describe(value)
    }: wanted an integer of at least ${least}`,
  );
}

/** Keeps a rejection from being reported as unhandled: it is reported where the promise is awaited later. */
export function ignoreRejection<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

/** A pass for concurrent callers: calls run one after another, and `close` does not wait for the consumer. */
export class Queue {
  readonly #elements: Elements;
  #last: Promise<unknown> = Promise.resolve();

  constructor(elements: Elements) {
    this.#elements = elements;
  }

  /** Resolves with the next item that no earlier call takes. */
  next(): Promise<Item> {
    return this.#after(() => this.#elements.next());
  }
  /** Returns the position of the pass after all earlier calls. */
  save(): Promise<State> {
    return this.#after(() => this.#elements.save());
  }
  /** Ends the pass after all earlier calls. */
  close(): Promise<void> {
    return this.#after(() => this.#elements.close());
  }

  #after<T>(fn: () => T | Promise<T>): Promise<T> {
    const done = this.#last.then(fn);
    this.#last = ignoreRejection(done).catch(() => {});
    return done;
  }
}

/** Makes elements by a function of their number, and several by one of the first's number and theirs. */
export function counted(
  size: number,
  from: number | undefined,
  at: (i: number) => Item | Promise<Item>,
  rows?: (first: number, count: number) => Stacked | Promise<Stacked>,
): Omit<Elements, "save"> & { save(): number } {
  let i = from ?? 0;
  return {
    next: async () => (i < size ? await at(i++) : null),
    ...(rows && {
      many: async (n: number) => {
        const first = i, count = Math.min(n, size - i);
        i += count;
        return count === 0 ? [] : await rows(first, count);
      },
    }),
    save: () => i,
    close: () => {},
  };
}
