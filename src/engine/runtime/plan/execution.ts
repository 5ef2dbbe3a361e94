/** Execution: one run of a plan, step by step; independent pending steps overlap. */
import type { OpInput } from "../../core/apply.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { traced, tracer } from "../../core/trace.ts";
import { DrawCounts } from "../../ops/random/state.ts";
import { gpuDevice } from "../devices/devices.ts";
import { aside } from "../eager/aside.ts";
import { outputWatch, watched } from "../eager/eager.ts";
import type { Boundary } from "./boundary.ts";
import { type LateFeeds, Later } from "./later.ts";
import type { Plan, PlanStep } from "./plan.ts";
import type { RunContext } from "../run/run_context.ts";
import { locatedAt } from "../run/run_errors.ts";
import { releaseValue, type RunValue } from "../run/run_value.ts";
import { type Results, Segment, segmentsOf } from "./segment.ts";
import { Slots } from "./slots.ts";
import { checkPromise, computeStep, type HostResults } from "./step.ts";

/** Options of a run of a plan. */
export interface ExecuteOptions {
  /** Return fetched values as host arrays if they were read anyway. */
  readonly toHost?: boolean;
  /** Draw counts of the plan's random ops. Default: zero. */
  readonly draws?: DrawCounts;
  /** The boundary where it waits for reads, together with other runs. */
  readonly boundary?: Boundary | undefined;
  /** Feeds that come later: steps that do not depend on them run before. */
  readonly late?: LateFeeds | undefined;
}

/** Receives the outcome of a run. */
type Hearer = Pick<Later<RunValue[]>, "resolve" | "reject">;

const WAITING = 0, QUEUED = 1, STARTED = 2, DONE = 3;

const NONE: readonly PlanStep[] = [];

/** Runs code of a plan outside the caller's scopes. */
function shielded<R>(context: RunContext, fn: () => R): R {
  return context.counter === null ? aside({}, fn) : context.counted(() => aside({}, fn));
}

class Execution {
  readonly #plan: Plan;
  readonly context: RunContext;
  readonly draws: DrawCounts;
  readonly #slots: Slots;
  readonly #states: Uint8Array;
  readonly #toHost: boolean;
  readonly #boundary: Boundary | null;
  /** Slots of late feeds. */
  #late: ReadonlySet<number> | null = null;
  /** Steps that became ready, in order. */
  #queue: number[] | null = null;
  /** Steps that wait at the boundary. */
  #held: readonly PlanStep[] = NONE;
  #left: number;
  /** Number of pending steps. */
  #started = 0;
  #failed = false;
  #error: unknown;
  #forget: (() => void) | null = null;
  /** True while all steps are visited in order. */
  #isSweeping = false;
  /** Receives the outcome, if the run had to wait. */
  #waiting: Hearer | null = null;

  constructor(
    plan: Plan,
    feeds: readonly RunValue[],
    context: RunContext,
    { toHost = false, draws = new DrawCounts(), boundary, late }: ExecuteOptions,
  ) {
    this.#plan = plan;
    this.context = context;
    this.#slots = new Slots(plan, feeds);
    this.#states = new Uint8Array(plan.steps.length);
    this.#left = plan.steps.length;
    this.#toHost = toHost;
    this.draws = draws;
    this.#boundary = boundary ?? null;
    if (late) {
      this.#late = new Set(late.numbers.map((i) => plan.feeds[i]));
      late.whenSupplied((values) => this.#supply(late.numbers, values));
    }
  }

  /** Runs to the end, or until it must wait; then returns the hearer from `hearer`, which receives the results. */
  run<H extends Hearer>(hearer: () => H): RunValue[] | H {
    return shielded(this.context, () => {
      try {
        if (this.context.aborted) throw this.context.reason;
        this.#sweep();
      } catch (e) {
        this.#fail(e);
        throw this.#error;
      }
      if (this.#left === 0) return this.#slots.fetch(this.#toHost);
      const waiting = this.#waiting = hearer();
      this.#forget = this.context.onAbort((reason) => this.#fail(reason));
      this.#settle();
      return waiting;
    });
  }

  /** Starts every ready step, in order; all steps before `from` are done. */
  #sweep(from = 0): void {
    const { steps } = this.#plan;
    const segments = segmentsOf(this.#plan);
    this.#isSweeping = true;
    this.#queue = null;
    let isClear = true;
    for (let i = from; i < steps.length;) {
      // Without pending steps, kernels run together as far as possible.
      const state = this.#states[i], isWaiting = state === WAITING || state === QUEUED;
      const isNext = isWaiting && isClear && this.#started === 0 && this.#late === null &&
        this.#left === steps.length - i && !this.#mustUpload(steps[i]);
      const ran = isNext ? this.#runSegment(segments, i) : 0;
      i += ran;
      if (ran > 0) continue;
      const step = steps[i++];
      if (isWaiting && this.#isReady(step)) this.#start(step);
      if (this.#failed) throw this.#error;
      isClear &&= this.#states[step.index] === DONE;
    }
    this.#isSweeping = false;
  }

  /** Returns the results if all steps are done; else registers the wait at the boundary. */
  #settle(): void {
    if (this.#failed) return;
    if (this.#left === 0) {
      this.#forget?.();
      this.#waiting?.resolve(this.#slots.fetch(this.#toHost));
    } else if (this.#late !== null) this.#readAhead();
    else if (this.#held.length > 0) {
      const steps = this.#held;
      this.#held = NONE;
      this.#waitFor(steps, () => this.#goOn(steps));
    } else if (this.#boundary !== null && !this.#states.includes(STARTED)) this.#letUpload();
  }

  /** Waits for the upload of the kernels' inputs. */
  #letUpload(): void {
    const device = gpuDevice()!, slots = this.#slots.arraysFor(device);
    this.#boundary!.addUpload({
      arrays: slots.map((slot) => this.#slots.values[slot] as NdArray),
      device,
      go: (tensors) => {
        if (this.#failed) { for (const t of tensors) t.dispose(); }
        else {
          tensors.forEach((t, i) => this.#slots.brought(slots[i], t));
          this.#goOn([]);
        }
      },
      fail: (error) => this.#fail(error),
    });
  }

  /** Reads the available values before the late feeds come. */
  #readAhead(): void {
    const reading = this.#plan.steps.filter((step) => step.mayRead);
    if (this.#slots.readsOf(reading).reads.length > 0) this.#waitFor(reading, () => {});
  }

  /** Waits at the boundary until the GPU inputs of these steps have been read. */
  #waitFor(steps: readonly PlanStep[], go: () => void): void {
    const { reads, keep } = this.#slots.readsOf(steps);
    this.#boundary!.add({
      reads,
      device: reads.length > 0 ? gpuDevice() : null,
      go: (arrays) => {
        if (this.#failed) return;
        keep(arrays);
        go();
      },
      drop: () => this.#drop(),
      fail: (error) => this.#fail(locatedAt(error, steps[0].node)),
    });
  }

  /** Takes the late feeds. */
  #supply(numbers: readonly number[], values: readonly OpInput[]): void {
    if (this.#failed || this.#late === null) return;
    this.#late = null;
    numbers.forEach((n, i) => this.#slots.values[this.#plan.feeds[n]] = values[i] as RunValue);
    const held = this.#held;
    this.#held = NONE;
    this.#goOn(held);
  }

  /** Continues beyond the boundary. */
  #goOn(held: readonly PlanStep[]): void {
    this.#resume(() => {
      this.#isSweeping = true;
      for (const step of held) {
        this.#begin(step);
        if (this.#failed) return;
      }
      this.#sweep();
    });
  }

  /** Ends the run, whose results are not wanted. */
  #drop(): void {
    this.#failed = true;
    this.#forget?.();
    this.#slots.end();
  }

  /** Runs the segment that begins with this step, if any; returns its number of steps. */
  #runSegment(segments: (Segment | null)[], start: number): number {
    const known = outputWatch() === null ? segments[start] : null;
    const segment = known === undefined
      ? segments[start] = Segment.at(this.#plan, start, this.#slots)
      : known;
    if (segment === null) return 0;
    const ran = segment.run(this.#slots);
    this.#states.fill(DONE, start, start + ran);
    this.#left -= ran;
    return ran;
  }

  #isReady(step: PlanStep): boolean {
    const { after, inputs } = step;
    for (let i = 0; i < after.length; i++) if (this.#states[after[i]] !== DONE) return false;
    return this.#late === null || !inputs.some((slot) => this.#late!.has(slot));
  }

  /** True for a kernel that waits until its arrays are uploaded together with those of other runs. */
  #mustUpload({ node, device }: PlanStep): boolean {
    const uploads = this.#boundary?.uploads ?? "alone";
    if (uploads === "alone" || node.def.host || device.type !== "GPU") return false;
    const hasHostLeft = () =>
      this.#plan.steps.some((s) => s.node.def.host && this.#states[s.index] !== DONE);
    return this.#slots.arraysFor(device).length > 0 && (uploads === "together" || !hasHostLeft());
  }

  /** Starts a step, unless it waits at the boundary. */
  #start(step: PlanStep): void {
    if (this.#mustUpload(step)) {
      this.#states[step.index] = WAITING;
      return;
    }
    if (this.#boundary === null || !this.#waitsThere(step, this.#boundary)) {
      return this.#begin(step);
    }
    this.#markStarted(step);
    this.#held = [...this.#held, step];
  }

  #waitsThere(step: PlanStep, { isClosed }: Boundary): boolean {
    return isClosed && !!step.node.def.host || step.mayRead && this.#slots.mustRead(step);
  }

  /** Begins a step: at once, or after its reads from the GPU. */
  #begin(step: PlanStep): void {
    // At a boundary the loop gives the event loop its turns.
    const pause = this.#boundary === null ? this.context.turn() : null;
    this.#markStarted(step);
    if (pause === null) return this.#read(step);
    pause.then(() => this.#resume(() => this.#read(step)), (e) => this.#fail(e));
  }

  #read(step: PlanStep): void {
    const reading = step.mayRead ? this.#slots.read(step) : undefined;
    if (!reading) return this.#perform(step);
    reading.then(
      () => this.#resume(() => this.#perform(step)),
      (e) => this.#fail(locatedAt(e, step.node)),
    );
  }

  /** A step that waited at the boundary was already counted. */
  #markStarted({ index }: PlanStep): void {
    if (this.#states[index] !== STARTED) this.#started++;
    this.#states[index] = STARTED;
  }

  #perform(step: PlanStep): void {
    const { node } = step;
    let results: HostResults | Promise<HostResults>;
    try {
      results = tracer === null ? computeStep(step, this.#slots, this) : traced(
        { name: node.name, category: "step", details: { op: node.def.name } },
        () => computeStep(step, this.#slots, this),
      );
      if (outputWatch() !== null) results = watched(step, this.#slots.values, results);
    } catch (e) {
      throw locatedAt(e, node);
    }
    if (results instanceof Promise) {
      results.then((r) => this.#complete(step, r), (e) => this.#fail(locatedAt(e, node)));
    } else this.#store(step, results);
  }

  /** Takes the results of a pending step. */
  #complete(step: PlanStep, results: HostResults): void {
    if (this.#failed) { for (const r of results) releaseValue(r as RunValue | null); }
    else this.#resume(() => this.#store(step, results));
  }

  /** Continues after an await: with `fn`, then with every step that became ready. */
  #resume(fn: () => void): void {
    if (this.#failed) return;
    try {
      shielded(this.context, () => {
        fn();
        const { steps } = this.#plan;
        while (this.#queue !== null && this.#queue.length > 0 && !this.#failed) {
          const next = this.#queue.shift()!;
          if (this.#left === steps.length - next) this.#sweep(next);
          else this.#start(steps[next]);
        }
      });
      this.#settle();
    } catch (e) {
      this.#fail(e);
    }
  }

  #store(step: PlanStep, results: HostResults): void {
    if (this.context.aborted) this.#fail(this.context.reason);
    if (this.#failed) {
      for (const r of results) releaseValue(r as RunValue | null);
      return;
    }
    const { outputs } = step.node;
    for (let i = 0; i < outputs.length; i++) {
      const r = results[i] as RunValue | null | undefined;
      if (r === null || r === undefined) continue;
      const slot = step.outputs[i];
      if (outputs[i].promised) checkPromise(step, i, results);
      if (this.#slots.uses[slot] === 0) releaseValue(r);
      else this.#slots.values[slot] = r;
    }
    for (let i = 0; i < step.inputs.length; i++) this.#slots.used(step.inputs[i]);
    this.#states[step.index] = DONE;
    this.#started--;
    this.#left--;
    if (this.#isSweeping) return;
    for (const next of step.before) {
      if (this.#states[next] !== WAITING || !this.#isReady(this.#plan.steps[next])) continue;
      this.#states[next] = QUEUED;
      const queue = this.#queue ??= [];
      let at = queue.length;
      while (at > 0 && queue[at - 1] > next) at--;
      queue.splice(at, 0, next);
    }
  }

  /** Ends the run with its first error and frees its values. */
  #fail(error: unknown): void {
    if (this.#failed) return;
    this.#error = error;
    this.#drop();
    // A run that may not be wanted must not fail the others.
    if (this.#boundary?.isClosed) this.#boundary.hasFailed = true;
    else this.context.abort(error);
    this.#waiting?.reject(error);
  }
}

/**
 * Runs a plan. Returns the fetched values, each a handle that the caller owns; a promise if it had to wait. Feeds stay
 * the caller's unless the plan was made to own them. Throws (or rejects with) the first error, located at its node, at
 * once: work in flight is told through the context's signal, and its results are freed.
 */
export function execute(
  plan: Plan,
  feeds: readonly RunValue[],
  context: RunContext,
  options: ExecuteOptions = {},
): RunValue[] | Promise<RunValue[]> {
  const execution = new Execution(plan, feeds, context, options);
  const out = execution.run(() => Promise.withResolvers<RunValue[]>());
  return Array.isArray(out) ? out : out.promise;
}

/** Starts {@linkcode execute}, to the end or to a boundary, which continues it. */
export function begin(
  plan: Plan,
  feeds: readonly RunValue[],
  context: RunContext,
  options: ExecuteOptions = {},
): RunValue[] | Later<RunValue[]> {
  return new Execution(plan, feeds, context, options).run(() => new Later<RunValue[]>());
}

/**
 * Runs a plan that is only kernels of one device and that ran before on such feeds: without handles or reader counts;
 * null for any other, which {@linkcode execute} runs. Feeds stay the caller's. Throws as `execute` does.
 */
export function executeAlone(plan: Plan, feeds: readonly RunValue[]): Results | null {
  return outputWatch() === null ? segmentsOf(plan)[0]?.runAlone(feeds) ?? null : null;
}
