/** Runs the body of a concrete function: completely, or up to a boundary. */
import type { OpInput } from "../../core/apply.ts";
import { traced, tracer } from "../../core/trace.ts";
import type { DrawCounts } from "../../ops/random/state.ts";
import { outsideScopes } from "../eager/tensor.ts";
import type { Later } from "../plan/later.ts";
import { begin, execute, executeAlone } from "../plan/execute.ts";
import type { ExecuteOptions } from "../plan/execution.ts";
import type { HostPlacing } from "../plan/place.ts";
import { Results } from "../plan/prepared.ts";
import type { RunContext } from "../run/run_context.ts";
import type { RunValue } from "../run/run_value.ts";
import type { ConcreteFunction } from "./concrete_function.ts";

export interface CallOptions extends Pick<ExecuteOptions, "boundary" | "late"> {
  /** Draw counts of its random ops. Default: those of its eager calls. */
  readonly draws?: DrawCounts | undefined;
  /** Values that are on the host, or wanted there. */
  readonly host?: HostPlacing | undefined;
}

/** Runs the body: values of arguments and captures in, values of outputs out. */
export function run(
  f: ConcreteFunction,
  inputs: readonly OpInput[],
  context: RunContext,
  options: CallOptions = {},
): RunValue[] | Promise<RunValue[]> {
  const out = start(f, inputs, context, options, execute);
  return out instanceof Results ? outsideScopes(() => out.tensors()) : out;
}

/** {@linkcode run} as far as a boundary, where it waits. */
export function runTo(
  f: ConcreteFunction,
  inputs: readonly OpInput[],
  context: RunContext,
  options: CallOptions,
): RunValue[] | Later<RunValue[]> {
  const out = start(f, inputs, context, options, begin);
  return out instanceof Results ? outsideScopes(() => out.tensors()) : out;
}

/** Runs a plan that is more than kernels. */
type Go<P> = (...plan: Parameters<typeof execute>) => RunValue[] | P;

/** Starts the body: returns results if it is only kernels of one device, else the result of `go`. */
export function start<P>(
  f: ConcreteFunction,
  inputs: readonly OpInput[],
  context: RunContext,
  options: CallOptions,
  go: Go<P>,
): Results | RunValue[] | P {
  const n = f.graph.inputs.length + f.graph.captures.length;
  const feeds = (inputs.length === n ? inputs : inputs.slice(0, n)) as readonly RunValue[];
  if (tracer === null) return startOn(f, feeds, context, options, go);
  return traced(
    { name: f.name, category: "run" },
    () => startOn(f, feeds, context, options, go),
  );
}

function startOn<P>(
  f: ConcreteFunction,
  feeds: readonly RunValue[],
  context: RunContext,
  { draws = f.draws, host, boundary, late }: CallOptions,
  go: Go<P>,
): Results | RunValue[] | P {
  const plan = f.plan(host, context.state),
    isAlone = context.counter === null && late === undefined;
  const results = isAlone ? executeAlone(plan, feeds) : null;
  return results ?? go(plan, feeds, context, { draws, boundary, late });
}
