/** Conversion between Weft's host arrays and those of numpy-ts. */
import { wrongArgument } from "../../engine/core/arguments.ts";
import * as numpy from "numpy-ts";
import { toNdArray } from "../../engine/core/convert.ts";
import type { DType, HostData } from "../../engine/core/dtype.ts";
import { isForeignArray } from "../../engine/core/arrays/foreign_array.ts";
import { NdArray, primitiveOf } from "../../engine/core/nd_array.ts";
import { stridesOf } from "../../engine/core/shape.ts";
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";

/** An array of numpy-ts, of any dtype. */
export type NDArray = InstanceType<(typeof numpy)["NDArray"]>;

/** The storage class of numpy-ts's arrays, which it does not export. */
interface Storage {
  readonly constructor: {
    /** Makes a view of memory without owning it. */
    fromDataShared(
      data: HostData,
      shape: readonly number[],
      dtype: DType,
      strides: readonly number[],
      offset: number,
      region: null,
    ): Storage;
  };
}

const NOT_IN_NUMPY: ReadonlySet<DType> = new Set(["string", "bfloat16", "resource", "variant"]);
let storageClass: Storage["constructor"] | null = null;

// In arithmetic numpy-ts would convert its arrays to text of eight digits: here they become numbers, as Weft's do.
const { prototype } = numpy.NDArray;
if (!(Symbol.toPrimitive in prototype)) {
  Object.defineProperty(prototype, Symbol.toPrimitive, {
    configurable: true,
    value(this: NDArray, hint: string): unknown {
      return hint === "string"
        ? this.toString()
        : primitiveOf(this as { dtype: string; shape: readonly number[] }, () => this.item());
    },
  });
}

/**
 * Makes an array of numpy-ts of a host array, with the same dtype and shape, which shares its elements: writes to one
 * show in the other. Throws `TypeError` for string, bfloat16 and handles, which numpy-ts does not have.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { np, toNumpy } from "@weft/weft/numpy";
 * const a = toNumpy(new tf.NdArray("float32", [2], Float32Array.of(1, 4)));
 * console.log(np.sqrt(a).tolist()); // [1, 2]
 * ```
 */
export function toNumpy(array: NdArray): NDArray {
  if (!(array instanceof NdArray)) throw wrongArgument(array, "array", "toNumpy", "an NdArray");
  const { dtype, shape, data } = array;
  if (NOT_IN_NUMPY.has(dtype)) {
    throw new TypeError(
      `Cannot make a numpy-ts array of dtype ${dtype}: numpy-ts has numbers and booleans only, use tf.numpyFunction`,
    );
  }
  storageClass ??= (numpy.zeros([0]) as unknown as { storage: Storage }).storage.constructor;
  const storage = storageClass.fromDataShared(data, [...shape], dtype, stridesOf(shape), 0, null);
  const wrap = numpy.NDArray.fromStorage as unknown as (storage: Storage) => NDArray;
  return wrap.call(numpy.NDArray, storage);
}

/**
 * Makes a host array of an array of numpy-ts, a view of any layout, with the same dtype and shape. Copies, because
 * numpy-ts reuses the memory of unreferenced arrays. Throws `TypeError` for other values.
 *
 * @example
 * ```ts
 * import { fromNumpy, np } from "@weft/weft/numpy";
 * const a = fromNumpy(np.transpose(np.array([[1, 2], [3, 4]])));
 * console.log([a.dtype, a.toArray()]); // ["float64", [[1, 3], [2, 4]]]
 * ```
 */
export function fromNumpy(array: NDArray): NdArray {
  if (!isForeignArray(array)) {
    throw new TypeError("Cannot make an NdArray: wanted an array of numpy-ts");
  }
  return toNdArray(array);
}
