/** RunContext: the cancellation, limits and counters of one run of a plan, and the execution of its host ops. */
import { wantSignal } from "../../core/arguments.ts";
import { counter } from "../../core/collections/counter.ts";
import type { Attrs, OpDef } from "../../core/op.ts";
import type { HostCall, HostResults, NodeState, RunScope } from "../../core/contract/host_op.ts";
import { Dynamic } from "../../core/scope_context.ts";
import { checkTimeout, nextSlice, sliceAt } from "./timers.ts";
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

const nextRun = counter(1);

/** The caller's limits of a run. */
type RunLimitOptions = Pick<RunOptions, "timeoutMs" | "signal">;

/** Milliseconds between two reads of the clock. */
const LOOK_EVERY = 1;
/** Most calls between two reads of the clock. */
const MOST_CALLS = 64;

/** Milliseconds after which a run that can wait gives the event loop a turn. */
const FIRST_TURN = 20;
/** Milliseconds between two turns of a run that goes on: a call from elsewhere needs several. A turn takes one, where nothing else waits. */
const NEXT_TURN = 10;
/** The same for a run that nothing outside of its caller waits for: turns take 2 % of it, and 10 % of the others. */
const LONE_TURN = 50;

/** The limit of a run. The run must poll it: timers and listeners do not fire until it gives the event loop a turn. */
export class RunLimit {
  /** Its milliseconds; undefined for no limit. */
  readonly timeoutMs: number | undefined;
  readonly signal: AbortSignal | undefined;
  readonly #deadline: number;
  #looked: number = performance.now();
  /** Time of the event loop's last turn. */
  #yielded: number = this.#looked;
  #turn: number;
  readonly #nextTurn: number;
  #pause: Promise<void> | null = null;
  #calls = 0;
  #every = 1;

  /** Makes the limit of options; null if they set none. Throws `ValueError` for a bad `timeoutMs`, `TypeError` for a bad `signal`. */
  static of(options: RunLimitOptions): RunLimit | null {
    checkTimeout("a run", options.timeoutMs);
    wantSignal(options.signal, "signal", "run");
    return options.timeoutMs === undefined && !options.signal
      ? null
      : new RunLimit(options, FIRST_TURN, NEXT_TURN);
  }

  /** Makes the limit of a run that ends with its caller's signal, and that no server waits for. */
  static alone(signal: AbortSignal): RunLimit {
    return new RunLimit({ signal }, LONE_TURN, LONE_TURN);
  }

  private constructor({ timeoutMs, signal }: RunLimitOptions, firstTurn: number, nextTurn: number) {
    this.#turn = firstTurn;
    this.#nextTurn = nextTurn;
    this.timeoutMs = timeoutMs;
    this.signal = signal;
    this.#deadline = timeoutMs === undefined ? Infinity : performance.now() + timeoutMs;
  }

  get left(): number {
    return Math.max(0, this.#deadline - performance.now());
  }

  /**
   * Returns the reason to end the run, or null. It is called once a turn and reads the clock about once a millisecond:
   * reading it costs a tenth of a small loop's turn.
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

  /** Makes the next {@linkcode due} read the clock: what ran meanwhile may have taken long. */
  look(): void {
    this.#calls = this.#every;
  }

  /**
   * The due turn of the event loop, for which all work under this limit waits; null if none is due. Call it after
   * {@linkcode due}.
   */
  pause(): Promise<void> | null {
    const most = sliceAt(this.#looked, this.#turn);
    if (this.#pause === null && this.#looked - this.#yielded >= most) {
      this.#pause = nextSlice().then(() => {
        this.#pause = null;
        this.#turn = this.#nextTurn;
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
 * State shared by all work of one `session.run` or function call. An `AbortSignal` is made on demand: most runs end
 * before they could be cancelled.
 */
export class RunContext implements RunScope {
  readonly run: number = nextRun();
  hostCalls = 0;
  /** Counts the run's device work; null if not requested. */
  counter: RunCounter | null = null;
  /** The limit; null for none. */
  readonly limit: RunLimit | null;
  /** False for a synchronous call, which gives the event loop no turn. */
  readonly canWait: boolean;
  /** The session's state; null without a session: nodes then name shared state. */
  readonly state: SessionState | null;
  readonly #outer: AbortSignal | null;
  #controller: AbortController | null = null;
  #listeners: Set<(reason: unknown) => void> | null = null;
  /** Listens to `outer` and to the limit's signal while this has listeners. */
  #follow: (() => void) | null = null;
  #aborted = false;
  #reason: unknown;

  /**
   * `outer` ends the run with its reason when it aborts, and the limit's signal cancels it; `state` is the session's.
   */
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

  /** Throws if the run must end; for long work that gives the event loop no turn. */
  tick(): void {
    if (this.aborted) throw this.reason;
    const error = this.limit?.due();
    if (error) throw error;
  }

  /**
   * Polls as {@linkcode RunContext.tick} for work that can wait: a promise if the event loop is due a turn, which
   * rejects if the run must end by then. Null for a run without a limit, at the cost of a comparison.
   */
  turn(): Promise<void> | null {
    this.tick();
    const pause = this.canWait && this.limit !== null ? this.limit.pause() : null;
    return pause && pause.then(() => this.tick());
  }

  /** Calls `fn` after the due turn of the event loop. */
  inTurn<R>(fn: () => R | Promise<R>): R | Promise<R> {
    const pause = this.turn();
    return pause === null ? fn() : pause.then(fn);
  }

  /** Runs code that works for the run, and counts its work if requested. */
  counted<R>(fn: () => R): R {
    return this.counter === null ? fn() : this.counter.within(fn);
  }

  get aborted(): boolean {
    return this.#aborted || this.#outer?.aborted === true || this.limit?.signal?.aborted === true;
  }
  get reason(): unknown {
    if (this.#aborted) return this.#reason;
    return this.#outer?.aborted ? this.#outer.reason : this.limit?.cancelled();
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort(this.#reason);
    }
    const own = this.#controller.signal;
    return this.#outer ? AbortSignal.any([own, this.#outer]) : own;
  }

  /** Ends the run: work in flight is told, and its results are dropped. Later calls change nothing. */
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

  /** Calls `tell` when the run is aborted. Returns a function that unregisters it. */
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

/** A call of a host op in a run: ops of the runtime may use the whole run. */
export interface RunCall extends HostCall {
  readonly context: RunContext;
  /** Draw counts of the random ops beside this one; a function that it calls counts within. */
  readonly draws: DrawCounts;
}

/** Runs a host op inside a plan. Throws `UnimplementedError` for ops that only work elsewhere. */
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

/** Returns the handle of an op that names state, the same at every run; undefined for other ops. */
export function handleOfNode(
  { def, attrs }: { readonly def: OpDef; readonly attrs: Attrs },
  of: SessionState | null,
): Tensor | undefined {
  const state = def.host?.state?.(attrs);
  return state && handleFor(state, of);
}

/** True for a node that names state of a graph, of which each session has its own. */
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

/** Makes `context` the current run, and returns the one before, as {@linkcode Dynamic.enter} does. */
export function enterRun(context: RunContext | null): RunContext | null {
  return called.enter(context);
}

/** Calls a body of a run: the runs that it starts end with this run. */
export function withinRun<R>(context: RunContext, fn: () => R): R {
  return called.within(context, fn);
}

/** Calls `fn`: the runs that it starts end when `signal` aborts, and give the event loop its turns. */
export function withinSignal<R>(signal: AbortSignal, fn: () => R): R {
  return withinRun(
    new RunContext(null, RunLimit.of({ signal }), {
      state: currentRun()?.state ?? null,
    }),
    fn,
  );
}

/**
 * Makes a run. It ends with the run in whose body it begins, or by `limit` if there is none, and belongs to that run's
 * session.
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
