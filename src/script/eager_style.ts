/**
 * Eager-style scripts: one call of a body, from its first line to its end, awaits included.
 */
import type { OpInput } from "../core/apply.ts";
import type { BodyCall } from "../runtime/functions/body_call.ts";
import { callBody, type CallSite } from "./body.ts";
import { freeReturned } from "./returned.ts";
import type { Script } from "./script.ts";

/** A call of an eager-style body. */
export interface EagerStyleCall<R> {
  /** The script. */
  readonly script: Script;
  /** Who calls. */
  readonly site: CallSite;
  /** Owns what the body makes. */
  readonly body: BodyCall;
  /** Inputs of the call. */
  readonly inputs: readonly OpInput[];
  /** Takes the call's results from what the body returned; `given` are its own handles on the inputs. */
  readonly finish: (result: unknown, given: readonly OpInput[]) => R;
  /** Frees what else the call holds, where it fails. */
  readonly fail: () => void;
}

/** Calls the body. What it made is freed when it ends, but for the results. Throws (or rejects with) an `OpError`. */
export function callEagerStyle<R>(call: EagerStyleCall<R>): R | Promise<R> {
  const { script, site, body } = call;
  let given: OpInput[] = [];
  const finish = (result: unknown): R => {
    try {
      return call.finish(result, given);
    } finally {
      freeReturned(result, body.first);
    }
  };
  const late = {
    abandon: () => body.abandon(),
    endLate(result: unknown) {
      freeReturned(result, body.first);
      body.endLate();
    },
  };
  const fail = (e: unknown): never => {
    call.fail();
    throw e;
  };
  let out: R | Promise<R>;
  try {
    given = body.inputs(call.inputs);
    out = body.runBody(() => callBody(script, given, site, finish, late));
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
