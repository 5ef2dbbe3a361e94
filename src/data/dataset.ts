/**
 * Dataset: a pipeline of elements, and iteration over it.
 */
import {
  type BatchOptions,
  batchSource,
  type PaddedBatchOptions,
  paddedBatchSource,
  raggedBatchSource,
} from "./batch.ts";
import {
  handOut,
  handOutHost,
  type HostOf,
  specsNest,
  type SpecsOf,
  type TensorNest,
  type TensorsOf,
} from "./element.ts";
import type { Tensor } from "../core/tensor.ts";
import { type BucketOptions, bucketSource } from "./bucket.ts";
import { dataService, type ServiceOptions } from "./distributed.ts";
import {
  type FlatMapOptions,
  flatMapSource,
  type InterleaveOptions,
  interleaveSource,
} from "./flat_map.ts";
import { filterSource, type MapOptions, mapSource, takeWhileSource } from "./map.ts";
import { reducedSource, scanSource } from "./reduce.ts";
import { diskCacheSource, type SnapshotOptions, writeSnapshot } from "./snapshot.ts";
import { rangeSource, zipSource } from "./sources.ts";
import { unbatchSource, type WindowOptions, windowSource } from "./window.ts";
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
import { prefetchSource } from "./prefetch.ts";
import { type ShuffleOptions, shuffleSource } from "./shuffle.ts";
import { cacheSource } from "./cache.ts";
import { DatasetIterator, wholePass } from "./iterator.ts";
import type { Source } from "./source.ts";
import type { ElementFunction } from "./trace.ts";
import { mapArguments, type WorkerMapOptions } from "./worker_map.ts";
import type { ScriptResult } from "../script/numpy_function.ts";
import type { ScriptFunction } from "../script/script.ts";
import type { Tout } from "../script/tout.ts";

/** Components of an element that is a list, as arguments of a function; any other element is the only argument. */
// deno-lint-ignore no-explicit-any
export type Components<E> = E extends readonly any[] ? E : [E];

/** The largest int32. */
const LAST_NUMBER = 2 ** 31 - 1;

/**
 * A sequence of elements, each a tensor or a nest of tensors, that is computed while it is iterated. Follows TensorFlow `tf.data.Dataset`.
 *
 * Every stage gives a new dataset and leaves this one as it is. Nothing is computed before `for await` asks for an element, and each
 * pass computes anew. An iteration ends at the first error, where TensorFlow's goes on if it is asked again: {@linkcode Dataset.ignoreErrors}
 * leaves such elements out. Inside the pipeline elements are host arrays, and functions run on the CPU; the tensors that an iteration hands
 * out are on the default device.
 *
 * **Who frees what.** The tensors of an element belong to whoever iterates: free them with `tf.dispose(element)`, with
 * `for await (using element of dataset)`, or by a `tf.scope()` around the loop. The pipeline itself, its buffers and its cache hold no
 * tensors, so that leaving a loop early leaks nothing.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const squares = tf.data.range(5).map((x) => tf.square(x)).batch(2);
 * const seen: unknown[] = [];
 * for await (using batch of squares) seen.push(batch.arraySync());
 * assertEquals(seen, [[0, 1], [4, 9], [16]]);
 * ```
 */
export class Dataset<E = TensorNest> implements AsyncIterable<E & Disposable> {
  readonly #source: Source;

  /** Made by `tf.data.range` and its siblings. */
  constructor(source: Source) {
    this.#source = source;
  }

  /**
   * The last stage, for datasets that are made of this one.
   * @internal
   */
  get source(): Source {
    return this.#source;
  }
  /**
   * What is known of every element: a spec per tensor, in the element's nest, which `String` writes.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * import { assertEquals } from "@std/assert";
   * const ds = tf.data.fromTensorSlices({ x: tf.zeros([4, 2]), label: tf.zeros([4], "int32") });
   * assertEquals(String(ds.elementSpec), "{x: float32[2], label: int32[]}");
   * ```
   */
  get elementSpec(): SpecsOf<E> {
    return specsNest(this.#source) as SpecsOf<E>;
  }
  /** Number of elements: `Infinity` for endless datasets, null where it shows only in iterating. */
  get size(): number | null {
    return this.#source.size;
  }

  /**
   * Puts each element through `fn`, which is traced once, as by `tf.function`: script ops in it run for every element and keep the shapes
   * they declare. A list is spread over a function of several parameters, and is one argument to a function of one.
   * With `numParallelCalls` several elements are computed at once, so that bodies which await overlap; they keep their order unless
   * `deterministic` is false. Throws `TypeError` where `fn` returns a promise or no tensors; an iteration rejects with the error of a
   * body, in its class (but for `StopIteration`, which is an `InvalidArgumentError` here).
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * import { assertEquals } from "@std/assert";
   * const pairs = tf.data.fromTensorSlices([tf.tensor([1, 2]), tf.tensor([10, 20])]);
   * const sums = pairs.map((x, y) => ({ sum: tf.add(x, y) }));
   * assertEquals(String(sums.elementSpec.sum), "float32[]");
   * for await (using e of sums.take(1)) assertEquals(e.sum.item(), 11);
   * ```
   */
  map<R>(fn: (...components: Components<E>) => R, options?: MapOptions): Dataset<TensorsOf<R>>;
  /** `fn` of the whole element. */
  map<R>(fn: (element: E) => R, options?: MapOptions): Dataset<TensorsOf<R>>;
  /**
   * `fn` of host arrays, in other threads. It gets the element, or the components of a list, and the call's context; `Tout` says what it
   * returns. Throws `ValueError` where it uses what is around it, or `Tout` is not given.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * import { assertEquals } from "@std/assert";
   * const double = (x: tf.NdArray) => x.map((v) => 2 * Number(v));
   * const doubled = tf.data.range(3).map((x) => tf.cast(x, "float32"))
   *   .map(double, { workers: true, Tout: tf.TensorSpec([], "float32") });
   * assertEquals(await Array.fromAsync(doubled.asNumpyIterator(), (x) => x.item()), [0, 2, 4]);
   * ```
   */
  map<const T extends Tout>(
    fn: ScriptFunction,
    options: WorkerMapOptions<T>,
  ): Dataset<ScriptResult<T>>;
  map(fn: ElementFunction, options: MapOptions | WorkerMapOptions = {}): unknown {
    return new Dataset(mapSource(this.#source, ...mapArguments(fn, options)));
  }

  /**
   * Keeps the elements for which `predicate`, traced as in {@linkcode Dataset.map}, says true. Throws `ValueError` where it does not return a boolean scalar.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * import { assertEquals } from "@std/assert";
   * const large = tf.data.range(5).filter((x) => tf.greater(x, 2));
   * assertEquals(await Array.fromAsync(large.asNumpyIterator(), (x) => x.item()), [3, 4]);
   * ```
   */
  filter(predicate: (...components: Components<E>) => unknown): Dataset<E>;
  /** `predicate` of the whole element. */
  filter(predicate: (element: E) => unknown): Dataset<E>;
  filter(predicate: ElementFunction): Dataset<E> {
    return new Dataset(filterSource(this.#source, predicate));
  }

  /**
   * The elements as long as `predicate`, traced as in {@linkcode Dataset.map}, says true. TensorFlow `tf.data.Dataset.take_while`.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * import { assertEquals } from "@std/assert";
   * const small = tf.data.range(10).takeWhile((x) => tf.less(x, 3));
   * assertEquals(await Array.fromAsync(small, (x) => x.item()), [0, 1, 2]);
   * ```
   */
  takeWhile(predicate: (...components: Components<E>) => unknown): Dataset<E>;
  /** `predicate` of the whole element. */
  takeWhile(predicate: (element: E) => unknown): Dataset<E>;
  takeWhile(predicate: ElementFunction): Dataset<E> {
    return new Dataset(takeWhileSource(this.#source, predicate));
  }

  /**
   * The elements of the dataset that `fn` makes of each element, one dataset after another. `fn` is called once while the pipeline is
   * built, with tensors of no value, to learn what those datasets hold, and then for each element, with tensors on the CPU. One that reads
   * its element, to choose between datasets, takes `{ outputSignature }`. Throws `TypeError` where it returns no dataset. TensorFlow `tf.data.Dataset.flat_map`.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * import { assertEquals } from "@std/assert";
   * const rows = tf.data.fromTensorSlices([[1, 2], [3, 4]]);
   * const values = rows.flatMap((row) => tf.data.fromTensorSlices(row));
   * assertEquals(await Array.fromAsync(values, (x) => x.item()), [1, 2, 3, 4]);
   * ```
   */
  flatMap<R>(
    fn: (...components: Components<E>) => Dataset<R>,
    options?: FlatMapOptions,
  ): Dataset<R>;
  /** `fn` of the whole element. */
  flatMap<R>(fn: (element: E) => Dataset<R>, options?: FlatMapOptions): Dataset<R>;
  flatMap(fn: ElementFunction, options: FlatMapOptions = {}): Dataset {
    return new Dataset(flatMapSource(this.#source, fn, options));
  }

  /**
   * Like {@linkcode Dataset.flatMap}, going through `cycleLength` datasets in turn, with `blockLength` elements of each: the way to read many
   * files at once. With `numParallelCalls` so many are read ahead of their turn; the order stays, unless `deterministic` is false.
   * TensorFlow `tf.data.Dataset.interleave`.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * import { assertEquals } from "@std/assert";
   * const both = tf.data.fromTensorSlices([[1, 2], [10, 20]])
   *   .interleave((row) => tf.data.fromTensorSlices(row), { cycleLength: 2 });
   * assertEquals(await Array.fromAsync(both, (x) => x.item()), [1, 10, 2, 20]);
   * ```
   */
  interleave<R>(
    fn: (...components: Components<E>) => Dataset<R>,
    options?: InterleaveOptions,
  ): Dataset<R>;
  /** `fn` of the whole element. */
  interleave<R>(fn: (element: E) => Dataset<R>, options?: InterleaveOptions): Dataset<R>;
  interleave(fn: ElementFunction, options: InterleaveOptions = {}): Dataset {
    return new Dataset(interleaveSource(this.#source, fn, options));
  }

  /**
   * The rows of each element, as elements: the opposite of {@linkcode Dataset.batch}. Throws `ValueError` for scalars; an iteration
   * rejects with `InvalidArgumentError` where components have different lengths. TensorFlow `tf.data.Dataset.unbatch`.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * import { assertEquals } from "@std/assert";
   * assertEquals(await Array.fromAsync(tf.data.range(3).batch(2).unbatch(), (x) => x.item()), [0, 1, 2]);
   * ```
   */
  unbatch(): Dataset<E> {
    return new Dataset(unbatchSource(this.#source));
  }

  /**
   * Small datasets of `size` elements each, for {@linkcode Dataset.flatMap}. The next begins `shift` elements further, and its elements are
   * `stride` apart. A window of records is one dataset of records, where TensorFlow has a record of datasets. TensorFlow
   * `tf.data.Dataset.window`.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * import { assertEquals } from "@std/assert";
   * const windows = tf.data.range(4).window(3, { shift: 1, dropRemainder: true });
   * const batches = windows.flatMap((window) => window.batch(3));
   * assertEquals(await Array.fromAsync(batches, (x) => x.arraySync()), [[0, 1, 2], [1, 2, 3]]);
   * ```
   */
  window(size: number, options: WindowOptions = {}): Dataset<Dataset<E>> {
    return new Dataset<Dataset<E>>(
      windowSource(this.#source, size, options, (source) => new Dataset<E>(source)),
    );
  }

  /**
   * Padded batches of elements of about the same length, which `elementLengthFunc` says: bucket `i` has those below
   * `bucketBoundaries[i]`, and batches of `bucketBatchSizes[i]`. Buckets that are not full come last. Throws `ValueError` for
   * boundaries that do not rise. TensorFlow `tf.data.Dataset.bucket_by_sequence_length`.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * import { assertEquals } from "@std/assert";
   * const words = tf.data.fromGenerator(() => [[1], [1, 2, 3], [2]], tf.TensorSpec([null], "int32"));
   * const batches = words.bucketBySequenceLength((w) => tf.size(w), { bucketBoundaries: [2], bucketBatchSizes: [2, 2] });
   * assertEquals(await Array.fromAsync(batches, (x) => x.arraySync()), [[[1], [2]], [[1, 2, 3]]]);
   * ```
   */
  bucketBySequenceLength(
    elementLengthFunc: (...components: Components<E>) => unknown,
    options: BucketOptions,
  ): Dataset<E>;
  /** `elementLengthFunc` of the whole element. */
  bucketBySequenceLength(
    elementLengthFunc: (element: E) => unknown,
    options: BucketOptions,
  ): Dataset<E>;
  bucketBySequenceLength(elementLengthFunc: ElementFunction, options: BucketOptions): Dataset<E> {
    return new Dataset(bucketSource(this.#source, elementLengthFunc, options));
  }

  /**
   * Outputs of `fn(state, element)`, which returns the next state and an output. Throws `TypeError` where the state changes its structure or
   * dtypes. TensorFlow `tf.data.Dataset.scan`.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * import { assertEquals } from "@std/assert";
   * const sums = tf.data.range(1, 4).scan(tf.scalar(0, "int32"), (sum, x) => [tf.add(sum, x), tf.add(sum, x)]);
   * assertEquals(await Array.fromAsync(sums, (x) => x.item()), [1, 3, 6]);
   * ```
   */
  scan<const S, R>(
    initialState: S,
    fn: (state: TensorsOf<S>, element: E) => readonly [unknown, R],
  ): Dataset<TensorsOf<R>> {
    return new Dataset<TensorsOf<R>>(
      scanSource(this.#source, initialState, fn as ElementFunction),
    );
  }

  /**
   * The last state of `fn(state, element)`, which returns the next one, after all elements. The caller owns it. Throws `TypeError` where
   * the state changes its structure or dtypes. TensorFlow `tf.data.Dataset.reduce`.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * import { assertEquals } from "@std/assert";
   * const sum = await tf.data.range(5).reduce(tf.scalar(0, "int32"), (sum, x) => tf.add(sum, x));
   * assertEquals(sum.item(), 10);
   * ```
   */
  async reduce<const S>(
    initialState: S,
    fn: (state: TensorsOf<S>, element: E) => unknown,
  ): Promise<TensorsOf<S>> {
    const reduced = new Dataset<TensorsOf<S>>(
      reducedSource(this.#source, initialState, fn as ElementFunction),
    );
    const [state] = await reduced.toArray();
    return state;
  }

  /**
   * Puts `batchSize` elements at a time under a new first axis. The last batch may be smaller, so that the axis is unknown in
   * `elementSpec`, unless `dropRemainder` leaves it out. An iteration rejects with `InvalidArgumentError` where shapes in a batch differ.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * import { assertEquals } from "@std/assert";
   * const pairs = tf.data.range(5).batch(2, { dropRemainder: true });
   * assertEquals(String(pairs.elementSpec), "int32[2]");
   * ```
   */
  batch(batchSize: number, options: BatchOptions = {}): Dataset<E> {
    return new Dataset(batchSource(this.#source, batchSize, options));
  }

  /**
   * Like {@linkcode Dataset.batch} for elements of different shapes, which are padded at the ends of their axes. Throws `ValueError` for a shape that
   * cannot hold the elements; an iteration rejects with `DataLossError` where an element is larger than its padded shape.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * import { assertEquals } from "@std/assert";
   * const words = tf.data.fromGenerator(() => [[1], [2, 3]], tf.TensorSpec([null], "int32"));
   * for await (using batch of words.paddedBatch(2)) assertEquals(batch.arraySync(), [[1, 0], [2, 3]]);
   * ```
   */
  paddedBatch(batchSize: number, options: PaddedBatchOptions = {}): Dataset<E> {
    return new Dataset(paddedBatchSource(this.#source, batchSize, options));
  }

  /**
   * Like {@linkcode Dataset.batch} for elements of different shapes, whose components with unknown dimensions become {@linkcode RaggedTensor}s.
   * Components of one shape are batched as they are. Throws `ValueError` for a component of unknown rank. TensorFlow
   * `tf.data.Dataset.ragged_batch`.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * import { assertEquals } from "@std/assert";
   * const words = tf.data.fromGenerator(() => [[1], [2, 3]], tf.TensorSpec([null], "int32"));
   * const batches = words.raggedBatch<tf.RaggedTensor>(2);
   * for await (using batch of batches) assertEquals(batch.toList(), [[1], [2, 3]]);
   * ```
   */
  raggedBatch<R = unknown>(batchSize: number, options: BatchOptions = {}): Dataset<R> {
    return new Dataset<R>(raggedBatchSource(this.#source, batchSize, options));
  }

  /**
   * Draws each element at random from the next `bufferSize`. The same `seed`, or without one the same `tf.setRandomSeed()` before the
   * dataset is made, gives the same orders; every pass has another order unless `reshuffleEachIteration` is false.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * import { assertEquals } from "@std/assert";
   * const order = (seed: number) => Array.fromAsync(tf.data.range(9).shuffle(9, seed), (x) => x.item());
   * assertEquals(await order(1), await order(1));
   * ```
   */
  shuffle(
    bufferSize: number,
    seed?: number | string | ShuffleOptions,
    reshuffleEachIteration = true,
  ): Dataset<E> {
    const options = typeof seed === "object"
      ? seed
      : { reshuffleEachIteration, ...(seed === undefined ? {} : { seed }) };
    return new Dataset(shuffleSource(this.#source, bufferSize, options));
  }

  /**
   * The elements whose number is `index` modulo `numShards`: each of several workers takes another index. Throws `ValueError` for an index
   * that is not below `numShards`. TensorFlow `tf.data.Dataset.shard`.
   */
  shard(numShards: number, index: number): Dataset<E> {
    return new Dataset(shardSource(this.#source, numShards, index));
  }
  /** These elements, then those of another dataset. Throws `TypeError` where dtypes or structures differ. */
  concatenate(dataset: Dataset<E>): Dataset<E> {
    return new Dataset(concatenateSource(this.#source, dataset.source));
  }
  /**
   * Pairs of a number, counted from `start`, and an element. Numbers are `int32`. TensorFlow `tf.data.Dataset.enumerate`.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * import { assertEquals } from "@std/assert";
   * const lines = tf.data.fromTensorSlices([0.5, 0.25]).enumerate(1);
   * assertEquals(await Array.fromAsync(lines, ([i, x]) => [i.item(), x.item()]), [[1, 0.5], [2, 0.25]]);
   * ```
   */
  enumerate(start = 0): Dataset<readonly [Tensor, E]> {
    const numbers = rangeSource(start, LAST_NUMBER, 1, "int32");
    return new Dataset<readonly [Tensor, E]>(zipSource([numbers, this.#source], [0, 1]));
  }
  /** Passes over the elements `count` times; without end where it is absent or -1. */
  repeat(count = -1): Dataset<E> {
    return new Dataset(repeatSource(this.#source, count));
  }
  /** The first `count` elements; later ones are not computed. -1 takes all. */
  take(count: number): Dataset<E> {
    return new Dataset(takeSource(this.#source, count));
  }
  /** All but the first `count` elements, which are computed and dropped. -1 skips all. */
  skip(count: number): Dataset<E> {
    return new Dataset(skipSource(this.#source, count));
  }
  /**
   * The elements without those that could not be computed: where a body, a generator or a batch threw. Without it an iteration ends at
   * the first such error. Their number is not known beforehand. TensorFlow `tf.data.Dataset.ignore_errors`.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * import { assertEquals } from "@std/assert";
   * const ratio = (x: tf.NdArray) => {
   *   if (x.item() === 0) throw new RangeError("no ratio");
   *   return 6 / Number(x.item());
   * };
   * const ratios = tf.data.range(4).map((x) => tf.numpyFunction(ratio, [x], "float32")).ignoreErrors();
   * assertEquals(await Array.fromAsync(ratios.asNumpyIterator(), (x) => x.item()), [6, 3, 2]);
   * ```
   */
  ignoreErrors(options: IgnoreErrorsOptions = {}): Dataset<E> {
    return new Dataset(ignoreErrorsSource(this.#source, options));
  }
  /** Computes up to `bufferSize` elements ahead while the consumer awaits; -1 chooses a number. */
  prefetch(bufferSize: number): Dataset<E> {
    return new Dataset(prefetchSource(this.#source, bufferSize));
  }
  /**
   * Keeps the elements of the first complete pass: later passes do not compute the stages before. They are kept in memory, or in the file
   * of this path, which passes of other processes read too; delete it where what it was made of has changed.
   */
  cache(path?: string): Dataset<E> {
    return new Dataset(
      path === undefined ? cacheSource(this.#source) : diskCacheSource(this.#source, path),
    );
  }
  /**
   * Writes all elements to a file, for {@linkcode load}. Rejects with the error of the first that cannot be computed; then there is no file.
   * TensorFlow `tf.data.Dataset.save`, which makes a folder.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * import { assertEquals } from "@std/assert";
   * const path = await Deno.makeTempFile();
   * await tf.data.range(3).map((x) => ({ x, y: tf.square(x) })).save(path);
   * const loaded = await tf.data.load<{ x: tf.Tensor; y: tf.Tensor }>(path);
   * assertEquals(await Array.fromAsync(loaded, ({ y }) => y.item()), [0, 1, 4]);
   * await Deno.remove(path);
   * ```
   */
  async save(path: string, options: SnapshotOptions = {}): Promise<void> {
    const elements = this.#source.open(wholePass());
    await writeSnapshot(this.#source, elements, path, options);
  }
  /**
   * The same elements with options for all stages before, where these were not told themselves. `deterministic: false` lets elements of
   * parallel calls come as they are ready. TensorFlow `tf.data.Dataset.with_options`.
   */
  withOptions(options: DatasetOptions): Dataset<E> {
    return new Dataset(optionsSource(this.#source, options));
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
   * import { assertEquals } from "@std/assert";
   * const transport = new MemoryTransport(); // without it: gRPC, between processes and machines
   * await using dispatcher = new DataServiceDispatcher({ transport });
   * await dispatcher.start();
   * await using worker = new DataServiceWorker({ dispatcher: dispatcher.target, transport });
   * await worker.start();
   * const squares = tf.data.range(4).map((x) => tf.square(x))
   *   .distribute({ service: dispatcher.target, transport, processingMode: "distributed_epoch" });
   * assertEquals(await Array.fromAsync(squares.asNumpyIterator(), (x) => x.item()), [0, 1, 4, 9]);
   * ```
   */
  distribute(options: ServiceOptions): Dataset<E> {
    return new Dataset(dataService.read(this.#source, options));
  }

  /** Starts a pass. Its elements belong to the caller, or to the scope in force. */
  [Symbol.asyncIterator](): DatasetIterator<E & Disposable> {
    return this.iterator();
  }

  /**
   * Starts a pass, or goes on with one from the bytes that its `save()` gave: each element comes once. The pipeline must be built as it
   * was then. Throws `DataLossError` for bytes that are no such state, `ValueError` for one of another pipeline.
   */
  iterator(state?: Uint8Array): DatasetIterator<E & Disposable> {
    return new DatasetIterator(
      this.#source,
      (element, structure) => handOut(element, structure) as E & Disposable,
      state,
    );
  }

  /**
   * A pass that gives `NdArray`s in place of tensors. Nothing needs to be freed.
   * TensorFlow `Dataset.as_numpy_iterator`.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * import { assertEquals } from "@std/assert";
   * assertEquals(await Array.fromAsync(tf.data.range(3).asNumpyIterator(), (x) => x.item()), [0, 1, 2]);
   * ```
   */
  asNumpyIterator(state?: Uint8Array): DatasetIterator<HostOf<E>> {
    return new DatasetIterator(
      this.#source,
      (element, structure) => handOutHost(element, structure, this.#source.isFresh) as HostOf<E>,
      state,
    );
  }

  /** Every element at once; the caller owns them. */
  async toArray(): Promise<(E & Disposable)[]> {
    const elements: (E & Disposable)[] = [];
    // Node 20 has no Array.fromAsync.
    for await (const element of this) elements.push(element);
    return elements;
  }

  /** Calls `fn` with each element and frees it when `fn` is done, awaited where it returns a promise. */
  async forEachAsync(fn: (element: E) => unknown): Promise<void> {
    for await (using element of this) await fn(element);
  }

  /** `<MapDataset:5 elementSpec=…>`. */
  toString(): string {
    return `<${this.#source.name} elementSpec=[${this.#source.specs.join(", ")}]>`;
  }
}
