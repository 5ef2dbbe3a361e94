/**
 * Ops that turn bytes into other bytes, hashes and tensors, as only files have them. They run on the host.
 */
import type { DType } from "../../core/dtype.ts";
import { InvalidArgumentError } from "../../core/errors.ts";
import { type Attrs, defineOp } from "../../core/op.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { hash64, sipHash } from "../../kernels/host/text/string_hash.ts";
import { readTensor, writeTensor } from "../../kernels/host/text/tensor_message.ts";

const textsOf = (a: NdArray): Uint8Array[] => a.data as Uint8Array[];
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const CODES = new TextEncoder().encode(LETTERS);
/** What a letter stands for; 64 for all other bytes. */
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
  if (length % 4 === 1) {
    throw new InvalidArgumentError("Base64 string length cannot be 1 modulo 4", {
      op: "DecodeBase64",
    });
  }
  let end = length;
  // Padding fills up the last four letters.
  if (length % 4 === 0) { for (let k = 0; k < 2 && text[end - 1] === PAD; k++) end--; }
  const out = new Uint8Array(Math.floor(end * 3 / 4));
  for (let i = 0; i < end; i++) {
    const value = VALUES[text[i]], bit = i * 6, at = bit >> 3;
    if (value === 64) {
      throw new InvalidArgumentError("Invalid character found in base64", { op: "DecodeBase64" });
    }
    const pair = value << 10 - (bit & 7);
    out[at] |= pair >> 8;
    if (at + 1 < out.length) out[at + 1] |= pair & 0xff;
  }
  return out;
}

defineOp({
  name: "EncodeBase64",
  inputs: ["input: string"],
  outputs: ["output: string"],
  attrs: ["pad: bool = false"],
  infer: ([x]) => [x.shape],
  grad: null,
  cpu: ([x], [out], { attrs }) => {
    textsOf(x).forEach((s, i) => textsOf(out)[i] = encode64(s, attrs.pad));
  },
});

defineOp({
  name: "DecodeBase64",
  inputs: ["input: string"],
  outputs: ["output: string"],
  infer: ([x]) => [x.shape],
  grad: null,
  cpu: ([x], [out]) => textsOf(x).forEach((s, i) => textsOf(out)[i] = decode64(s)),
});

/** An op that tells the bucket of each string. */
function defineHash(
  name: string,
  input: string,
  { attrs: more, hash }: {
    readonly attrs: readonly string[];
    readonly hash: (attrs: Attrs) => (bytes: Uint8Array) => bigint;
  },
): void {
  defineOp({
    name,
    inputs: [`${input}: string`],
    outputs: ["output: int64"],
    attrs: ["num_buckets: int >= 1", ...more],
    infer: ([x]) => [x.shape],
    grad: null,
    cpu: ([x], [out], { attrs }) => {
      const buckets = BigInt(attrs.num_buckets), of = hash(attrs);
      textsOf(x).forEach((s, i) => (out.data as BigInt64Array)[i] = of(s) % buckets);
    },
  });
}

defineHash("StringToHashBucket", "string_tensor", { attrs: [], hash: () => hash64 });
defineHash("StringToHashBucketStrong", "input", {
  attrs: ["key: list(int64)"],
  hash: ({ key }) => {
    if (key.length !== 2) {
      throw new InvalidArgumentError(`Key must have 2 elements, received ${key.length}`, {
        op: "StringToHashBucketStrong",
      });
    }
    const [k0, k1] = key.map((k: number | bigint) => BigInt.asUintN(64, BigInt(k)));
    return (bytes) => sipHash(bytes, [k0, k1]);
  },
});

defineOp({
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

defineOp({
  name: "ParseTensor",
  inputs: ["serialized: string"],
  outputs: ["output: out_type"],
  attrs: ["out_type: type"],
  infer: () => [null],
  grad: null,
  cpu: ([x], _, { attrs }) => {
    if (x.rank !== 0) {
      throw new InvalidArgumentError(
        `Expected \`serialized\` to be a scalar, got shape: [${x.shape}]`,
        { op: "ParseTensor" },
      );
    }
    return [readTensor(textsOf(x)[0], attrs.out_type as DType)];
  },
});
