/**
 * What one run of a plan carries along: cancellation, limits, counters, and how the host ops of a plan execute.
 */
import type { Attrs, OpDef } from "../../core/op.ts";
import type { HostCall, HostResults, NodeState, RunScope } from "../../core/contract/host_op.ts";
import { Dynamic } from "../../core/scope_context.ts";
import { checkTimeout, nextTask } from "./timers.ts";
import {
  CancelledError,
  DeadlineExceededError,
  type OpError,
  UnimplementedError,
} from "../../core/errors.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { DrawCounts } from "../../ops/random/state.ts";
import type { RunCounter } from "./metadata.ts";
import type { RunOptions } from "./requests.ts";
import type { SessionState } from "./session_state.ts";

let runs = 0;

/** What a caller says of when a run is to end. */
type RunLimitOptions = Pick<RunOptions, "timeoutMs" | "signal">;

/** Milliseconds between two looks at the clock. */
const LOOK_EVERY = 1;
/** Calls between two looks: a body that begins to take long is noticed after so many turns. */
const MOST_CALLS = 64;

/** Milliseconds after which a run that can wait gives the event loop a turn. */
const LONGEST_TURN = 50;

/** Limit of a run. While the run leaves the event loop no turn, neither timers nor listeners fire: it must ask. */
export class RunLimit {
  /** Milliseconds it was given; undefined for no limit. */
  readonly timeoutMs: number | undefined;
  readonly signal: AbortSignal | undefined;
  readonly #deadline: number;
  #looked: number = performance.now();
  /** Time at which the event loop had its last turn. */
  #yielded: number = this.#looked;
  #pause: Promise<void> | null = null;
  #calls = 0;
  #every = 1;

  /** The limit that options set; null where they set none. Throws `ValueError` for a bad `timeoutMs`. */
  static of(options: RunLimitOptions): RunLimit | null {
    checkTimeout("a run", options.timeoutMs);
    return options.timeoutMs === undefined && !options.signal ? null : new RunLimit(options);
  }

  private constructor({ timeoutMs, signal }: RunLimitOptions) {
    this.timeoutMs = timeoutMs;
    this.signal = signal;
    this.#deadline = timeoutMs === undefined ? Infinity : performance.now() + timeoutMs;
  }

  get left(): number {
    return Math.max(0, this.#deadline - performance.now());
  }

  /**
   * Why the run must end, or null. To be asked once a turn: reading the clock takes a tenth of what a turn of a small loop does, so
   * it is looked at about once a millisecond.
   */
  due(): OpError | null {
    if (++this.#calls < this.#every) return null;
    this.#calls = 0;
    if (this.signal?.aborted) return this.cancelled();
    const now = performance.now();
    if (now >= this.#deadline) return this.expired();
    this.#every = now - this.#looked < LOOK_EVERY ? Math.min(2 * this.#every, MOST_CALLS) : 1;
    this.#looked = now;
    return null;
  }

  /** Turn of the event loop for which all work under this limit waits; null while none is due. To be asked after {@linkcode due}. */
  pause(): Promise<void> | null {
    if (this.#pause === null && this.#looked - this.#yielded >= LONGEST_TURN) {
      this.#pause = nextTask().then(() => {
        this.#pause = null;
        this.#yielded = this.#looked = performance.now();
      });
    }
    return this.#pause;
  }

  expired(): DeadlineExceededError {
    return new DeadlineExceededError(
      `Timed out waiting for notification: the run took longer than ${this.timeoutMs} ms`,
    );
  }

  cancelled(): CancelledError {
    return new CancelledError("The run was cancelled", { cause: this.signal?.reason });
  }
}

/**
 * Shared by everything one `session.run` or function call does. An `AbortSignal` is made only for who asks for it: most runs end
 * before anybody could cancel them.
 */
export class RunContext implements RunScope {
  readonly run: number = ++runs;
  /** Script bodies called so far. */
  hostCalls = 0;
  /** Counts what the run does on the devices; null where nobody asked. */
  counter: RunCounter | null = null;
  /** When it is to end; null for when it is done. */
  readonly limit: RunLimit | null;
  /** False for a synchronous call, which gives the event loop no turn. */
  readonly canWait: boolean;
  /** The state of the session that runs; null where no session does, and nodes name state that all share. */
  readonly state: SessionState | null;
  readonly #outer: AbortSignal | null;
  #controller: AbortController | null = null;
  #listeners: Set<(reason: unknown) => void> | null = null;
  /** Listens to `outer` and to the limit's signal while this has listeners. */
  #follow: (() => void) | null = null;
  #aborted = false;
  #reason: unknown;

  /** `outer` ends the run with its reason when it aborts, and the limit's signal cancels it; `state` is that of the session. */
  constructor(
    outer: AbortSignal | null = null,
    limit: RunLimit | null = null,
    { canWait = true, state = null }: {
      readonly canWait?: boolean;
      readonly state?: SessionState | null;
    } = {},
  ) {
    this.#outer = outer;
    this.limit = limit;
    this.canWait = canWait;
    this.state = state;
  }

  /** For what may go on for long without giving others a turn: throws where the run is to end. */
  tick(): void {
    if (this.aborted) throw this.reason;
    const error = this.limit?.due();
    if (error) throw error;
  }

  /**
   * {@linkcode RunContext.tick} for work that can wait: a promise where the event loop is due a turn, which rejects where the run is to
   * end by then. Null, and no more than a comparison, for a run without a limit.
   */
  turn(): Promise<void> | null {
    this.tick();
    const pause = this.canWait && this.limit !== null ? this.limit.pause() : null;
    return pause && pause.then(() => this.tick());
  }

  /** Calls `fn` once the event loop has had the turn that is due. */
  inTurn<R>(fn: () => R | Promise<R>): R | Promise<R> {
    const pause = this.turn();
    return pause === null ? fn() : pause.then(fn);
  }

  /** Runs code that works for the run, and counts what it does where somebody asked. */
  counted<R>(fn: () => R): R {
    return this.counter === null ? fn() : this.counter.within(fn);
  }

  /** True once the run failed, was cancelled or timed out. */
  get aborted(): boolean {
    return this.#aborted || this.#outer?.aborted === true || this.limit?.signal?.aborted === true;
  }
  get reason(): unknown {
    if (this.#aborted) return this.#reason;
    return this.#outer?.aborted ? this.#outer.reason : this.limit?.cancelled();
  }

  /** Aborts when the run fails, is cancelled or times out. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort(this.#reason);
    }
    const own = this.#controller.signal;
    return this.#outer ? AbortSignal.any([own, this.#outer]) : own;
  }

  /** Ends the run: what is in flight is told, and its results are dropped. Later calls change nothing. */
  abort(reason: unknown): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason;
    const listeners = this.#listeners;
    this.#listeners = null;
    this.#unfollow();
    for (const tell of listeners ?? []) tell(reason);
    this.#controller?.abort(reason);
  }

  /** Calls `tell` when the run is aborted. Returns how to take that back. */
  onAbort(tell: (reason: unknown) => void): () => void {
    if (this.aborted) {
      tell(this.reason);
      return () => {};
    }
    if (!this.#listeners) {
      this.#listeners = new Set();
      if (this.#outer !== null || this.limit?.signal) {
        this.#follow = () => this.abort(this.reason);
        this.#outer?.addEventListener("abort", this.#follow);
        this.limit?.signal?.addEventListener("abort", this.#follow);
      }
    }
    this.#listeners.add(tell);
    return () => {
      this.#listeners?.delete(tell);
      if (this.#listeners?.size !== 0) return;
      this.#listeners = null;
      this.#unfollow();
    };
  }

  #unfollow(): void {
    if (this.#follow === null) return;
    this.#outer?.removeEventListener("abort", this.#follow);
    this.limit?.signal?.removeEventListener("abort", this.#follow);
    this.#follow = null;
  }
}

/** A call of a host op as runs make it: ops of the runtime may ask for all of the run. */
export interface RunCall extends HostCall {
  readonly context: RunContext;
  /** How often the random ops beside this one have drawn: a function that it calls has its counts within. */
  readonly draws: DrawCounts;
}

/** Runs a host op inside a plan. Throws `UnimplementedError` where it has meaning only elsewhere. */
export function runHostOp(call: RunCall): HostResults | Promise<HostResults> {
  const { def, attrs, context } = call, host = def.host!;
  if (host.run !== undefined) return host.run(call);
  if (host.state !== undefined) return [handleFor(host.state(attrs), context.state)];
  throw new UnimplementedError(`Cannot run ${def.name}: it has no host implementation`, {
    op: def.name,
  });
}

function handleFor(state: NodeState, of: SessionState | null): Tensor {
  return (of === null ? state : of.of(state)).handle;
}

/** The handle that an op gives at every run, in a session or outside of them; undefined for ops that name no state. */
export function handleOfNode(
  { def, attrs }: { readonly def: OpDef; readonly attrs: Attrs },
  of: SessionState | null,
): Tensor | undefined {
  const state = def.host?.state?.(attrs);
  return state && handleFor(state, of);
}

/** True for a node that names the state of a graph, of which each session has its own. */
export function namesGraphState(
  { def, attrs }: { readonly def: OpDef; readonly attrs: Attrs },
): boolean {
  return def.host?.state?.(attrs).ofGraph === true;
}

const called = new Dynamic<RunContext | null>(null);

/** The run whose body is being called, if it has a limit or belongs to a session. */
export function currentRun(): RunContext | null {
  return called.current;
}

/** Calls a body of a run: what it starts meanwhile ends when the run is to. */
export function withinRun<R>(context: RunContext, fn: () => R): R {
  return called.within(context, fn);
}

/** Calls `fn`: what it starts meanwhile ends when `signal` aborts, and gives the event loop its turns. */
export function withinSignal<R>(signal: AbortSignal, fn: () => R): R {
  return withinRun(
    new RunContext(null, RunLimit.of({ signal }), {
      state: currentRun()?.state ?? null,
    }),
    fn,
  );
}

/**
 * A fresh run, which ends when the run in whose body it begins is to, and when `limit` says so where there is none around it. It is of the
 * session of the run around it.
 */
export function newRunContext(
  { limit = null, canWait = true }: {
    readonly limit?: RunLimit | null;
    readonly canWait?: boolean;
  } = {},
): RunContext {
  const run = currentRun();
  return new RunContext(limit?.signal, run?.limit ?? limit, { canWait, state: run?.state ?? null });
}
