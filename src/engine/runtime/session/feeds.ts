/** The feeds of a run: checked, and copied where the run needs its own. */
import { describe, toNdArray } from "../../core/convert.ts";
import type { Device } from "../../core/device.ts";
import { DTYPES } from "../../core/dtype.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { ValueError } from "../../core/errors.ts";
import { NdArray } from "../../core/nd_array.ts";
import { compatible, shapeTuple } from "../../core/shape.ts";
import { Tensor, type TensorLike } from "../../core/tensor.ts";
import type { SymbolicTensor } from "../../graph/operation.ts";
import { copyArray, isLarge, releaseValue, type RunValue } from "../run/run_value.ts";
import { constantTensor } from "../eager/eager.ts";
import { asEager, EagerTensor } from "../eager/tensor.ts";

/** The feeds of a run, in order. */
export class Fed {
  readonly tensors: SymbolicTensor[] = [];
  readonly #values: RunValue[] = [];
  /** The values that the run owns; the caller may change or free all others once the run waits. */
  readonly #isOwn: boolean[] = [];

  get values(): readonly RunValue[] {
    return this.#values;
  }

  /** Adds a value. Throws `TypeError` for another dtype, `ValueError` for another shape. */
  add(t: SymbolicTensor, value: TensorLike): void {
    if (value instanceof EagerTensor && value.dtype === t.dtype) {
      checkShape(t, asEager(value).staticShape);
      this.#push(t, value, false);
    } else if (value instanceof Tensor) {
      this.#push(t, readFeed(t, value), true);
    } else {
      // The array of a number or a list is made here; only bytes of strings may be the caller's.
      const isMade = typeof value === "number" || Array.isArray(value);
      this.#push(t, arrayFor(t, value), isMade && t.dtype !== "string");
    }
  }

  #push(t: SymbolicTensor, value: RunValue, isOwn: boolean): void {
    this.tensors.push(t);
    this.#values.push(value);
    this.#isOwn.push(isOwn);
  }

  /** Makes the run own every value: by a copy of a host array, or a handle on a tensor, which stays on its device. */
  own(): readonly RunValue[] {
    for (let i = 0; i < this.#values.length; i++) {
      if (this.#isOwn[i]) continue;
      const v = this.#values[i];
      this.#values[i] = v instanceof NdArray ? copyArray(v) : v.hold();
      this.#isOwn[i] = true;
    }
    return this.#values;
  }

  /**
   * Owns the values as {@linkcode Fed.own} does, and hands them over: {@linkcode Fed.release} does not free them any
   * more. A large array that only kernels of one device read, per `sinks`, is uploaded at once.
   */
  take(sinks: readonly (Device | null)[]): readonly RunValue[] {
    for (let i = 0; i < this.#values.length; i++) {
      const v = this.#values[i], sink = sinks[i];
      if (!sink || !(v instanceof NdArray) || !isLarge(v)) continue;
      this.#values[i] = constantTensor(v, sink);
      this.#isOwn[i] = true;
    }
    this.own();
    this.#isOwn.fill(false);
    return this.#values;
  }

  /** Frees the values that the run owns. */
  release(): void {
    for (let i = 0; i < this.#values.length; i++) {
      if (this.#isOwn[i]) releaseValue(this.#values[i]);
      this.#isOwn[i] = false;
    }
  }
}

/** A fed tensor that must be read first: a variable, or one of another dtype. */
function readFeed(t: SymbolicTensor, value: Tensor): RunValue {
  if (value.isSymbolic) {
    throw new TypeError(
      `The value of a feed cannot be a tf.Tensor object of a graph. Acceptable feed values are JavaScript scalars, strings, nested arrays, typed arrays, NdArrays and eager tensors; received ${value} for ${t.name}`,
    );
  }
  const read = value.readValue();
  try {
    if (read instanceof EagerTensor && read.dtype === t.dtype) {
      checkShape(t, read.staticShape);
      return read.hold();
    }
    return arrayFor(t, read.ndarraySync());
  } finally {
    if (read !== value) read.dispose();
  }
}

/** Returns a value as a host array, which may share the caller's memory. */
function arrayFor(t: SymbolicTensor, value: TensorLike): NdArray {
  const typed = value instanceof NdArray || ArrayBuffer.isView(value);
  let array: NdArray;
  try {
    array = toNdArray(value, { dtype: typed ? undefined : t.dtype, numbers: "exact" });
    if (array.dtype !== t.dtype) array = convertFeed(array, t);
  } catch (e) {
    if (e instanceof TypeError) {
      throw new TypeError(
        `Type of feed value ${
          describe(value)
        } is not compatible with Tensor type ${t.dtype} of ${t.name}: ${e.message}`,
      );
    }
    if (e instanceof ValueError) throw new ValueError(`Cannot feed Tensor ${t.name}: ${e.message}`);
    throw e;
  }
  if (Array.isArray(value) && value.length === 0) array = emptyFor(t, array);
  checkShape(t, array.shape);
  return array;
}

/** An empty list has no axes below the first. */
function emptyFor({ staticShape }: SymbolicTensor, array: NdArray): NdArray {
  const shape = staticShape?.map((d) => d ?? 0) ?? [0];
  return staticShape?.[0] === null || shape[0] === 0 ? array.reshape(shape) : array;
}

function checkShape(t: SymbolicTensor, shape: readonly number[]): void {
  if (compatible(t.staticShape, shape)) return;
  throw new ValueError(
    `Cannot feed value of shape ${shapeTuple(shape)} for Tensor ${t.name}, which has shape ${
      shapeTuple(t.staticShape)
    }`,
  );
}

function convertFeed(array: NdArray, t: SymbolicTensor): NdArray {
  const from = DTYPES[array.dtype], to = DTYPES[t.dtype];
  const widens = to.kind === "complex" || (to.kind === "float" && from.kind !== "complex") ||
    (from.kind === to.kind && from.bytes <= to.bytes) ||
    (from.kind === "uint" && to.kind === "int" && from.bytes < to.bytes) ||
    (to.kind === "bool" && array.dtype === "uint8");
  if (!widens || from.kind === "string" || to.kind === "string") {
    throw new TypeError(`Cannot convert ${array.dtype} to ${t.dtype} without loss`);
  }
  return toNdArray(array, { dtype: t.dtype });
}
