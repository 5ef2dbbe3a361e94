/** DatasetIterator: one pass over a dataset, which can be saved and resumed. */
import { wantMade } from "../../engine/core/arguments.ts";
import { counted, showAs } from "../../engine/core/arrays/shown.ts";
import { describe } from "../../engine/core/convert.ts";
import { RangeError, TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import type { TrackedParts } from "../../engine/core/tensor.ts";
import { DataLossError, ValueError } from "../../engine/core/errors.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import type { Bytes } from "../io/bytes.ts";
import { DrawCounts } from "../../engine/ops/random/state.ts";
import { RunLimit } from "../../engine/runtime/run/run_context.ts";
import type { Element } from "./element.ts";
import { type Elements, Failure, type Place, Queue, type Source, type State } from "./source.ts";
import { decodeState, encodeState } from "./state.ts";

/** Makes the place of a pipeline's last stage. A pass of a server gives the event loop more turns. */
export function wholePass(
  signal: AbortSignal = new AbortController().signal,
  { isServed = false }: { readonly isServed?: boolean } = {},
): Place {
  return {
    path: "Iterator::Root",
    signal,
    limit: isServed ? RunLimit.of({ signal }) : RunLimit.alone(signal),
    draws: new DrawCounts(),
  };
}

/** A saved pass. */
interface Saved {
  /** The kinds of its stages. */
  readonly kinds: string;
  /** Number of elements it gave. */
  readonly count: number;
  /** States of the stages; absent where the pass had ended. */
  readonly stages?: State;
}

/**
 * One pass over a dataset, as `for await` makes them. It ends for good at the first error. `save()` returns its state
 * in bytes: `dataset.iterator(bytes)` resumes it, in another process too, with each element once, whatever was
 * shuffled, interleaved, cached or computed ahead. Follows TensorFlow's checkpoints of iterators.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const dataset = tf.data.range(6).shuffle(6, 1).batch(2);
 * const pass = dataset.iterator();
 * using first = (await pass.next()).value;
 * const state = await pass.save();
 * await pass.return();
 * const rest = await Array.fromAsync(dataset.iterator(state), (x) => x.arraySync() as number[]);
 * console.log([...first.arraySync() as number[], ...rest.flat()].sort()); // [0, 1, 2, 3, 4, 5]
 * ```
 */
export class DatasetIterator<T> implements AsyncIterableIterator<T> {
  readonly #source: Source;
  readonly #show: (element: Element) => T;
  #stop!: AbortController;
  #elements!: Elements;
  /** The dataset's name where the pass goes on from a state, which may hold anything; else null. */
  #resumed: string | null = null;
  #count = 0;
  /** True at the natural end, "early" after an error or `return()`. */
  #ended: boolean | "early" = false;

  /** @internal */
  constructor(source: Source, show: (element: Element) => T, state?: Uint8Array) {
    wantMade(source, "open", {
      arg: "source",
      fn: "new DatasetIterator()",
      wanted: "a dataset's, which iterator() gives",
    });
    this.#source = source;
    this.#show = show;
    this.#open(state === undefined ? undefined : readState(source, state));
  }

  #open(from?: Saved): void {
    this.#resumed = from === undefined ? null : this.#source.name;
    this.#stop = new AbortController();
    try {
      this.#elements = new Queue(this.#source.open(wholePass(this.#stop.signal), from?.stages));
    } catch (error) {
      throw this.#explained(error);
    }
    this.#count = from?.count ?? 0;
    this.#ended = from !== undefined && from.stages === undefined;
  }

  /** Number of elements that the pass gave, those before it was saved included: its progress, with `dataset.size`. */
  get count(): number {
    return this.#count;
  }

  /**
   * Resolves with the next element, which belongs to the caller or to the current scope. Rejects with the error of its
   * computation.
   */
  async next(): Promise<IteratorResult<T>> {
    if (this.#ended) return { done: true, value: undefined };
    try {
      const item = await this.#elements.next();
      if (item === null) {
        this.#ended ||= true;
        await this.#elements.close();
        return { done: true, value: undefined };
      }
      if (item instanceof Failure) throw item.error;
      this.#count++;
      return { done: false, value: this.#show(item) };
    } catch (cause) {
      const error = this.#explained(cause);
      await this.#end(error);
      throw error;
    }
  }

  /** Ends the pass: cancels computations ahead and closes files. */
  async return(): Promise<IteratorResult<T>> {
    await this.#end(new DOMException("The iteration was left", "AbortError"));
    return { done: true, value: undefined };
  }

  /**
   * Returns the state of the pass in bytes, with the elements that stages hold: the buffer of `shuffle`, batches that
   * `prefetch` has ready. Elements that `map` is still computing are computed again. Generators are run again up to
   * their place, and must yield the same. Rejects with `ValueError` after an error or `return()`.
   */
  async save(): Promise<Bytes> {
    if (this.#ended === "early") {
      throw new ValueError("Cannot save this iterator: the pass was left, or ended by an error");
    }
    const stages = this.#ended ? undefined : await this.#elements.save();
    return encodeState({ kinds: this.#source.kinds, count: this.#count, stages });
  }

  /**
   * Goes on from a state that `save()` returned, of this pass or of another one over such a dataset, whatever this pass gave and however
   * it ended. Rejects with `ValueError` for the state of another pipeline, `DataLossError` for other bytes; the pass goes on as
   * it was then. Follows the iterators in `tf.train.Checkpoint`.
   */
  async restore(state: Uint8Array): Promise<void> {
    await this.#goOn(readState(this.#source, state));
  }

  async #goOn(from: Saved): Promise<void> {
    await this.#end(new DOMException("The iteration goes on elsewhere", "AbortError"));
    this.#open(from);
  }

  /** @internal */
  trackedParts(): TrackedParts {
    return {
      values: {
        attribute: "ITERATOR",
        endings: ["_STATE"],
        save: async () => [new NdArray("string", [], [await this.save()])],
        take: ([{ data: [bytes] }]) => {
          const from = readState(this.#source, bytes as Uint8Array);
          return () => this.#goOn(from);
        },
      },
    };
  }

  /** Itself. */
  [Symbol.asyncIterator](): this {
    return this;
  }

  /** The error to throw for one of a stage. Functions of users fail in another way: stages that fail so have a wrong state. */
  #explained(error: unknown): unknown {
    if (this.#resumed === null) return error;
    if (!(error instanceof TypeError || error instanceof RangeError)) return error;
    return new DataLossError(
      `Cannot go on with ${this.#resumed}: the state does not fit its stages: ${error.message}`,
      { cause: error },
    );
  }

  async #end(why: unknown): Promise<void> {
    if (this.#ended) return;
    this.#ended = "early";
    this.#stop.abort(why);
    await this.#elements.close();
  }

  /** Formats it for `console.log`. */
  toString(): string {
    const end = this.#ended === false ? "" : ", ended";
    return `<tf.data.DatasetIterator: ${counted(this.#count, "element")}${end}>`;
  }
}
showAs(DatasetIterator);

function readState({ kinds, name }: Source, state: Uint8Array): Saved {
  if (!(state instanceof Uint8Array)) {
    throw new TypeError(
      `Cannot go on with ${name}: wanted the bytes that save() gave, received ${describe(state)}`,
    );
  }
  const saved = decodeState(state) as unknown as Saved | null;
  if (saved?.kinds === kinds) return saved;
  if (typeof saved?.kinds !== "string") {
    throw new DataLossError(`Cannot go on with ${name}: the bytes are no state of a dataset`);
  }
  throw new ValueError(
    `Cannot go on with ${name}: the state is of a pipeline ${saved.kinds}, this one is ${kinds}`,
  );
}
