/**
 * Variants of control flow functions for calls of which only the tape is read: they compute the values that the first
 * gradient reads and the loop's condition, and run no effects.
 */
import type { TapeOnlyCall } from "../../core/contract/host_op.ts";
import type { Attrs } from "../../core/op.ts";
import { DTYPES } from "../../core/dtype.ts";
import { isConcrete } from "../../core/shape.ts";
import { UNSEEN } from "../../autodiff/unseen.ts";
import { FuncGraph } from "../../graph/func_graph.ts";
import { buildIr } from "../../graph/ir.ts";
import type { Operation, SymbolicTensor } from "../../graph/operation.ts";
import { fill } from "../../ops/array/creation.ts";
import type { Branch } from "./branch.ts";
import { ConcreteFunction, gradientsThrough } from "../functions/concrete_function.ts";
import { tapeOnly } from "../plan/tape_only.ts";
import { traceBackward, type TracedBackward } from "../functions/trace_backward.ts";

/** The use of a body's results by its loop. */
export interface Turns {
  /** For each result, the number of the argument that it becomes in the next turn. */
  readonly next: readonly number[];
  /** Numbers of the arguments that the loop's condition reads. */
  readonly kept?: ReadonlySet<number>;
}

/** A branch for calls of which only the tape is read. */
export interface TapeOnlyBranch {
  readonly branch: Branch;
  /** Numbers of the function's inputs that it reads. */
  readonly reads: ReadonlySet<number>;
}

/**
 * Makes the branch for calls of which only the tape is read. `turns`: the branch is a loop's body, whose results may be
 * needed in later turns. Throws as the function's gradient does.
 */
export function forTapeOnly(
  branch: Branch,
  { next, kept = new Set() }: Turns = { next: [] },
): TapeOnlyBranch {
  const { f } = branch, { outputs } = f;
  const traces = [traceBackward(f, { ys: outputs })];
  if (f.mayCapture) traces.push(traceBackward(f, { ys: outputs, unseen: [UNSEEN] }));
  const further = new Set(traces.flatMap((t) => t.reads.filter((v) => !outputs.includes(v))));
  const values = [...outputs, ...further];
  const read = new Set(traces.flatMap(valuesRead));
  const standIns = values.map((v, k) =>
    standInFor(v, k < next.length ? f.graph.inputs[next[k]] : inputOf(v))
  );
  const needed = new Set(
    [...values.keys()].filter((k) => standIns[k] === null || read.has(values[k])),
  );
  const readsNow = (): Set<number> => inputsRead(f.graph, [...needed].map((k) => values[k]));
  let reads = readsNow();
  for (let before = -1; before !== needed.size; reads = readsNow()) {
    before = needed.size;
    next.forEach((i, k) => (reads.has(i) || kept.has(i)) && needed.add(k));
  }
  const all = values.map((v, k) => needed.has(k) ? v : standIns[k]!);
  const forward = new ConcreteFunction(f.graph, all, { isTapeOnly: true });
  const asked = new Set(traces.flatMap((t) => t.reads));
  const serves = (traced: TracedBackward): boolean =>
    traced.reads.every((v) => asked.has(v)) &&
    valuesRead(traced).every((v) => needed.has(values.indexOf(v)));
  forward.variantOf = gradientsThrough(f, forward, { values, read: asked, serves });
  return { branch: { ...branch, taped: forward }, reads };
}

/** The condition of a loop of which only the tape is read. It has no gradient. */
export function conditionForTapeOnly(branch: Branch): TapeOnlyBranch {
  const { f } = branch, forward = new ConcreteFunction(f.graph, f.outputs, { isTapeOnly: true });
  forward.variantOf = gradientsThrough(f, forward);
  return { branch: { ...branch, taped: forward }, reads: inputsRead(f.graph, f.outputs) };
}

/** Makes the call of an op with such branches; its first `apart` inputs are its own. */
export function tapeOnlyCallOf(
  attrs: Attrs,
  branches: Readonly<Record<string, TapeOnlyBranch>>,
  apart = 0,
): TapeOnlyCall {
  const reads = new Set(Array.from({ length: apart }, (_, i) => i));
  const own: Record<string, Branch> = {};
  for (const [name, found] of Object.entries(branches)) {
    const { f, from } = own[name] = found.branch, { length } = f.graph.inputs;
    for (const i of found.reads) reads.add(apart + (i < length ? i : from[i - length]));
    f.graph.resources.forEach((_, i) => reads.add(apart + from[from.length - 1 - i]));
  }
  return { attrs: { ...attrs, ...own }, reads: (i) => reads.has(i) };
}

/** Values of the function that its gradient reads; of its other values it takes the shape alone. */
function valuesRead({ graph, dyFor, reads }: TracedBackward): SymbolicTensor[] {
  const read = inputsRead(graph, graph.outputs, graph.effects);
  return reads.filter((_, k) => read.has(dyFor.length + k));
}

/** Numbers of the inputs that are read for values of a body. */
function inputsRead(
  { inputs, captures }: FuncGraph,
  fetches: readonly SymbolicTensor[],
  targets: readonly Operation[] = [],
): Set<number> {
  const feeds = [...inputs, ...captures.map((c) => c.inner)];
  const { read } = tapeOnly(buildIr({ fetches, targets, feeds }), true);
  return new Set([...read].flatMap(({ node }) => node.feed >= 0 ? [node.feed] : []));
}

/** Returns the argument that the value is, if it is one. */
function inputOf(v: SymbolicTensor): SymbolicTensor | null {
  return v.operation.def.meaning.kind === "input" ? v : null;
}

/**
 * Returns a value of the same shape for one that is not read: an argument, such as the one that it becomes in a loop,
 * else zeros.
 */
function standInFor(o: SymbolicTensor, argument: SymbolicTensor | null): SymbolicTensor | null {
  const shape = o.staticShape;
  if (!isConcrete(shape)) return null;
  if (argument !== null) return isConcrete(argument.staticShape) ? argument : null;
  if (o.dtype === "string" || DTYPES[o.dtype].kind === "handle") return null;
  return new FuncGraph("stand_in", null).asDefault(() => fill(shape, 0, o.dtype)) as SymbolicTensor;
}
