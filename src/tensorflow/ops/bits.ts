/** Ops on the bits of numbers that only files have, on the host. */
import { type DType, DTYPES } from "../../engine/core/dtype.ts";
import { defineOp } from "../../engine/core/op.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { type PartialShape, shapeText, sizeOf } from "../../engine/core/shape.ts";
import { refuse } from "../../engine/ops/host/arrays.ts";

/**
 * Returns the shape of the same bytes in elements of another width: the last axis has the parts of one. Throws
 * `InvalidArgumentError`.
 */
function recast(shape: PartialShape, from: DType, to: DType): PartialShape {
  const own = DTYPES[from].bytes, other = DTYPES[to].bytes;
  if (shape === null || own === other) return shape;
  if (own > other) return [...shape, own / other];
  const last = shape.at(-1);
  if (last === null || last === other / own) return shape.slice(0, -1);
  refuse(
    `Cannot bitcast from ${from} to ${to} due to shape ${shapeText(shape)}: wanted a last axis of ${
      other / own
    }`,
  );
}

function bytesOf({ data }: NdArray): Uint8Array {
  const { buffer, byteOffset, byteLength } = data as Float32Array;
  return new Uint8Array(buffer, byteOffset, byteLength);
}

defineOp({
  name: "Bitcast",
  inputs: ["input: T"],
  outputs: ["output: type"],
  attrs: ["T: numeric", "type: numeric"],
  infer: ([x], { type }) => [recast(x.shape, x.dtype, type)],
  grad: null,
  cpu: ([x], _, { attrs: { type } }) => {
    const shape = recast(x.shape, x.dtype, type) as number[],
      { array, slots } = DTYPES[type as DType];
    const { buffer } = bytesOf(x).slice();
    return [new NdArray(type, shape, new array!(buffer, 0, sizeOf(shape) * slots))];
  },
});

/** Number of set bits of each byte. */
const ONES = new Uint8Array(256);
for (let byte = 1; byte < 256; byte++) ONES[byte] = ONES[byte >> 1] + (byte & 1);

defineOp({
  name: "PopulationCount",
  inputs: ["x: T"],
  outputs: ["y: uint8"],
  attrs: ["T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}"],
  infer: ([x]) => [x.shape],
  grad: null,
  cpu: ([x], [out]) => {
    const bytes = bytesOf(x), { bytes: width } = DTYPES[x.dtype], to = out.data as Uint8Array;
    to.fill(0);
    for (let i = 0; i < bytes.length; i++) to[Math.floor(i / width)] += ONES[bytes[i]];
  },
});
