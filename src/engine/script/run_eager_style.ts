/** Eager-style scripts in plans: runs EagerPyFunc. In eager mode the body runs in place, and tapes record its ops. */
import type { OpInput } from "../core/apply.ts";
import type { Device } from "../core/device.ts";
import type { HostResults } from "../core/contract/host_op.ts";
import { whenReady } from "../core/nest.ts";
import { Tensor } from "../core/tensor.ts";
import { BodyCall } from "../runtime/functions/body_call.ts";
import { type EagerTensor, isEager } from "../runtime/eager/tensor.ts";
import type { ReadAhead } from "../runtime/eager/read_ahead.ts";
import type { RunCall } from "../runtime/run/run_context.ts";
import { releaseValue, type RunValue } from "../runtime/run/run_value.ts";
import { RunTape, tapeValue } from "../runtime/functions/run_tape.ts";
import { callEagerStyle } from "./eager_style.ts";
import { eagerResult, splitResult } from "./marshal.ts";
import { callReading } from "./read_at_once.ts";
import { onlyRow } from "./batch.ts";
import { beginCall } from "./run_numpy_style.ts";

/** Runs a node with an eager-style body. */
export function runEagerStyle(call: RunCall): HostResults | Promise<HostResults> {
  const { inputs } = call, { script, shapes, site, batch } = beginCall(call);
  const attempt = (
    device: Device,
    reads: ReadAhead | null,
  ): HostResults | Promise<HostResults> => {
    const body = new BodyCall(device, call.wanted.at(-1) === true, { reads });
    const finish = (r: unknown, given: readonly OpInput[]): HostResults => {
      const outputs: RunValue[] = [];
      try {
        const values = splitResult(script, r).map((v, i) => {
          const value = eagerResult(script, i, v, { shape: shapes[i], batch });
          if (value instanceof Tensor) body.follow(value);
          return batch?.isAlone ? body.within(() => onlyRow(value)) : value;
        });
        for (const v of values) outputs.push(body.result(v));
        if (body.recorder) outputs.push(tapeValue(new RunTape(body.recorder, given, values)));
        return outputs;
      } catch (e) {
        outputs.forEach(releaseValue);
        throw e;
      }
    };
    const fail = (): void => body.recorder?.release();
    const out = callEagerStyle({ script, site, body, inputs, batch, finish, fail });
    return whenReady(out, (results) => broughtHome(results, device));
  };
  return callReading({ script, inputs, device: call.device, site, canWait: true }, attempt);
}

/** Returns results on the call's device; those on a GPU that must be awaited are read. */
function broughtHome(
  results: HostResults,
  { type }: Device,
): HostResults | Promise<HostResults> {
  const far = (r: OpInput | null): r is EagerTensor => isEager(r) && r.storage.device.type !== type;
  if (!results.some(far)) return results;
  const here = results.map((r) => far(r) ? r.ndarray().finally(() => r.dispose()) : r);
  return Promise.all(here);
}
