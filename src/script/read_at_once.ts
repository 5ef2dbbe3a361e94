/**
 * Bodies that read at once, as `x.item()` does, where the GPU is better awaited, as in browsers. A body whose source says so runs on
 * the host with copies of its inputs. One that does so unforeseen reads at the cost that has, and the next time runs on the host;
 * where there is no such way it is called again, if it has had no effect yet.
 */
import type { OpInput } from "../core/apply.ts";
import type { Device } from "../core/device.ts";
import { stackOf, userFrames } from "../core/throwing/user_stack.ts";
import { FailedPreconditionError } from "../core/errors.ts";
import { cpuDevice, gpuDevice } from "../runtime/devices.ts";
import { placeText } from "../runtime/session/run_errors.ts";
import { ReadAhead } from "../runtime/eager/read_ahead.ts";
import type { CallSite } from "./body.ts";
import { remoteInputs } from "./run_numpy_style.ts";
import type { Script, ScriptFunction } from "./script.ts";

/** Methods that read at once; what takes arguments, such as `tf.scalar(1)`, is something else. */
const READS = /\.\s*(?:item|scalar|dataSync|arraySync|ndarraySync)\s*\(\s*\)/;
const known = new WeakMap<ScriptFunction, boolean>();

/** True for a body that has read at once before, or whose source says so. */
export function readsAtOnce({ func }: Script): boolean {
  let reads = known.get(func);
  if (reads === undefined) {
    known.set(func, reads = READS.test(Function.prototype.toString.call(func)));
  }
  return reads;
}

/** A call of a body that may have to be made again. */
interface ReadingCall {
  readonly script: Script;
  readonly inputs: readonly OpInput[];
  /** Where it is to run. */
  readonly device: Device;
  readonly site: CallSite;
  /** False: the caller cannot wait. */
  readonly canWait: boolean;
}

/**
 * Calls a body through `attempt`, which gets the device to run it on and what it may read there. Throws (or rejects with)
 * `FailedPreconditionError`, naming the line, where the body reads at once what it cannot be given.
 */
export function callReading<R>(
  call: ReadingCall,
  attempt: (device: Device, reads: ReadAhead | null) => R | Promise<R>,
): R | Promise<R> {
  const { script, inputs, device, canWait } = call;
  const gpu = gpuDevice();
  if (gpu === null || gpu.canReadSync || gpu.canReadUrgently) return attempt(device, null);
  const reads = new ReadAhead();
  const onHost = async (before: unknown): Promise<R> => {
    // What a call on the GPU made, one on the host makes there.
    if (device.type === "GPU") reads.forgetMissing();
    await reads.fetch(remoteInputs(inputs));
    for (let error = before;;) {
      if (!await reads.fetchMissing()) throw mustBeAsync(call, error, null);
      const { context } = call.site;
      if (context?.aborted) throw context.reason;
      try {
        return await attempt(cpuDevice(), reads);
      } catch (e) {
        if (!reads.lacked(e)) throw e;
        if (reads.effect !== null) throw mustBeAsync(call, e, reads.effect);
        error = e;
      }
    }
  };
  if (canWait && device.type === "GPU" && readsAtOnce(script)) return onHost(null);
  const failed = (e: unknown): Promise<R> => {
    if (!reads.lacked(e)) throw e;
    known.set(script.func, true);
    if (!canWait) throw mustAwait(call, e);
    if (reads.effect !== null) throw mustBeAsync(call, e, reads.effect);
    return onHost(e);
  };
  const learn = <T>(out: T): T => {
    if (reads.wasLate) known.set(script.func, true);
    return out;
  };
  try {
    const out = attempt(device, reads);
    return out instanceof Promise ? out.then(learn, failed) : learn(out);
  } catch (e) {
    return failed(e);
  }
}

/** The line of a body that read at once, in the original of an error. */
function lineOf(error: unknown): string {
  const origin = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const [frame = ""] = userFrames(stackOf(origin as Error)).split("\n");
  return frame.trim();
}

function mustBeAsync(
  { script, site }: ReadingCall,
  cause: unknown,
  effect: string | null,
): FailedPreconditionError {
  const why = effect === null
    ? "it made what it reads on a GPU that can only be read asynchronously"
    : `it reads from a GPU that can only be read asynchronously, after it has had an effect (${effect})`;
  return new FailedPreconditionError(
    `Cannot read in the body of ${script.token} synchronously: ${why}. Make the body async, and await data() ${
      lineOf(cause)
    }${placeText(site.node, site.source?.definitionSite)}`,
    { op: site.op, node: site.node, cause },
  );
}

function mustAwait({ script, site }: ReadingCall, cause: unknown): FailedPreconditionError {
  return new FailedPreconditionError(
    `Cannot run ${site.op} ${script.token} synchronously: its body reads from a GPU that can only be read asynchronously, ${
      lineOf(cause)
    }; await pyFunctionAsync instead`,
    { op: site.op, cause },
  );
}
