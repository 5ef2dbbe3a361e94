/** Eager-style scripts: one call of a body, from beginning to end, awaits included. */
import type { OpInput } from "../core/apply.ts";
import type { BodyCall } from "../runtime/functions/body_call.ts";
import { type Batch, batchOfOne } from "./batch.ts";
import { type BodyUse, callBody, type CallSite } from "./body.ts";
import { freeReturned } from "./returned.ts";
import type { Script } from "./script.ts";

/** The parts of a call that its kinds share. */
export interface EagerStyleParts {
  readonly script: Script;
  readonly site: CallSite;
  /** The batch that it is; null for a script that takes none. */
  readonly batch: Batch | null;
}

const NOTHING: readonly OpInput[] = [];

/** A call of an eager-style body, of which a kind says how its results are made. */
export abstract class EagerStyleCall<R> implements BodyUse<R>, EagerStyleParts {
  readonly script: Script;
  readonly site: CallSite;
  readonly batch: Batch | null;
  /** Owns the body's tensors. */
  readonly body: BodyCall;
  /** The call's handles on the inputs. */
  given: readonly OpInput[] = NOTHING;
  values: readonly unknown[] = NOTHING;

  constructor({ script, site, batch }: EagerStyleParts, body: BodyCall) {
    this.script = script;
    this.site = site;
    this.batch = batch;
    this.body = body;
  }

  /** Makes the call's results from the body's. */
  protected abstract finish(result: unknown): R;

  /** Calls the body and frees its tensors at the end, except the results. Throws (or rejects with) an `OpError`. */
  run(inputs: readonly OpInput[]): R | Promise<R> {
    let out: R | Promise<R>;
    try {
      out = this.body.runBody(() => this.#begin(inputs));
    } catch (e) {
      this.body.end();
      return this.#fail(e);
    }
    if (out instanceof Promise) return this.#endAfter(out);
    this.body.end();
    return out;
  }

  #begin(inputs: readonly OpInput[]): R | Promise<R> {
    this.given = this.body.inputs(inputs);
    this.values = this.batch?.isAlone ? this.given.map(batchOfOne) : this.given;
    return callBody(this);
  }

  #endAfter(out: Promise<R>): Promise<R> {
    this.body.wait();
    return out.catch((e) => this.#fail(e)).finally(() => this.body.end());
  }

  #fail(error: unknown): never {
    this.body.recorder?.release();
    throw error;
  }

  use(result: unknown): R {
    try {
      return this.finish(result);
    } finally {
      freeReturned(result, this.body.first);
    }
  }

  abandon(): void {
    this.body.abandon();
  }

  endLate(result: unknown): void {
    try {
      freeReturned(result, this.body.first);
    } finally {
      this.body.endLate();
    }
  }
}
