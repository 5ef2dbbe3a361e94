/**
 * Attention: products with a softmax between them become one op that never stores the scores, whatever pointwise ops
 * stand between: scales, masks of any broadcast shape, a cap, dropout. Its operands are read where splits, transpositions,
 * reshapes and repetitions of heads left them.
 */
import { AttentionOf } from "../../core/attention.ts";
import { argument } from "../../core/scalar/expr.ts";
import { isConcrete, type Shape, sizeOf } from "../../core/shape.ts";
import type { IrGraph, IrNode, IrValue } from "../ir.ts";
import { addedNode, addedValue, inFloat32, isLoaded } from "./added.ts";
import { formOf } from "./attention_form.ts";
import { fuseGradients } from "./attention_gradient.ts";
import { adjointOf, isProduct, isTurn, Match, scoresOf } from "./attention_match.ts";
import { type Joined, SeparateJoins } from "./clusters.ts";
import { joined, type PassTarget, usesOf, withoutUnused } from "./pointwise_nodes.ts";

const ATTENTION = "_FusedAttention";
/** Most inputs beside queries, keys and values, within WebGPU's guaranteed number of buffers. */
const MAX_MASKS = 4;
/** Options of the pass, which tests change. */
export const attentionOptions: {
  /**
   * Least elements of scores that are not stored on the CPU, where separate products are as fast as long as caches hold
   * what is between them.
   */
  leastOnCpu: number;
  /**
   * A GPU stores scores for their gradient where they have more elements than the first and fewer than the second: fewer cost less than
   * the dispatches of separate products, more take too much memory. Between them separate products take half as long as the kernels that
   * compute scores again (`bench` row `attention_gradient_512` on a software adapter).
   */
  storedInGradients: readonly [number, number];
} = { leastOnCpu: 1 << 22, storedInGradients: [1 << 16, 1 << 24] };

/** Returns the graph with attention ops in place of their parts. */
export function fuseAttention(ir: IrGraph, target: PassTarget): IrGraph {
  if (!isLoaded(ATTENTION)) return ir;
  const { readers, held } = usesOf(ir);
  const { leastOnCpu, storedInGradients: [few, many] } = attentionOptions;
  const isWorth = (scores: number): boolean =>
    scores > 0 && (target === "GPU" || scores >= leastOnCpu);
  const isWorthBack = (scores: number): boolean =>
    isWorth(scores) && (target === "CPU" || scores <= few || scores >= many);
  const separate = new SeparateJoins();
  const joins: Joined[] = fuseGradients(ir, { target, isWorth: isWorthBack, separate });
  const taken = new Set(joins.flatMap(({ members }) => [...members]));
  const isInner = (node: IrNode, members: ReadonlySet<IrNode>): boolean =>
    !taken.has(node) && !held.has(node) && readers.get(node)!.every((r) => members.has(r));
  for (const root of [...ir.nodes].reverse()) {
    if (taken.has(root) || root.outputs.length !== 1) continue;
    if (!isProduct(root) && !(isTurn(root) && isProduct(root.inputs[0].node))) continue;
    const match = found(root, target);
    if (match === null) continue;
    const { members, node, scores } = match;
    if (!isWorth(scores)) continue;
    if (![...members].every((n) => n === root || isInner(n, members))) continue;
    const join = { members, node, outputs: [...root.outputs, ...node.outputs] };
    // Casts may stand between the values that it reads and the node.
    if (!separate.add([{ ...join, node: { ...node, inputs: match.inputs } }])) continue;
    for (const n of members) taken.add(n);
    joins.push(join);
  }
  return joins.length === 0 ? ir : withoutUnused(joined(ir, joins));
}

interface Found {
  readonly members: ReadonlySet<IrNode>;
  readonly node: IrNode;
  /** The values of the graph that it reads. */
  readonly inputs: IrValue[];
  /** Number of scores. */
  readonly scores: number;
}

/** Returns the attention that ends in a node. */
function found(root: IrNode, target: PassTarget): Found | null {
  const halves = root.outputs[0].dtype === "float16" && isLoaded("Cast");
  const match = new Match({ target, device: root.device, mostMasks: MAX_MASKS, halves });
  const last = isProduct(root) ? root : root.inputs[0].node;
  if (!match.take(root) || !match.take(last) || adjointOf(last, 0)) return null;
  const [shares, v] = last.inputs;
  const softmax = match.core(shares, ({ def }) => def.name === "Softmax");
  if (softmax === null || !match.take(softmax.node)) return null;
  const [logits] = softmax.node.inputs,
    weights = match.expression(shares, new Map([[softmax, argument(0)]]));
  const scores = scoresOf(match, logits);
  if (weights === null || scores === null) return null;
  const { product, scale, expr } = scores, [q, k] = product.node.inputs;
  const steps = [shares, softmax, logits, product, last.outputs[0], q, k, v];
  if (!steps.every((v) => match.isFloat(v) && isConcrete(v.shape))) return null;
  const form = formOf({
    ...{ q, k, v, product, logits, shares, last, root },
    ...{ kIsTurned: adjointOf(product.node, 1), vIsTurned: adjointOf(last, 1) },
    ...{ masks: match.masks, causal: match.causal, scale },
    scores: expr,
    weights: weights.op === "arg" ? null : weights,
  });
  if (form === null) return null;
  const inputs = inFloat32(root, form.inputs);
  const attrs = {
    T: "float32",
    Tmasks: inputs.slice(3).map((v) => v.dtype),
    Tsums: [],
    form: new AttentionOf(form.form, root.outputs[0].shape as Shape),
  };
  const node = halves
    ? addedNode(root, "Cast", [addedValue(root, ATTENTION, inputs, attrs)], {
      SrcT: "float32",
      DstT: "float16",
    })
    : addedNode(root, ATTENTION, inputs, attrs);
  const { members } = match;
  return { members, node, inputs: form.inputs, scores: sizeOf(product.shape as Shape) };
}
