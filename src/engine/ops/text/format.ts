/** Templates filled with tensors. On the host. */
import { apply1 } from "../../core/apply.ts";
import { optionCheck, wantString } from "../../core/arguments.ts";
import { ValueError } from "../../core/errors.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { encodeString } from "../../core/text.ts";
import { summaryText } from "../../kernels/host/text/summary.ts";
import { textsOf } from "../host/arrays.ts";
import { toDenseInput } from "../input.ts";

export const StringFormat: OpDef = defineOp({
  name: "StringFormat",
  inputs: ["inputs: T"],
  outputs: ["output: string"],
  attrs: [
    "T: list(type)",
    'template: string = "%s"',
    'placeholder: string = "%s"',
    "summarize: int = 3",
  ],
  infer: () => [[]],
  grad: null,
  cpu: (inputs, [out], { attrs: { template, placeholder, summarize } }) => {
    textsOf(out)[0] = encodeString(filled(template, placeholder, inputs, summarize));
  },
});

/** Puts the texts of arrays in the places that a template has for them. */
export function filled(
  template: string,
  placeholder: string,
  arrays: readonly NdArray[],
  summarize: number,
): string {
  const parts = template.split(placeholder);
  return parts.map((p, i) => {
    if (i === parts.length - 1) return p;
    return p + (i < arrays.length ? summaryText(arrays[i], summarize, true) : placeholder);
  }).join("");
}

export { summaryText };

/** Options of {@linkcode format}. */
export interface FormatOptions {
  /** The text in whose places tensors stand. Default `"{}"`. */
  readonly placeholder?: string;
  /** Number of elements to show at either end of each axis; -1 shows all. Default 3. */
  readonly summarize?: number;
}

const check = optionCheck<FormatOptions>("strings.format", { placeholder: true, summarize: true });

/**
 * A template with the elements of tensors, one or a list of them, in the places of `{}`: a scalar string. Throws `ValueError` where there
 * are not as many places as tensors. TensorFlow op `StringFormat`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.strings.format("{} of {}", [tf.range(0, 9), "x"]).array()); // [0 1 2 ... 6 7 8] of "x"
 * ```
 */
export function format(
  template: string,
  inputs: TensorLike | readonly TensorLike[],
  options: FormatOptions = {},
): Tensor {
  const fn = "strings.format";
  check(options);
  wantString(template, "template", fn);
  const { placeholder = "{}", summarize = 3 } = options;
  wantString(placeholder, "placeholder", fn);
  if (placeholder === "" || !Number.isInteger(summarize) || summarize < -1) {
    throw new ValueError(
      `Cannot apply ${fn}: wanted a placeholder, and a whole number from -1 on as summarize, received "${placeholder}" and ${summarize}`,
    );
  }
  const list = Array.isArray(inputs) ? inputs : [inputs];
  const given = list.map((x, i) => toDenseInput(x, `inputs[${i}]`, fn));
  const places = template.split(placeholder).length - 1;
  if (places !== given.length) {
    throw new ValueError(
      `Cannot apply ${fn}: the template has ${places} places for ${given.length} tensors`,
    );
  }
  const attrs = { T: given.map((x) => x.dtype), template, placeholder, summarize };
  return apply1(StringFormat, given, attrs);
}
