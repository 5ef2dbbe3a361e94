/** Eager-style scripts: one call of a body, from beginning to end, awaits included. */
import type { OpInput } from "../core/apply.ts";
import type { BodyCall } from "../runtime/functions/body_call.ts";
import { type Batch, batchOfOne } from "./batch.ts";
import { type BodyUse, callBody } from "./body.ts";
import { freeReturned } from "./returned.ts";

interface EagerStyleCall<R> extends Pick<BodyUse<R>, "script" | "site"> {
  /** Owns the body's tensors. */
  readonly body: BodyCall;
  readonly inputs: readonly OpInput[];
  /** The batch that it is; null for a script that takes none. */
  readonly batch: Batch | null;
  /** Makes the call's results from the body's; `given` are the call's handles on the inputs. */
  readonly finish: (result: unknown, given: readonly OpInput[]) => R;
  /** Frees the call's other values after an error. */
  readonly fail: () => void;
}

/** Calls the body and frees its tensors at the end, except the results. Throws (or rejects with) an `OpError`. */
export function callEagerStyle<R>(call: EagerStyleCall<R>): R | Promise<R> {
  const { script, site, body } = call;
  const fail = (e: unknown): never => {
    call.fail();
    throw e;
  };
  let out: R | Promise<R>;
  try {
    const values = body.inputs(call.inputs);
    const use: BodyUse<R> = {
      script,
      values,
      site,
      use(result) {
        try {
          return call.finish(result, values);
        } finally {
          freeReturned(result, body.first);
        }
      },
      abandon: () => body.abandon(),
      endLate(result) {
        try {
          freeReturned(result, body.first);
        } finally {
          body.endLate();
        }
      },
    };
    out = body.runBody(() =>
      callBody(call.batch?.isAlone ? { ...use, values: values.map(batchOfOne) } : use)
    );
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
