/** tf.data: datasets and their sources. */
import { asDType, type DType } from "../../engine/core/dtype.ts";
import { isPlainObject } from "../../engine/core/nest.ts";
import {
  optionCheck,
  wantBoolean,
  wantList,
  wantNumber,
  wrongArgument,
} from "../../engine/core/arguments.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import type { Tout } from "../../engine/script/tout.ts";
import { Dataset } from "./dataset.ts";
import type { TensorNest, TensorsOf, TensorsOfSpec } from "./element.ts";
import { type FromGeneratorOptions, type GeneratorFunction, generatorSource } from "./generator.ts";
import type { Source } from "./source.ts";
import { chooseSource, type SampleOptions, sampleSource } from "./choose.ts";
import { loadSource, type SnapshotOptions } from "./snapshot.ts";
import { rangeSource, slicesSource, tensorsSource, zipSource } from "./sources.ts";
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";

export * from "./capture.ts";
export * from "./items.ts";
export * from "./files/mod.ts";
export { type Components, Dataset } from "./dataset.ts";
export type { Sequence } from "./sequence.ts";
export type { Bytes } from "../io/bytes.ts";
export type { ByteSource, Compression } from "../io/byte_stream.ts";
export { AUTOTUNE, type MapOptions } from "./map.ts";
export type { SampleOptions } from "./choose.ts";
export type { WorkerMapOptions } from "./worker_map.ts";
export type { BatchOptions, PaddedBatchOptions } from "./batch.ts";
export type { DatasetOptions, IgnoreErrorsOptions } from "./order.ts";
export type { ShuffleOptions } from "./shuffle.ts";
export { DatasetIterator } from "./iterator.ts";
export type { BucketOptions } from "./bucket.ts";
export type { ProcessingMode, ServiceOptions } from "./distributed.ts";
export type { FlatMapOptions, InterleaveOptions } from "./flat_map.ts";
export type { SnapshotOptions } from "./snapshot.ts";
export { DatasetSpec, type WindowOptions } from "./window.ts";
export type {
  HostOf,
  OneTensor,
  PlainValues,
  SpecsOf,
  TensorNest,
  TensorsOf,
  TensorsOfSpec,
} from "./element.ts";
export type { FromGeneratorOptions, GeneratorFunction } from "./generator.ts";

/** Options of {@linkcode range}. */
export interface RangeOptions {
  /** Dtype of the numbers. Default `int32`, where TensorFlow has int64: those are `bigint` on the host. */
  readonly dtype?: DType;
}

const checkRangeOptions = optionCheck<RangeOptions>("range", { dtype: true });

/**
 * The scalars from `start` (default 0) to before `stop` by `step` (default 1). Follows TensorFlow `tf.data.Dataset.range`.
 * Throws `ValueError` for a step of 0.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await Array.fromAsync(tf.data.range(2, 8, 3), (x) => x.item())); // [2, 5]
 * ```
 */
export function range(stop: number, options?: RangeOptions): Dataset<Tensor>;
/** The scalars from `start`. */
export function range(start: number, stop: number, options?: RangeOptions): Dataset<Tensor>;
/** The scalars from `start` by `step`. */
export function range(
  start: number,
  stop: number,
  step: number,
  options?: RangeOptions,
): Dataset<Tensor>;
export function range(...args: (number | RangeOptions | undefined)[]): Dataset<Tensor> {
  const given = args.filter((a) => a !== undefined), last = given.at(-1);
  const options = typeof last === "object" ? last : undefined;
  checkRangeOptions(options);
  const numbers = (options === undefined ? given : given.slice(0, -1)) as number[];
  numbers.forEach((n, i) => {
    wantNumber(n, numbers.length === 1 ? "stop" : ["start", "stop", "step"][i], "data.range");
  });
  const [start, stop, step = 1] = numbers.length === 1 ? [0, numbers[0]] : numbers;
  return new Dataset<Tensor>(rangeSource(start, stop, step, asDType(options?.dtype ?? "int32")));
}

/**
 * One element per row: tensors (or values) of a nest are cut along their first axes, which must be equally long. Nested lists of plain
 * numbers are one tensor, lists with tensors or typed arrays in them are structures. The values are copied.
 * Throws `ValueError` for scalars and for different lengths. Follows TensorFlow `tf.data.Dataset.from_tensor_slices`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const examples = tf.data.fromTensorSlices({ x: [[1, 2], [3, 4]], label: tf.tensor([0, 1], [2], "int32") });
 * console.log(String(examples.elementSpec.x)); // float32[2]
 * for await (using e of examples.skip(1)) console.log(e.x.arraySync(), e.label.item()); // [3, 4] 1
 * ```
 */
export function fromTensorSlices<const T>(tensors: T): Dataset<TensorsOf<T>> {
  return new Dataset<TensorsOf<T>>(slicesSource(tensors));
}

/**
 * One element: the nest of tensors itself, copied. Follows TensorFlow `tf.data.Dataset.from_tensors`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * for await (using e of tf.data.fromTensors([1, 2])) console.log(e.arraySync()); // [1, 2]
 * ```
 */
export function fromTensors<const T>(tensors: T): Dataset<TensorsOf<T>> {
  return new Dataset<TensorsOf<T>>(tensorsSource(tensors));
}

/**
 * Elements that a generator yields; each pass calls it anew. It may be async, and may return any iterable or iterator.
 * Yielded values (numbers, lists, typed arrays, `NdArray`s, tensors) must fit `outputSignature`: a spec or dtype, or a list or object of them.
 * A pass owns the tensors that a generator makes before it awaits: those it yields are freed once read, the others when the pass ends.
 * An iteration rejects with `InvalidArgumentError` for a value that does not fit. Follows TensorFlow `tf.data.Dataset.from_generator`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * function* pairs() {
 *   for (let i = 0; i < 2; i++) yield { x: [i, i + 1], y: i };
 * }
 * const dataset = tf.data.fromGenerator(pairs, { outputSignature: { x: tf.TensorSpec([2]), y: "int32" } });
 * for await (using e of dataset.skip(1)) console.log(e.x.arraySync(), e.y.item()); // [1, 2] 1
 * ```
 */
export function fromGenerator<const T extends Tout>(
  generator: GeneratorFunction,
  options: FromGeneratorOptions<T>,
): Dataset<TensorsOfSpec<T>>;
/** With the signature alone. */
export function fromGenerator<const T extends Tout>(
  generator: GeneratorFunction,
  outputSignature: T,
): Dataset<TensorsOfSpec<T>>;
export function fromGenerator(generator: GeneratorFunction, given: unknown): Dataset {
  const hasOptions = isPlainObject(given) && "outputSignature" in given;
  const options =
    (hasOptions ? given : { outputSignature: given }) as unknown as FromGeneratorOptions;
  return new Dataset(generatorSource(generator, options));
}

/** The elements of zipped datasets, in the nest of the datasets. */
export type Zipped<D> = D extends Dataset<infer E> ? E : { readonly [K in keyof D]: Zipped<D[K]> };

/**
 * Elements of several datasets side by side, in the nest they are given in; ends with the shortest. Follows TensorFlow `tf.data.Dataset.zip`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const both = tf.data.zip({ a: tf.data.range(3), b: tf.data.range(10, 12) });
 * console.log(await Array.fromAsync(both, ({ a, b }) => [a.item(), b.item()])); // [[0, 10], [1, 11]]
 * ```
 */
export function zip<const D>(datasets: D): Dataset<Zipped<D>>;
/** Several datasets as arguments, for a list of them. */
export function zip<const D extends readonly unknown[]>(...datasets: D): Dataset<Zipped<D>>;
export function zip(...args: unknown[]): unknown {
  const inputs: Source[] = [];
  const number = (nest: unknown): unknown => {
    if (nest instanceof Dataset) return inputs.push(nest.source) - 1;
    if (Array.isArray(nest)) return nest.map(number);
    if (isPlainObject(nest)) {
      return Object.fromEntries(Object.entries(nest).map(([key, value]) => [key, number(value)]));
    }
    throw new TypeError(
      "The argument to `zip()` must be datasets, or lists and objects of datasets",
    );
  };
  const nest = number(args.length === 1 ? args[0] : args);
  return new Dataset(zipSource(inputs, nest));
}

/**
 * The dataset that `dataset.save(path)` wrote. Rejects with `NotFoundError` where there is no file, `DataLossError` where it holds no dataset; an
 * iteration rejects with `DataLossError` where it is cut off. Follows TensorFlow `tf.data.Dataset.load`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const folder = await Deno.makeTempDir(), path = `${folder}/numbers`;
 * await tf.data.range(3).save(path);
 * const loaded = await tf.data.load<tf.Tensor>(path);
 * console.log(await Array.fromAsync(loaded.asNumpyIterator(), (x) => Number(x.item()))); // [0, 1, 2]
 * await Deno.remove(folder, { recursive: true });
 * ```
 */
export async function load<E = TensorNest>(
  path: string,
  options: SnapshotOptions = {},
): Promise<Dataset<E>> {
  return new Dataset<E>(await loadSource(path, options));
}

/**
 * Elements of several datasets: those of `choiceDataset`, scalar integers, say which one gives the next. Ends with the first dataset that has
 * no more, or where `stopOnEmptyDataset` is false goes on with the others. An iteration rejects with `InvalidArgumentError` for
 * a number that no dataset has. Follows TensorFlow `tf.data.Dataset.choose_from_datasets`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const two = [tf.data.range(3), tf.data.range(10, 13)];
 * const chosen = tf.data.chooseFromDatasets(two, tf.data.fromTensorSlices(tf.tensor1d([0, 1, 1, 0], "int32")));
 * console.log(await Array.fromAsync(chosen, (x) => x.item())); // [0, 10, 11, 1]
 * ```
 */
export function chooseFromDatasets<E>(
  datasets: readonly Dataset<E>[],
  choiceDataset: Dataset<Tensor>,
  stopOnEmptyDataset = true,
): Dataset<E> {
  const sources = sourcesOf(datasets, "chooseFromDatasets");
  if (!(choiceDataset instanceof Dataset)) {
    throw wrongArgument(choiceDataset, "choiceDataset", "chooseFromDatasets", "a Dataset");
  }
  wantBoolean(stopOnEmptyDataset, "stopOnEmptyDataset", "chooseFromDatasets");
  return new Dataset<E>(chooseSource(sources, choiceDataset.source, stopOnEmptyDataset));
}

/**
 * Elements of several datasets, drawn at random by `weights`. Throws `ValueError` for weights that are none. Follows TensorFlow
 * `tf.data.Dataset.sample_from_datasets`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const mixed = tf.data.sampleFromDatasets([tf.data.range(3), tf.data.range(3, 5)], { weights: [3, 1], seed: 1 });
 * console.log((await Array.fromAsync(mixed, (x) => x.item())).sort()); // [0, 1, 2, 3, 4]
 * ```
 */
export function sampleFromDatasets<E>(
  datasets: readonly Dataset<E>[],
  options: SampleOptions = {},
): Dataset<E> {
  return new Dataset<E>(sampleSource(sourcesOf(datasets, "sampleFromDatasets"), options));
}

/** The sources of a list of datasets. Throws `TypeError` for what is none. */
function sourcesOf(datasets: readonly Dataset<unknown>[], fn: string): Source[] {
  wantList(datasets, "datasets", fn, "datasets");
  return datasets.map((dataset, i) => {
    if (dataset instanceof Dataset) return dataset.source;
    throw wrongArgument(dataset, `datasets[${i}]`, fn, "a Dataset");
  });
}
export {
  type ProgressCallback,
  progressCallback,
  type ProgressCallbackOptions,
  type ProgressLogs,
  type ProgressOptions,
  type ProgressStream,
} from "./parts/progress.ts";
