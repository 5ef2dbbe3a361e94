/**
 * Sequence: passes over elements, and the stages that keep elements as they are: selected, reordered, stored or
 * computed elsewhere.
 */
import { wantFunction, wantMade, wrongArgument } from "../../engine/core/arguments.ts";
import { cacheSource } from "./cache.ts";
import { dataService, type ServiceOptions } from "./distributed.ts";
import {
  type Element,
  handOut,
  handOutHost,
  type HostOf,
  specsNest,
  type SpecsOf,
} from "./element.ts";
import { DatasetIterator } from "./iterator.ts";
import {
  concatenateSource,
  type DatasetOptions,
  type IgnoreErrorsOptions,
  ignoreErrorsSource,
  optionsSource,
  repeatSource,
  shardSource,
  skipSource,
  takeSource,
} from "./order.ts";
import { type ProgressOptions, progressSource } from "./parts/progress.ts";
import { prefetchSource } from "./prefetch.ts";
import { type ShuffleOptions, shuffleSource } from "./shuffle.ts";
import { diskCacheSource, type SnapshotOptions, writeSnapshot } from "./snapshot.ts";
import type { Source } from "./source.ts";

/**
 * The part of a {@linkcode Dataset} that does not depend on its elements: passes over them, and stages that keep them
 * as they are.
 */
export abstract class Sequence<E> implements AsyncIterable<E & Disposable> {
  /**
   * The last stage.
   * @internal
   */
  readonly source: Source;

  /** Used by `tf.data.range` and its siblings. */
  constructor(source: Source) {
    wantMade(source, "open", {
      arg: "source",
      fn: "new Dataset()",
      wanted: "a dataset's own; functions of tf.data make datasets",
    });
    this.source = source;
  }

  /**
   * Makes the same kind of dataset of another last stage.
   * @internal
   */
  protected abstract stage(source: Source): this;

  /**
   * The spec of every tensor of an element, in the element's nest, which `String` prints.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * const ds = tf.data.fromTensorSlices({ x: tf.zeros([4, 2]), label: tf.zeros([4], "int32") });
   * console.log(String(ds.elementSpec)); // {x: float32[2], label: int32[]}
   * ```
   */
  get elementSpec(): SpecsOf<E> {
    return specsNest(this.source) as SpecsOf<E>;
  }

  /** Number of elements: `Infinity` for endless datasets, null where only an iteration can tell. */
  get size(): number | null {
    return this.source.size;
  }

  /**
   * Draws each element at random from the next `bufferSize`. The same `seed`, or without one the same `tf.setRandomSeed()` before the
   * dataset is made, gives the same orders; every pass has another order unless `reshuffleEachIteration` is false.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * const order = (seed: number) => Array.fromAsync(tf.data.range(9).shuffle(9, seed), (x) => x.item());
   * console.log(String(await order(1)) === String(await order(1))); // true
   * ```
   */
  shuffle(
    bufferSize: number,
    seed?: number | string | ShuffleOptions,
    reshuffleEachIteration = true,
  ): this {
    const options = typeof seed === "object"
      ? seed
      : { reshuffleEachIteration, ...(seed === undefined ? {} : { seed }) };
    return this.stage(shuffleSource(this.source, bufferSize, options));
  }

  /**
   * The elements whose number modulo `numShards` is `index`: each of several workers takes another index. Throws
   * `ValueError` for an index that is not below `numShards`. TensorFlow `tf.data.Dataset.shard`.
   */
  shard(numShards: number, index: number): this {
    return this.stage(shardSource(this.source, numShards, index));
  }

  /** These elements, then those of another dataset. Throws `TypeError` where dtypes or structures differ. */
  concatenate(dataset: Sequence<E>): this {
    if (!(dataset instanceof Sequence)) {
      throw wrongArgument(dataset, "dataset", "concatenate", "a dataset");
    }
    return this.stage(concatenateSource(this.source, dataset.source));
  }

  /** Passes over the elements `count` times; without end where it is absent or -1. */
  repeat(count = -1): this {
    return this.stage(repeatSource(this.source, count));
  }

  /** The first `count` elements; later ones are not computed. -1 takes all. */
  take(count: number): this {
    return this.stage(takeSource(this.source, count));
  }

  /** All but the first `count` elements, which are computed and dropped. -1 skips all. */
  skip(count: number): this {
    return this.stage(skipSource(this.source, count));
  }

  /**
   * The elements without those that could not be computed: where a body, a generator or a batch threw. Without it an
   * iteration ends at the first such error. The number of elements becomes unknown. TensorFlow
   * `tf.data.Dataset.ignore_errors`.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * const ratio = (x: tf.NdArray) => {
   *   if (x.item() === 0) throw new RangeError("no ratio");
   *   return 6 / Number(x.item());
   * };
   * const ratios = tf.data.range(4).map((x) => tf.numpyFunction(ratio, [x], "float32")).ignoreErrors();
   * console.log(await Array.fromAsync(ratios.asNumpyIterator(), (x) => x.item())); // [6, 3, 2]
   * ```
   */
  ignoreErrors(options: IgnoreErrorsOptions = {}): this {
    return this.stage(ignoreErrorsSource(this.source, options));
  }

  /** Computes up to `bufferSize` elements ahead while the consumer awaits; -1 chooses a number. */
  prefetch(bufferSize: number): this {
    return this.stage(prefetchSource(this.source, bufferSize));
  }

  /**
   * Keeps the elements of the first complete pass: later passes do not compute the stages before. They are kept in
   * memory, or in a file at `path`, which passes of other processes read too; delete it when its inputs have changed.
   */
  cache(path?: string): this {
    return this.stage(
      path === undefined ? cacheSource(this.source) : diskCacheSource(this.source, path),
    );
  }

  /**
   * Writes all elements to a file, for {@linkcode load}. Rejects with the error of the first that cannot be computed; then there is no file.
   * TensorFlow `tf.data.Dataset.save`, which makes a folder.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * const path = await Deno.makeTempFile();
   * await tf.data.range(3).map((x) => ({ x, y: tf.square(x) })).save(path);
   * const loaded = await tf.data.load<{ x: tf.Tensor; y: tf.Tensor }>(path);
   * console.log(await Array.fromAsync(loaded, ({ y }) => y.item())); // [0, 1, 4]
   * await Deno.remove(path);
   * ```
   */
  async save(path: string, options: SnapshotOptions = {}): Promise<void> {
    await writeSnapshot(this.source, path, options);
  }

  /**
   * The same elements with options for all stages before that do not set them. `deterministic: false` lets elements of
   * parallel calls come as they are ready. TensorFlow `tf.data.Dataset.with_options`.
   */
  withOptions(options: DatasetOptions): this {
    return this.stage(optionsSource(this.source, options));
  }

  /**
   * The same elements, computed by the workers of a `tf.data` service, TensorFlow's or ours, in no particular order. What comes after is
   * computed here. Scripts in functions of elements must have been registered, in the workers too. Needs
   * `import "@weft/weft/distribute"`. Throws `ValueError` for a stage that workers cannot be told of, such as a generator; an iteration
   * rejects with the error of a worker's function, and with `UnavailableError` where there is no dispatcher. Follows TensorFlow
   * `tf.data.experimental.service.distribute`.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * import { DataServiceDispatcher, DataServiceWorker, MemoryTransport } from "@weft/weft/distribute";
   * const transport = new MemoryTransport(); // without it: gRPC, between processes and machines
   * await using dispatcher = new DataServiceDispatcher({ transport });
   * await dispatcher.start();
   * await using worker = new DataServiceWorker({ dispatcher: dispatcher.target, transport });
   * await worker.start();
   * const squares = tf.data.range(4).map((x) => tf.square(x))
   *   .distribute({ service: dispatcher.target, transport, processingMode: "distributed_epoch" });
   * console.log(await Array.fromAsync(squares.asNumpyIterator(), (x) => x.item())); // [0, 1, 4, 9]
   * ```
   */
  distribute(options: ServiceOptions): this {
    const read = dataService.to(`distribute ${this.source.name}`);
    return this.stage(read(this.source, options));
  }

  /** Starts a pass. Its elements belong to the caller, or to the current scope. */
  [Symbol.asyncIterator](): DatasetIterator<E & Disposable> {
    return this.iterator();
  }

  /**
   * Starts a pass, or resumes one from the bytes of its `save()`: each element comes once. The pipeline must be built
   * as it was then. Throws `DataLossError` for bytes that are no such state, `ValueError` for one of another pipeline.
   */
  iterator(state?: Uint8Array): DatasetIterator<E & Disposable> {
    const show = (element: Element): E & Disposable =>
      handOut(element, this.source.structure) as E & Disposable;
    return new DatasetIterator(this.source, show, state);
  }

  /**
   * A pass that yields `NdArray`s in place of tensors, which need not be freed. TensorFlow `Dataset.as_numpy_iterator`.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * console.log(await Array.fromAsync(tf.data.range(3).asNumpyIterator(), (x) => x.item())); // [0, 1, 2]
   * ```
   */
  asNumpyIterator(state?: Uint8Array): DatasetIterator<HostOf<E>> {
    const { structure, isFresh } = this.source;
    const show = (element: Element): HostOf<E> =>
      handOutHost(element, structure, isFresh) as HostOf<E>;
    return new DatasetIterator(this.source, show, state);
  }

  /**
   * The same elements, and a line on standard error that tells how far a pass is: its count, its rate and the time that is left.
   * Where that is no terminal, nothing is written. Throws `TypeError` for unknown options.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * const batches = tf.data.range(10).batch(5).progress({ label: "reading" });
   * console.log((await batches.toArray()).length); // 2
   * ```
   */
  progress(options: ProgressOptions = {}): this {
    return this.stage(progressSource(this.source, options));
  }

  /** Resolves with all elements at once; the caller owns them. */
  async toArray(): Promise<(E & Disposable)[]> {
    const elements: (E & Disposable)[] = [];
    // Node 20 has no Array.fromAsync.
    for await (const element of this) elements.push(element);
    return elements;
  }

  /** Calls `fn` with each element, and frees the element when `fn` has returned or its promise has resolved. */
  async forEachAsync(fn: (element: E) => unknown): Promise<void> {
    wantFunction(fn, "fn", "forEachAsync");
    for await (using element of this) await fn(element);
  }

  /** `<MapDataset:5 elementSpec={x: float32[2], y: int32[]}>`. */
  toString(): string {
    return `<${this.source.name} elementSpec=${specsNest(this.source)}>`;
  }
}
