/** Code points of strings: `tf.strings.unicodeDecode` and `unicodeEncode`. */
import { apply, apply1, compose } from "../../core/apply.ts";
import { optionCheck } from "../../core/arguments.ts";
import { ValueError } from "../../core/errors.ts";
import type { OpDef } from "../../core/op.ts";
import { shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { gather } from "../array/gather.ts";
import { range } from "../array/ranges.ts";
import { slice } from "../array/slice.ts";
import { reshape, shape } from "../array/view.ts";
import { castInput, shapeOfInput, toIndexInput } from "../input.ts";
import { add, mul } from "../pointwise/arithmetic.ts";
import { prod } from "../reduce/prod.ts";
import { RaggedTensor } from "../ragged/ragged_tensor.ts";
import { partsOf } from "./ragged_parts.ts";
import { UnicodeDecode, UnicodeDecodeWithOffsets, UnicodeEncode } from "./unicode.ts";
import { brief } from "../../core/text.ts";

/** Names of the options of {@linkcode UnicodeOptions}. */
export const UNICODE = { errors: true, replacementChar: true } as const;

const ERRORS: readonly unknown[] = ["strict", "replace", "ignore"];

/** Reads the treatment of invalid bytes. Throws `ValueError` for an unknown one. */
export function errorsOf({ errors = "replace" }: UnicodeOptions, fn: string): string {
  if (ERRORS.includes(errors)) return errors;
  throw new ValueError(
    `strings.${fn}(): errors must be ${ERRORS.join(", ")}, received ${brief(errors)}`,
  );
}

const checkUnicode = {
  unicodeDecode: optionCheck<UnicodeOptions>("strings.unicodeDecode", UNICODE),
  unicodeDecodeWithOffsets: optionCheck<UnicodeOptions>(
    "strings.unicodeDecodeWithOffsets",
    UNICODE,
  ),
  unicodeEncode: optionCheck<UnicodeOptions>("strings.unicodeEncode", UNICODE),
};

/** Options of the functions on code points. */
export interface UnicodeOptions {
  /** Invalid bytes: an error, the replacement character or nothing. Default `"replace"`. */
  readonly errors?: "strict" | "replace" | "ignore";
  /** The code point in the place of invalid bytes. Default 65533. */
  readonly replacementChar?: number;
}

/**
 * The code points of each string: of a scalar a vector, of others a ragged tensor with one more axis; int32. TensorFlow op
 * `UnicodeDecode`. Throws `ValueError` for an unknown rank.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log((tf.strings.unicodeDecode(["aé", ""], "UTF-8") as tf.RaggedTensor).toList()); // [[97, 233], []]
 * ```
 */
export function unicodeDecode(
  input: TensorLike | RaggedTensor,
  inputEncoding: string,
  options: UnicodeOptions = {},
): Tensor | RaggedTensor {
  checkUnicode.unicodeDecode(options);
  return decoded(UnicodeDecode, input, inputEncoding, { ...options, fn: "unicodeDecode" })[0];
}

/**
 * The code points of each string as {@linkcode unicodeDecode} gives them, and the byte at which each begins; int32. TensorFlow op
 * `UnicodeDecodeWithOffsets`. Throws as that does.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const [codes, offsets] = tf.strings.unicodeDecodeWithOffsets("aéb", "UTF-8") as tf.Tensor[];
 * console.log(codes.arraySync(), offsets.arraySync()); // [97, 233, 98] [0, 1, 3]
 * ```
 */
export function unicodeDecodeWithOffsets(
  input: TensorLike | RaggedTensor,
  inputEncoding: string,
  options: UnicodeOptions = {},
): [Tensor, Tensor] | [RaggedTensor, RaggedTensor] {
  checkUnicode.unicodeDecodeWithOffsets(options);
  const own = { ...options, fn: "unicodeDecodeWithOffsets" };
  const [codes, offsets] = decoded(UnicodeDecodeWithOffsets, input, inputEncoding, own);
  return [codes, offsets] as [Tensor, Tensor];
}

/** Returns what an op that decodes gives beside the splits, as int32. */
function decoded(
  op: OpDef,
  input: TensorLike | RaggedTensor,
  inputEncoding: string,
  options: UnicodeOptions & { readonly fn: string },
): readonly (Tensor | RaggedTensor)[] {
  const { replacementChar = 65533, fn } = options, errors = errorsOf(options, fn);
  const part = (strings: Tensor): readonly RaggedTensor[] => {
    const [splits, ...parts] = apply(op, [strings], {
      input_encoding: inputEncoding,
      errors,
      replacement_char: replacementChar,
      Tsplits: "int32",
    });
    return parts.map((x) => RaggedTensor.fromRowSplits(castInput(x, "int32") as Tensor, splits));
  };
  return partsOf(input, { fn, part });
}

/**
 * The strings that code points write along the last axis: of a vector a scalar, of a ragged tensor of two axes a vector. TensorFlow op
 * `UnicodeEncode`. Throws `ValueError` for a scalar and an unknown rank.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const codes = tf.strings.unicodeDecode(["abc"], "UTF-8") as tf.RaggedTensor;
 * console.log(await tf.strings.unicodeEncode(codes, "UTF-8").array()); // ["abc"]
 * ```
 */
export function unicodeEncode(
  input: RaggedTensor | TensorLike,
  outputEncoding: string,
  options: UnicodeOptions = {},
): Tensor | RaggedTensor {
  checkUnicode.unicodeEncode(options);
  const { replacementChar = 65533 } = options, errors = errorsOf(options, "unicodeEncode");
  const attrs = { output_encoding: outputEncoding, errors, replacement_char: replacementChar };
  const encoded = (codes: Tensor, splits: Tensor): Tensor =>
    apply1(UnicodeEncode, [castInput(codes, "int32"), splits], { ...attrs, Tsplits: splits.dtype });
  const write = (rows: RaggedTensor): Tensor | RaggedTensor => {
    const { values, rowSplits } = rows;
    return values instanceof RaggedTensor
      ? RaggedTensor.fromRowSplits(write(values), rowSplits)
      : encoded(values, rowSplits);
  };
  return compose(() => {
    if (input instanceof RaggedTensor) return write(input);
    const codes = toIndexInput(input, "input", "strings.unicodeEncode");
    const known = shapeOfInput(codes);
    if (known === null || known.length === 0) {
      throw new ValueError(
        `Cannot encode code points of shape ${shapeText(known)}: wanted rows of a known rank`,
      );
    }
    const dims = shape(codes as TensorLike), last = known.length - 1;
    const outer = slice(dims, [0], [last]), length = gather(dims, last) as Tensor;
    const splits = mul(range(0, add(prod(outer), 1), 1, "int32"), length);
    return reshape(encoded(reshape(codes as TensorLike, [-1]), splits), outer);
  });
}
