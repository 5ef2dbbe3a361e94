/** Characters and bytes of strings: `tf.strings.unicodeSplit`, `bytesSplit` and `unicodeTranscode`. */
import { apply1, compose } from "../../core/apply.ts";
import { optionCheck } from "../../core/arguments.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { onesLike, zerosLike } from "../array/creation.ts";
import { gather } from "../array/gather.ts";
import { concat } from "../array/join.ts";
import { raggedRange } from "../host/ragged.ts";
import { RaggedTensor } from "../ragged/ragged_tensor.ts";
import { cumsum } from "../reduce/scan.ts";
import {
  errorsOf,
  UNICODE,
  unicodeDecode,
  unicodeDecodeWithOffsets,
  type UnicodeOptions,
} from "./code_points.ts";
import { partsOf } from "./ragged_parts.ts";
import { texts } from "./text_input.ts";
import { StringLength } from "./text_ops.ts";
import { Substr } from "./text_parts.ts";
import { UnicodeEncode, UnicodeTranscode } from "./unicode.ts";

const checkUnicode = {
  unicodeSplit: optionCheck<UnicodeOptions>("strings.unicodeSplit", UNICODE),
  unicodeSplitWithOffsets: optionCheck<UnicodeOptions>("strings.unicodeSplitWithOffsets", UNICODE),
  unicodeTranscode: optionCheck<TranscodeOptions>("strings.unicodeTranscode", {
    ...UNICODE,
    replaceControlCharacters: true,
  }),
};

/** Options of {@linkcode unicodeTranscode}. */
export interface TranscodeOptions extends UnicodeOptions {
  /** True to replace characters below a space too. Default false. */
  readonly replaceControlCharacters?: boolean;
}

/** Writes each code point as a string. */
function lettersOf(codes: Tensor | RaggedTensor, encoding: string): Tensor | RaggedTensor {
  return codes instanceof RaggedTensor
    ? codes.map((all) => each(all, encoding))
    : each(codes, encoding);
}

/** Writes each code point of a vector as a string. */
function each(codes: Tensor, encoding: string): Tensor {
  const ends = concat([[0], cumsum(onesLike(codes))], 0);
  return apply1(UnicodeEncode, [codes, ends], { output_encoding: encoding, Tsplits: "int32" });
}

/**
 * The characters of each string, as strings: of a scalar a vector, of others a ragged tensor with one more axis. Follows TensorFlow
 * `tf.strings.unicode_split`. Throws `ValueError` for an unknown rank.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log((tf.strings.unicodeSplit(["aé", ""], "UTF-8") as tf.RaggedTensor).toList()); // [["a", "é"], []]
 * ```
 */
export function unicodeSplit(
  input: TensorLike | RaggedTensor,
  inputEncoding: string,
  options: UnicodeOptions = {},
): Tensor | RaggedTensor {
  checkUnicode.unicodeSplit(options);
  return compose(() => lettersOf(unicodeDecode(input, inputEncoding, options), inputEncoding));
}

/**
 * The characters of each string as {@linkcode unicodeSplit} gives them, and the byte at which each begins, int32. Follows TensorFlow
 * `tf.strings.unicode_split_with_offsets`. Throws as that does.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const [letters, offsets] = tf.strings.unicodeSplitWithOffsets("aéb", "UTF-8") as tf.Tensor[];
 * console.log(letters.arraySync(), offsets.arraySync()); // ["a", "é", "b"] [0, 1, 3]
 * ```
 */
export function unicodeSplitWithOffsets(
  input: TensorLike | RaggedTensor,
  inputEncoding: string,
  options: UnicodeOptions = {},
): [Tensor, Tensor] | [RaggedTensor, RaggedTensor] {
  checkUnicode.unicodeSplitWithOffsets(options);
  return compose(() => {
    const [codes, offsets] = unicodeDecodeWithOffsets(input, inputEncoding, options);
    return [lettersOf(codes, inputEncoding), offsets] as [Tensor, Tensor];
  });
}

/**
 * Writes strings of one encoding in another one, and invalid bytes as the options say. TensorFlow op `UnicodeTranscode`. Throws
 * `InvalidArgumentError` for unknown encodings, and for invalid bytes where they are refused.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const wide = tf.strings.unicodeTranscode(["aé"], "UTF-8", "UTF-16-BE");
 * console.log(await tf.strings.length(wide).array()); // [4]
 * ```
 */
export function unicodeTranscode(
  input: TensorLike,
  inputEncoding: string,
  outputEncoding: string,
  options: TranscodeOptions = {},
): Tensor {
  checkUnicode.unicodeTranscode(options);
  const { replacementChar = 65533, replaceControlCharacters = false } = options;
  return apply1(UnicodeTranscode, [texts(input, "unicodeTranscode")], {
    input_encoding: inputEncoding,
    output_encoding: outputEncoding,
    errors: errorsOf(options, "unicodeTranscode"),
    replacement_char: replacementChar,
    replace_control_characters: replaceControlCharacters,
  });
}

/**
 * The bytes of each string, as strings: of a scalar a vector, of others a ragged tensor with one more axis. Follows TensorFlow
 * `tf.strings.bytes_split`. Throws `ValueError` for an unknown rank.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log((tf.strings.bytesSplit(["ab", ""]) as tf.RaggedTensor).toList()); // [["a", "b"], []]
 * ```
 */
export function bytesSplit(input: TensorLike | RaggedTensor): Tensor | RaggedTensor {
  return partsOf(input, { fn: "bytesSplit", part: (strings) => [bytesOf(strings)] })[0];
}

/** The bytes of a vector of strings. */
function bytesOf(strings: Tensor): RaggedTensor {
  const lengths = apply1(StringLength, [strings], { unit: "BYTE" });
  const { rtNestedSplits: splits, rtDenseValues: places } = raggedRange(
    zerosLike(lengths),
    lengths,
    onesLike(lengths),
  );
  const row = RaggedTensor.fromRowSplits(places, splits).valueRowIds();
  return RaggedTensor.fromRowSplits(
    apply1(Substr, [gather(strings, row), places, onesLike(row)]),
    splits,
  );
}
