/** Traces the functions that are attributes of control flow ops; what they capture becomes inputs of the op. */
import { apply, type OpInput, withRecorders } from "../../core/apply.ts";
import { type DType, isTrainable } from "../../core/dtype.ts";
import type { Attrs, GradRule, OpDef } from "../../core/op.ts";
import { isNested, mapNest, type Nest, refusePromise } from "../../core/nest.ts";
import { type ElementValue, NdArray } from "../../core/nd_array.ts";
import { packComponents, takeComponents } from "../../core/composite.ts";
import { newTensorId, Tensor, type TensorLike } from "../../core/tensor.ts";
import type { Spec } from "../../core/tensor_spec.ts";
import { identity } from "../../ops/array/view.ts";
import { asTensor, toInput } from "../../ops/input.ts";
import { effectAttrs, FuncGraph } from "../../graph/func_graph.ts";
import { endingRecordings } from "../eager/tensor.ts";
import { callInputs, ConcreteFunction } from "../functions/concrete_function.ts";
import { tapeGradient } from "../functions/run_tape.ts";
import { TensorArray } from "./tensor_array.ts";

/** A function, and the places of its inputs among those of the op. */
export interface Branch {
  readonly f: ConcreteFunction;
  /** For each capture and handle of `f`, its place among the op's inputs. */
  readonly from: readonly number[];
  /** The function that runs instead in a call of which only the tape is read. Default: the forward variant of `f`. */
  readonly taped?: ConcreteFunction;
}

/**
 * Applies a control flow op to its own inputs and the captures of its functions, and returns its results without the
 * tape. The first `apart` inputs are for the op itself, the others and the captures for the functions.
 */
export function applyControl(
  def: OpDef,
  own: readonly OpInput[],
  { functions, attrs = {}, apart = 0 }: {
    readonly functions: Readonly<Record<string, ConcreteFunction>>;
    readonly attrs?: Attrs;
    readonly apart?: number;
  },
): Tensor[] {
  const inputs = own.slice(), places = new Map<number, number>();
  const placeOf = (t: Tensor): number => {
    const known = places.get(t.id), at = known ?? inputs.push(t) - 1;
    if (known === undefined) places.set(t.id, at);
    return at - apart;
  };
  const branches: Record<string, Branch> = {};
  for (const [name, f] of Object.entries(functions)) {
    branches[name] = { f, from: (callInputs(f, []) as Tensor[]).map(placeOf) };
  }
  const called = Object.values(functions);
  return apply(def, inputs, {
    Tin: inputs.slice(apart).map((x) => x.dtype),
    Tout: called.at(-1)!.outputs.map((o) => o.dtype),
    ...branches,
    ...attrs,
    ...effectAttrs(...called.map((f) => f.graph)),
  }).slice(0, -1);
}

/**
 * Returns the tensor that stands for a TensorArray inside ops, and the present value of a variable, which later assignments do not
 * change; any other value as it is.
 */
export function flowOf<T>(value: T | TensorArray): T | Tensor {
  if (value instanceof TensorArray) return value.flow;
  return value instanceof Tensor ? value.readValue() : value;
}

/**
 * Runs a branch in eager code. As in a graph, a variable in its result is its present value, and a tensor from outside is another
 * tensor there, as is one that it returns twice: a tape tells them apart, and each may be disposed without the others.
 */
export function runBranch<T>(branch: () => T): T {
  const first = newTensorId(), result = branch(), seen = new Set<number>();
  const present = (leaf: unknown): unknown => {
    if (!(leaf instanceof Tensor)) return leaf;
    const value = leaf.readValue(), isOwn = value.id > first && !seen.has(value.id);
    seen.add(value.id);
    return isOwn ? value : identity(value);
  };
  return (isNested(result) ? mapNest(present, result as Nest<unknown>) : present(result)) as T;
}

/** Reverses {@linkcode flowOf}: a TensorArray where `like` was one. */
export function unflow(like: unknown, t: Tensor): Tensor | TensorArray {
  return like instanceof TensorArray ? TensorArray.fromFlow(t, like) : t;
}

/**
 * Converts a result of a user's function to a tensor. Throws `TypeError` for values that are not tensors, promises
 * among them.
 */
export function resultTensor(value: unknown, arg: string, fn: string, dtype?: DType): Tensor {
  refusePromise(
    value,
    () =>
      `Cannot use the ${arg} of ${fn}: its function returned a promise; put what must be awaited into a script op, whose body may be async`,
  );
  const result = flowOf(value) as TensorLike;
  return asTensor(toInput(result, arg, fn, result instanceof Tensor ? {} : { dtype }));
}

/** The only element of a value that eager code decides by; a literal needs no tensor. */
export function scalarOf(x: OpInput): ElementValue {
  return x instanceof NdArray ? x.at(0) : x.scalar();
}

/** A traced body. */
export interface Traced {
  readonly f: ConcreteFunction;
  /** The nest that the body returned, with specs in the places of composite values. */
  readonly structure: unknown;
  readonly leaves: readonly unknown[];
}

/** Traces `fn` into a function of one placeholder per spec. */
export function trace(
  fn: (...args: Tensor[]) => unknown,
  specs: readonly Spec[],
  name: string,
): Traced {
  const graph = new FuncGraph(name);
  const args = specs.map((s) => graph.addInput(s.dtype, s.shape));
  const body = (): unknown => withRecorders([], () => fn(...args));
  const result = graph.asDefault(() => endingRecordings(body));
  const { leaves, structure } = takeComponents(result);
  graph.outputs = graph.asDefault(() =>
    leaves.map((r) => graph.inside(resultTensor(r, "result", name)))
  );
  return { f: new ConcreteFunction(graph), structure, leaves };
}

/** Packs the results of a traced body's op in the nest that the body returned. */
export function packResults({ structure, leaves }: Traced, results: readonly Tensor[]): unknown {
  return packComponents<unknown>(structure, results.map((t, i) => unflow(leaves[i], t)));
}

/** True where a function of a control flow op may read variables that are not inputs. */
export function branchesCapture(attrs: Attrs): boolean {
  return Object.values(attrs).some((v) => (v as Branch | null)?.f?.mayCapture === true);
}

/** Returns the inputs of the op of which a function picks rows: their gradient is given as rows. */
export function rowsPicked(branches: readonly Branch[]): Set<number> {
  return new Set(branches.flatMap(({ f, from }) => gradientsInRows(f).map((k) => from[k])));
}

/** Returns the numbers of the captures that have a gradient in rows, for a function without arguments. */
function gradientsInRows(f: ConcreteFunction): number[] {
  const needs = callInputs(f, []).map((t) => isTrainable(t.dtype));
  try {
    const { dxAt } = f.differentiable.backward({ order: "first", unseen: [], needs });
    return dxAt.flatMap((at, k) => (at !== null && typeof at === "object" ? [k] : []));
  } catch {
    // A missing gradient is reported when the function runs.
    return [];
  }
}

/** The gradient of an op whose last output is the tape of its call. */
export const tapeGrad: GradRule = {
  captures: branchesCapture,
  saves: ["input", "tape"],
  vjp: (saved, dys, ctx) =>
    tapeGradient(saved.tape, ctx.inputs.map((_, k) => saved[`input:${k}`]), dys, ctx),
};
