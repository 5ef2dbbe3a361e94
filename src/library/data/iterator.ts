/**
 * DatasetIterator: one pass over a dataset, which can be saved and gone on with.
 */
import { describe } from "../../engine/core/convert.ts";
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import { DataLossError, ValueError } from "../../engine/core/errors.ts";
import type { Bytes } from "../io/bytes.ts";
import { DrawCounts } from "../../engine/ops/random/state.ts";
import { RunLimit } from "../../engine/runtime/run/run_context.ts";
import type { Element } from "./element.ts";
import { type Elements, Failure, type Place, Queue, type Source, type State } from "./source.ts";
import { decodeState, encodeState } from "./state.ts";

/** Where the last stage of a pipeline stands. */
export function wholePass(signal: AbortSignal = new AbortController().signal): Place {
  return {
    path: "Iterator::Root",
    signal,
    limit: RunLimit.of({ signal }),
    draws: new DrawCounts(),
  };
}

/** What is saved of a pass. */
interface Saved {
  /** The kinds of its stages. */
  readonly kinds: string;
  /** How many elements it gave. */
  readonly count: number;
  /** Where they stand; absent where the pass had come to its end. */
  readonly stages?: State;
}

/**
 * One pass over a dataset, as `for await` makes them. It ends for good at the first error. `save()` says where it stands, in bytes:
 * `dataset.iterator(bytes)` goes on from there, in another process too, with each element once, whatever was shuffled, interleaved,
 * cached or computed ahead. Follows TensorFlow's checkpoints of iterators.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const dataset = tf.data.range(6).shuffle(6, 1).batch(2);
 * const pass = dataset.iterator();
 * using first = (await pass.next()).value;
 * const state = await pass.save();
 * await pass.return();
 * const rest = await Array.fromAsync(dataset.iterator(state), (x) => x.arraySync() as number[]);
 * assertEquals([...first.arraySync() as number[], ...rest.flat()].sort(), [0, 1, 2, 3, 4, 5]);
 * ```
 */
export class DatasetIterator<T> implements AsyncIterableIterator<T> {
  readonly #stop = new AbortController();
  readonly #kinds: string;
  readonly #elements: Elements;
  readonly #show: (element: Element) => T;
  #count = 0;
  /** True when it came to its end, "early" when it was left or failed. */
  #ended: boolean | "early" = false;

  /** @internal */
  constructor(source: Source, show: (element: Element) => T, state?: Uint8Array) {
    const from = state === undefined ? undefined : readState(source, state);
    this.#kinds = source.kinds;
    this.#elements = new Queue(source.open(wholePass(this.#stop.signal), from?.stages));
    this.#count = from?.count ?? 0;
    this.#ended = from !== undefined && from.stages === undefined;
    this.#show = show;
  }

  /** How many elements the pass gave, those before it was saved included. With `dataset.size` it tells how far it is. */
  get count(): number {
    return this.#count;
  }

  /** The next element, which belongs to the caller or to the scope in force. Rejects with the error of what computes it. */
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
    } catch (error) {
      await this.#end(error);
      throw error;
    }
  }

  /** Ends the pass: what it computes ahead is cancelled, files are closed. */
  async return(): Promise<IteratorResult<T>> {
    await this.#end(new DOMException("The iteration was left", "AbortError"));
    return { done: true, value: undefined };
  }

  /**
   * Where the pass stands, in bytes. What stages hold is part of it: the buffer of `shuffle`, batches that `prefetch` has ready. Elements
   * that `map` is still computing are computed again. Generators are run again up to where they were, and must yield the same.
   * Rejects with `ValueError` once the pass was left or failed.
   */
  async save(): Promise<Bytes> {
    if (this.#ended === "early") {
      throw new ValueError("Cannot save this iterator: the pass was left, or ended by an error");
    }
    const stages = this.#ended ? undefined : await this.#elements.save();
    return encodeState({ kinds: this.#kinds, count: this.#count, stages });
  }

  /** Itself. */
  [Symbol.asyncIterator](): this {
    return this;
  }

  async #end(why: unknown): Promise<void> {
    if (this.#ended) return;
    this.#ended = "early";
    this.#stop.abort(why);
    await this.#elements.close();
  }
}

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
