/** Ops that convert bytes to other bytes, hashes and tensors. On the host. */
import type { DType } from "../../core/dtype.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import { murmurHash, sipHashBy } from "../../kernels/host/text/keyed_hash.ts";
import { readTensor, writeTensor } from "../../kernels/host/text/tensor_message.ts";
import { refuse, textsOf } from "../host/arrays.ts";
import { intoBuckets } from "../host/buckets.ts";
import { defineStringMap } from "./define_string_map.ts";

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const CODES = new TextEncoder().encode(LETTERS);
/** The value of each base64 letter; 64 for all other bytes. */
const VALUES = new Uint8Array(256).fill(64);
CODES.forEach((code, i) => VALUES[code] = i);
const PAD = 61;

/** Web-safe base64: its last two letters are "-" and "_". */
function encode64(bytes: Uint8Array, pads: boolean): Uint8Array {
  const letters = Math.ceil(bytes.length * 4 / 3);
  const out = new Uint8Array(pads ? Math.ceil(bytes.length / 3) * 4 : letters).fill(PAD);
  for (let i = 0; i < letters; i++) {
    const bit = i * 6, at = bit >> 3;
    const pair = bytes[at] << 8 | (bytes[at + 1] ?? 0);
    out[i] = CODES[pair >> 10 - (bit & 7) & 63];
  }
  return out;
}

function decode64(text: Uint8Array): Uint8Array {
  const { length } = text;
  if (length % 4 === 1) refuse("Base64 string length cannot be 1 modulo 4");
  let end = length;
  // Padding completes the last four letters.
  if (length % 4 === 0) { for (let k = 0; k < 2 && text[end - 1] === PAD; k++) end--; }
  const out = new Uint8Array(Math.floor(end * 3 / 4));
  for (let i = 0; i < end; i++) {
    const value = VALUES[text[i]], bit = i * 6, at = bit >> 3;
    if (value === 64) refuse("Invalid character found in base64");
    const pair = value << 10 - (bit & 7);
    out[at] |= pair >> 8;
    if (at + 1 < out.length) out[at + 1] |= pair & 0xff;
  }
  return out;
}

export const EncodeBase64: OpDef = defineStringMap(
  "EncodeBase64",
  { attrs: ["pad: bool = false"] },
  ({ pad }) => (s) => encode64(s, pad),
);
export const DecodeBase64: OpDef = defineStringMap("DecodeBase64", {}, () => decode64);

const BUCKETS = "num_buckets: int >= 1";

export const StringToHashBucket: OpDef = defineOp({
  name: "StringToHashBucket",
  each: true,
  inputs: ["string_tensor: string"],
  outputs: ["output: int64"],
  attrs: [BUCKETS],
  infer: ([x]) => [x.shape],
  grad: null,
  cpu: ([x], [out], { attrs }) => intoBuckets(murmurHash, x, attrs.num_buckets, out),
});
export const StringToHashBucketStrong: OpDef = defineOp({
  name: "StringToHashBucketStrong",
  each: true,
  inputs: ["input: string"],
  outputs: ["output: int64"],
  attrs: [BUCKETS, "key: list(int64)"],
  infer: ([x]) => [x.shape],
  grad: null,
  cpu: ([x], [out], { attrs: { num_buckets, key } }) => {
    if (key.length !== 2) refuse(`Key must have 2 elements, received ${key.length}`);
    const [k0, k1] = key.map((k: number | bigint) => BigInt.asUintN(64, BigInt(k)));
    intoBuckets(sipHashBy([k0, k1]), x, num_buckets, out);
  },
});

export const SerializeTensor: OpDef = defineOp({
  name: "SerializeTensor",
  inputs: ["tensor: T"],
  outputs: ["serialized: string"],
  attrs: ["T: type"],
  infer: () => [[]],
  grad: null,
  cpu: ([x], [out]) => {
    textsOf(out)[0] = writeTensor(x);
  },
});

export const ParseTensor: OpDef = defineOp({
  name: "ParseTensor",
  inputs: ["serialized: string"],
  outputs: ["output: out_type"],
  attrs: ["out_type: type"],
  infer: () => [null],
  grad: null,
  cpu: ([x], _, { attrs }) => {
    if (x.rank !== 0) {
      refuse(
        `Expected \`serialized\` to be a scalar, got shape: [${x.shape}]`,
      );
    }
    return [readTensor(textsOf(x)[0], attrs.out_type as DType)];
  },
});
