/**
 * Lockstep: rows that go through a function side by side. Calls of vectorised scripts that they make at the same place become one,
 * and where they part, at a branch or as loops end, those that go the same way stay together.
 */
import { groupBy } from "../../core/collections/group_by.ts";
import type { OpInput } from "../../core/apply.ts";
import { readNow } from "../../core/device.ts";
import { whenReady } from "../../core/nest.ts";
import { NdArray } from "../../core/nd_array.ts";
import { compatible, type PartialShape, shapeText } from "../../core/shape.ts";
import { InvalidArgumentError } from "../../core/errors.ts";
import { stack, unstack } from "../../ops/array/join.ts";
import { shapeOfInput } from "../../ops/input.ts";
import { DrawCounts } from "../../ops/random/state.ts";
import type { Operation, SymbolicTensor } from "../../graph/operation.ts";
import type { ConcreteFunction } from "../functions/concrete_function.ts";
import { run } from "../functions/run_body.ts";
import { cpuDevice } from "../devices/devices.ts";
import type { RunContext } from "../run/run_context.ts";
import type { RunValue } from "../run/run_value.ts";
import { EagerTensor } from "../eager/tensor.ts";
import { rowsOnHost, stackOnHost } from "../run/host_rows.ts";
import type { Branch } from "./branch.ts";
import { ControlCall } from "./control_call.ts";
import { type Piece, plainOf, rowProgram, type Stop } from "./row_program.ts";
import { inTurn, repeat, runTogether } from "./rows.ts";

export { stackedRows, stackedRun } from "./elementwise.ts";

/** One row on its way through a function. */
export interface Row {
  /** Inputs of the function: arguments, captured values, handles of variables. */
  readonly inputs: readonly OpInput[];
  /** Counts of what its random ops have drawn. */
  readonly draws: DrawCounts;
}

type Results = OpInput[][] | Promise<OpInput[][]>;

/** Runs a function for rows side by side; gives the results of each. */
export function runInLockstep(
  control: ControlCall,
  f: ConcreteFunction,
  rows: readonly Row[],
): Results {
  const program = rowProgram(f);
  if (rows.length === 0) return [];
  if (program === null) return runEach(control, f, rows);
  const values = new Map<SymbolicTensor, readonly OpInput[]>(
    program.inputs.map((t, i) => [t, rows.map((row) => row.inputs[i])]),
  );
  const rowsOf = (ts: readonly SymbolicTensor[]): OpInput[][] => {
    const columns = ts.map((t) => values.get(t)!);
    return rows.map((_, k) => columns.map((column) => column[k]));
  };
  const take = (step: Piece | Stop): void | Promise<void> => {
    const isPiece = "f" in step;
    const inputs = rowsOf(isPiece ? step.takes : step.op.inputs);
    const given = rows.map(({ draws }, k) => ({ inputs: inputs[k], draws }));
    const results = isPiece ? runEach(control, step.f, given) : runStop(control, step, given);
    return whenReady(results, (results) => {
      (isPiece ? step.gives : step.op.outputs).forEach((t, i) =>
        values.set(t, results.map((r) => r[i]))
      );
    });
  };
  return whenReady(inTurn(program.steps, take), () => {
    const results = rowsOf(f.outputs);
    // Else a loop would keep what each of its turns computes.
    const kept = new Set([...rows.flatMap((row) => row.inputs), ...results.flat()]);
    for (const v of new Set([...values.values()].flat())) if (!kept.has(v)) control.free(v);
    return results;
  });
}

/** True for a function in which calls of several rows become one. */
export function takesBatches(f: ConcreteFunction): boolean {
  return rowProgram(f) !== null;
}

/** Runs a function on the host for rows that no op of a graph visits. The results, of all rows one after another, are the caller's. */
export function runRowsOnHost(
  f: ConcreteFunction,
  rows: readonly Row[],
  context: RunContext,
): RunValue[] | Promise<RunValue[]> {
  if (rows.length === 1) return run(f, rows[0].inputs, context, { draws: rows[0].draws });
  const control = new ControlCall({
    node: f.name,
    def: f.op,
    attrs: {},
    inputs: [],
    owners: [],
    device: cpuDevice(),
    wanted: [],
    sinks: [],
    source: { definitionSite: "" },
    context,
    draws: new DrawCounts(),
  }, []);
  const all = control.settle(() =>
    whenReady(runInLockstep(control, f, rows), (results) => results.flat())
  );
  // The last result would be the tape.
  return whenReady(all, (values) => values.slice(0, -1) as RunValue[]);
}

/** Runs a function for each row by itself. Their reads are one copy. */
function runEach(control: ControlCall, f: ConcreteFunction, rows: readonly Row[]): Results {
  return runTogether(control, {
    body: { f, from: [] },
    args: rows.map((row) => row.inputs),
    draws: rows.map((row) => row.draws),
  });
}

function runStop(control: ControlCall, { op, batched }: Stop, rows: readonly Row[]): Results {
  const { attrs } = op;
  if (batched !== null) return callTogether(control, batched, rows);
  const called = rows.map(({ inputs, draws }) => ({ inputs, draws: draws.within(op) }));
  if (attrs.f !== undefined) {
    return runInLockstep(control, plainOf(attrs.f as ConcreteFunction), called);
  }
  return attrs.cond === undefined
    ? branchTogether(control, op, called)
    : loopTogether(control, op, called);
}

/** Inputs of a branch: arguments, then the op's inputs that it captures. */
function inputsOf(
  { from }: Branch,
  args: readonly OpInput[],
  inputs: readonly OpInput[],
): OpInput[] {
  return [...args, ...from.map((i) => inputs[i])];
}

function branchTogether(
  control: ControlCall,
  { attrs }: Operation,
  rows: readonly Row[],
): Results {
  const results = new Array<OpInput[]>(rows.length);
  const go = (chosen: readonly boolean[]): void | Promise<void> => {
    const sides = [[true, attrs.then_branch], [false, attrs.else_branch]] as [boolean, Branch][];
    const gone = inTurn(sides, ([side, branch]): void | Promise<void> => {
      const places = chosen.flatMap((c, k) => c === side ? [k] : []);
      const own = places.map((k) => {
        const { inputs: [, ...rest], draws } = rows[k];
        return { inputs: inputsOf(branch, [], rest), draws };
      });
      return whenReady(
        runInLockstep(control, branch.f, own),
        (outs) => outs.forEach((out, i) => results[places[i]] = out),
      );
    });
    return whenReady(gone, () => {});
  };
  const predicates = truths(control, rows.map((row) => row.inputs[0]));
  return whenReady(whenReady(predicates, go), () => results);
}

function loopTogether(control: ControlCall, op: Operation, rows: readonly Row[]): Results {
  const { cond, body, output_shapes: shapes } = op.attrs as {
    cond: Branch;
    body: Branch;
    output_shapes: readonly PartialShape[];
  };
  const vars = rows.map((row) => row.inputs.slice(0, shapes.length));
  let active = [...rows.keys()], turn = 0;
  const rowsOf = (branch: Branch): Row[] =>
    active.map((k) => ({
      inputs: inputsOf(branch, vars[k], rows[k].inputs),
      draws: rows[k].draws,
    }));
  /** Frees a value that is neither a variable nor an input of a row. */
  const freeUnused = (v: OpInput, k: number): void => {
    if (!vars[k].includes(v) && !rows[k].inputs.includes(v)) control.free(v);
  };
  const advance = (results: readonly OpInput[][]): void => {
    results.forEach((next, i) => {
      const k = active[i], before = vars[k];
      next.forEach((v, j) => checkShape(op, { shape: shapes[j], value: v, variable: j, turn }));
      vars[k] = next;
      for (const v of before) freeUnused(v, k);
    });
    turn++;
  };
  const goOn = (isOn: readonly boolean[]): void | Promise<void> => {
    active = active.filter((_, i) => isOn[i]);
    if (active.length === 0) return;
    return whenReady(runInLockstep(control, body.f, rowsOf(body)), advance);
  };
  const next = (): boolean | Promise<boolean> => {
    const tests = runInLockstep(control, cond.f, rowsOf(cond));
    const isOn = whenReady(tests, (tests) => {
      const read = truths(control, tests.map(([test]) => test));
      return whenReady(read, (isOn) => {
        tests.forEach(([test], i) => freeUnused(test, active[i]));
        return isOn;
      });
    });
    return whenReady(whenReady(isOn, goOn), () => active.length > 0);
  };
  return whenReady(repeat(next), () => vars);
}

function checkShape(
  op: Operation,
  { shape, value, variable, turn }: {
    readonly shape: PartialShape;
    readonly value: OpInput;
    readonly variable: number;
    readonly turn: number;
  },
): void {
  const given = shapeOfInput(value);
  if (compatible(shape, given)) return;
  throw new InvalidArgumentError(
    `Loop variable ${variable} has ${value.dtype}${
      shapeText(given)
    } after iteration ${turn}, which breaks its shape invariant ${shapeText(shape)}`,
    { op: op.type, node: op.name },
  );
}

/** Truth values of rows, read in one copy. */
function truths(
  control: ControlCall,
  values: readonly OpInput[],
): boolean[] | Promise<boolean[]> {
  return whenReady(onHost(control, values), (arrays) => arrays.map((a) => Boolean(a.item())));
}

/** Arrays of values; those on a GPU are read in one copy. */
function onHost(
  control: ControlCall,
  values: readonly OpInput[],
): NdArray[] | Promise<NdArray[]> {
  const isFar = (v: OpInput): v is EagerTensor =>
    v instanceof EagerTensor && v.storage.device.type === "GPU";
  const far = values.filter(isFar);
  const read = far.length === 0
    ? []
    : control.call.context.counted(() => readNow(far[0].storage.device, far.map((t) => t.memory)));
  return whenReady(read, (read) => {
    let at = 0;
    return values.map((v) => isFar(v) ? read[at++] : v instanceof NdArray ? v : v.ndarraySync());
  });
}

/** Calls a script once for all rows whose inputs have the same shapes. */
function callTogether(
  control: ControlCall,
  batched: ConcreteFunction,
  rows: readonly Row[],
): Results {
  const results = new Array<OpInput[]>(rows.length);
  const alike = groupBy(
    rows.keys(),
    (k) => rows[k].inputs.map((x) => `${shapeOfInput(x)}`).join(";"),
  );
  const called = inTurn([...alike.values()], (places): void | Promise<void> => {
    const outs = callBatch(control, batched, places.map((k) => rows[k]));
    return whenReady(outs, (columns) => {
      places.forEach((k, i) => results[k] = columns.map((column) => column[i]));
    });
  });
  return whenReady(called, () => results);
}

/** Calls a script with rows under a leading axis; gives the rows of each result. */
function callBatch(
  control: ControlCall,
  f: ConcreteFunction,
  rows: readonly Row[],
): readonly (readonly OpInput[])[] | Promise<readonly (readonly OpInput[])[]> {
  const whole = f.graph.inputs.map((_, i): OpInput => {
    const column = rows.map((row) => row.inputs[i]);
    return stackOnHost(column) ?? control.made(() => [stack(column as EagerTensor[])])[0];
  });
  const results = control.run({ f, from: [] }, whole, { draws: rows[0].draws });
  return whenReady(results, (results) => {
    control.freeAll(whole);
    return results.map((all) => {
      if (all instanceof NdArray) return rowsOnHost(all);
      const split = control.made(() => unstack(all));
      control.free(all);
      return split;
    });
  });
}
