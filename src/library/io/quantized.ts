/** Quantised matrices in safetensors files: their levels, scales and zeros as tensors, their form in the metadata. */
import { wrongArgument } from "../../engine/core/arguments.ts";
import { asDType } from "../../engine/core/dtype.ts";
import { DataLossError, NotFoundError } from "../../engine/core/errors.ts";
import { isPlainObject } from "../../engine/core/nest.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { sameShape } from "../../engine/core/shape.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { tensor } from "../../engine/ops/array/creation.ts";
import {
  type QuantizedForm,
  QuantizedTensor,
  QuantizedTensorSpec,
} from "../../engine/ops/quantised/quantized_tensor.ts";

/** Names of the parts, in order. */
const PARTS = ["levels", "scales", "zeros"] as const;
/** Beginning of the metadata's keys. */
const KEY = "quantized:";

/** Returns the tensors and the metadata that stand for a quantised matrix in a file. */
export function quantizedEntries(name: string, q: QuantizedTensor): {
  readonly tensors: readonly (readonly [string, Tensor])[];
  readonly metadata: readonly [string, string];
} {
  return {
    tensors: PARTS.map((part, i) => [`${name}.${part}`, q.components[i]]),
    metadata: [KEY + name, JSON.stringify(q.form)],
  };
}

/**
 * Returns a quantised matrix that `writeSafetensors` wrote under this name. Throws `NotFoundError` where the file has none,
 * and `DataLossError` for parts that do not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const bytes = await tf.io.writeSafetensors({ w: tf.quantize([[1, -7]], { bits: 4, block: 8 }) });
 * const w = tf.io.quantizedFrom(tf.io.readSafetensors(bytes), "w");
 * console.log(tf.dequantize(w).arraySync()); // [[1, -7]]
 * ```
 */
export function quantizedFrom(
  file: {
    readonly tensors: Readonly<Record<string, NdArray>>;
    readonly metadata: Readonly<Record<string, string>>;
  },
  name: string,
): QuantizedTensor {
  if (!isPlainObject(file?.tensors) || !isPlainObject(file.metadata)) {
    throw wrongArgument(file, "file", "quantizedFrom", "what tf.io.readSafetensors() returns");
  }
  const text = Object.hasOwn(file.metadata, KEY + name) ? file.metadata[KEY + name] : undefined;
  if (text === undefined) {
    throw new NotFoundError(`Cannot read "${name}": the file has no quantised matrix of this name`);
  }
  const bad = (why: string, cause?: unknown): DataLossError =>
    new DataLossError(`Cannot read the quantised matrix "${name}": ${why}`, { cause });
  const form = formOf(text, bad);
  const parts = new QuantizedTensorSpec(form).components.map((spec, i): NdArray => {
    const own = `${name}.${PARTS[i]}`, array = file.tensors[own];
    const fits = array instanceof NdArray && array.dtype === spec.dtype &&
      sameShape(array.shape, spec.shape);
    if (!fits) throw bad(`tensor "${own}" must be ${spec.dtype} of shape [${spec.shape}]`);
    return array;
  });
  return new QuantizedTensor(parts.map((array) => tensor(array)), form);
}

/** Parses a form. */
function formOf(text: string, bad: (why: string, cause?: unknown) => DataLossError): QuantizedForm {
  let form: unknown;
  try {
    form = JSON.parse(text);
  } catch (e) {
    throw bad("its form is no JSON", e);
  }
  const { bits, block, axis, shape, dtype, isSymmetric } = isPlainObject(form)
    ? form as Record<string, unknown>
    : {};
  const isSize = (d: unknown): boolean => Number.isSafeInteger(d) && (d as number) >= 0;
  const fits = (bits === 4 || bits === 8) && isSize(block) && (block as number) >= 8 &&
    Number.isInteger(Math.log2(block as number)) && (axis === -1 || axis === -2) &&
    Array.isArray(shape) && shape.length === 2 && shape.every(isSize) &&
    typeof isSymmetric === "boolean" && typeof dtype === "string" && /^b?float\d+$/.test(dtype);
  if (!fits) throw bad(`its form is ${text.slice(0, 100)}`);
  const [rows, columns] = shape as number[];
  return {
    bits,
    block: block as number,
    axis,
    shape: [rows, columns],
    dtype: asDType(dtype),
    isSymmetric,
  };
}
