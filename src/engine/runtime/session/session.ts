/** Session: runs parts of a graph. Plans are made once per set of fetches and feeds. */
import { CompositeTensor, packComponents } from "../../core/composite.ts";
import type { Device } from "../../core/device.ts";
import { DTYPES } from "../../core/dtype.ts";
import { flatten, isNested, mapNest, type Nest, packAs, whenReady } from "../../core/nest.ts";
import type { NdArray } from "../../core/nd_array.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { CancelledError, RuntimeError, ValueError } from "../../core/errors.ts";
import { traced, tracer } from "../../core/trace.ts";
import { DrawCounts } from "../../ops/random/state.ts";
import { currentGraph } from "../../graph/current_graph.ts";
import type { Graph } from "../../graph/graph.ts";
import type { Operation, SymbolicTensor } from "../../graph/operation.ts";
import { fedParts, feedsIn, fetchIn } from "../../graph/fetches.ts";
import { buildIr, type IrRequest } from "../../graph/ir.ts";
import { optionCheck } from "../../core/arguments.ts";
import { RecentMap } from "../../core/collections/recent_map.ts";
import { after } from "../run/timers.ts";
import { defaultDevice, deviceGeneration, fullName, listDevices } from "../devices/devices.ts";
import { mergeEqual, runPasses } from "../../graph/passes/pipeline.ts";
import { Fed } from "./feeds.ts";
import type {
  Feeds,
  FeedValue,
  Fetch,
  Fetched,
  FetchedOf,
  FetchedValue,
  RunOptions,
  SessionOptions,
  TensorName,
} from "../run/requests.ts";
import { Folder } from "../plan/folder.ts";
import { checkPlacement, makePlan, type Plan } from "../plan/make_plan.ts";
import { execute, executeAlone } from "../plan/execute.ts";
import { currentRun, RunContext, RunLimit } from "../run/run_context.ts";
import { openTarget, type RemoteRuns, type SessionDevice } from "../run/targets.ts";
import { releaseValue, toHost } from "../run/run_value.ts";
import { type Request, requestOf } from "./request.ts";
import { releasePlan } from "../plan/slots.ts";
import { RunCounter } from "../run/metadata.ts";
import { SessionState } from "../run/session_state.ts";

const PLAN_LIMIT = 256;

const checkSessionOptions = optionCheck<SessionOptions>("Session", {
  graph: true,
  allowSoftPlacement: true,
  target: true,
});
const checkRunOptions = optionCheck<RunOptions>(
  "Session.run",
  { feeds: true, timeoutMs: true, signal: true, metadata: true },
  'values are fed as run(fetches, { feeds: new Map([[x, value]]) }) or { feeds: { "x:0": value } }',
);

/** A plan, and the number of promised shapes when it was made. */
interface Planned {
  readonly plan: Plan;
  readonly promises: number;
}

/** The key of a request, and its plan. */
interface Asked extends IrRequest {
  readonly device: Device;
  readonly planned: Planned;
}

function sameItems<T>(a: readonly T[], b: readonly T[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/**
 * Runs operations of a graph. Each session has its own values of the graph's variables, tables and accumulators, none
 * before it initialises them; variables of eager code are shared. Follows TensorFlow `tf.compat.v1.Session`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const g = new tf.Graph();
 * const { x, y } = g.asDefault(() => {
 *   const x = tf.placeholder("float32", [null, 2], "x");
 *   return { x, y: tf.mul(x, x) };
 * });
 * await using sess = new tf.Session({ graph: g });
 * const out = await sess.run({ y }, { feeds: new Map([[x, [[1, 2]]]]) }) as { y: tf.NdArray };
 * console.log(out.y.toArray()); // [[1, 4]]
 * ```
 */
export class Session {
  /** The graph that is run. */
  readonly graph: Graph;
  readonly #soft: boolean;
  /** Runs the parts of other processes; null if all run here. */
  readonly #remote: RemoteRuns | null;
  readonly #plans = new RecentMap<string, Planned>(PLAN_LIMIT, ({ plan }) => {
    releasePlan(plan);
    if (this.#last?.planned.plan === plan) this.#last = null;
  });
  /** The last request: the next one is often the same. */
  #last: Asked | null = null;
  #generation = deviceGeneration();
  /** The runs whose synchronous code is under way, innermost last: a body may run the session again. */
  readonly #running: RunContext[] = [];
  readonly #waiting = new Set<RunContext>();
  readonly #folder = new Folder();
  readonly #draws = new DrawCounts();
  /** @internal Its own values of the graph's variables, tables and accumulators. */
  readonly state: SessionState = new SessionState();
  #closed = false;

  /** Opens a session. Throws `RuntimeError` if there is no graph, `NotFoundError` for an unknown target. */
  constructor(options: SessionOptions = {}) {
    checkSessionOptions(options);
    const { graph, allowSoftPlacement = true, target = "" } = options;
    const g = (graph ?? currentGraph()) as Graph | undefined;
    if (!g) {
      throw new RuntimeError("Cannot open a Session: pass { graph }, there is no default graph");
    }
    this.graph = g;
    this.#soft = allowSoftPlacement;
    this.#remote = target === "" ? null : openTarget(target, g, { allowSoftPlacement });
  }

  /** Lists the devices of the target or of this process. Follows TensorFlow `tf.compat.v1.Session.list_devices`. */
  async listDevices(): Promise<SessionDevice[]> {
    if (this.#closed) throw new RuntimeError("Attempted to use a closed Session.");
    if (this.#remote !== null) return await this.#remote.listDevices();
    return listDevices().map((d) => ({ name: fullName(d), type: d.type }));
  }

  /** Runs the fetches and returns their values in the same nest. Rejects with the first error of a node. */
  run(fetches: Tensor | TensorName, options?: RunOptions): Promise<FetchedValue>;
  /** Returns the value of this name: null for an operation. */
  run(fetches: string, options?: RunOptions): Promise<Fetched>;
  /** Runs an operation for its effect. */
  run(fetches: Operation, options?: RunOptions): Promise<null>;
  /** The values of tensors. */
  run(
    fetches: readonly (Tensor | TensorName)[],
    options?: RunOptions,
  ): Promise<FetchedValue[]>;
  /** Runs a list of fetches. */
  run(fetches: readonly (Tensor | Operation | string)[], options?: RunOptions): Promise<Fetched[]>;
  /** Runs any nest of fetches. */
  run<F extends Nest<Fetch>>(fetches: F, options?: RunOptions): Promise<FetchedOf<F>>;
  async run(fetches: Nest<Fetch>, options: RunOptions = {}): Promise<unknown> {
    checkRunOptions(options);
    if (this.#closed) throw new RuntimeError("Attempted to use a closed Session.");
    if (this.graph.version === 0) {
      throw new RuntimeError(
        "The Session graph is empty. Add operations to the graph before calling run().",
      );
    }
    const { signal, metadata } = options;
    if (signal?.aborted) {
      throw new CancelledError("Cannot run: the signal is aborted already", {
        cause: signal.reason,
      });
    }
    const nested = isNested(fetches);
    const leaves = nested ? flatten(fetches as Nest<Fetch>) : [fetches as Fetch];
    const isComposite = leaves.some((f) => f instanceof CompositeTensor);
    const parts = isComposite
      ? leaves.flatMap((f): readonly unknown[] => f instanceof CompositeTensor ? f.components : [f])
      : leaves;
    const resolved: (SymbolicTensor | Operation)[] = [];
    for (const f of parts) resolved.push(fetchIn(this.graph, f));
    const limit = RunLimit.of(options) ?? currentRun()?.limit;
    const request = requestOf(resolved, this.#feeds(options.feeds)), { kept } = request;
    const context = new RunContext(null, limit, { state: this.state });
    if (metadata) context.counter = new RunCounter();
    let arrays: NdArray[];
    try {
      const started = tracer === null
        ? this.#execute(request, context)
        : this.#trace(request, context);
      arrays = started instanceof Promise ? await started : started;
    } catch (e) {
      kept.forEach(releaseValue);
      throw e;
    }
    const feeds = kept.length > 0 ? await toHost(kept) : [];
    if (metadata) Object.assign(metadata, context.counter?.total, { hostCalls: context.hostCalls });
    const out: Fetched[] = [];
    for (const p of request.places) out.push(p && unwrap((p.isFed ? feeds : arrays)[p.from]));
    if (isComposite) {
      return packComponents(
        mapNest((f) => f instanceof CompositeTensor ? f.spec : null, fetches),
        out,
      );
    }
    return nested ? packAs<Fetched>(fetches, out) : out[0];
  }

  #trace(request: Request, context: RunContext): NdArray[] | Promise<NdArray[]> {
    return traced(
      { name: "Session.run", category: "run", details: { run: context.run } },
      () => this.#execute(request, context),
    );
  }

  /** Runs a plan until it ends: by an error, the time limit, the caller's signal or `close()`. */
  #execute(request: Request, context: RunContext): NdArray[] | Promise<NdArray[]> {
    const { fed } = request;
    this.#running.push(context);
    let work: NdArray[] | Promise<NdArray[]> | undefined;
    try {
      const plan = this.#plan(request, context);
      work = plan instanceof Promise
        ? runLater(plan, fed, context, this.#draws)
        : runPlan(plan, fed, context, this.#draws);
    } finally {
      this.#running.pop();
      if (work instanceof Promise) this.#waiting.add(context);
      else fed.release();
    }
    return work instanceof Promise ? this.#guard(work, request, context) : work;
  }

  /** Settles a run that waits: with its results, or the first reason to end it. */
  #guard(
    work: Promise<NdArray[]>,
    { fed }: Request,
    context: RunContext,
  ): Promise<NdArray[]> {
    const { limit } = context;
    return new Promise((resolve, reject) => {
      const clear = limit?.timeoutMs === undefined
        ? () => {}
        : after(limit.left, () => context.abort(limit.expired()));
      let forget = (): void => {};
      const end = (): void => {
        clear();
        forget();
        this.#waiting.delete(context);
      };
      forget = context.onAbort((reason) => {
        end();
        fed.release();
        reject(reason);
      });
      work.then((v) => {
        end();
        resolve(v);
      }, (e) => {
        end();
        fed.release();
        reject(e);
      });
    });
  }

  #plan(request: Request, context: RunContext): Plan | Promise<Plan> {
    const { fetches, targets, fed: { tensors: feeds } } = request, promises = this.#promises;
    if (this.#generation !== deviceGeneration()) this.#releasePlans();
    const device = defaultDevice(), last = this.#last;
    if (
      last?.planned.promises === promises && last.device === device &&
      sameItems(last.fetches, fetches) && sameItems(last.targets, targets) &&
      sameItems(last.feeds, feeds)
    ) return last.planned.plan;
    const ids = (ts: readonly SymbolicTensor[]): string => ts.map((t) => t.id).join();
    const key = `${device.name}|${ids(fetches)}|${targets.map((o) => o.index).join()}|${
      ids(feeds)
    }`;
    const planned = this.#plans.get(key);
    if (planned?.promises === promises) {
      this.#last = { device, fetches, targets, feeds, planned };
      return planned.plan;
    }
    return traced(
      { name: "plan", category: "plan" },
      () => this.#makePlan(key, request, context),
    );
  }

  /** Version of the plans' assumptions: they are made anew when it changes. */
  get #promises(): number {
    return this.graph.promises + (this.#remote?.generation ?? 0);
  }

  #makePlan(
    key: string,
    { fetches, targets, fed }: Request,
    context: RunContext,
  ): Plan | Promise<Plan> {
    const promises = this.#promises, asked = { fetches, targets, feeds: fed.tensors };
    // Bodies may run from now on, and the caller goes on while one awaits: neither may change the feeds.
    fed.own();
    const built = this.#remote?.cut(asked) ?? mergeEqual(buildIr(asked));
    checkPlacement(built, this.#soft);
    const ir = this.#folder.fold(built, context);
    return whenReady(ir, (folded) => {
      if (this.#closed) throw closedError();
      const plan = makePlan(runPasses(folded, defaultDevice().type), {
        ownsFeeds: true,
        state: this.state,
      });
      // Two runs may have made the same plan while a body was folded.
      const other = this.#plans.get(key);
      if (other?.promises === promises) return other.plan;
      this.#plans.set(key, { plan, promises });
      return plan;
    });
  }

  #feeds(feeds: Feeds | undefined): Fed {
    const fed = new Fed();
    if (feeds === undefined) return fed;
    const entries: Iterable<[unknown, FeedValue]> = feeds instanceof Map
      ? feeds
      : Object.entries(feeds);
    try {
      for (const [key, value] of entries) {
        if (!(key instanceof CompositeTensor)) this.#feed(fed, key, value as TensorLike);
        else {
          for (const [part, v] of fedParts(key, value)) this.#feed(fed, part, v as TensorLike);
        }
      }
    } catch (e) {
      fed.release();
      throw e;
    }
    return fed;
  }

  #feed(fed: Fed, key: unknown, value: TensorLike): void {
    for (const t of feedsIn(this.graph, key)) {
      if (!this.graph.isFeedable(t)) throw new ValueError(`Tensor ${t.name} may not be fed.`);
      if (fed.tensors.includes(t)) throw new ValueError(`Tensor ${t.name} is fed twice`);
      fed.add(t, value);
    }
  }

  /** Cancels running work and frees the plans and variables. Later runs throw `RuntimeError`. */
  close(): Promise<void> {
    if (this.#closed) return Promise.resolve();
    this.#closed = true;
    const error = closedError();
    this.#folder.close(error);
    for (const context of [...this.#running, ...this.#waiting]) context.abort(error);
    this.#releasePlans();
    this.state.dispose();
    return this.#remote?.close() ?? Promise.resolve();
  }

  #releasePlans(): void {
    this.#plans.clear();
    this.#generation = deviceGeneration();
  }

  /** Closes at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** Runs a plan. Without script calls it need not own the feeds. */
function runPlan(
  plan: Plan,
  fed: Fed,
  context: RunContext,
  draws: DrawCounts,
): NdArray[] | Promise<NdArray[]> {
  const { counter } = context;
  const alone = counter === null
    ? executeAlone(plan, fed.values)
    : counter.within(() => executeAlone(plan, fed.values));
  if (alone !== null) {
    fed.release();
    return counter === null ? alone.arrays() : counter.within(() => alone.arrays());
  }
  const out = execute(plan, fed.take(plan.feedSinks), context, { toHost: true, draws });
  return counter === null && !(out instanceof Promise)
    ? toHost(out, context)
    : whenReady(out, (values) => context.counted(() => toHost(values, context)));
}

/** Runs a plan that is made after an await. */
function runLater(
  plan: Promise<Plan>,
  fed: Fed,
  context: RunContext,
  draws: DrawCounts,
): Promise<NdArray[]> {
  return plan.then((made) => runPlan(made, fed, context, draws));
}

function closedError(): CancelledError {
  return new CancelledError("Session has been closed.");
}

/** Returns a rank-0 array as a scalar; others as arrays. */
function unwrap(a: NdArray): Fetched {
  return a.shape.length > 0 || DTYPES[a.dtype].kind === "handle" ? a : a.at(0);
}
