/** `gradients`: symbolic differentiation of a graph, by the backprop of tapes. */
import { currentInterpreter, type OpInput } from "../core/apply.ts";
import { isTrainable } from "../core/dtype.ts";
import { type GraphNode, handleOf } from "../core/graph_node.ts";
import { shortText, Tensor, type TensorLike } from "../core/tensor.ts";
import { optionCheck, wrongArgument } from "../core/arguments.ts";
import type { OpDef } from "../core/op.ts";
import { TypeError } from "../core/throwing/builtin_errors.ts";
import { RuntimeError, ValueError } from "../core/errors.ts";
import { withScope } from "../core/scope_context.ts";
import { type Differentiable, floatParts, packGradients } from "./composites.ts";
import { CompositeTensor } from "../core/composite.ts";
import { backprop, type Seed } from "./backprop.ts";
import { registeredGradient } from "./gradient_registry.ts";
import { jacobians } from "./jacobians.ts";
import { type Step, stepValue, withVariables } from "./steps.ts";
import { onesOfTensor, zerosOfTensor } from "../ops/array/fill_ops.ts";
import { IndexedSlices } from "../ops/array/indexed_slices.ts";
import { asTensor, toInput } from "../ops/input.ts";

/** Options of {@linkcode gradients}. */
export interface GradientsOptions {
  /** Gradient that flows into each y; ones where absent. */
  readonly gradYs?: readonly (TensorLike | null)[];
  /** Tensors through which no gradient flows: constants, unless they are among the xs. */
  readonly stopGradients?: readonly Tensor[];
  /** `"none"` (default) returns null for unconnected xs, `"zero"` zeros. */
  readonly unconnectedGradients?: "none" | "zero";
  /** Name scope of the gradient operations. */
  readonly name?: string;
}

const checkOptions = optionCheck<GradientsOptions>("gradients", {
  gradYs: true,
  stopGradients: true,
  unconnectedGradients: true,
  name: true,
});

/** The part of a graph that differentiation uses. */
interface ScopedGraph {
  nameScope<R>(name: string | null, fn: (scope: string) => R): R;
  /** In a function's body, the inner tensors of outer ones. */
  readonly captures?: readonly { readonly outer: Tensor; readonly inner: Tensor }[];
}

/**
 * Adds operations that compute the gradient of the sum of `ys` with respect to each of `xs`. Follows TensorFlow `tf.gradients`.
 * Throws `RuntimeError` in eager mode, `LookupError` for an op without a gradient, `ValueError` for a length mismatch.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const g = new tf.Graph();
 * const dx = g.asDefault(() => {
 *   const x = tf.placeholder("float32", [], "x");
 *   return tf.gradients(tf.mul(x, x), [x])[0]!;
 * });
 * console.log(await new tf.Session({ graph: g }).run(dx, { feeds: { "x:0": 3 } })); // 6
 * ```
 */
export function gradients(
  ys: Tensor | readonly Tensor[],
  xs: Tensor | readonly Tensor[],
  options?: GradientsOptions,
): (Tensor | null)[];
/** Gradients of ragged or sparse tensors, with respect to such ones. */
export function gradients(
  ys: Differentiable | readonly Differentiable[],
  xs: Differentiable | readonly Differentiable[],
  options?: GradientsOptions,
): (Differentiable | null)[];
export function gradients(
  given: Differentiable | readonly Differentiable[],
  wanted: Differentiable | readonly Differentiable[],
  options: GradientsOptions = {},
): (Differentiable | null)[] {
  checkOptions(options);
  const ys = floatParts(differentiables(given, "ys")) as Tensor[];
  const xs = differentiables(wanted, "xs");
  if (!currentInterpreter().symbolic && !ys[0]?.isSymbolic) {
    throw new RuntimeError(
      "tf.gradients is not supported when eager execution is enabled. Use tf.GradientTape instead, or call it inside graph.asDefault(), before the first await",
    );
  }
  const targets = ys.map((y) => y.readValue()), sources = floatParts(xs) as Tensor[];
  const graph = targets[0]?.graph;
  if (!graph) throw new ValueError("Cannot differentiate: ys is empty");
  return graph.asDefault(() =>
    (graph as unknown as ScopedGraph).nameScope(
      options.name ?? "gradients",
      () => packGradients(xs, build(targets, sources, options)),
    )
  );
}

function differentiables(
  x: Differentiable | readonly Differentiable[],
  arg: string,
): readonly Differentiable[] {
  if (isDifferentiable(x)) return [x];
  if (Array.isArray(x) && x.every(isDifferentiable)) return x;
  throw wrongArgument(x, arg, "gradients", "a tensor or a list of tensors");
}

function isDifferentiable(x: unknown): x is Differentiable {
  return x instanceof Tensor || x instanceof CompositeTensor;
}

function listOf(x: Tensor | readonly Tensor[]): readonly Tensor[] {
  return x instanceof Tensor ? [x] : x;
}

function build(
  ys: readonly Tensor[],
  xs: readonly Tensor[],
  options: GradientsOptions,
): (Tensor | null)[] {
  const { gradYs, stopGradients = [], unconnectedGradients = "none" } = options;
  if (gradYs && gradYs.length !== ys.length) {
    throw new ValueError(`Length mismatch. Passed ${gradYs.length} grad_ys for ${ys.length} ys`);
  }
  const seeds: Seed[] = ys.flatMap((y, i) => {
    const given = gradYs?.[i];
    if (!isTrainable(y.dtype)) return [];
    if (given == null && (y.dtype === "complex64" || y.dtype === "complex128")) {
      throw new TypeError(
        `Gradients of complex tensors (${shortText(y)}) must set grad_ys (y.dtype = ${y.dtype})`,
      );
    }
    const grad = given == null
      ? onesOfTensor(y)
      : given instanceof IndexedSlices
      ? given
      : asTensor(toInput(given, `gradYs[${i}]`, "gradients", { dtype: y.dtype }));
    return [{ id: y.id, grad }];
  });
  // Bodies of scripts may read variables that are not among their inputs.
  const steps = stepsTo(ys, xs.flatMap((x) => handleOf(x) ?? []));
  const { captures = [] } = ys[0].graph as unknown as ScopedGraph;
  const idOf = (x: Tensor): number => (captures.find((c) => c.outer.id === x.id)?.inner ?? x).id;
  const sourceIds = xs.map((x) => (isTrainable(x.dtype) ? idOf(x) : -1));
  const found = backprop(steps.map((s) => s.step), seeds, {
    sources: sourceIds,
    stops: new Set(stopGradients.map(idOf)),
    slices: true,
    around: (step, run) => {
      const node = nodeOf.get(step);
      if (!node) return run();
      const graph = node.graph as unknown as ScopedGraph;
      return withScope(
        { device: node.device || null },
        () => graph.nameScope(`${node.name.split("/").at(-1)}_grad`, run),
      );
    },
  });
  return found.map((g, i) => {
    if (g === null) {
      return unconnectedGradients === "zero" ? zerosOfTensor(xs[i].readValue()) : null;
    }
    if (xs[i].isSymbolic && g.isSymbolic) g.setShape(xs[i].staticShape);
    return g;
  });
}

/** A step and the operation it stands for. */
export interface NodeStep {
  readonly node: GraphNode;
  readonly step: Step;
}
const nodeOf = new WeakMap<Step, GraphNode>();

/**
 * Returns the operations that lead to `ys`, as steps in topological order. Ops that may read `variables` unseen get
 * their handles as inputs.
 */
export function stepsTo(ys: readonly Tensor[], variables: readonly Tensor[] = []): NodeStep[] {
  const seen = new Set<GraphNode>();
  const stack: GraphNode[] = ys.map((y) => y.op);
  while (stack.length > 0) {
    const node = stack.pop()!;
    if (seen.has(node)) continue;
    seen.add(node);
    for (const t of node.inputs) stack.push(t.op);
  }
  return [...seen].sort((a, b) => a.index - b.index).map((node) => ({
    node,
    step: nodeStep(node, variables),
  }));
}

function nodeStep(node: GraphNode, variables: readonly Tensor[]): Step {
  const kept = new Map<string, OpInput>();
  node.inputs.forEach((t, i) => kept.set(`i${i}`, t));
  node.outputs.forEach((t, i) => kept.set(`o${i}`, t));
  const step = withVariables({
    def: overridden(node),
    attrs: node.attrs,
    inputs: node.inputs.map(stepValue),
    outputs: node.outputs.map(stepValue),
    kept,
  }, variables);
  nodeOf.set(step, node);
  return step;
}

/** Returns the op of a node, with the gradient that `gradientOverrideMap` gave it. */
function overridden(node: GraphNode): OpDef {
  const { def, attrs: { _gradient_op_type: name } } = node;
  if (name === undefined) return def;
  const vjp = registeredGradient(name);
  return {
    ...def,
    grad: {
      saves: [],
      vjp: (_, dys) => {
        const found = vjp(node, ...dys);
        return found === null || found instanceof Tensor ? [found] : found;
      },
    },
  };
}

/**
 * The matrix of second derivatives of the sum of `ys` with respect to each of `xs`: shape `[...x, ...x]`. Follows TensorFlow `tf.hessians`.
 * Throws as {@linkcode gradients} does.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const g = new tf.Graph();
 * const h = g.asDefault(() => {
 *   const x = tf.placeholder("float32", [2], "x");
 *   return tf.hessians(tf.prod(x), x)[0];
 * });
 * const out = await new tf.Session({ graph: g }).run(h, { feeds: { "x:0": [3, 4] } }) as tf.NdArray;
 * console.log(out.toArray()); // [[0, 1], [1, 0]]
 * ```
 */
export function hessians(
  ys: Tensor | readonly Tensor[],
  xs: Tensor | readonly Tensor[],
  options: GradientsOptions = {},
): Tensor[] {
  checkOptions(options);
  const sources = listOf(xs);
  const first = gradients(ys, xs, { ...options, unconnectedGradients: "zero" }) as Tensor[];
  return first.map((g, i) =>
    g.graph.asDefault(() => {
      const derive = (seed: Tensor) =>
        build([g], [sources[i]], { gradYs: [seed], unconnectedGradients: "zero" });
      return jacobians(sources[i], [sources[i]], derive, true)[0]!;
    })
  );
}
