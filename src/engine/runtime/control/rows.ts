/** Runs independent calls of a body: their reads from a device are made in one copy. */
import type { OpInput } from "../../core/apply.ts";
import { NdArray } from "../../core/nd_array.ts";
import { whenReady } from "../../core/nest.ts";
import { AssignVariableOp, ReadVariableOp } from "../variables/variable_ops.ts";
import type { DrawCounts } from "../../ops/random/state.ts";
import type { Branch } from "./branch.ts";
import type { ControlCall } from "./control_call.ts";
import type { HostPlacing } from "../plan/place.ts";
import type { Plan } from "../plan/plan.ts";
import { arraySlots } from "../plan/slots.ts";
import { Boundary } from "../plan/boundary.ts";
import { LateFeeds, type Later, readsBeside } from "../plan/later.ts";

/** Calls that wait together for a read; the work before it is in memory for all of them. */
const ROWS_AHEAD = 64;

/** A body and the arguments of its calls. */
export interface Rows {
  readonly body: Branch;
  readonly args: readonly (readonly OpInput[])[];
  /** Values that are on the host, or are wanted there. */
  readonly host?: HostPlacing | undefined;
  /** Counts of what the random ops of each row have drawn. Default: those of the call. */
  readonly draws?: readonly DrawCounts[];
}

type Results = OpInput[][] | Promise<OpInput[][]>;
type Row = OpInput[] | Promise<OpInput[]> | Later<OpInput[]>;

/** Calls the body for each row: in order if it has effects, else concurrently. */
export function runRows(control: ControlCall, rows: Rows): Results {
  const { body, args, host } = rows;
  if (!body.f.graph.ordered) return runTogether(control, rows);
  const plan = control.call.device.type === "CPU" ? null : control.planOf(body, host);
  const isTogether = plan !== null && hasEffectsOfHost(plan) &&
    (reads(plan) || arraySlots(plan).length > 0);
  return isTogether
    ? runInTurn(control, rows)
    : inTurn(args, (a) => control.run(body, a, { host }));
}

/** Runs the calls concurrently; their host arrays are uploaded together. */
export function runTogether(control: ControlCall, { body, args, host, draws: all }: Rows): Results {
  const boundary = new Boundary(control.call.context, { uploads: "together" });
  const isRead = control.call.device.type === "GPU";
  const begun: Row[] = [];
  const begin = (): Results => {
    for (;;) {
      const pause = control.call.context.turn();
      if (pause !== null) return pause.then(begin);
      while (boundary.count >= ROWS_AHEAD) {
        const passed = boundary.pass();
        if (passed) return passed.then(begin);
      }
      if (begun.length === args.length) break;
      const a = args[begun.length], draws = all?.[begun.length];
      const row = isRead
        ? control.runTo(boundary, body, a, { host, draws })
        : control.run(body, a, { host, draws });
      // Nothing awaits this promise if a later row fails or the run ends.
      if (row instanceof Promise) row.catch(() => {});
      begun.push(row);
    }
    return whenReady(boundary.passAll(), () => collect(begun));
  };
  return begin();
}

/**
 * Runs calls whose common work is done and read together first. Each goes on once the host has nothing left to do for
 * the one before; their remaining kernels run together when their arrays are uploaded.
 */
function runInTurn(control: ControlCall, rows: Rows): Results {
  const { body, args, host } = rows;
  const results = inTurn(windowsOf(args), (window): Results => {
    const boundary = new Boundary(control.call.context, { isClosed: true, uploads: "last" });
    const begun = window.map((a) => ({ a, ...begin(control, boundary, rows, a) }));
    const goOn = (goes: readonly (() => void)[]): Results => {
      const gone = inTurn(begun, ({ row, a, place }): Gone | Promise<Gone> => {
        if (row === null) return whenDone(control.run(body, a, { host }));
        return control.call.context.inTurn(() => {
          const before = boundary.uploading;
          if (place >= 0) goes[place]();
          return whenReady(
            boundary.passAll(),
            () => boundary.uploading > before ? { row } : whenDone(taken(row), boundary),
          );
        });
      });
      return whenReady(gone, (gone) => {
        boundary.upload();
        return collect(gone.map(({ row }) => row));
      });
    };
    return whenReady(boundary.read(), goOn);
  });
  return whenReady(results, (r) => r.flat());
}

/** Notes a call that leaves the host nothing to do. */
interface Gone {
  readonly row: Row;
}

/** Notes that a call has ended, or waits at the boundary for an upload. */
function whenDone(row: OpInput[] | Promise<OpInput[]>, boundary?: Boundary): Gone | Promise<Gone> {
  if (!(row instanceof Promise)) return { row };
  return Promise.race([row, boundary?.nextUpload() ?? row]).then(() => ({ row }));
}

function collect(rows: readonly Row[]): Results {
  const outs = rows.map(taken);
  return outs.some((o) => o instanceof Promise) ? Promise.all(outs) : outs as OpInput[][];
}

/** The state that a loop carries from row to row. */
export interface Carried {
  readonly state: () => readonly OpInput[];
  /** Takes the results of a call with the arguments `args`. */
  readonly advance: (values: readonly OpInput[], args: readonly OpInput[]) => void;
}

/**
 * Calls the body for each row with the state of the call before, after the row's own arguments. Work and reads that do
 * not need the state run ahead for many rows, and are read in one copy.
 */
export function runFold(control: ControlCall, rows: Rows, carried: Carried): void | Promise<void> {
  const { body, args, host } = rows;
  const whole = (a: readonly OpInput[]): OpInput[] => [...a, ...carried.state()];
  const call = (a: readonly OpInput[]): void | Promise<void> => {
    const given = whole(a);
    return whenReady(
      control.run(body, given, { host, reads: "last of arguments" }),
      (values) => carried.advance(values, given),
    );
  };
  if (control.call.device.type === "CPU" || args.length < 2) return all(inTurn(args, call));
  const late = () => new LateFeeds(args[0].length, carried.state().length);
  const plan = control.planOf(body, host);
  if (!waitsBeforeEffects(plan) || !readsBeside(plan, late())) return all(inTurn(args, call));
  return all(inTurn(windowsOf(args), (window) => {
    const boundary = new Boundary(control.call.context, { isClosed: true });
    // The state of the first call is known: it is read with the others' values.
    const begun = window.map((a) =>
      a === args[0]
        ? { a, ...begin(control, boundary, rows, whole(a)) }
        : { a, ...begin(control, boundary, rows, a, late()) }
    );
    const goOn = (goes: readonly (() => void)[]): void | Promise<void> =>
      all(inTurn(begun, ({ row, a, place, late }) => {
        if (row === null) return call(a);
        return control.call.context.inTurn(() => {
          if (place >= 0) goes[place]();
          const given = whole(a);
          late?.supply(carried.state());
          const out = whenReady(boundary.passAll(), () => taken(row));
          return whenReady(out, (values) => carried.advance(values, given));
        });
      }));
    return whenReady(boundary.read(), goOn);
  }));
}

/** A call on its way to a boundary; `row` is null if it failed early. It is then run, and fails, in its turn. */
interface Begun {
  readonly row: Row | null;
  /** Its position among the runs that wait at the boundary, or -1. */
  readonly place: number;
  readonly late?: LateFeeds | undefined;
}

function begin(
  control: ControlCall,
  boundary: Boundary,
  { body, host }: Rows,
  a: readonly OpInput[],
  late?: LateFeeds,
): Begun {
  const place = boundary.count;
  try {
    const given = late ? [...a, ...late.numbers.map(() => NONE)] : a;
    const row = control.runTo(boundary, body, given, { host, late });
    return { row, place: boundary.count > place ? place : -1, late };
  } catch (error) {
    if (!boundary.hasFailed) throw error;
    return { row: null, place: -1 };
  }
}
/** Placeholder of a late argument. */
const NONE = new NdArray("float32", [0], new Float32Array(0));

function windowsOf<T>(args: readonly T[]): T[][] {
  const windows: T[][] = [];
  for (let k = 0; k < args.length; k += ROWS_AHEAD) windows.push(args.slice(k, k + ROWS_AHEAD));
  return windows;
}

function all(done: unknown[] | Promise<unknown[]>): void | Promise<void> {
  if (done instanceof Promise) return done.then(() => {});
}

function taken(row: Row): OpInput[] | Promise<OpInput[]> {
  return Array.isArray(row) || row instanceof Promise ? row : row.take();
}

/** Returns the results of `fn` for each element, each computed after the one before. */
export function inTurn<T, R>(list: readonly T[], fn: (x: T) => R | Promise<R>): R[] | Promise<R[]> {
  const results: R[] = [];
  const take = (r: R): boolean => results.push(r) < list.length;
  if (list.length === 0) return results;
  return whenReady(repeat(() => whenReady(fn(list[results.length]), take)), () => results);
}

/** Calls `turn` as long as it returns true: one promise from the first wait on, for any number of turns. */
export function repeat(turn: () => boolean | Promise<boolean>): void | Promise<void> {
  for (;;) {
    const goesOn = turn();
    if (goesOn instanceof Promise) return repeatAfter(goesOn, turn);
    if (!goesOn) return;
  }
}

async function repeatAfter(
  first: Promise<boolean>,
  turn: () => boolean | Promise<boolean>,
): Promise<void> {
  let goesOn: boolean | Promise<boolean> = first;
  while (goesOn instanceof Promise ? await goesOn : goesOn) goesOn = turn();
}

/** True for a body that reads from a device, and whose effects are all the host's. */
export function waitsBeforeEffects(plan: Plan): boolean {
  return reads(plan) && hasEffectsOfHost(plan);
}

function reads({ steps }: Plan): boolean {
  return steps.some((s) => s.mayRead);
}

/** True where all effects are the host's, at a boundary: variables are read and assigned among kernels. */
function hasEffectsOfHost({ steps }: Plan): boolean {
  return steps.every(({ node: { def } }) =>
    def.host !== undefined
      ? def !== ReadVariableOp && def !== AssignVariableOp
      : def.effects === "none" && !def.stateful
  );
}
