/** Launches: everything of an application but its buffers, with the kernel that a device prepared for it. */
import { fusionOf } from "../../core/fusion.ts";
import { type Attrs, inferOutputs, type OpDef, type Problem } from "../../core/op.ts";
import type { Device, PreparedKernel } from "../../core/device.ts";
import { NdArray } from "../../core/nd_array.ts";
import { mergeShapes } from "../../core/shape.ts";
import { type ConcreteSpec, isConcreteSpec, type Spec, specText } from "../../core/tensor_spec.ts";
import {
  InvalidArgumentError,
  OpError,
  UnimplementedError,
  ValueError,
} from "../../core/errors.ts";
import { causeBehind, standingFor } from "../../core/throwing/user_stack.ts";
import { cpuDevice } from "../devices/devices.ts";
import { specId } from "./spec_id.ts";
import { bytesOfSpec } from "./storage.ts";

/** A prepared application without buffers. */
export interface Launch {
  /** The device that runs it: the requested one, or the CPU if that has no kernel. */
  readonly device: Device;
  /** The kernel; null for an expansion or a view. */
  readonly kernel: PreparedKernel | null;
  /** Attributes with their defaults. */
  readonly attrs: Attrs;
  /** Specs of the outputs; shapes that depend on values are not concrete. */
  readonly outputs: readonly ConcreteSpec[];
  /** Ids of the outputs' specs. */
  readonly outputIds: readonly number[];
  readonly outputBytes: readonly number[];
  readonly hosts: readonly (NdArray | undefined)[];
}

/** An application to prepare. */
export interface LaunchRequest {
  readonly specs: readonly ConcreteSpec[];
  /** Values of host inputs, at their places. */
  readonly hosts: readonly (NdArray | undefined)[];
  readonly attrs: Attrs;
  readonly device: Device;
}

const NOTHING = new NdArray("float32", [0], new Float32Array(0));

/**
 * Prepares an op. Throws `InvalidArgumentError` where its shape rule refuses the inputs, `TypeError` where its signature does, and
 * `UnimplementedError` where no device has a kernel for it.
 */
export function prepareLaunch(
  def: OpDef,
  request: LaunchRequest,
): Launch {
  const { specs, attrs, device: asked } = request;
  let { hosts } = request;
  asked.check();
  const inputs = specs.map(({ dtype, shape }, i) => ({ dtype, shape, value: hosts[i] }));
  const inferred = inferNow(def, inputs, attrs);
  // Values that are not read need not be moved.
  if (def.shapeOnly) hosts = specs.map(() => NOTHING);
  const dynamic = !inferred.outputs.every(isConcreteSpec);
  const base = {
    attrs: inferred.attrs,
    outputs: inferred.outputs as ConcreteSpec[],
    outputIds: inferred.outputs.map((s) => (isConcreteSpec(s) ? specId(s.dtype, s.shape) : 0)),
    outputBytes: inferred.outputs.map((s) => (isConcreteSpec(s) ? bytesOfSpec(s) : 0)),
    hosts,
  };
  if (def.meaning.kind === "view") return { ...base, device: asked, kernel: null };
  const problem: Problem = { inputs, hosts, outputs: base.outputs, attrs: inferred.attrs };
  const fits = [...inputs.filter((_, i) => hosts[i] === undefined), ...inferred.outputs]
    .every((s) => asked.supports(s.dtype));
  for (const device of fits && !dynamic ? [asked, cpuDevice()] : [cpuDevice()]) {
    const kernel = device.prepare(def, problem);
    if (kernel) return { ...base, device, kernel };
    if (def.expand || fusionOf(attrs)) return { ...base, device, kernel: null };
  }
  throw new UnimplementedError(
    `No kernel for ${def.name} with inputs ${inputs.map(specText).join(", ")} on ${asked.name}`,
    { op: def.name, inputs: inputs.map(specText) },
  );
}

/** Infers the outputs of an op that is about to run: an error of the shape rule is an error of the run. */
function inferNow(
  def: OpDef,
  inputs: readonly Spec[],
  attrs: Attrs,
): ReturnType<typeof inferOutputs> {
  try {
    const inferred = inferOutputs(def, inputs, attrs);
    if (def.meaning.kind !== "view" || inferred.outputs.every(isConcreteSpec)) return inferred;
    // A view that may have several shapes has its input's.
    const [{ dtype, shape }] = inferred.outputs;
    return { ...inferred, outputs: [{ dtype, shape: mergeShapes(shape, inputs[0].shape) }] };
  } catch (e) {
    throw e instanceof ValueError ? ofOp(e, def, inputs) : e;
  }
}

/** Converts an error of a kernel or a shape rule to an `OpError` that names the op and its inputs. */
export function ofOp(e: unknown, def: OpDef, specs: readonly Spec[]): unknown {
  if (e instanceof OpError && e.op !== undefined) return e;
  const inputs = specs.map(specText);
  if (e instanceof OpError) {
    const Same = e.constructor as new (m: string, d: object) => OpError;
    return standingFor(e, new Same(e.message, { op: def.name, inputs, cause: e.cause }));
  }
  if (e instanceof RangeError || e instanceof TypeError) {
    const details = { op: def.name, inputs, cause: causeBehind(e) };
    return standingFor(e, new InvalidArgumentError(e.message, details));
  }
  return e;
}
