/**
 * Eager-style scripts: how EagerPyFunc runs in a plan. In eager mode the body simply runs, and tapes see its ops.
 * May import core and runtime's tensors, run tape and registries of host ops.
 */
import { newTensorId, Tensor } from "../core/tensor.ts";
import { BodyCall } from "../runtime/body_call.ts";
import { type HostCall, type HostResults, setHostOp } from "../runtime/run_context.ts";
import { releaseValue, type RunValue } from "../runtime/run_value.ts";
import { hostCallTotal } from "../runtime/metadata.ts";
import { RunTape, tapeValue } from "../runtime/run_tape.ts";
import { callBody } from "./body.ts";
import { freeReturned } from "./returned.ts";
import { eagerResult, shapesOfCall, splitResult } from "./marshal.ts";
import { scriptOf } from "./run_numpy_style.ts";

function runInPlan(call: HostCall): HostResults | Promise<HostResults> {
  const script = scriptOf(call.attrs, call.node);
  const shapes = shapesOfCall(script, call.inputs);
  const body = new BodyCall(call.device, call.wanted.at(-1) === true);
  const inputs = call.inputs.map((x) => body.input(x));
  call.context.hostCalls++;
  hostCallTotal.count++;
  const site = {
    op: call.def.name,
    node: call.node,
    token: script.token,
    source: call.source,
    context: call.context,
  };
  const first = newTensorId();
  const finish = (r: unknown): HostResults => {
    const outputs: RunValue[] = [];
    try {
      const values = splitResult(script, r).map((v, i) => eagerResult(script, i, v, shapes[i]));
      for (const v of values) {
        if (v instanceof Tensor) body.follow(v);
        outputs.push(body.result(v));
      }
      if (body.recorder) outputs.push(tapeValue(new RunTape(body.recorder, inputs, values)));
      return outputs;
    } catch (e) {
      outputs.forEach(releaseValue);
      throw e;
    } finally {
      freeReturned(r, first);
    }
  };
  const fail = (e: unknown): never => {
    body.recorder?.release();
    throw e;
  };
  const late = {
    abandon: () => body.abandon(),
    endLate(result: unknown) {
      freeReturned(result, first);
      body.endLate();
    },
  };
  let out: HostResults | Promise<HostResults>;
  try {
    out = body.runBody(() => callBody(script, inputs, site, finish, late));
  } catch (e) {
    body.end();
    return fail(e);
  }
  if (out instanceof Promise) {
    body.wait();
    return out.catch(fail).finally(() => body.end());
  }
  body.end();
  return out;
}

setHostOp("EagerPyFunc", runInPlan, { local: true });
