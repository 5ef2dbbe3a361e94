/** Scaled dot-product attention. */
import {
  type AttentionGradientOf,
  type AttentionOf,
  rowsOfAttention,
} from "../../core/attention.ts";
import { apply1, type OpInput } from "../../core/apply.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import { optionCheck } from "../../core/arguments.ts";
import { compatible, mergeShapes, type PartialShape, shapeText } from "../../core/shape.ts";
import { type Spec, specText } from "../../core/tensor_spec.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { ValueError } from "../../core/errors.ts";
import { attentionCpu, attentionGradientCpu } from "../../kernels/host/attention.ts";
import { shapeOfInput, toFloatInput, toInput } from "../input.ts";
import type { Seed } from "../random/state.ts";
import { type AttentionParts, type AttentionResult, composedAttention } from "./attention_parts.ts";

export type { AttentionResult };

const Attention: OpDef = defineOp({
  name: "_Attention",
  portable: "parts",
  inputs: ["query: T", "key: T", "value: T"],
  outputs: ["output: T"],
  attrs: ["T: floating", "scale: float", "causal: bool = false"],
  infer: ([q, k, v], { causal }) => {
    const n = q.shape?.[1], m = k.shape?.[1];
    if (causal && n != null && m != null && n > m) throw noKeySeen(n, m);
    return [attentionShape(q, k, v)];
  },
  meaning: { kind: "sequence", kernel: "attention" },
  expand: (
    [q, k, v],
    { scale, causal },
  ) => [composedAttention({ q, k, v }, { scale, causal }).output],
});

/** Attention whose operands and result a plan reads and writes where they lie. */
export const FusedAttention: OpDef = defineOp({
  name: "_FusedAttention",
  portable: { never: "only plans make it" },
  inputs: ["query: T", "key: T", "value: T", "masks: Tmasks"],
  outputs: ["output: T", "sums: Tsums"],
  attrs: ["T: floating", "Tmasks: list(type)", "Tsums: list(type) = []", "form: form"],
  infer: (_, { form }) => {
    const { shape, keepsSums, form: own } = form as AttentionOf;
    return keepsSums ? [shape, [2, rowsOfAttention(own)]] : [shape];
  },
  grad: null,
  meaning: { kind: "sequence", kernel: "attention" },
  cpu: attentionCpu,
});

/** The gradient of such an attention, from what it kept of each row of scores. */
export const FusedAttentionGradient: OpDef = defineOp({
  name: "_FusedAttentionGrad",
  portable: { never: "only plans make it" },
  inputs: [
    ...["query: T", "key: T", "value: T"],
    ...["gradient: T", "output: T", "sums: T", "masks: Tmasks"],
  ],
  outputs: ["backprops: Tout"],
  attrs: ["T: floating", "Tmasks: list(type)", "Tout: list(type)", "form: form"],
  infer: (_, { form }) => (form as AttentionGradientOf).form.wanted.map(({ shape }) => shape),
  grad: null,
  meaning: { kind: "sequence", kernel: "attention gradient" },
  cpu: attentionGradientCpu,
});

function noKeySeen(n: number, m: number): ValueError {
  return new ValueError(
    `Cannot attend causally from ${n} queries to ${m} keys: the first query sees no key`,
  );
}

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

/** Options of {@linkcode scaledDotProductAttention}. */
export interface AttentionOptions {
  /** Let a query see only keys up to its own place, counted from the end if there are more keys. */
  readonly causal?: boolean;
  /** Factor of the dot products; default `1 / sqrt(depth)`. */
  readonly scale?: number;
  /**
   * Mask that broadcasts to `[batch, heads, queries, keys]`: of booleans, true where a query sees a key, or of numbers that are added to
   * the scores.
   */
  readonly mask?: TensorLike | null;
  /** Numbers that are added to the scores, beside a mask of booleans. */
  readonly bias?: TensorLike | null;
  /** Number of keys in each example of the batch, integers `[batch]`: later ones are padding. */
  readonly keyLengths?: TensorLike | null;
  /** Scores become `softcap · tanh(score / softcap)` before masks. */
  readonly softcap?: number | null;
  /** Number of keys that a query sees on each side of its own place, or on the left and on the right. */
  readonly window?: number | readonly [left: number, right: number] | null;
  /** Fraction of the weights that are set to zero by chance, as `tf.dropout` does. Default 0. */
  readonly dropout?: number;
  /** Seed of the dropout. */
  readonly seed?: Seed | null;
  /** Return the logarithms of the sums of exponentials of scores too. Default false. */
  readonly returnLogSumExp?: boolean;
}

const checkOptions = optionCheck<AttentionOptions>("scaledDotProductAttention", {
  causal: true,
  scale: true,
  mask: true,
  bias: true,
  keyLengths: true,
  softcap: true,
  window: true,
  dropout: true,
  seed: true,
  returnLogSumExp: true,
});

/**
 * `softmax(scale · query · keyᵀ) · value` for each head. Queries have shape `[batch, time, heads, depth]`, keys and values share their
 * batch, time and heads. Of these there may be fewer: each then serves a group of neighbouring heads of queries. A query that sees no
 * key gets zeros, and -Infinity as the logarithm. Compiled functions make one kernel of it, whatever the masks, and one op of its
 * gradient, which never has all scores in memory; eager code makes one kernel with `causal` alone. Follows Vaswani et al., "Attention is all you need", and `jax.nn.dot_product_attention`. Throws `ValueError` for shapes
 * that do not fit, or where `scale` is not given and the depth is unknown.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.ones([1, 3, 2, 4]);
 * console.log(tf.scaledDotProductAttention(x, x, x, { causal: true }).shape); // [1, 3, 2, 4]
 *
 * const q = tf.ones([1, 2, 4, 8]), kv = tf.ones([1, 5, 2, 8]); // 4 heads in 2 groups
 * const { output, logSumExp } = tf.scaledDotProductAttention(q, kv, kv, {
 *   mask: [[[[true, true, false, false, false]]]],
 *   returnLogSumExp: true,
 * });
 * console.log([output.shape, logSumExp.shape]); // [[1, 2, 4, 8], [1, 2, 4]]
 * ```
 */
export function scaledDotProductAttention(
  query: TensorLike,
  key: TensorLike,
  value: TensorLike,
  options: AttentionOptions & { readonly returnLogSumExp: true },
): AttentionResult;
/** Returns the result alone. */
export function scaledDotProductAttention(
  query: TensorLike,
  key: TensorLike,
  value: TensorLike,
  options?: AttentionOptions,
): Tensor;
export function scaledDotProductAttention(
  query: TensorLike,
  key: TensorLike,
  value: TensorLike,
  options: AttentionOptions = {},
): Tensor | AttentionResult {
  checkOptions(options);
  const { causal = false, scale, dropout = 0, returnLogSumExp = false } = options;
  const [q, k, v] = [query, key, value].map((x, i): OpInput =>
    toFloatInput(x, ["query", "key", "value"][i], "scaledDotProductAttention")
  );
  const depth = shapeOfInput(q)?.at(-1);
  if (scale === undefined && depth == null) {
    throw new ValueError("Cannot attend: the depth is unknown, pass { scale }");
  }
  const input = (name: "mask" | "bias" | "keyLengths"): OpInput | undefined =>
    options[name] == null ? undefined : toInput(options[name], name, "scaledDotProductAttention");
  const parts: AttentionParts = {
    causal,
    scale: scale ?? 1 / Math.sqrt(depth!),
    mask: input("mask"),
    bias: input("bias"),
    keyLengths: input("keyLengths"),
    softcap: options.softcap ?? undefined,
    window: options.window ?? undefined,
    dropout,
    seed: options.seed,
    returnLogSumExp,
  };
  const heads = shapeOfInput(q)?.[2], groups = shapeOfInput(k)?.[2];
  const isGrouped = shapeOfInput(q)?.length === 4 && heads != null && groups != null &&
    heads !== groups && heads % groups === 0;
  const isPlain = !isGrouped && dropout === 0 && !returnLogSumExp &&
    [parts.mask, parts.bias, parts.keyLengths, parts.softcap, parts.window].every((x) =>
      x === undefined
    );
  if (isPlain) return apply1(Attention, [q, k, v], { causal, scale: parts.scale });
  checkShapes(q, k, v, parts);
  const made = composedAttention({ q, k, v }, parts);
  return returnLogSumExp ? made as AttentionResult : made.output;
}

/** Throws `ValueError` where the shapes do not fit. */
function checkShapes(q: OpInput, k: OpInput, v: OpInput, parts: AttentionParts): void {
  const specs = [q, k, v].map((x): Spec => ({ dtype: x.dtype, shape: shapeOfInput(x) }));
  const [queries, keys, values] = specs;
  // Heads are compared as groups, and values may have a depth of their own.
  const heads = queries.shape?.[2], groups = keys.shape?.[2];
  const shared = queries.shape && heads != null && groups != null && heads % groups === 0
    ? { ...queries, shape: queries.shape.map((d, i) => i === 2 ? groups : d) }
    : queries;
  const depth = keys.shape?.[3] ?? null;
  const alike = values.shape &&
    { ...values, shape: values.shape.map((d, i) => i === 3 ? depth : d) };
  attentionShape(shared, keys, alike ?? values);
  const n = queries.shape?.[1], m = keys.shape?.[1];
  if (parts.causal && n != null && m != null && n > m) throw noKeySeen(n, m);
  if (queries.shape === null || keys.shape === null || values.shape === null) {
    throw new ValueError("Cannot attend with masks or groups: the rank of an operand is unknown");
  }
  const scores = [queries.shape[0], queries.shape[2], queries.shape[1], keys.shape[1]];
  for (const name of ["mask", "bias"] as const) checkMask(name, parts[name], scores);
}

/** Throws `ValueError` where a mask does not broadcast to the scores. */
function checkMask(
  name: string,
  mask: OpInput | undefined,
  scores: readonly (number | null)[],
): void {
  if (mask === undefined) return;
  const shape = shapeOfInput(mask), before = 4 - (shape?.length ?? 5);
  const isFit = before >= 0 &&
    shape!.every((d, i) => d === 1 || compatible([d], [scores[before + i]]));
  if (isFit) return;
  throw new ValueError(
    `Cannot attend: ${name} must broadcast to [batch, heads, queries, keys], here ${
      shapeText(scores)
    }, received shape ${shapeText(shape)}`,
  );
}
