/** DecodeRaw and DecodePaddedRaw: the bytes of strings as numbers, on the host. */
import { type DType, DTYPES, type HostData } from "../../core/dtype.ts";
import { NdArray } from "../../core/nd_array.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import { hostInts, knownInts } from "../array/view.ts";
import { refuse, textsOf } from "./arrays.ts";

const ATTRS = [
  "out_type: {float16, float32, float64, int32, uint16, uint8, int16, int8, int64, bool}",
  "little_endian: bool = true",
];

/** Reads strings of `length` bytes each as numbers; shorter ones have zeros behind, longer ones are cut. */
function numbersIn(
  x: NdArray,
  length: number,
  { out_type, little_endian }: { readonly out_type: DType; readonly little_endian: boolean },
): NdArray {
  const texts = textsOf(x), { bytes: width, array } = DTYPES[out_type];
  const all = new Uint8Array(length * texts.length);
  texts.forEach((t, i) => all.set(t.subarray(0, length), i * length));
  if (!little_endian) {
    for (let i = 0; i < all.length; i += width) all.subarray(i, i + width).reverse();
  }
  const shape = [...x.shape, length / width];
  return new NdArray(out_type, shape, new array!(all.buffer) as HostData);
}

export const DecodeRaw: OpDef = defineOp({
  name: "DecodeRaw",
  each: true,
  inputs: ["bytes: string"],
  outputs: ["output: out_type"],
  attrs: ATTRS,
  infer: ([x]) => [x.shape === null ? null : [...x.shape, null]],
  grad: null,
  cpu: ([x], _, { attrs }) => {
    const width = DTYPES[attrs.out_type as DType].bytes;
    const texts = textsOf(x), length = texts[0]?.length ?? 0;
    if (length % width !== 0 || texts.some((t) => t.length !== length)) {
      refuse(
        `DecodeRaw requires input strings to all be the same size, a multiple of ${width} bytes: received ${
          texts.map((t) => t.length).slice(0, 5)
        }`,
      );
    }
    return [numbersIn(x, length, attrs as Parameters<typeof numbersIn>[2])];
  },
});

export const DecodePaddedRaw: OpDef = defineOp({
  name: "DecodePaddedRaw",
  each: true,
  inputs: ["input_bytes: string", "fixed_length: int32"],
  outputs: ["output: out_type"],
  attrs: ATTRS,
  hostInputs: ["fixed_length"],
  infer: ([x, length], { out_type }) => {
    const count = (knownInts(length)?.[0] ?? NaN) / DTYPES[out_type as DType].bytes;
    return [x.shape === null ? null : [...x.shape, Number.isInteger(count) ? count : null]];
  },
  grad: null,
  cpu: ([x, size], _, { attrs }) => {
    const width = DTYPES[attrs.out_type as DType].bytes, [length] = hostInts(size);
    if (!(length > 0 && length % width === 0)) {
      refuse(`fixed_length (${length}) must be a multiple of the size of out_type (${width})`);
    }
    return [numbersIn(x, length, attrs as Parameters<typeof numbersIn>[2])];
  },
});
