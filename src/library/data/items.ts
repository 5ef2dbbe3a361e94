/**
 * TensorFlow.js's `array` and `generator`: datasets of a list's items or a generator's elements, whose types are
 * inferred.
 */
import { wantFunction, wantList, wrongArgument } from "../../engine/core/arguments.ts";
import { ValueError } from "../../engine/core/errors.ts";
import { Tensor } from "../../engine/core/tensor.ts";
import { TensorSpec } from "../../engine/core/tensor_spec.ts";
import { tidy } from "../../engine/runtime/eager/tensor.ts";
import { Dataset } from "./dataset.ts";
import { commonType, hostArray, specsNest, takeApart, type TensorsOf } from "./element.ts";
import { type GeneratorFunction, generatorSource } from "./generator.ts";
import { counted, makeSource } from "./source.ts";
import { keepValues } from "./sources.ts";
import type { Tout } from "../../engine/script/tout.ts";

/**
 * One element per item of a list: numbers, lists of numbers, tensors, or records of them. The values are copied. Where shapes differ,
 * the spec leaves them open. Throws `ValueError` for an empty list, and `TypeError` where items differ in structure or dtype.
 * Follows TensorFlow.js `tf.data.array`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const rows = tf.data.array([{ x: [1, 2], y: 0 }, { x: [3, 4], y: 1 }]);
 * for await (using e of rows.skip(1)) console.log(e.x.arraySync(), e.y.item()); // [3, 4] 1
 * ```
 */
export function array<const T>(items: readonly T[]): Dataset<TensorsOf<T>> {
  wantList(items, "items", "array");
  if (items.length === 0) {
    throw new ValueError("Cannot make a dataset of an empty array: its elements have no type");
  }
  const values = items.map(keepValues);
  const { specs, structure } = commonType(values, "array");
  const size = values.length;
  return new Dataset<TensorsOf<T>>(makeSource({
    kind: "Array",
    specs,
    structure,
    size,
    open: (_, from?: number) => counted(size, from, (i) => values[i].arrays),
  }));
}

/**
 * Elements that a generator yields, as `tf.data.fromGenerator` makes them, with an inferred type: the generator is
 * called once more, here, and its first element tells. Each must have the shape and dtype of the first. Throws
 * `ValueError` where the generator yields nothing, and where it is async: use `fromGenerator`. Follows TensorFlow.js
 * `tf.data.generator`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const squares = tf.data.generator(function* () {
 *   for (let i = 0; i < 3; i++) yield i * i;
 * });
 * console.log(await Array.fromAsync(squares, (x) => x.item())); // [0, 1, 4]
 * ```
 */
export function generator<T>(
  generator: () => Iterable<T> | Iterator<T>,
): Dataset<TensorsOf<T>> {
  wantFunction(generator, "generator", "generator");
  const outputSignature = firstSpecs(generator);
  return new Dataset<TensorsOf<T>>(generatorSource(generator, { outputSignature }));
}

/** Returns the specs of a generator's first element, and disposes the tensors made for it. */
function firstSpecs(generator: GeneratorFunction): Tout {
  return tidy(() => {
    const made = generator() as Partial<Iterable<unknown>> & Partial<Iterator<unknown>>;
    if (made === null || made === undefined) {
      throw wrongArgument(
        generator,
        "generator",
        "generator",
        "a function that returns an iterable",
      );
    }
    const iterator = made[Symbol.iterator]?.() ?? made;
    const first = Symbol.asyncIterator in made ? undefined : iterator.next?.();
    if (first === undefined || first instanceof Promise) {
      throw new ValueError(
        "Cannot see what an async generator yields before it runs: give fromGenerator() its outputSignature",
      );
    }
    iterator.return?.();
    if (first.done) throw new ValueError("Cannot see what a generator yields: it yielded nothing");
    const { leaves, structure } = takeApart(first.value);
    const specs = leaves.map((leaf) => {
      const { shape, dtype } = leaf instanceof Tensor ? leaf : hostArray(leaf);
      return TensorSpec(shape, dtype);
    });
    return specsNest({ specs, structure }) as Tout;
  });
}
