/** Calls a body: its context argument, time limit, cancellation, and errors. */
import { DeadlineExceededError } from "../core/errors.ts";
import type { DType } from "../core/dtype.ts";
import { NdArray } from "../core/nd_array.ts";
import { traced, tracer } from "../core/trace.ts";
import { isPromise } from "../core/nest.ts";
import { after } from "../runtime/run/timers.ts";
import { type CallNumber, seedOfCall } from "../ops/random/state.ts";
import { enterRun, type RunContext } from "../runtime/run/run_context.ts";
import { placeText } from "../runtime/run/run_errors.ts";
import { checkArity, contextAs } from "./arity.ts";
import { madeArray } from "./made_array.ts";
import type { Script, ScriptContext } from "./script.ts";
import { packArguments } from "./marshal.ts";
import { mapResultError, mapScriptError, type ScriptPlace } from "./script_errors.ts";
import { callWorker } from "./workers/worker_pool.ts";

/** The caller of a body. */
export interface CallSite extends ScriptPlace {
  /** The run; null in eager mode, which is not cancelled. */
  readonly context: RunContext | null;
  /** Number of the call, from which its seed is made. */
  readonly call: CallNumber;
}

/** The last argument of a body. The signal is made on demand. */
class BodyContext implements ScriptContext {
  readonly node: string;
  readonly run: number;
  readonly #site: CallSite;
  readonly #limit: AbortController | null;
  readonly #script: Script;
  #signal: AbortSignal | null = null;

  constructor(script: Script, site: CallSite, limit: AbortController | null) {
    this.node = site.node ?? site.op;
    this.run = site.context?.run ?? 0;
    this.#site = site;
    this.#limit = limit;
    this.#script = script;
  }

  get seed(): bigint {
    return seedOfCall(this.#site.call);
  }

  array(shape: readonly number[], data: ArrayLike<unknown>, dtype?: DType): NdArray {
    return madeArray(shape, data, dtype ?? commonDType(this.#script));
  }

  get signal(): AbortSignal {
    return this.#signal ??= this.#makeSignal();
  }

  [Symbol.toPrimitive](hint: string): string {
    return contextAs(hint, this.#script.func, argumentCount(this.#script));
  }

  /** The signal's reason, without a signal. */
  onAbort(tell: (reason: unknown) => void): () => void {
    const signal = this.#limit?.signal, forget = this.#site.context?.onAbort(tell);
    if (signal === undefined) return forget ?? (() => {});
    const late = (): void => tell(signal.reason);
    signal.addEventListener("abort", late);
    return () => {
      forget?.();
      signal.removeEventListener("abort", late);
    };
  }

  #makeSignal(): AbortSignal {
    const run = this.#site.context?.signal;
    const limit = this.#limit?.signal;
    if (run && limit) return AbortSignal.any([run, limit]);
    return run ?? limit ?? new AbortController().signal;
  }
}

/** Returns the number of a body's parameters before the context. */
function argumentCount({ args }: Script): number {
  return (args as readonly unknown[]).length;
}

/** Returns the common dtype of all outputs; null if they differ. */
function commonDType({ outputs: { specs } }: Script): DType | null {
  const [first] = specs;
  return first && specs.every((s) => s.dtype === first.dtype) ? first.dtype : null;
}

/** A call of a body. */
export interface BodyUse<R> {
  readonly script: Script;
  /** Values of its inputs. */
  readonly values: readonly unknown[];
  readonly site: CallSite;
  /** Takes the body's result. */
  use(result: unknown): R;
  /** Notes that the call ends before its body: the run ended, or the time limit passed. */
  abandon?(): void;
  /** Takes the late result of the body, or undefined if it failed. */
  endLate(result: unknown): void;
}

/**
 * Calls a body. Returns a promise if the body does; it settles as soon as the run ends or the time limit passes. Throws
 * (or rejects with) an `OpError`.
 */
export function callBody<R>(call: BodyUse<R>): R | Promise<R> {
  return tracer === null ? runBody(call) : traceBody(call);
}

function traceBody<R>(call: BodyUse<R>): R | Promise<R> {
  const { script: { token }, site } = call, name = `${site.op} ${site.node ?? token}`;
  const details = { token, run: site.context?.run };
  return traced({ name, category: "script", details }, () => runBody(call));
}

function runBody<R>(call: BodyUse<R>): R | Promise<R> {
  const { script, values, site } = call;
  const limit = script.timeoutMs === undefined ? null : new AbortController();
  const context = new BodyContext(script, site, limit);
  const run = site.context;
  let result: unknown, isAsync: boolean;
  try {
    result = run && (run.limit ?? run.state)
      ? callInRun(run, call, context)
      : callFunction(script, values, context);
    run?.limit?.look();
    isAsync = !(result instanceof NdArray) && isPromise(result);
  } catch (e) {
    throw mapScriptError(e, site);
  }
  if (isAsync) return settle(result as PromiseLike<unknown>, call, limit);
  try {
    return call.use(result);
  } catch (e) {
    throw mapResultError(e, site);
  }
}

/** Calls the function of a body whose runs end with `run`. */
function callInRun<R>(
  run: RunContext,
  { script, values }: BodyUse<R>,
  context: BodyContext,
): unknown {
  const before = enterRun(run);
  try {
    return callFunction(script, values, context);
  } finally {
    enterRun(before);
  }
}

function callFunction(script: Script, values: readonly unknown[], context: BodyContext): unknown {
  if (script.worker) {
    const { node, run, seed } = context, dtype = commonDType(script);
    return callWorker(script.worker, packArguments(script, values), {
      node,
      run,
      seed,
      dtype,
      onAbort: (tell) => context.onAbort(tell),
    });
  }
  if (script.parameters > argumentCount(script) + 1) checkArity(script.func, argumentCount(script));
  if (script.flat && values.length === 1) return script.func(values[0], context);
  return script.func(...packArguments(script, values), context);
}

function settle<R>(
  result: PromiseLike<unknown>,
  call: BodyUse<R>,
  limit: AbortController | null,
): Promise<R> {
  const { site, script: { timeoutMs } } = call;
  return new Promise((resolve, reject) => {
    let isOpen = true;
    let clear = (): void => {}, forget = (): void => {};
    /** True for the first outcome only. */
    const close = (): boolean => {
      if (!isOpen) return false;
      isOpen = false;
      clear();
      forget();
      return true;
    };
    if (site.context) {
      forget = site.context.onAbort((reason) => {
        if (!close()) return;
        call.abandon?.();
        reject(reason);
      });
    }
    if (limit) {
      clear = after(timeoutMs!, () => {
        if (!close()) return;
        const error = lateError(timeoutMs!, site);
        call.abandon?.();
        reject(error);
        limit.abort(error);
      });
    }
    Promise.resolve(result).then((value) => {
      try {
        if (!close()) return call.endLate(value);
        resolve(call.use(value));
      } catch (e) {
        // Has no effect on a settled promise: an unreadable late result is dropped.
        reject(mapResultError(e, site));
      }
    }, (e) => {
      if (close()) reject(mapScriptError(e, site));
      else call.endLate(undefined);
    });
  });
}

function lateError(ms: number, site: CallSite): DeadlineExceededError {
  return new DeadlineExceededError(
    `Timed out waiting for ${site.node ?? site.op}: its body took longer than ${ms} ms${
      placeText(site.node, site.source?.definitionSite)
    }`,
    { op: site.op, node: site.node },
  );
}
