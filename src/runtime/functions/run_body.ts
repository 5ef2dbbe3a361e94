/**
 * Runs the body of a concrete function: as a whole, or as far as a boundary.
 */
import type { OpInput } from "../../core/apply.ts";
import { traced, tracer } from "../../core/trace.ts";
import type { DrawCounts } from "../../ops/random/state.ts";
import { outsideScopes } from "../eager/tensor.ts";
import type { Boundary } from "../loops/boundary.ts";
import type { LateFeeds, Later } from "../loops/later.ts";
import { begin, execute, executeAlone, type ExecuteOptions } from "../plan/execution.ts";
import type { HostPlacing } from "../plan/place.ts";
import type { Plan } from "../plan/plan.ts";
import { Results } from "../plan/segment.ts";
import type { RunContext } from "../session/run_context.ts";
import type { RunValue } from "../session/run_value.ts";
import type { ConcreteFunction } from "./concrete_function.ts";

/** How to run a body. */
export interface CallOptions {
  /** Counts for its random ops. Default: those of its eager calls. */
  readonly draws?: DrawCounts | undefined;
  /** What is on the host, or is wanted there. */
  readonly host?: HostPlacing | undefined;
}

/** Runs the body now: values of arguments and captures in, values of outputs out. */
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
  boundary: Boundary,
  f: ConcreteFunction,
  inputs: readonly OpInput[],
  { context, late, ...options }: CallOptions & {
    readonly context: RunContext;
    readonly late?: LateFeeds | undefined;
  },
): RunValue[] | Later<RunValue[]> {
  const out = start(
    f,
    inputs,
    context,
    options,
    (plan, feeds, context, o) => begin(plan, feeds, context, { ...o, boundary, late }),
    late === undefined,
  );
  return out instanceof Results ? outsideScopes(() => out.tensors()) : out;
}

/** Starts the body: results where it is nothing but kernels of one device; else what `go` gives. */
export function start<P>(
  f: ConcreteFunction,
  inputs: readonly OpInput[],
  context: RunContext,
  options: CallOptions,
  go: Go<P>,
  isComplete = true,
): Results | RunValue[] | P {
  if (tracer === null) return startNow(f, inputs, context, options, go, isComplete);
  return traced(
    { name: f.name, category: "run" },
    () => startNow(f, inputs, context, options, go, isComplete),
  );
}

function startNow<P>(
  f: ConcreteFunction,
  inputs: readonly OpInput[],
  context: RunContext,
  { draws = f.draws, host }: CallOptions,
  go: Go<P>,
  isComplete: boolean,
): Results | RunValue[] | P {
  const n = f.graph.inputs.length + f.graph.captures.length;
  const feeds = inputs.slice(0, n) as RunValue[], plan = f.plan(host);
  const results = context.counter === null && isComplete ? executeAlone(plan, feeds) : null;
  return results ?? go(plan, feeds, context, { draws });
}

/** How a plan is run that is more than kernels. */
type Go<P> = (
  plan: Plan,
  feeds: readonly RunValue[],
  context: RunContext,
  options: ExecuteOptions,
) => RunValue[] | P;
