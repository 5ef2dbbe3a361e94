/** Scaled dot-product attention. */
import type { AttentionOf } from "../../core/attention.ts";
import { apply1, type OpInput } from "../../core/apply.ts";
import { type Attrs, defineOp, type OpDef } from "../../core/op.ts";
import { toNdArray } from "../../core/convert.ts";
import { optionCheck } from "../../core/arguments.ts";
import { mergeShapes, type PartialShape } from "../../core/shape.ts";
import { type Spec, specText } from "../../core/tensor_spec.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { ValueError } from "../../core/errors.ts";
import { attentionCpu } from "../../kernels/host/attention.ts";
import { transpose } from "../array/move.ts";
import { expandDims, reshape, squeeze } from "../array/view.ts";
import { onesOfTensor } from "../array/fill_ops.ts";
import { cumsum } from "../reduce/scan.ts";
import { range } from "../array/ranges.ts";
import { matMul } from "../linalg/matmul.ts";
import { add, mul } from "../pointwise/arithmetic.ts";
import { lessEqual } from "../pointwise/compare.ts";
import { where } from "../pointwise/select.ts";
import { softmax } from "./softmax.ts";
import { shapeOfInput, toFloatInput } from "../input.ts";

/** Dot products this low weigh nothing: the lowest of float16. */
const MASKED = -65504;

const Attention: OpDef = defineOp({
  name: "_Attention",
  portable: "parts",
  inputs: ["query: T", "key: T", "value: T"],
  outputs: ["output: T"],
  attrs: ["T: floating", "scale: float", "causal: bool = false"],
  infer: ([q, k, v], { causal }) => {
    const n = q.shape?.[1], m = k.shape?.[1];
    if (causal && n != null && m != null && n > m) {
      throw new ValueError(
        `Cannot attend causally from ${n} queries to ${m} keys: the first query sees no key`,
      );
    }
    return [attentionShape(q, k, v)];
  },
  meaning: { kind: "special", kernel: "attention" },
  expand: ([q, k, v], attrs) => [composed(q, k, v, attrs)],
});

/** Attention whose operands and result a plan reads and writes where they lie. */
defineOp({
  name: "_FusedAttention",
  portable: { never: "only plans make it" },
  inputs: ["query: T", "key: T", "value: T", "masks: Tmasks"],
  outputs: ["output: T"],
  attrs: ["T: floating", "Tmasks: list(type)", "form: form"],
  infer: (_, { form }) => [(form as AttentionOf).shape],
  grad: null,
  meaning: { kind: "special", kernel: "attention" },
  cpu: attentionCpu,
});

function attentionShape(q: Spec, k: Spec, v: Spec): PartialShape {
  for (const [name, s] of [["query", q], ["key", k], ["value", v]] as const) {
    if (s.shape !== null && s.shape.length !== 4) {
      throw new ValueError(
        `Cannot attend: ${name} must have shape [batch, time, heads, depth], received ${
          specText(s)
        }`,
      );
    }
  }
  try {
    const [kb, , kh, kd] = mergeShapes(k.shape, v.shape) ?? [null, null, null, null];
    return mergeShapes(q.shape, [kb, q.shape?.[1] ?? null, kh, kd]);
  } catch (e) {
    throw new ValueError(
      `Cannot attend from ${specText(q)} to ${specText(k)} and ${specText(v)}: ${
        (e as Error).message
      }`,
    );
  }
}

function composed(q: OpInput, k: OpInput, v: OpInput, { scale, causal }: Attrs): Tensor {
  // A single head is moved to the front without a copy.
  const single = [q, k, v].every((x) => shapeOfInput(x)?.[2] === 1);
  const swap = (x: OpInput, from: number, to: number): Tensor =>
    single ? expandDims(squeeze(x, [from]), to) : transpose(x, [0, 2, 1, 3]);
  const heads = (x: OpInput): Tensor => swap(x, 2, 1);
  let scores = mul(matMul(heads(q), heads(k), false, true), scale);
  if (causal) {
    const masked = toNdArray(MASKED, { dtype: q.dtype });
    scores = where(
      visible(scores, shapeOfInput(q)?.[1] ?? null, shapeOfInput(k)?.[1] ?? null),
      scores,
      masked,
    );
  }
  return swap(matMul(softmax(scores), heads(v)), 1, 2);
}

/** True where a key is no later than its query; both are counted from the end. */
function visible(scores: Tensor, n: number | null, m: number | null): Tensor {
  if (n !== null && m !== null) {
    const rows = add(reshape(range(0, n, 1, "int32"), [n, 1]), m - n);
    return lessEqual(reshape(range(0, m, 1, "int32"), [1, m]), rows);
  }
  const ones = onesOfTensor(scores);
  const rows = cumsum(ones, 2, false, true), columns = cumsum(ones, 3, false, true);
  return lessEqual(rows, columns);
}

/** Options of {@linkcode scaledDotProductAttention}. */
export interface AttentionOptions {
  /** Let a query see only keys up to its own place, counted from the end if there are more keys. */
  readonly causal?: boolean;
  /** Factor of the dot products; default `1 / sqrt(depth)`. */
  readonly scale?: number;
}

const checkOptions = optionCheck<AttentionOptions>("scaledDotProductAttention", {
  causal: true,
  scale: true,
});

/**
 * `softmax(scale · query · keyᵀ) · value` for each head. All have shape `[batch, time, heads, depth]`; key and value share their time.
 * One dispatch on the GPU; the matrix of scores is never stored there. Follows Vaswani et al., "Attention is all you need".
 * Throws `ValueError` for shapes that do not fit, or where `scale` is not given and the depth is unknown.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const x = tf.ones([1, 3, 2, 4]);
 * assertEquals(tf.scaledDotProductAttention(x, x, x, { causal: true }).shape, [1, 3, 2, 4]);
 * ```
 */
export function scaledDotProductAttention(
  query: TensorLike,
  key: TensorLike,
  value: TensorLike,
  options: AttentionOptions = {},
): Tensor {
  checkOptions(options);
  const { causal = false, scale } = options;
  const inputs = [query, key, value].map((x, i): OpInput =>
    toFloatInput(x, ["query", "key", "value"][i], "scaledDotProductAttention")
  );
  const depth = shapeOfInput(inputs[0])?.at(-1);
  if (scale === undefined && depth == null) {
    throw new ValueError("Cannot attend: the depth is unknown, pass { scale }");
  }
  return apply1(Attention, inputs, { causal, scale: scale ?? 1 / Math.sqrt(depth!) });
}
