/**
 * Source: one stage of a pipeline. Stages pull from each other, one element at a time, and can say where they stand.
 */
import { ValueError } from "../../engine/core/errors.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import type { DrawCounts } from "../../engine/ops/random/state.ts";
import type { RunLimit } from "../../engine/runtime/run/run_context.ts";
import type { Element, ElementType } from "./element.ts";
import type { Settings } from "./settings.ts";

/** Where in an iteration a stage stands. */
export interface Place {
  /** The stages from the consumer down, e.g. `Iterator::Root::Batch::Map`. */
  readonly path: string;
  /** Aborts when the iteration ends early or fails. */
  readonly signal: AbortSignal;
  /** Ends functions of elements with the iteration, and gives the event loop its turns among all of them. */
  readonly limit: RunLimit | null;
  /** How often random ops in functions of elements have drawn in this iteration. */
  readonly draws: DrawCounts;
  /** False where elements of stages that were not told themselves may come as they are ready. */
  readonly deterministic?: boolean | undefined;
}

/** What stands in the place of an element that could not be computed. Those after it come all the same. */
export class Failure {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

/** An element, or why there is none. */
export type Outcome = Element | Failure;
/** What a stage gives when it is asked: an outcome, or null at the end, and from then on. */
export type Item = Outcome | null;

/** Where a stage stands: plain values, elements and failures, in lists and records. */
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
  /** The next one. It is asked for when the one before has come, by whoever opened the pass. */
  next(): Promise<Item>;
  /** Where the pass stands: `open(place, state)` goes on from there. Asked for while nobody waits for an element. */
  save(): State | Promise<State>;
  /** Ends the pass and what it reads from; nothing is asked after that. */
  close(): void | Promise<void>;
}

/** What a stage is made of. */
export interface SourceInit<S extends State = State> extends ElementType {
  /** TensorFlow's name of the stage without `Dataset`, e.g. `Map`. */
  readonly kind: string;
  /** Number of elements: `Infinity` for endless ones, null where it is not known. */
  readonly size: number | null;
  /** The stages it reads from. Default none. */
  readonly inputs?: readonly Source[];
  /** True where nobody else holds its elements: they are handed out as they are. Default false. */
  readonly isFresh?: boolean;
  /** What it was told; absent for stages that other programs have no word for. */
  readonly settings?: Settings | undefined;
  /** Starts a pass, or goes on with one. `place` is this stage's own. */
  readonly open: (place: Place, state?: S) => Elements;
}

/** One stage of a pipeline. */
export interface Source extends Required<Omit<SourceInit, "settings">> {
  readonly settings?: Settings | undefined;
  /** `MapDataset:5`, for messages. */
  readonly name: string;
  /** The kinds of its stages, e.g. `Map(Range)`: saved passes are of one kind of pipeline. */
  readonly kinds: string;
}

let sources = 0;

/** Names a stage and lets its passes know where they stand. */
export function makeSource<S extends State>(init: SourceInit<S>): Source {
  const { open, inputs = [], isFresh = false } = init;
  return {
    ...init,
    inputs,
    isFresh,
    kinds: inputs.length === 0
      ? init.kind
      : `${init.kind}(${inputs.map((input) => input.kinds).join(", ")})`,
    name: `${init.kind}Dataset:${sources++}`,
    open: (place, state) => open({ ...place, path: `${place.path}::${init.kind}` }, state as S),
  };
}

/** A stage that passes elements on: what they are, how many, and where they come from. */
export function sameAs(
  input: Source,
): ElementType & Required<Pick<SourceInit, "inputs" | "isFresh" | "size">> {
  const { specs, structure, isFresh, size } = input;
  return { specs, structure, isFresh, size, inputs: [input] };
}

/** The passes over several inputs that a stage reads side by side. */
export class Parts {
  readonly all: readonly Elements[];

  /** Opens them, or goes on with them. */
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

/** A number of elements that follows from another's, where that is known. */
export function known(size: number | null, of: (size: number) => number): number | null {
  return size === null ? null : of(size);
}

/** What `compute` gives, or why it cannot. */
export function outcomeOf(compute: () => Element): Outcome {
  try {
    return compute();
  } catch (error) {
    return new Failure(error);
  }
}

/** A count as the user gave it. Throws `ValueError` for what is no integer of at least `least`. */
export function checkCount(value: unknown, what: string, least: number): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= least) return value;
  throw new ValueError(`Cannot take ${what} = ${value}: wanted an integer of at least ${least}`);
}

/** Marks a promise as looked after: its error is reported where it is awaited, later. */
export function looked<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

/** A pass that several ask at once: they are served one after another, and nobody who closes it waits for them. */
export class Queue {
  readonly #elements: Elements;
  #last: Promise<unknown> = Promise.resolve();

  constructor(elements: Elements) {
    this.#elements = elements;
  }

  /** The next one that nobody asked for yet. */
  next(): Promise<Item> {
    return this.#after(() => this.#elements.next());
  }
  /** Where the pass stands when all who asked are served. */
  save(): Promise<State> {
    return this.#after(() => this.#elements.save());
  }
  /** Ends the pass when those who asked are served. */
  close(): Promise<void> {
    return this.#after(() => this.#elements.close());
  }

  #after<T>(fn: () => T | Promise<T>): Promise<T> {
    const done = this.#last.then(fn);
    this.#last = looked(done).catch(() => {});
    return done;
  }
}

/** Elements that a function of their number gives. */
export function counted(
  size: number,
  from: number | undefined,
  at: (i: number) => Item | Promise<Item>,
): Omit<Elements, "save"> & { save(): number } {
  let i = from ?? 0;
  return {
    next: async () => (i < size ? await at(i++) : null),
    save: () => i,
    close: () => {},
  };
}
