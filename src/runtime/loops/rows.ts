/**
 * Calls of a body that hand nothing on to each other: what they read from a device before they go on is read in one copy.
 */
import type { OpInput } from "../../core/apply.ts";
import { AssignVariableOp, ReadVariableOp } from "../../ops/state/variable.ts";
import type { Branch } from "../branches/branch.ts";
import type { ControlCall } from "../functions/control_call.ts";
import type { HostPlacing } from "../plan/place.ts";
import type { Plan } from "../plan/plan.ts";
import { Boundary } from "./boundary.ts";
import type { Later } from "./later.ts";

/** Calls that wait together to be read: what comes before is in memory for all of them. */
const ROWS_AHEAD = 64;

/** What is called. */
export interface Rows {
  /** The body. */
  readonly body: Branch;
  /** Arguments of each call. */
  readonly args: readonly (readonly OpInput[])[];
  /** What is on the host, or is wanted there. */
  readonly host: HostPlacing;
}

type Results = OpInput[][] | Promise<OpInput[][]>;
type Row = OpInput[] | Promise<OpInput[]> | Later<OpInput[]>;

/** Calls the body for each row: where it has effects one call after the other, else what awaits goes on together. */
export function runRows(control: ControlCall, rows: Rows): Results {
  const { body, host } = rows;
  if (!body.f.graph.ordered) return runTogether(control, rows);
  return control.call.device.type === "GPU" && waitsBeforeEffects(control.planOf(body, host))
    ? runInTurn(control, rows)
    : runAlone(control, rows);
}

/** Calls that wait for nobody. */
function runTogether(control: ControlCall, { body, args, host }: Rows): Results {
  const boundary = new Boundary(control.call.context);
  const isRead = control.call.device.type === "GPU";
  const begun: Row[] = [];
  const begin = (): Results => {
    for (;;) {
      while (boundary.count >= ROWS_AHEAD) {
        const passed = boundary.pass();
        if (passed) return passed.then(begin);
      }
      if (begun.length === args.length) break;
      const a = args[begun.length];
      begun.push(isRead ? control.runTo(boundary, body, a, host) : control.run(body, a, host));
    }
    const passed = boundary.passAll();
    return passed ? passed.then(collect) : collect();
  };
  const collect = (): Results => {
    const outs = begun.map(taken);
    return outs.some((o) => o instanceof Promise) ? Promise.all(outs) : outs as OpInput[][];
  };
  return begin();
}

/** Calls of which each begins when the one before has ended. */
function runAlone(control: ControlCall, { body, args, host }: Rows): Results {
  return inTurn(args, (a) => control.run(body, a, host));
}

/** Calls of which each goes on, beyond what all of them compute and read together first, when the one before has ended. */
function runInTurn(control: ControlCall, { body, args, host }: Rows): Results {
  const windows: (readonly OpInput[])[][] = [];
  for (let k = 0; k < args.length; k += ROWS_AHEAD) windows.push(args.slice(k, k + ROWS_AHEAD));
  const results = inTurn(windows, (window): Results => {
    const boundary = new Boundary(control.call.context, true);
    const begun = window.map((a) => {
      const place = boundary.count;
      try {
        const row = control.runTo(boundary, body, a, host);
        return { row, a, place: boundary.count > place ? place : -1 };
      } catch (error) {
        // It fails again when its turn comes.
        if (!boundary.hasFailed) throw error;
        return { row: null, a, place: -1 };
      }
    });
    const goOn = (goes: readonly (() => void)[]): Results =>
      inTurn(begun, ({ row, a, place }): OpInput[] | Promise<OpInput[]> => {
        if (row === null) return control.run(body, a, host);
        if (place >= 0) goes[place]();
        const passed = boundary.passAll();
        return passed ? passed.then(() => taken(row)) : taken(row);
      });
    const read = boundary.read();
    return read instanceof Promise ? read.then(goOn) : goOn(read);
  });
  return results instanceof Promise ? results.then((r) => r.flat()) : results.flat();
}

function taken(row: Row): OpInput[] | Promise<OpInput[]> {
  return Array.isArray(row) || row instanceof Promise ? row : row.take();
}

/** What `fn` gives for each, each after the one before. */
function inTurn<T, R>(list: readonly T[], fn: (x: T) => R | Promise<R>): R[] | Promise<R[]> {
  const results: R[] = [];
  for (const x of list) {
    const r = fn(x);
    if (r instanceof Promise) return restInTurn(results, r, list, fn);
    results.push(r);
  }
  return results;
}

async function restInTurn<T, R>(
  results: R[],
  pending: Promise<R>,
  list: readonly T[],
  fn: (x: T) => R | Promise<R>,
): Promise<R[]> {
  results.push(await pending);
  while (results.length < list.length) results.push(await fn(list[results.length]));
  return results;
}

/** True for a body that computes something for the host to read, and has no effect but what the host does then. */
export function waitsBeforeEffects({ steps }: Plan): boolean {
  // Variables are read and assigned among kernels, while other ops of the host wait at a boundary.
  return steps.some((s) => s.mayRead) &&
    steps.every(({ node: { def } }) =>
      def.host === true
        ? def !== ReadVariableOp && def !== AssignVariableOp
        : def.effects === "none" && !def.stateful
    );
}
