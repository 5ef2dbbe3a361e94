/** Eager-style scripts in plans: runs EagerPyFunc. In eager mode the body runs in place, and tapes record its ops. */
import type { OpInput } from "../core/apply.ts";
import type { Device } from "../core/device.ts";
import type { HostResults } from "../core/contract/host_op.ts";
import { Tensor } from "../core/tensor.ts";
import { BodyCall } from "../runtime/functions/body_call.ts";
import { type EagerTensor, isEager } from "../runtime/eager/tensor.ts";
import type { ReadAhead } from "../runtime/eager/read_ahead.ts";
import type { RunCall } from "../runtime/run/run_context.ts";
import { releaseValue, type RunValue } from "../runtime/run/run_value.ts";
import { RunTape, tapeValue } from "../runtime/functions/run_tape.ts";
import { EagerStyleCall } from "./eager_style.ts";
import { eagerResult, splitResult } from "./marshal.ts";
import { callReading } from "./read_at_once.ts";
import { onlyRow } from "./batch.ts";
import { beginCall, type Beginning } from "./run_numpy_style.ts";

/** Runs a node with an eager-style body. */
export function runEagerStyle(call: RunCall): HostResults | Promise<HostResults> {
  const { inputs, device } = call, beginning = beginCall(call), { script, site } = beginning;
  const attempt = (
    device: Device,
    reads: ReadAhead | null,
  ): HostResults | Promise<HostResults> => {
    const body = new BodyCall(device, call.wanted.at(-1) === true, { reads });
    const out = new NodeCall(beginning, body).run(inputs);
    return out instanceof Promise
      ? out.then((results) => broughtHome(results, device))
      : broughtHome(out, device);
  };
  return callReading({ script, inputs, device, site, canWait: true }, attempt);
}

/** A call by a node. */
class NodeCall extends EagerStyleCall<HostResults> {
  readonly #shapes: Beginning["shapes"];

  constructor(beginning: Beginning, body: BodyCall) {
    super(beginning, body);
    this.#shapes = beginning.shapes;
  }

  protected finish(result: unknown): HostResults {
    const { script, body, given } = this, outputs: RunValue[] = [], values: OpInput[] = [];
    try {
      const parts = splitResult(script, result);
      for (let i = 0; i < parts.length; i++) values.push(this.#take(parts[i], i));
      for (let i = 0; i < values.length; i++) outputs.push(body.result(values[i]));
      if (body.recorder) outputs.push(tapeValue(new RunTape(body.recorder, given, values)));
      return outputs;
    } catch (e) {
      outputs.forEach(releaseValue);
      throw e;
    }
  }

  #take(part: unknown, i: number): OpInput {
    const { script, body, batch } = this;
    const value = eagerResult(script, i, part, { shape: this.#shapes[i], batch });
    if (value instanceof Tensor) body.follow(value);
    return batch?.isAlone ? body.within(() => onlyRow(value)) : value;
  }
}

/** Returns results on the call's device; those on a GPU that must be awaited are read. */
function broughtHome(results: HostResults, device: Device): HostResults | Promise<HostResults> {
  for (let i = 0; i < results.length; i++) {
    if (isFar(results[i], device)) return brought(results, device);
  }
  return results;
}

function brought(results: HostResults, device: Device): Promise<HostResults> {
  return Promise.all(
    results.map((r) => isFar(r, device) ? r.ndarray().finally(() => r.dispose()) : r),
  );
}

function isFar(r: OpInput | null, { type }: Device): r is EagerTensor {
  return isEager(r) && r.storage.device.type !== type;
}
