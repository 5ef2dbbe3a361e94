/**
 * Eager-style scripts in eager mode: the body runs in place, so that tapes record its ops, and gradients of any order
 * and captured variables work.
 */
import { currentRecorders, type OpInput } from "../core/apply.ts";
import type { Device } from "../core/device.ts";
import { isTrainable } from "../core/dtype.ts";
import { NdArray } from "../core/nd_array.ts";
import type { Tensor, TensorContext } from "../core/tensor.ts";
import { FailedPreconditionError, InvalidArgumentError } from "../core/errors.ts";
import { isDifferentiable } from "../autodiff/steps.ts";
import type { StepRecorder } from "../autodiff/step_recorder.ts";
import { identity } from "../ops/array/view.ts";
import { asTensor } from "../ops/input.ts";
import { nextEagerCall } from "../ops/random/state.ts";
import { hostCallTotal } from "../runtime/run/metadata.ts";
import { BodyCall } from "../runtime/functions/body_call.ts";
import { scopeDevice } from "../runtime/devices/devices.ts";
import { onDevice } from "../runtime/eager/eager.ts";
import type { ReadAhead } from "../runtime/eager/read_ahead.ts";
import { EagerTensor, enterScope, outsideScopes } from "../runtime/eager/tensor.ts";
import type { Attrs } from "../core/op.ts";
import { batchOf, onlyRow, shapesOfCall } from "./batch.ts";
import { EagerStyleCall, type EagerStyleParts } from "./eager_style.ts";
import { eagerResult, splitResult } from "./marshal.ts";
import { callReading } from "./read_at_once.ts";
import type { Script } from "./script.ts";

/** Eager code calls a script for itself. */
const NO_ATTRS: Attrs = {};

/**
 * Calls the body in place. The scopes and tapes in force serve it until its first await; after that ownership and
 * taping follow the tensors, if the caller can wait.
 */
function callInPlace(
  script: Script,
  inputs: readonly OpInput[],
  canWait: boolean,
): Tensor[] | Promise<Tensor[]> {
  hostCallTotal.count++;
  const around: TensorContext[] = [];
  for (const x of inputs) {
    if (x instanceof NdArray || x.context === null || around.includes(x.context)) continue;
    around.push(x.context);
  }
  const place = { recorders: currentRecorders(), around, waits: canWait };
  const isStrict = script.strictGradients === true && place.recorders.length > 0;
  const device = scopeDevice(), batch = batchOf(script, NO_ATTRS, inputs);
  const site = { op: "EagerPyFunc", token: script.token, context: null, call: nextEagerCall() };
  const attempt = (on: Device, reads: ReadAhead | null): Tensor[] | Promise<Tensor[]> => {
    const body = new BodyCall(on, isStrict, { place, reads });
    const home = on === device ? null : device, context = around[0] ?? null;
    return new CallInPlace({ script, site, batch }, body, { home, context }).run(inputs);
  };
  return callReading({ script, inputs, device, site, canWait }, attempt);
}

/** A call by eager code. */
class CallInPlace extends EagerStyleCall<Tensor[]> {
  readonly #to: { readonly home: Device | null; readonly context: TensorContext | null };

  /** `home` is the device of the results, null for the body's own; `context` is theirs. */
  constructor(
    parts: EagerStyleParts,
    body: BodyCall,
    to: { readonly home: Device | null; readonly context: TensorContext | null },
  ) {
    super(parts, body);
    this.#to = to;
  }

  protected finish(result: unknown): Tensor[] {
    const { script, given, body: { recorder } } = this, { home, context } = this.#to;
    const values = this.body.within(() => this.#valuesOf(result));
    if (recorder) checkConnected(script, recorder, given, values);
    const handles = handOut(values, home);
    for (let i = 0; i < handles.length; i++) handles[i].context = context;
    recorder?.release();
    return handles;
  }

  /** Returns the results as tensors with ids of their own. */
  #valuesOf(result: unknown): Tensor[] {
    const { script, batch, body } = this, inputs = this.given as readonly Tensor[];
    const shapes = shapesOfCall(script, inputs, batch), values: Tensor[] = [];
    const parts = splitResult(script, result);
    for (let i = 0; i < parts.length; i++) {
      const whole = eagerResult(script, i, parts[i], { shape: shapes[i], batch });
      const r = batch?.isAlone ? onlyRow(whole) : whole;
      // The body's own tensors are returned; its inputs, and tensors from outside, get a new handle and id.
      if (r instanceof NdArray) values.push(asTensor(r));
      else if (r.id > body.first && !inputs.includes(r) && !(r as EagerTensor).kept) values.push(r);
      else values.push(identity(r));
    }
    return values;
  }
}

/** Makes handles that outlive the call, on `device` if given; tapes find them by their ids. */
function handOut(values: readonly Tensor[], device: Device | null): EagerTensor[] {
  return outsideScopes(() =>
    values.map((t) => {
      const there = device === null ? t as EagerTensor : onDevice(t, device);
      const handle = new EagerTensor(t.dtype, there.staticShape, there.storage.retain(), t.id);
      if (there !== t) there.dispose();
      return handle;
    })
  );
}

/** Runs the body synchronously. Throws `FailedPreconditionError`, which names `pyFunctionAsync`, for an async body. */
export function runEagerly(script: Script, inputs: readonly OpInput[]): Tensor[] {
  const out = callInPlace(script, inputs, false);
  if (!(out instanceof Promise)) return out.map(underScope);
  out.then((late) => late.forEach((t) => t.dispose()), () => {});
  throw new FailedPreconditionError(
    `Cannot run EagerPyFunc ${script.token} synchronously: its body is async, await pyFunctionAsync instead`,
    { op: "EagerPyFunc" },
  );
}

/** Runs the body and awaits it. */
export async function runEagerlyAsync(
  script: Script,
  inputs: readonly OpInput[],
): Promise<Tensor[]> {
  const out = await callInPlace(script, inputs, true);
  return out.map(underScope);
}

/** Adds a result to the caller's scope, which was not in force while the body ran. */
function underScope(t: Tensor): Tensor {
  enterScope(t as EagerTensor);
  t.context?.adopt(t);
  return t;
}

/** Throws `InvalidArgumentError` if a differentiated input does not reach any output through recorded ops. */
function checkConnected(
  script: Script,
  recorder: StepRecorder,
  inputs: readonly OpInput[],
  outputs: readonly Tensor[],
): void {
  (inputs as readonly Tensor[]).forEach((x, i) => {
    if (!isTrainable(x.dtype)) return;
    const reached = new Set<number>([x.id]);
    for (const step of recorder.steps) {
      if (isDifferentiable(step) && step.inputs.some((s) => reached.has(s.id))) {
        for (const o of step.outputs) reached.add(o.id);
      }
    }
    if (outputs.some((o) => reached.has(o.id))) return;
    throw new InvalidArgumentError(
      `No gradient can reach input ${i} of ${script.token}: its body does not use the input, or cuts the tape by reading its value (strictGradients)`,
      { op: "EagerPyFunc" },
    );
  });
}
