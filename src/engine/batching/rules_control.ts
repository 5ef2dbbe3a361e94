/** Rules for calls, branches and loops: their bodies run for all rows, and rows that go different ways choose by element. */
import type { OpInput } from "../core/apply.ts";
import { isTrainable } from "../core/dtype.ts";
import { isConcrete, type PartialShape } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";
import type { FuncGraph } from "../graph/func_graph.ts";
import type { Operation, SymbolicTensor } from "../graph/operation.ts";
import { asTensor, intVector } from "../ops/input.ts";
import { cast } from "../ops/array/cast.ts";
import { fill, zeros } from "../ops/array/creation.ts";
import { gather } from "../ops/array/gather.ts";
import { concat } from "../ops/array/join.ts";
import { rank, reshape, shape, stopGradient } from "../ops/array/view.ts";
import { sub } from "../ops/pointwise/arithmetic.ts";
import { logicalNot } from "../ops/pointwise/logical.ts";
import { where } from "../ops/pointwise/select.ts";
import { argMax } from "../ops/reduce/arg_reduce.ts";
import { any } from "../ops/reduce/reduce.ts";
import type { Branch } from "../runtime/control/branch.ts";
import { cond } from "../runtime/control/cond.ts";
import { foldl, foldr, mapFn, scan } from "../runtime/control/functional_ops.ts";
import { whileLoop } from "../runtime/control/while_loop.ts";
import type { ConcreteFunction } from "../runtime/functions/concrete_function.ts";
import { actsInside, differing } from "./differing.ts";
import { type Hazard, hazardOf } from "./hazards.ts";
import {
  batchedOf,
  moveAxis,
  rowRank,
  type Rows,
  rowShape,
  type RowValue,
  withRowRank,
  withRows,
} from "./values.ts";

/** An op that calls functions, and how bodies are run. */
export interface ControlCall {
  readonly op: Operation;
  readonly inputs: readonly RowValue[];
  readonly rows: Rows;
  /** Runs a body for all rows. */
  readonly run: (
    graph: FuncGraph,
    inputs: readonly RowValue[],
    captured: readonly RowValue[],
    rows: Rows,
    outputs?: readonly SymbolicTensor[],
  ) => RowValue[];
  /** Runs the op for each row by itself. */
  readonly loop: (op: Operation, inputs: readonly RowValue[], rows: Rows) => Tensor[];
}

type ControlRule = (call: ControlCall) => RowValue[];

const called: ControlRule = ({ op, inputs, rows, run }) => {
  const f = op.attrs.f as ConcreteFunction, n = f.graph.inputs.length;
  return run(f.graph, inputs.slice(0, n), inputs.slice(n), rows, f.outputs);
};

/** The values that a function of an op captures; the first `apart` inputs of the op are its own. */
function capturedBy({ from }: Branch, inputs: readonly RowValue[], apart: number): RowValue[] {
  return from.map((k) => inputs[k + apart]);
}

function isBatched(value: RowValue): boolean {
  return value.batched;
}

/** Values of which some differ between rows, each with the rows along its first axis where `flags` says so. */
function spread(values: readonly RowValue[], flags: readonly boolean[], rows: Rows): Tensor[] {
  return values.map((v, i) => flags[i] ? batchedOf(v, rows) : asTensor(v.all));
}

function valuesOf(tensors: readonly OpInput[], flags: readonly boolean[]): RowValue[] {
  return tensors.map((all, i) => ({ all, batched: flags[i] }));
}

/** Takes the elements of rows where `chosen` is true from one value, and the others from another. */
function choose(chosen: RowValue, yes: Tensor, no: Tensor): Tensor {
  const rank = yes.staticShape!.length - 1;
  return where(withRowRank(chosen, rank), yes, no);
}

/**
 * Values for the rows of `on` to compute a body with; other rows get what keeps them from its hazard, through which no
 * gradient flows: zeros for infinities, and the values of the first row that is on for what the body refuses, an index or the
 * root of a negative number. The latter needs a row that is on.
 */
function guarded(on: Tensor, values: readonly RowValue[], hazard: Hazard): RowValue[] {
  const first = cast(argMax(cast(on, "int32")), "int32");
  const guard = (all: Tensor): Tensor => {
    if (hazard === "refusal") return where(before(on, all), all, stopGradient(gather(all, first)));
    return isTrainable(all.dtype) ? where(before(on, all), all, zeros([], all.dtype)) : all;
  };
  if (hazard === "none") return [...values];
  return values.map((v) => v.batched ? { all: guard(v.all as Tensor), batched: true } : v);
}

/** The flags of rows in as many axes as `x` has. */
function before(on: Tensor, x: Tensor): Tensor {
  const known = x.staticShape;
  if (known !== null) return withRowRank({ all: on, batched: true }, known.length - 1) as Tensor;
  return reshape(on, concat([shape(on), fill(sub(reshape(rank(x), [1]), 1), 1)]));
}

const branched: ControlRule = (call) => {
  const { op, inputs, rows, run, loop } = call, [pred] = inputs;
  const branches = [op.attrs.then_branch, op.attrs.else_branch] as Branch[];
  const isActing = branches.some(({ f }) => actsInside(f.graph));
  const outputs = op.outputs.slice(0, -1);
  const flags = outputs.map(() => isActing || inputs.some(isBatched));
  const hazards = branches.map(({ f }) => hazardOf(f.graph));
  const [yes, no] = branches.map((branch, i) => (on?: Tensor): Tensor[] => {
    const captured = capturedBy(branch, inputs, 1);
    const own = on === undefined ? captured : guarded(on, captured, hazards[i]);
    return spread(run(branch.f.graph, [], own, rows), flags, rows);
  });
  if (!pred.batched) return valuesOf(cond(asTensor(pred.all), yes, no), flags);
  // Results of other extents would broadcast.
  const isOpen = !outputs.every((t) => isConcrete(t.staticShape));
  if (isActing || isOpen) return valuesOf(loop(op, inputs, rows), outputs.map(() => true));
  const on = pred.all as Tensor;
  const none = (): Tensor[] =>
    outputs.map((t) => zeros(withRows(intVector(t.staticShape as number[]), rows), t.dtype));
  const [a, b] = ([[yes, on], [no, logicalNot(on)]] as const).map(([way, on], i) =>
    hazards[i] === "refusal" ? cond(any(on), () => way(on), none) : way(on)
  );
  return valuesOf(a.map((t, i) => choose(pred, t, b[i])), flags);
};

const repeated: ControlRule = (call) => {
  const { op, inputs, rows, run, loop } = call;
  const [test, body] = [op.attrs.cond, op.attrs.body] as Branch[];
  const count = body.f.graph.inputs.length, states = inputs.slice(0, count);
  const ofTest = capturedBy(test, inputs, 0), ofBody = capturedBy(body, inputs, 0);
  const flags = statesThatDiffer(body, states.map(isBatched), ofBody.map(isBatched));
  const [isOwn] = differing(test.f.graph, flags, ofTest.map(isBatched));
  const next = flags.map((flag) => flag || isOwn);
  const isActing = actsInside(body.f.graph) || actsInside(test.f.graph);
  const hazard = hazardOf(body.f.graph);
  const shapes = op.attrs.output_shapes as readonly PartialShape[];
  if (isOwn && (isActing || !shapes.every(isConcrete))) {
    return valuesOf(loop(op, inputs, rows), op.outputs.map(() => true));
  }
  const goesOn = (vars: readonly Tensor[]): RowValue =>
    run(test.f.graph, valuesOf(vars, next), ofTest, rows)[0];
  const results = whileLoop(
    (...vars: Tensor[]) => isOwn ? any(asTensor(goesOn(vars).all)) : asTensor(goesOn(vars).all),
    (...vars: Tensor[]) => {
      const turn = (own: readonly RowValue[]): Tensor[] =>
        spread(
          run(body.f.graph, own.slice(0, count), own.slice(count), rows),
          next,
          rows,
        );
      const all = [...valuesOf(vars, next), ...ofBody];
      if (!isOwn) return turn(all);
      const chosen = goesOn(vars);
      const after = turn(guarded(chosen.all as Tensor, all, hazard));
      return after.map((t, i) => choose(chosen, t, vars[i]));
    },
    spread(states, next, rows),
    {
      shapeInvariants: shapes.map((s, i) => s && (next[i] ? [rows.count, ...s] : s)) as never,
    },
  );
  return valuesOf(results, next);
};

/** Returns which states of a loop differ between rows after any number of turns. */
function statesThatDiffer(
  { f: { graph } }: Branch,
  start: readonly boolean[],
  captured: readonly boolean[],
): boolean[] {
  for (let flags = [...start];;) {
    const after = differing(graph, flags, captured).map((flag, i) => flag || flags[i]);
    if (after.every((flag, i) => flag === flags[i])) return flags;
    flags = after;
  }
}

const visited: ControlRule = (call) => {
  const { op, inputs, rows, run, loop } = call;
  const { elems: n, states: s, reverse, concats } = op.attrs as unknown as {
    readonly elems: number;
    readonly states: number;
    readonly reverse: boolean;
    readonly concats: readonly number[];
  };
  const body = op.attrs.body as Branch, { graph } = body.f;
  const outputs = op.outputs.slice(0, -1);
  const captured = capturedBy(body, inputs, 0);
  const elems = inputs.slice(0, n), states = inputs.slice(n, n + s);
  // Results that are states: all of them in a scan, none in a fold.
  const isFold = graph.outputs.length === s;
  const isScan = graph.outputs.length === 2 * s &&
    graph.outputs.slice(s).every((t, i) => t === graph.outputs[i]);
  const count = elems.length === 0 ? null : rowShape(elems[0])?.[0] ?? null;
  const takes = concats.length === 0 &&
    (s === 0 || isFold || (isScan && count !== null && count > 0));
  const isOpen = elems.some((v) => rowRank(v) === null) || elems.length === 0;
  if (!takes || isOpen) {
    return valuesOf(loop(op, inputs, rows), outputs.map(() => true));
  }
  const ofElems = elems.map(isBatched);
  const along = elems.map((v) => v.batched ? moveAxis(v.all as Tensor, 0, 1) : asTensor(v.all));
  const all = graph.outputs.map(() => true);
  const step = (given: readonly RowValue[]): Tensor[] =>
    spread(run(graph, given, captured, rows), all, rows);
  const inFront = (t: Tensor): Tensor => moveAxis(t, 1, 0);
  if (s === 0) {
    const stacked = mapFn((row: Tensor[]) => step(valuesOf(row, ofElems)), along);
    return valuesOf(stacked.map(inFront), all);
  }
  const start = states.map((v) => batchedOf(v, rows));
  const turn = (state: Tensor[], row: Tensor[]): Tensor[] =>
    step([...valuesOf(row, ofElems), ...valuesOf(state, all)]).slice(0, s);
  if (isFold) {
    const last = (reverse ? foldr : foldl)(
      turn as never,
      along,
      { initializer: start } as never,
    ) as Tensor[];
    return valuesOf(last, all);
  }
  const stacked = scan(turn as never, along, { initializer: start, reverse } as never) as Tensor[];
  const lastOf = (t: Tensor): Tensor => gather(t, reverse ? 0 : count! - 1);
  return valuesOf([...stacked.map(lastOf), ...stacked.map(inFront)], outputs.map(() => true));
};

/** Rules by op. */
export const CONTROL_RULES: Readonly<Record<string, ControlRule>> = {
  PartitionedCall: called,
  StatefulPartitionedCall: called,
  If: branched,
  StatelessIf: branched,
  While: repeated,
  StatelessWhile: repeated,
  Scan: visited,
};
