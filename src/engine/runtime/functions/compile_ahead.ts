/** Kernels that a function will need, prepared before its first call. */
import type { PreparedKernel } from "../../core/device.ts";
import { NdArray } from "../../core/nd_array.ts";
import { type ConcreteSpec, isConcreteSpec, type Spec } from "../../core/tensor_spec.ts";
import { bodiesOf } from "../../graph/func_graph.ts";
import { defaultDevice } from "../devices/devices.ts";
import { specOf } from "../eager/launch_cache.ts";
import { prepareLaunch } from "../eager/launch.ts";
import type { PlanStep } from "../plan/plan.ts";
import { COMBINE } from "../plan/segment_layout.ts";
import { VariableHandle, type VariableState } from "../variables/variable_state.ts";
import { ReadVariableOp } from "../variables/variable_ops.ts";
import type { OpDef } from "../../core/op.ts";
import { ConcreteFunction } from "./concrete_function.ts";

/** A spec, or undefined where it is not known before the run. */
type Known = ConcreteSpec | undefined;

/** Prepared kernels, which keep their compiled programs alive, as long as their function lives. */
const prepared = new WeakMap<ConcreteFunction, PreparedKernel[]>();

/**
 * Prepares the kernels of a function for inputs of these specs, those of functions that it calls included, and resolves when all
 * are compiled. Nothing runs: no script, no assignment. Kernels of steps whose inputs have shapes that only a run knows are left out.
 */
export async function compileAhead(
  concrete: ConcreteFunction,
  specs: readonly Spec[],
): Promise<void> {
  const device = defaultDevice(), kernels = prepared.get(concrete) ?? [];
  const prepare = (): void => prepareBody(concrete, specs.map(known), { kernels, depth: 0 });
  const compiled = device.ahead === undefined ? prepare() : device.ahead(prepare);
  prepared.set(concrete, kernels);
  await compiled;
}

interface Context {
  readonly kernels: PreparedKernel[];
  readonly depth: number;
}

/** Bodies within bodies that are looked into: recursion has no end. */
const MOST_DEPTH = 16;

function known(spec: Spec): Known {
  return isConcreteSpec(spec) ? spec : undefined;
}

function prepareBody(
  concrete: ConcreteFunction,
  given: readonly Known[],
  context: Context,
): void {
  if (context.depth > MOST_DEPTH) return;
  const plan = concrete.plan(), { inputs, captures } = concrete.graph;
  const specs: Known[] = [], constants: (NdArray | VariableState | undefined)[] = [];
  const feeds = [...inputs, ...captures.map(({ inner }) => inner)];
  plan.feeds.forEach((slot, i) => {
    specs[slot] = given[i] ?? known({ dtype: feeds[i].dtype, shape: feeds[i].staticShape });
  });
  for (const { slot, value } of plan.constants) {
    if (value instanceof NdArray) [specs[slot], constants[slot]] = [specOf(value), value];
    else if (value instanceof VariableHandle) constants[slot] = value.resource;
  }
  for (const step of plan.steps) {
    const outputs = prepareStep(step, { specs, constants, context });
    const { node } = step;
    step.outputs.forEach((slot, i) => {
      specs[slot] = outputs?.[i] ?? known(node.outputs[i]);
    });
  }
}

interface Body {
  readonly specs: readonly Known[];
  readonly constants: readonly (NdArray | VariableState | undefined)[];
  readonly context: Context;
}

/** Prepares one step and returns the specs of its results, as far as they are known. */
function prepareStep(
  step: PlanStep,
  { specs, constants, context }: Body,
): readonly Known[] | null {
  const { node: { def }, attrs, inputs } = step;
  const state = inputs.length > 0 ? constants[inputs[0]] : undefined;
  if (state !== undefined && !(state instanceof NdArray)) {
    const value = { dtype: state.dtype, shape: state.valueShape };
    const combine = COMBINE.get(def), by = specs[inputs[1]];
    if (combine !== undefined && by !== undefined) {
      prepareKernel(combine, { specs: [value, by], hosts: [], attrs: {}, step, context });
    }
    return def === ReadVariableOp ? [known(value)] : null;
  }
  const bodies = bodiesOf({ def, attrs });
  if (bodies.length > 0) {
    const called = Object.values(attrs).flatMap(calledBy);
    for (const body of called) prepareCalled(body, inputs.map((slot) => specs[slot]), context);
    return null;
  }
  const own = inputs.map((slot) => specs[slot]);
  if (def.host || def.stateful || !own.every((spec) => spec !== undefined)) return null;
  const hosts = inputs.map((slot, i) => {
    const value = constants[slot];
    return step.onHost[i] && value instanceof NdArray ? value : undefined;
  });
  if (step.onHost.some((is, i) => is && hosts[i] === undefined)) return null;
  return prepareKernel(def, { specs: own, hosts, attrs, step, context });
}

/** The concrete functions in an attribute. */
function calledBy(value: unknown): ConcreteFunction[] {
  const inner = (value as { f?: unknown } | null)?.f;
  return [value, inner].filter((f) => f instanceof ConcreteFunction);
}

/** Prepares a body; its inputs are the last ones of the op that calls it. */
function prepareCalled(
  body: ConcreteFunction,
  specs: readonly Known[],
  { depth, ...context }: Context,
): void {
  const { inputs, captures } = body.graph, count = inputs.length + captures.length;
  const given = specs.slice(Math.max(0, specs.length - count));
  const fits = given.length === count &&
    [...inputs, ...captures.map(({ inner }) => inner)]
      .every(({ dtype }, i) => given[i] === undefined || given[i].dtype === dtype);
  prepareBody(body, fits ? given : [], { ...context, depth: depth + 1 });
}

function prepareKernel(
  def: OpDef,
  { specs, hosts, attrs, step, context }:
    & Omit<Parameters<typeof prepareLaunch>[1], "device">
    & { readonly step: PlanStep; readonly context: Context },
): readonly Known[] | null {
  try {
    const launch = prepareLaunch(def, { specs, hosts, attrs, device: step.device });
    if (launch.kernel !== null) context.kernels.push(launch.kernel);
    return launch.outputs.map(known);
  } catch {
    // It fails again at the call, and the error names its node.
    return null;
  }
}
