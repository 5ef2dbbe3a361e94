/** Counts of bits, which only files have, on the host. */
import { DTYPES } from "../../engine/core/dtype.ts";
import { defineOp } from "../../engine/core/op.ts";
import { bytesOf } from "../../engine/ops/array/bitcast.ts";

/** Number of set bits of each byte. */
const ONES = new Uint8Array(256);
for (let byte = 1; byte < 256; byte++) ONES[byte] = ONES[byte >> 1] + (byte & 1);

defineOp({
  name: "PopulationCount",
  each: true,
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
