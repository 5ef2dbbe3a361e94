/**
 * Bodies that read synchronously, as with `x.item()`, where the GPU should be awaited, as in browsers. A body may have
 * invisible effects, so it is begun once. Where the GPU can only be awaited, a body runs on the host with copies of its
 * inputs, unless it is known not to read. Where the GPU can be read synchronously at a cost, a body stays on it until
 * its first read.
 */
import type { OpInput } from "../core/apply.ts";
import { canRead, type Device } from "../core/device.ts";
import { stackOf, userFrames } from "../core/throwing/user_stack.ts";
import { FailedPreconditionError } from "../core/errors.ts";
import { cpuDevice, gpuDevice } from "../runtime/devices/devices.ts";
import { placeText } from "../runtime/run/run_errors.ts";
import { ReadAhead } from "../runtime/eager/read_ahead.ts";
import type { CallSite } from "./body.ts";
import { remoteInputs } from "./run_numpy_style.ts";
import type { Script, ScriptFunction } from "./script.ts";

/** Methods that read synchronously; a call with arguments, such as `tf.scalar(1)`, is another one. */
const READS = /\.\s*(?:item|scalar|dataSync|arraySync|ndarraySync)\s*\(\s*\)/;
/** Bodies known to read, by their source or by a call. */
const known = new WeakMap<ScriptFunction, boolean>();
const told = new WeakSet<ScriptFunction>();

/** True for a body that belongs on the host: it reads synchronously, or may do so where the GPU can only be awaited. */
export function readsAtOnce({ func, token, reads }: Script): boolean {
  if (reads !== undefined) return reads;
  let isKnown = known.get(func);
  if (isKnown === undefined) {
    known.set(func, isKnown = READS.test(Function.prototype.toString.call(func)));
  }
  const gpu = gpuDevice();
  // An async body can wait for its reads.
  if (isKnown || gpu === null || canRead(gpu) || isAsync(func)) return isKnown;
  if (!told.has(func)) {
    told.add(func);
    console.warn(
      `The body of ${token} runs on the host: this runtime reads GPU memory only asynchronously, and the body may read at once. Register it with { reads: false } where it does not, or make it async`,
    );
  }
  return true;
}

function isAsync(func: ScriptFunction): boolean {
  return Object.prototype.toString.call(func) === "[object AsyncFunction]";
}

/** A call of a body. */
interface ReadingCall {
  readonly script: Script;
  readonly inputs: readonly OpInput[];
  readonly device: Device;
  readonly site: CallSite;
  /** False where the caller cannot wait. */
  readonly canWait: boolean;
}

/**
 * Calls a body through `attempt`, which gets the device and the allowed reads. Throws (or rejects with)
 * `FailedPreconditionError`, which names the line, if the body reads a value that is not available. Only a body
 * registered as pure is then called again.
 */
export function callReading<R>(
  call: ReadingCall,
  attempt: (device: Device, reads: ReadAhead | null) => R | Promise<R>,
): R | Promise<R> {
  const { script, inputs, device, canWait } = call;
  const gpu = gpuDevice();
  if (gpu === null || gpu.canReadSync || gpu.canReadUrgently) return attempt(device, null);
  const reads = new ReadAhead(script.pure === true && canWait);
  const onHost = async (before: unknown): Promise<R> => {
    // A repeated call on the host makes the values that the call on the GPU made.
    if (device.type === "GPU") reads.forgetMissing();
    await reads.fetch(remoteInputs(inputs));
    for (let error = before;;) {
      if (!await reads.fetchMissing()) throw mustBeAsync(call, error, MADE);
      const { context } = call.site;
      if (context?.aborted) throw context.reason;
      try {
        return await attempt(cpuDevice(), reads);
      } catch (e) {
        if (!reads.lacked(e)) throw e;
        known.set(script.func, true);
        refuse(e);
        error = e;
      }
    }
  };
  /** Throws if the body may not be called again. */
  const refuse = (error: unknown): void => {
    if (reads.effect !== null) throw mustBeAsync(call, error, afterEffect(reads.effect));
    if (!reads.mayRepeat) throw mustBeAsync(call, error, ONCE);
  };
  const failed = (e: unknown): Promise<R> => {
    if (!reads.lacked(e)) throw e;
    known.set(script.func, true);
    if (!canWait) throw mustAwait(call, e);
    refuse(e);
    return onHost(e);
  };
  const learn = <T>(out: T): T => {
    if (reads.wasLate) known.set(script.func, true);
    return out;
  };
  if (canWait && device.type === "GPU" && readsAtOnce(script)) return onHost(null);
  try {
    const out = attempt(device, reads);
    return out instanceof Promise ? out.then(learn, failed) : learn(out);
  } catch (e) {
    return failed(e);
  }
}

/** Returns the line of a synchronous read from the original error. */
function lineOf(error: unknown): string {
  const origin = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const [frame = ""] = userFrames(stackOf(origin as Error)).split("\n");
  return frame.trim();
}

const MADE = "it made what it reads on a GPU that can only be read asynchronously";
const ONCE =
  "it reads what comes of tensors that it was not given, on a GPU that can only be read asynchronously, and no body is called twice that was not registered with { stateful: false }; pass them as inputs";

function afterEffect(effect: string): string {
  return `it reads from a GPU that can only be read asynchronously, after it has had an effect (${effect})`;
}

function mustBeAsync(
  { script, site }: ReadingCall,
  cause: unknown,
  why: string,
): FailedPreconditionError {
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
