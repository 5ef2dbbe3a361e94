/** Fingerprints of rows: 64 bits that tell rows apart. On the host. */
import { apply1 } from "../../core/apply.ts";
import { UnimplementedError, ValueError } from "../../core/errors.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import { sizeOf } from "../../core/shape.ts";
import { brief, decodeString } from "../../core/text.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { fingerprint64 } from "../../kernels/host/text/string_hash.ts";
import { refuse, textsOf } from "../host/arrays.ts";
import { shapeOfInput, toDenseInput, toInput } from "../input.ts";

/** Bytes of a fingerprint. */
const BYTES = 8;

/** Returns the fingerprint of bytes, the lowest byte first. */
function of(bytes: Uint8Array): Uint8Array {
  const out = new Uint8Array(BYTES);
  new DataView(out.buffer).setBigUint64(0, fingerprint64(bytes), true);
  return out;
}

/** Joins the fingerprints of strings. */
function joined(texts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(BYTES * texts.length);
  texts.forEach((text, i) => all.set(of(text), BYTES * i));
  return all;
}

export const Fingerprint: OpDef = defineOp({
  name: "Fingerprint",
  inputs: ["data: T", "method: string"],
  outputs: ["fingerprint: uint8"],
  attrs: ["T: type"],
  hostInputs: ["method"],
  infer: ([{ shape }]) => {
    if (shape?.length === 0) throw new ValueError("Cannot take fingerprints of a scalar's rows");
    return [[shape?.[0] ?? null, BYTES]];
  },
  grad: null,
  cpu: ([x, method], [out]) => {
    const name = method.rank === 0 ? decodeString(textsOf(method)[0]) : `shape [${method.shape}]`;
    if (name !== "farmhash64") refuse(`Unsupported fingerprint method: ${name}`);
    const [rows, ...row] = x.shape, to = out.data as Uint8Array, each = sizeOf(row);
    if (x.dtype === "string") {
      const texts = textsOf(x);
      // Rows of one string are that string.
      if (each === 1) return void to.set(joined(texts));
      for (let i = 0; i < rows; i++) {
        to.set(of(joined(texts.slice(i * each, (i + 1) * each))), BYTES * i);
      }
      return;
    }
    const { buffer, byteOffset, byteLength } = x.data as Uint8Array;
    const all = new Uint8Array(buffer, byteOffset, byteLength), size = byteLength / (rows || 1);
    for (let i = 0; i < rows; i++) to.set(of(all.subarray(i * size, (i + 1) * size)), BYTES * i);
  },
});

/**
 * A fingerprint of each row of `data`, numbers or strings: `[rows, 8]` bytes, equal for equal rows, and different for others but for
 * chance. Throws `ValueError` for a scalar, `UnimplementedError` for another method. TensorFlow op `Fingerprint`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.fingerprint(["a"]).array()); // [[227, 117, 223, 182, 101, 66, 69, 179]]
 * ```
 */
export function fingerprint(data: TensorLike, method = "farmhash64"): Tensor {
  const fn = "fingerprint", rows = toDenseInput(data, "data", fn);
  if (method !== "farmhash64") {
    throw new UnimplementedError(
      `Cannot apply ${fn} with method ${brief(method)}: wanted "farmhash64"`,
    );
  }
  if (shapeOfInput(rows)?.length === 0) {
    throw new ValueError(`Cannot apply ${fn} to a scalar: it has no rows`);
  }
  return apply1(Fingerprint, [rows, toInput(method, "method", fn, { dtype: "string" })]);
}
