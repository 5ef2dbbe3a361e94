/** Computes one step of a plan. */
import { expandFusion } from "../../ops/fused/fused.ts";
import type { OpInput } from "../../core/apply.ts";
import { type HostResults, isLocal, type Owner } from "../../core/contract/host_op.ts";
import { NdArray } from "../../core/nd_array.ts";
import { compatible } from "../../core/shape.ts";
import { drawingFor } from "../../ops/random/state.ts";
import { executeOn } from "../eager/eager.ts";
import { type RunCall, runHostOp } from "../run/run_context.ts";
import { brokenPromise, locatedAt } from "../run/run_errors.ts";
import { releaseValue, type RunValue } from "../run/run_value.ts";
import { isEager } from "../eager/tensor.ts";
import type { PlanStep } from "./plan.ts";
import type { Slots } from "./slots.ts";

export type { HostResults };

type StepRun = Pick<RunCall, "context" | "draws">;

/** Runs the op of a step on the values in the slots of its inputs. */
export function computeStep(
  step: PlanStep,
  slots: Slots,
  run: StepRun,
): HostResults | Promise<HostResults> {
  if (step.node.def.host) return callHost(step, slots, run);
  return runKernel(step, slots, run);
}

function runKernel(
  { node, inputs, onHost, device }: PlanStep,
  slots: Slots,
  run: StepRun,
): HostResults {
  const values = inputs.map((slot, i) =>
    onHost[i] ? slots.host(slot) : slots.tensor(slot, device, true)
  );
  if (!node.def.stateful) {
    const { changes = -1 } = node.def, changed = values[changes];
    const isLast = isEager(changed) && slots.isLast(inputs[changes], changed);
    return executeOn(node.def, values, node.attrs, {
      device,
      spent: isLast ? changed : null,
      expandFusion,
    });
  }
  return drawingFor(
    node.source,
    run.draws,
    () => executeOn(node.def, values, node.attrs, { device, expandFusion }),
  );
}

function callHost(
  step: PlanStep,
  slots: Slots,
  { context, draws }: StepRun,
): HostResults | Promise<HostResults> {
  const { node } = step;
  const owners: Owner[] = [], inputs: OpInput[] = [];
  for (let i = 0; i < step.inputs.length; i++) {
    const slot = step.inputs[i];
    if (step.onHost[i]) {
      inputs.push(slots.host(slot));
      owners.push(slots.giveHost(slot));
      continue;
    }
    const value = slots.tensor(slot, step.device, isLocal(node.def));
    if (isEager(value)) value.isGiven = slots.isLast(slot, value);
    inputs.push(value);
    owners.push("run");
  }
  return runHostOp({
    node: node.name,
    def: node.def,
    attrs: step.attrs,
    inputs,
    owners,
    device: step.device,
    wanted: step.wanted,
    sinks: step.sinks,
    source: node.source,
    context,
    draws,
  });
}

/** Checks the shapes of results against the promised ones; frees a wrong one and those after it. */
export function checkPromise(step: PlanStep, i: number, results: HostResults): void {
  const { node } = step;
  const value = results[i] as RunValue;
  const declared = node.outputs[i].shape;
  const actual = value instanceof NdArray ? value.shape : value.staticShape;
  if (compatible(declared, actual)) return;
  for (let k = i; k < results.length; k++) releaseValue(results[k] as RunValue | null);
  throw locatedAt(brokenPromise(i, node.name, actual, declared), node);
}
