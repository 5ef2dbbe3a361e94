/** Compressed strings, in the namespace `tf.io`. On the host. */
import { apply1 } from "../../../engine/core/apply.ts";
import { wrongArgument } from "../../../engine/core/arguments.ts";
import { InvalidArgumentError } from "../../../engine/core/errors.ts";
import type { OpDef } from "../../../engine/core/op.ts";
import type { Tensor, TensorLike } from "../../../engine/core/tensor.ts";
import { defineStringMap, texts } from "../../../engine/ops/decode/mod.ts";
import type { Compression } from "../byte_stream.ts";
import { inflateAll } from "./gzip.ts";

const DecodeCompressed: OpDef = defineStringMap(
  "DecodeCompressed",
  { inputs: ["bytes: string"], attrs: ['compression_type: string = ""'] },
  ({ compression_type: kind }) => {
    if (kind === "") return (bytes) => bytes;
    if (kind === "ZLIB" || kind === "GZIP") return (bytes) => inflateAll(bytes, kind);
    throw new InvalidArgumentError(
      `Cannot decompress ${kind}: wanted "ZLIB", "GZIP" or "" for strings that are not compressed`,
    );
  },
);

/**
 * Each string decompressed: `"ZLIB"`, `"GZIP"`, or as it is. Throws `DataLossError` for strings that are broken or cut off. TensorFlow op
 * `DecodeCompressed`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const bytes = Uint8Array.from([120, 156, 203, 72, 205, 201, 201, 7, 0, 6, 44, 2, 21]);
 * console.log(await tf.io.decodeCompressed(bytes, "ZLIB").array()); // hello
 * ```
 */
export function decodeCompressed(
  bytes: TensorLike | Uint8Array,
  compressionType: Compression = "",
): Tensor {
  const fn = "io.decodeCompressed";
  if (!["", "ZLIB", "GZIP"].includes(compressionType)) {
    throw wrongArgument(compressionType, "compressionType", fn, `"", "ZLIB" or "GZIP"`);
  }
  const input = texts(bytes as TensorLike, "bytes", fn);
  if (input.dtype !== "string") throw wrongArgument(bytes, "bytes", fn, "strings");
  return apply1(DecodeCompressed, [input], { compression_type: compressionType });
}
