/**
 * Scan: the op behind mapFn, scan and folds. It runs a function on each row of its elements, hands on a state and stacks the results,
 * each once.
 */
import type { OpInput } from "../../core/apply.ts";
import type { DType } from "../../core/dtype.ts";
import { NdArray } from "../../core/nd_array.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import { whenReady } from "../../core/nest.ts";
import {
  mergeShapes,
  type PartialShape,
  relaxShapes,
  sameShape,
  shapeText,
} from "../../core/shape.ts";
import { Tensor } from "../../core/tensor.ts";
import type { Spec } from "../../core/tensor_spec.ts";
import { InvalidArgumentError } from "../../core/errors.ts";
import { concat, stack, unstack } from "../../ops/array/join.ts";
import type { HostResults } from "../../core/contract/host_op.ts";
import { fill } from "../../ops/array/creation.ts";
import { shapeOfInput } from "../../ops/input.ts";
import { type Branch, tapeGrad } from "./branch.ts";
import { ControlCall } from "./control_call.ts";
import { forTapeOnly, tapeOnlyCallOf } from "./tape_only.ts";
import { cpuDevice } from "../devices/devices.ts";
import { rowsOnHost, stackOnHost } from "../run/host_rows.ts";
import { hostStateOfScan } from "./host_state.ts";
import { foresee, type Foreseen } from "./no_rows.ts";
import { runInLockstep } from "./lockstep.ts";
import { rowProgram } from "./row_program.ts";
import { runFold, runRows } from "./rows.ts";
import type { RunCall } from "../run/run_context.ts";

/**
 * Inputs: `elems` tensors whose rows are visited, `states` initial values of the state, then the function's captures.
 * The function takes a row of each and the state, and returns the next state and results. Outputs: the last state, then
 * the results, stacked, or joined along their first axis for the numbers in `concats`.
 */
export const Scan: OpDef = defineOp({
  name: "Scan",
  inputs: ["input: Tin"],
  outputs: ["output: Tout", "tape: variant"],
  attrs: [
    "Tin: list(type)",
    "Tout: list(type)",
    "body: func",
    "elems: int",
    "states: int",
    "reverse: bool = false",
    "concats: list(int) = []",
  ],
  infer: (inputs, { body, elems, states, concats }) => {
    const results = (body as Branch).f.outputs.map((t) => t.staticShape);
    const n = rowCount(inputs.slice(0, elems));
    return [
      ...inputs.slice(elems, elems + states).map((s, i) => relaxShapes(s.shape, results[i])),
      ...results.slice(states).map((s, k) =>
        s && ((concats as number[]).includes(k) ? [null, ...s.slice(1)] : [n, ...s])
      ),
      [],
    ];
  },
  grad: tapeGrad,
  host: {
    run: runScan,
    hostInputs: (attrs) => hostStateOfScan(attrs).inputs,
    tapeOnly: (attrs) => {
      if (attrs.states === 0 && rowProgram(attrs.body.f) !== null) return null;
      const next = Array.from({ length: attrs.states }, (_, i) => attrs.elems + i);
      return tapeOnlyCallOf(attrs, { body: forTapeOnly(attrs.body, { next }) });
    },
  },
});

function shapeOf(e: Spec | Tensor): PartialShape {
  return e instanceof Tensor ? e.staticShape : e.shape;
}

/** Returns the common number of rows, null if unknown. Throws `ValueError` where shapes disagree. */
export function rowCount(elems: readonly (Spec | Tensor)[]): number | null {
  const first = elems.map((e) => shapeOf(e)?.slice(0, 1) ?? null);
  return first.reduce<PartialShape>((a, b) => mergeShapes(a, b), null)?.[0] ?? null;
}

/** Shape of `n` rows stacked; unknown dimensions of a row are zero. */
export function rowsShape(n: number, row: PartialShape): number[] {
  return [n, ...(row ?? []).map((d) => d ?? 0)];
}

function runScan(call: RunCall): HostResults | Promise<HostResults> {
  const { body, elems, states: count, reverse, concats } = call.attrs as {
    body: Branch;
    elems: number;
    states: number;
    reverse: boolean;
    concats: readonly number[];
  };
  const host = hostStateOfScan(call.attrs);
  const control = new ControlCall(call, call.inputs, host.inputs);
  const { inputs } = control;
  if (count > 0) control.takeTurns(body, { isLastOnly: false });
  // A tensor returned twice, or an input, gets a handle for each place.
  const mine = (values: readonly OpInput[], args: readonly OpInput[]): OpInput[] => {
    const seen = new Set(args);
    return values.map((v) => {
      if (seen.has(v)) return control.handle(v);
      seen.add(v);
      return v;
    });
  };
  const outputs = body.f.outputs.slice(count);
  const collected: OpInput[][] = outputs.map(() => []);
  let state = mine(inputs.slice(elems, elems + count), inputs);
  const advance = (values: readonly OpInput[], args: readonly OpInput[]): void => {
    const results = mine(values, args), before = state;
    state = results.slice(0, count);
    results.slice(count).forEach((v, k) => collected[k].push(v));
    control.freeAll(before);
    checkStates(state, before, call.node);
  };
  // Without rows a result that is also a state has its shape, others what the body would make of these inputs.
  const rowShapes = (): PartialShape[] => {
    const given = inputs.map((x): Foreseen => ({
      shape: shapeOfInput(x),
      value: x instanceof NdArray ? x : undefined,
    }));
    const would = foresee(body.f, [
      ...given.slice(0, elems).map(({ shape }) => ({ shape: shape && shape.slice(1) })),
      ...given.slice(elems, elems + count),
      ...body.from.map((i) => given[i]),
    ]);
    return outputs.map((t, k) => {
      const i = body.f.outputs.indexOf(t);
      return i < count ? shapeOfInput(state[i]) : would[count + k].shape;
    });
  };
  const finish = (n: number): OpInput[] => {
    const shapes = n === 0 ? rowShapes() : [];
    const stacked = collected.map((values, k) => {
      if (reverse) values.reverse();
      const all = concats.includes(k)
        ? control.within(() => concatOf(values as Tensor[], outputs[k].dtype, shapes[k]))
        : stackOnHost(values) ??
          control.within(() =>
            n === 0 ? fill(rowsShape(0, shapes[k]), 0, outputs[k].dtype) : stack(values as Tensor[])
          );
      control.freeAll(values);
      return all;
    });
    return [...state, ...stacked];
  };
  return control.settle(() => {
    const rows = inputs.slice(0, elems).map((x, i) => {
      const device = host.inputs.has(i) ? cpuDevice() : call.device;
      return control.within(() => rowsOf(x, call.node, host.inputs.has(i)), device);
    });
    const n = rows[0].length;
    const unequal = rows.find((r) => r.length !== n);
    if (unequal) {
      throw failed(
        call.node,
        `Cannot visit elements of ${n} and of ${unequal.length} rows at once: all elems must have the same first dimension`,
      );
    }
    const args = rows[0].map((_, k) => rows.map((r) => r[reverse ? n - 1 - k : k]));
    const calls = { body, args, host: host.body };
    if (count > 0) {
      return whenReady(runFold(control, calls, { state: () => state, advance }), () => finish(n));
    }
    // Only where scripts that they call become one call do rows go side by side.
    const outs = rowProgram(body.f) === null ? runRows(control, calls) : runInLockstep(
      control,
      body.f,
      args.map((a) => ({
        inputs: [...a, ...body.from.map((i) => inputs[i])],
        draws: control.drawsOfRow(),
      })),
    );
    return whenReady(outs, (outs) => {
      outs.forEach((values, k) => advance(values, args[k]));
      return finish(n);
    });
  });
}

/** Joins results of this shape along their first axis. Without any, unknown dimensions are zero. */
export function concatOf(values: readonly Tensor[], dtype: DType, shape: PartialShape): Tensor {
  return values.length > 0 ? concat(values) : fill(rowsShape(0, shape?.slice(1) ?? []), 0, dtype);
}

function rowsOf(x: OpInput, node: string, onHost: boolean): OpInput[] {
  const shape = shapeOfInput(x);
  if (shape?.length === 0) {
    throw failed(node, "Elements in elems must be 1+ dimensional Tensors, not scalars");
  }
  if (shape?.[0] === 0) return [];
  return onHost && x instanceof NdArray ? rowsOnHost(x) : unstack(x);
}

function checkStates(next: readonly OpInput[], before: readonly OpInput[], node: string): void {
  next.forEach((v, i) => {
    const want = shapeOfInput(before[i]), have = shapeOfInput(v);
    if (sameShape(want, have)) return;
    throw failed(
      node,
      `State ${i} enters an iteration with shape ${shapeText(want)}, but has shape ${
        shapeText(have)
      } after it`,
    );
  });
}

function failed(node: string, message: string): InvalidArgumentError {
  return new InvalidArgumentError(message, { op: "Scan", node });
}
