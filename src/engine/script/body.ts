/**
 * Calling a body: its context argument, time limit, cancellation, and the errors it throws.
 */
import { DeadlineExceededError } from "../core/errors.ts";
import type { DType } from "../core/dtype.ts";
import type { NdArray } from "../core/nd_array.ts";
import { traced, tracer } from "../core/trace.ts";
import { isPromise } from "../core/nest.ts";
import { after } from "../runtime/run/timers.ts";
import { type CallNumber, seedOfCall } from "../ops/random/state.ts";
import { type RunContext, withinRun } from "../runtime/run/run_context.ts";
import { placeText } from "../runtime/run/run_errors.ts";
import { checkArity, contextAs } from "./arity.ts";
import { madeArray } from "./made_array.ts";
import type { Script, ScriptContext } from "./script.ts";
import { packArguments } from "./marshal.ts";
import { mapResultError, mapScriptError, type ScriptPlace } from "./script_errors.ts";
import { callWorker } from "./workers/worker_pool.ts";

/** Who calls. */
export interface CallSite extends ScriptPlace {
  /** The run; null in eager mode, which nobody cancels. */
  readonly context: RunContext | null;
  /** Which call it is, from which its seed comes. */
  readonly call: CallNumber;
}

/** What a body gets as its last argument. The signal is made when it is asked for. */
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

  /** As an abort of the signal, of which none need be made. */
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

/** The number of arguments of a body before the context. */
function argumentCount({ args }: Script): number {
  return (args as readonly unknown[]).length;
}

/** The dtype that all outputs declare; null where they differ. */
function commonDType({ outputs: { specs } }: Script): DType | null {
  const [first] = specs;
  return first && specs.every((s) => s.dtype === first.dtype) ? first.dtype : null;
}

/** A call of a body. */
export interface BodyUse<R> {
  readonly script: Script;
  /** What stands in the places of its inputs. */
  readonly values: readonly unknown[];
  readonly site: CallSite;
  /** Takes what it returns. */
  use(result: unknown): R;
  /** The call ends before its body: the run ended, or the time limit passed. */
  abandon?(): void;
  /** The body has ended after all, with this result, or undefined where it failed. */
  endLate(result: unknown): void;
}

/**
 * Calls a body. A promise where the body returns one; that promise settles as soon as the run ends or the time limit passes. Throws (or
 * rejects with) an `OpError`.
 */
export function callBody<R>(call: BodyUse<R>): R | Promise<R> {
  if (tracer === null) return runBody(call);
  const { script: { token }, site } = call, name = `${site.op} ${site.node ?? token}`;
  const details = { token, run: site.context?.run };
  return traced({ name, category: "script", details }, () => runBody(call));
}

function runBody<R>(call: BodyUse<R>): R | Promise<R> {
  const { script, values, site } = call;
  const limit = script.timeoutMs === undefined ? null : new AbortController();
  const context = new BodyContext(script, site, limit);
  let result: unknown, isAsync: boolean;
  try {
    result = site.context && (site.context.limit ?? site.context.state)
      ? withinRun(site.context, () => callFunction(script, values, context))
      : callFunction(script, values, context);
    isAsync = isPromise(result);
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
  checkArity(script.func, argumentCount(script));
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
    /** True for the first who settles. */
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
        // Nothing happens where the promise is settled: nobody waits for a late result that cannot be read.
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
