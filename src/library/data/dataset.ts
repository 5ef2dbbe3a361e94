/** Dataset: a pipeline of elements, with the stages that make other elements of them. */
import { wantNumber } from "../../engine/core/arguments.ts";
import {
  type BatchOptions,
  batchSource,
  type PaddedBatchOptions,
  paddedBatchSource,
  raggedBatchSource,
} from "./batch.ts";
import type { TensorNest, TensorsOf } from "./element.ts";
import { nameAs } from "../../engine/core/arrays/shown.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { type BucketOptions, bucketSource } from "./bucket.ts";
import {
  type FlatMapOptions,
  flatMapSource,
  type InterleaveOptions,
  interleaveSource,
} from "./flat_map.ts";
import { type MapOptions, mapSource, predicateSource } from "./map.ts";
import { reducedSource, scanSource } from "./reduce.ts";
import { rangeSource, zipSource } from "./sources.ts";
import { unbatchSource, type WindowOptions, windowSource } from "./window.ts";
import { Sequence } from "./sequence.ts";
import type { Source } from "./source.ts";
import type { ElementFunction } from "./trace.ts";
import { mapArguments, type WorkerMapOptions } from "./worker_map.ts";
import type { ScriptResult } from "../../engine/script/numpy_function.ts";
import type { ScriptFunction } from "../../engine/script/script.ts";
import type { Tout } from "../../engine/script/tout.ts";

/** The arguments of a function: the components of an element that is a list; any other element is the only argument. */
// deno-lint-ignore no-explicit-any
export type Components<E> = E extends readonly any[] ? E : [E];

const LAST_NUMBER = 2 ** 31 - 1;

/**
 * A sequence of elements, each a tensor or a nest of tensors, that is computed while it is iterated. Follows TensorFlow `tf.data.Dataset`.
 *
 * Every stage gives a new dataset and leaves this one unchanged. Nothing is computed before `for await` asks for an element, and each
 * pass computes anew. An iteration ends at the first error, where TensorFlow's goes on if it is asked again: {@linkcode Dataset.ignoreErrors}
 * leaves such elements out. Inside the pipeline elements are host arrays, and functions run on the CPU; the tensors that an iteration hands
 * out are on the default device.
 *
 * **Ownership.** The consumer of an iteration owns the tensors of its elements: free them with `tf.dispose(element)`, with
 * `for await (using element of dataset)`, or by a `tf.scope()` around the loop. The pipeline itself, its buffers and its cache hold no
 * tensors, so that leaving a loop early leaks nothing.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const squares = tf.data.range(5).map((x) => tf.square(x)).batch(2);
 * const seen: unknown[] = [];
 * for await (using batch of squares) seen.push(batch.arraySync());
 * console.log(seen); // [[0, 1], [4, 9], [16]]
 * ```
 */
export class Dataset<E = TensorNest> extends Sequence<E> {
  /** @internal */
  protected override stage(source: Source): this {
    return new Dataset<E>(source) as this;
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
   * const pairs = tf.data.fromTensorSlices([tf.tensor([1, 2]), tf.tensor([10, 20])]);
   * const sums = pairs.map((x, y) => ({ sum: tf.add(x, y) }));
   * console.log(String(sums.elementSpec.sum)); // float32[]
   * for await (using e of sums.take(1)) console.log(e.sum.item()); // 11
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
   * const double = (x: tf.NdArray) => x.map((v) => 2 * Number(v));
   * const doubled = tf.data.range(3).map((x) => tf.cast(x, "float32"))
   *   .map(double, { workers: true, Tout: tf.TensorSpec([], "float32") });
   * console.log(await Array.fromAsync(doubled.asNumpyIterator(), (x) => x.item())); // [0, 2, 4]
   * ```
   */
  map<const T extends Tout>(
    fn: ScriptFunction,
    options: WorkerMapOptions<T>,
  ): Dataset<ScriptResult<T>>;
  map(fn: ElementFunction, options: MapOptions | WorkerMapOptions = {}): unknown {
    return new Dataset(mapSource(this.source, ...mapArguments(fn, options)));
  }

  /**
   * Keeps the elements for which `predicate`, traced as in {@linkcode Dataset.map}, says true. Throws `ValueError` where it does not return a boolean scalar.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * const large = tf.data.range(5).filter((x) => tf.greater(x, 2));
   * console.log(await Array.fromAsync(large.asNumpyIterator(), (x) => x.item())); // [3, 4]
   * ```
   */
  filter(predicate: (...components: Components<E>) => unknown): Dataset<E>;
  /** `predicate` of the whole element. */
  filter(predicate: (element: E) => unknown): Dataset<E>;
  filter(predicate: ElementFunction): Dataset<E> {
    return new Dataset(predicateSource(this.source, predicate, "filter"));
  }

  /**
   * The elements as long as `predicate`, traced as in {@linkcode Dataset.map}, says true. TensorFlow `tf.data.Dataset.take_while`.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * const small = tf.data.range(10).takeWhile((x) => tf.less(x, 3));
   * console.log(await Array.fromAsync(small, (x) => x.item())); // [0, 1, 2]
   * ```
   */
  takeWhile(predicate: (...components: Components<E>) => unknown): Dataset<E>;
  /** `predicate` of the whole element. */
  takeWhile(predicate: (element: E) => unknown): Dataset<E>;
  takeWhile(predicate: ElementFunction): Dataset<E> {
    return new Dataset(predicateSource(this.source, predicate, "takeWhile"));
  }

  /**
   * The elements of the dataset that `fn` makes of each element, one dataset after another. `fn` is called once while the pipeline is
   * built, with tensors of no value, to learn what those datasets hold, and then for each element, with tensors on the CPU. One that reads
   * its element, to choose between datasets, takes `{ outputSignature }`. Throws `TypeError` where it returns no dataset. TensorFlow `tf.data.Dataset.flat_map`.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * const rows = tf.data.fromTensorSlices([[1, 2], [3, 4]]);
   * const values = rows.flatMap((row) => tf.data.fromTensorSlices(row));
   * console.log(await Array.fromAsync(values, (x) => x.item())); // [1, 2, 3, 4]
   * ```
   */
  flatMap<R>(
    fn: (...components: Components<E>) => Dataset<R>,
    options?: FlatMapOptions,
  ): Dataset<R>;
  /** `fn` of the whole element. */
  flatMap<R>(fn: (element: E) => Dataset<R>, options?: FlatMapOptions): Dataset<R>;
  flatMap(fn: ElementFunction, options: FlatMapOptions = {}): Dataset {
    return new Dataset(flatMapSource(this.source, fn, options));
  }

  /**
   * Like {@linkcode Dataset.flatMap}, going through `cycleLength` datasets in turn, with `blockLength` elements of each: the way to read many
   * files at once. With `numParallelCalls` so many are read ahead of their turn; the order stays, unless `deterministic` is false.
   * TensorFlow `tf.data.Dataset.interleave`.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * const both = tf.data.fromTensorSlices([[1, 2], [10, 20]])
   *   .interleave((row) => tf.data.fromTensorSlices(row), { cycleLength: 2 });
   * console.log(await Array.fromAsync(both, (x) => x.item())); // [1, 10, 2, 20]
   * ```
   */
  interleave<R>(
    fn: (...components: Components<E>) => Dataset<R>,
    options?: InterleaveOptions,
  ): Dataset<R>;
  /** `fn` of the whole element. */
  interleave<R>(fn: (element: E) => Dataset<R>, options?: InterleaveOptions): Dataset<R>;
  interleave(fn: ElementFunction, options: InterleaveOptions = {}): Dataset {
    return new Dataset(interleaveSource(this.source, fn, options));
  }

  /**
   * The rows of each element, as elements: the opposite of {@linkcode Dataset.batch}. Throws `ValueError` for scalars; an iteration
   * rejects with `InvalidArgumentError` where components have different lengths. TensorFlow `tf.data.Dataset.unbatch`.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * console.log(await Array.fromAsync(tf.data.range(3).batch(2).unbatch(), (x) => x.item())); // [0, 1, 2]
   * ```
   */
  unbatch(): Dataset<E> {
    return new Dataset(unbatchSource(this.source));
  }

  /**
   * Small datasets of `size` elements each, for {@linkcode Dataset.flatMap}. The next begins `shift` elements further, and its elements are
   * `stride` apart. A window of records is one dataset of records, where TensorFlow has a record of datasets. TensorFlow
   * `tf.data.Dataset.window`.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * const windows = tf.data.range(4).window(3, { shift: 1, dropRemainder: true });
   * const batches = windows.flatMap((window) => window.batch(3));
   * console.log(await Array.fromAsync(batches, (x) => x.arraySync())); // [[0, 1, 2], [1, 2, 3]]
   * ```
   */
  window(size: number, options: WindowOptions = {}): Dataset<Dataset<E>> {
    return new Dataset<Dataset<E>>(
      windowSource(this.source, size, options, (source) => new Dataset<E>(source)),
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
   * const words = tf.data.fromGenerator(() => [[1], [1, 2, 3], [2]], tf.TensorSpec([null], "int32"));
   * const batches = words.bucketBySequenceLength((w) => tf.size(w), { bucketBoundaries: [2], bucketBatchSizes: [2, 2] });
   * console.log(await Array.fromAsync(batches, (x) => x.arraySync())); // [[[1], [2]], [[1, 2, 3]]]
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
    return new Dataset(bucketSource(this.source, elementLengthFunc, options));
  }

  /**
   * Outputs of `fn(state, element)`, which returns the next state and an output. Throws `TypeError` where the state changes its structure or
   * dtypes. TensorFlow `tf.data.Dataset.scan`.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * const sums = tf.data.range(1, 4).scan(tf.scalar(0, "int32"), (sum, x) => [tf.add(sum, x), tf.add(sum, x)]);
   * console.log(await Array.fromAsync(sums, (x) => x.item())); // [1, 3, 6]
   * ```
   */
  scan<const S, R>(
    initialState: S,
    fn: (state: TensorsOf<S>, element: E) => readonly [unknown, R],
  ): Dataset<TensorsOf<R>> {
    return new Dataset<TensorsOf<R>>(
      scanSource(this.source, initialState, fn as ElementFunction),
    );
  }

  /**
   * The last state of `fn(state, element)`, which returns the next one, after all elements. The caller owns it. Throws `TypeError` where
   * the state changes its structure or dtypes. TensorFlow `tf.data.Dataset.reduce`.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * const sum = await tf.data.range(5).reduce(tf.scalar(0, "int32"), (sum, x) => tf.add(sum, x));
   * console.log(sum.item()); // 10
   * ```
   */
  async reduce<const S>(
    initialState: S,
    fn: (state: TensorsOf<S>, element: E) => unknown,
  ): Promise<TensorsOf<S>> {
    const reduced = new Dataset<TensorsOf<S>>(
      reducedSource(this.source, initialState, fn as ElementFunction),
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
   * const pairs = tf.data.range(5).batch(2, { dropRemainder: true });
   * console.log(String(pairs.elementSpec)); // int32[2]
   * ```
   */
  batch(batchSize: number, options: BatchOptions = {}): Dataset<E> {
    return new Dataset(batchSource(this.source, batchSize, options));
  }

  /**
   * Like {@linkcode Dataset.batch} for elements of different shapes, which are padded at the ends of their axes. Throws `ValueError` for a shape that
   * cannot hold the elements; an iteration rejects with `DataLossError` where an element is larger than its padded shape.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * const words = tf.data.fromGenerator(() => [[1], [2, 3]], tf.TensorSpec([null], "int32"));
   * for await (using batch of words.paddedBatch(2)) console.log(batch.arraySync()); // [[1, 0], [2, 3]]
   * ```
   */
  paddedBatch(batchSize: number, options: PaddedBatchOptions = {}): Dataset<E> {
    return new Dataset(paddedBatchSource(this.source, batchSize, options));
  }

  /**
   * Like {@linkcode Dataset.batch} for elements of different shapes, whose components with unknown dimensions become {@linkcode RaggedTensor}s.
   * Components of one shape are batched as they are. Throws `ValueError` for a component of unknown rank. TensorFlow
   * `tf.data.Dataset.ragged_batch`.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * const words = tf.data.fromGenerator(() => [[1], [2, 3]], tf.TensorSpec([null], "int32"));
   * const batches = words.raggedBatch<tf.RaggedTensor>(2);
   * for await (using batch of batches) console.log(batch.toList()); // [[1], [2, 3]]
   * ```
   */
  raggedBatch<R = unknown>(batchSize: number, options: BatchOptions = {}): Dataset<R> {
    return new Dataset<R>(raggedBatchSource(this.source, batchSize, options));
  }

  /**
   * The rows of batches in batches of another size: {@linkcode Dataset.unbatch}, then {@linkcode Dataset.batch}. Throws `ValueError` for
   * scalars. Follows TensorFlow `tf.data.Dataset.rebatch`, which also takes sizes in turn.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * const pairs = tf.data.range(5).batch(3).rebatch(2);
   * console.log(await Array.fromAsync(pairs, (x) => x.arraySync())); // [[0, 1], [2, 3], [4]]
   * ```
   */
  rebatch(batchSize: number, options: BatchOptions = {}): Dataset<E> {
    return this.unbatch().batch(batchSize, options);
  }

  /**
   * Pairs of a number, counted from `start`, and an element. Numbers are `int32`. TensorFlow `tf.data.Dataset.enumerate`.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * const lines = tf.data.fromTensorSlices([0.5, 0.25]).enumerate(1);
   * console.log(await Array.fromAsync(lines, ([i, x]) => [i.item(), x.item()])); // [[1, 0.5], [2, 0.25]]
   * ```
   */
  enumerate(start = 0): Dataset<readonly [Tensor, E]> {
    wantNumber(start, "start", "enumerate");
    const numbers = rangeSource(start, LAST_NUMBER, 1, "int32");
    return new Dataset<readonly [Tensor, E]>(zipSource([numbers, this.source], [0, 1]));
  }
}

nameAs(Dataset as { prototype: Dataset<unknown> }, (d) => d.toString());
