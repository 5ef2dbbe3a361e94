// Reads IDX, the format of the MNIST files: two zero bytes, a byte for the element type, a byte for the number of
// dimensions, the dimensions as 32-bit big-endian integers, then the elements, big-endian too.

import * as tf from "@weft/weft";

/** The meaning of an element type byte: a dtype, and the bytes of one element. */
const TYPES: Readonly<Record<number, readonly [tf.DType, number]>> = {
  0x08: ["uint8", 1],
  0x09: ["int8", 1],
  0x0b: ["int16", 2],
  0x0c: ["int32", 4],
  0x0d: ["float32", 4],
  0x0e: ["float64", 8],
};

/** The array in an IDX file. Throws `ValueError` for bytes that are none, or are too few or too many. */
export function parseIdx(bytes: Uint8Array<ArrayBuffer>): tf.NdArray {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const rank = bytes[3];
  const header = 4 + 4 * rank;
  if (bytes.length < 4 || bytes[0] !== 0 || bytes[1] !== 0 || bytes.length < header) {
    throw new tf.ValueError(
      `Cannot read IDX: the ${bytes.length} bytes do not start with its header`,
    );
  }
  const type = TYPES[bytes[2]];
  if (!type) throw new tf.ValueError(`Cannot read IDX: there is no element type ${bytes[2]}`);
  const [dtype, size] = type;
  const shape = Array.from({ length: rank }, (_, i) => view.getUint32(4 + 4 * i));
  const wanted = header + size * shape.reduce((a, b) => a * b, 1);
  if (bytes.length !== wanted) {
    throw new tf.ValueError(
      `Cannot read IDX of shape [${shape}]: received ${bytes.length} bytes, wanted ${wanted}`,
    );
  }
  return new tf.NdArray(dtype, shape, elements(bytes.slice(header), dtype, size));
}

/** The elements in this machine's byte order. */
function elements(bytes: Uint8Array<ArrayBuffer>, dtype: tf.DType, size: number): tf.TypedArray {
  const isLittle = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;
  if (size > 1 && isLittle) {
    for (let i = 0; i < bytes.length; i += size) bytes.subarray(i, i + size).reverse();
  }
  const { buffer } = bytes;
  switch (dtype) {
    case "int8":
      return new Int8Array(buffer);
    case "int16":
      return new Int16Array(buffer);
    case "int32":
      return new Int32Array(buffer);
    case "float32":
      return new Float32Array(buffer);
    case "float64":
      return new Float64Array(buffer);
    default:
      return bytes;
  }
}
