/** Execution: one run of a plan, step by step; independent pending steps overlap. */
import type { OpInput } from "../../core/apply.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { traced, tracer } from "../../core/trace.ts";
import { DrawCounts } from "../../ops/random/state.ts";
import type { Device } from "../../core/device.ts";
import { gpuDevice } from "../devices/devices.ts";
import { isolated } from "../eager/isolated.ts";
import { outputWatch, watched } from "../eager/eager.ts";
import type { Boundary } from "./boundary.ts";
import type { LateFeeds, Later } from "./later.ts";
import type { Plan, PlanStep } from "./plan.ts";
import type { RunContext } from "../run/run_context.ts";
import { locatedAt } from "../run/run_errors.ts";
import { releaseValue, type RunValue } from "../run/run_value.ts";
import { Segment, segmentsOf } from "./segment.ts";
import { Slots } from "./slots.ts";
import { checkPromise, computeStep, type HostResults } from "./step.ts";
import { StepStates } from "./step_states.ts";

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

/** The phase of a run. README.md draws the transitions. */
type Phase =
  /** All steps are visited in order, and the ready ones started. */
  | "sweeping"
  /** Steps that became ready by the end of another step are started. */
  | "following"
  /** Steps are pending, or the run waits at its boundary or for late feeds. */
  | "waiting"
  /** The run failed, or its results are not wanted: late results are freed. */
  | "ended";

const NONE: readonly PlanStep[] = [];

/** Runs code of a plan outside the caller's scopes. */
function shielded<R>(context: RunContext, fn: () => R): R {
  return context.counter === null ? isolated({}, fn) : context.counted(() => isolated({}, fn));
}

export class Execution {
  readonly #plan: Plan;
  readonly context: RunContext;
  readonly draws: DrawCounts;
  readonly #slots: Slots;
  readonly #states: StepStates;
  readonly #toHost: boolean;
  readonly #boundary: Boundary | null;
  #phase: Phase = "waiting";
  /** Slots of late feeds. */
  #late: ReadonlySet<number> | null = null;
  /** Started steps that wait at the boundary. */
  #held: readonly PlanStep[] = NONE;
  #error: unknown;
  #forget: (() => void) | null = null;
  /** Receives the outcome, if the run had to wait. */
  #hearer: Hearer | null = null;

  constructor(
    plan: Plan,
    feeds: readonly RunValue[],
    context: RunContext,
    { toHost = false, draws = new DrawCounts(), boundary, late }: ExecuteOptions,
  ) {
    this.#plan = plan;
    this.context = context;
    this.#slots = new Slots(plan, feeds);
    this.#states = new StepStates(plan.steps);
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
      if (this.#states.left === 0) return this.#finish();
      const waiting = this.#hearer = hearer();
      this.#forget = this.context.onAbort((reason) => this.#fail(reason));
      this.#settle();
      return waiting;
    });
  }

  // Phases.

  get #hasEnded(): boolean {
    return this.#phase === "ended";
  }

  /** Starts every ready step, in order; all steps before `from` are done. */
  #sweep(from = 0): void {
    const { steps } = this.#plan;
    this.#phase = "sweeping";
    this.#states.clearQueue();
    let isClear = true;
    for (let i = from; i < steps.length;) {
      // Without pending steps, kernels run together as far as possible.
      const ran = isClear ? this.#runSegment(i) : 0;
      i += ran;
      if (ran > 0) continue;
      const step = steps[i++];
      if (this.#states.isAhead(step.index) && this.#isReady(step)) this.#start(step);
      if (this.#hasEnded) throw this.#error;
      isClear &&= this.#states.isDone(step.index);
    }
    this.#phase = "following";
  }

  /** Continues after an await: with `fn`, then with every step that became ready. */
  #follow(fn: () => void): void {
    if (this.#hasEnded) return;
    try {
      this.#phase = "following";
      shielded(this.context, () => {
        fn();
        const { steps } = this.#plan;
        for (let next; !this.#hasEnded && (next = this.#states.next()) !== undefined;) {
          if (this.#states.left === steps.length - next) this.#sweep(next);
          else this.#start(steps[next]);
        }
      });
      this.#settle();
    } catch (e) {
      this.#fail(e);
    }
  }

  /** Continues beyond the boundary, with the steps that waited there. */
  #goOn(held: readonly PlanStep[]): void {
    this.#follow(() => {
      this.#phase = "sweeping";
      for (const step of held) {
        this.#begin(step);
        if (this.#hasEnded) return;
      }
      this.#sweep();
    });
  }

  /** Returns the results if all steps are done; else registers the wait at the boundary. */
  #settle(): void {
    if (this.#hasEnded) return;
    if (this.#states.left === 0) {
      this.#forget?.();
      this.#hearer?.resolve(this.#finish());
      return;
    }
    this.#phase = "waiting";
    if (this.#late !== null) this.#readAhead();
    else if (this.#held.length > 0) {
      const steps = this.#held;
      this.#held = NONE;
      this.#waitFor(steps, () => this.#goOn(steps));
    } else if (this.#boundary !== null && this.#states.started === 0) this.#letUpload();
  }

  #finish(): RunValue[] {
    return this.#slots.fetch(this.#toHost);
  }

  /** Ends the run, whose results are not wanted. */
  #drop(): void {
    this.#phase = "ended";
    this.#forget?.();
    this.#slots.end();
  }

  /** Ends the run with its first error and frees its values. */
  #fail(error: unknown): void {
    if (this.#hasEnded) return;
    this.#error = error;
    this.#drop();
    // A run that may not be wanted must not fail the others.
    if (this.#boundary?.isClosed) this.#boundary.hasFailed = true;
    else this.context.abort(error);
    this.#hearer?.reject(error);
  }

  // Waits other than pending steps.

  /** Reads the available values before the late feeds come. */
  #readAhead(): void {
    const reading = this.#plan.steps.filter((step) => step.mayRead);
    if (this.#slots.readsOf(reading).reads.length > 0) this.#waitFor(reading, () => {});
  }

  /** Takes the late feeds. */
  #supply(numbers: readonly number[], values: readonly OpInput[]): void {
    if (this.#hasEnded || this.#late === null) return;
    this.#late = null;
    numbers.forEach((n, i) => this.#slots.values[this.#plan.feeds[n]] = values[i] as RunValue);
    const held = this.#held;
    this.#held = NONE;
    this.#goOn(held);
  }

  /** Waits at the boundary until the GPU inputs of these steps have been read. */
  #waitFor(steps: readonly PlanStep[], go: () => void): void {
    const { reads, keep } = this.#slots.readsOf(steps);
    this.#boundary!.add({
      reads,
      device: reads.length > 0 ? gpuDevice() : null,
      go: (arrays) => {
        if (this.#hasEnded) return;
        keep(arrays);
        go();
      },
      drop: () => this.#drop(),
      fail: (error) => this.#fail(locatedAt(error, steps[0].node)),
    });
  }

  /** Waits for the upload of the kernels' inputs. */
  #letUpload(): void {
    const device = gpuDevice()!, slots = this.#slots.arraysFor(device);
    this.#boundary!.addUpload({
      arrays: slots.map((slot) => this.#slots.values[slot] as NdArray),
      device,
      go: (tensors) => {
        if (this.#hasEnded) { for (const t of tensors) t.dispose(); }
        else {
          tensors.forEach((t, i) => this.#slots.brought(slots[i], t));
          this.#goOn([]);
        }
      },
      fail: (error) => this.#fail(error),
    });
  }

  /** True where a device's kernels wait until their arrays are uploaded together with those of other runs. */
  #mustUpload(device: Device): boolean {
    const uploads = this.#boundary?.uploads ?? "alone";
    if (uploads === "alone" || device.type !== "GPU") return false;
    const hasHostLeft = () =>
      this.#plan.steps.some((s) => s.node.def.host && !this.#states.isDone(s.index));
    return this.#slots.arraysFor(device).length > 0 && (uploads === "together" || !hasHostLeft());
  }

  /** True for a step that waits at the boundary. */
  #waitsThere(step: PlanStep, { isClosed }: Boundary): boolean {
    return isClosed && !!step.node.def.host || step.mayRead && this.#slots.mustRead(step);
  }

  // Steps.

  /** Runs the segment that begins with this step, if any, without pending steps; returns its number of steps. */
  #runSegment(start: number): number {
    const isNext = this.#states.isFront(start) && this.#late === null && outputWatch() === null;
    if (!isNext) return 0;
    const segments = segmentsOf(this.#plan), known = segments[start];
    const segment = known === undefined
      ? segments[start] = Segment.at(this.#plan, start, this.#slots)
      : known;
    if (segment === null || this.#mustUpload(segment.device)) return 0;
    const ran = segment.run(this.#slots);
    this.#states.finishRow(start, ran);
    return ran;
  }

  #isReady(step: PlanStep): boolean {
    return this.#states.isReady(step) &&
      (this.#late === null || !step.inputs.some((slot) => this.#late!.has(slot)));
  }

  /** Starts a step, unless it waits at the boundary. */
  #start(step: PlanStep): void {
    if (!step.node.def.host && this.#mustUpload(step.device)) return this.#states.wait(step);
    if (this.#boundary === null || !this.#waitsThere(step, this.#boundary)) {
      return this.#begin(step);
    }
    this.#states.start(step);
    this.#held = [...this.#held, step];
  }

  /** Begins a step: at once, or after its reads from the GPU. */
  #begin(step: PlanStep): void {
    // At a boundary the loop gives the event loop its turns.
    const pause = this.#boundary === null ? this.context.turn() : null;
    this.#states.start(step);
    if (pause === null) this.#read(step);
    else this.#readAfter(pause, step);
  }

  // Each await has a method of its own: callbacks would cost the steps that go without one as well.

  #readAfter(pause: Promise<void>, step: PlanStep): void {
    pause.then(() => this.#follow(() => this.#read(step)), (e) => this.#fail(e));
  }

  #read(step: PlanStep): void {
    const reading = step.mayRead ? this.#slots.read(step) : undefined;
    if (reading === undefined) this.#perform(step);
    else this.#performAfter(reading, step);
  }

  #performAfter(reading: Promise<void>, step: PlanStep): void {
    reading.then(
      () => this.#follow(() => this.#perform(step)),
      (e) => this.#fail(locatedAt(e, step.node)),
    );
  }

  #perform(step: PlanStep): void {
    let results: HostResults | Promise<HostResults>;
    try {
      results = tracer === null ? computeStep(step, this.#slots, this) : this.#trace(step);
      if (outputWatch() !== null) results = watched(step, this.#slots.values, results);
    } catch (e) {
      throw locatedAt(e, step.node);
    }
    if (results instanceof Promise) this.#storeAfter(results, step);
    else this.#store(step, results);
  }

  #trace(step: PlanStep): HostResults | Promise<HostResults> {
    return traced(
      { name: step.node.name, category: "step", details: { op: step.node.def.name } },
      () => computeStep(step, this.#slots, this),
    );
  }

  #storeAfter(pending: Promise<HostResults>, step: PlanStep): void {
    pending.then((results) => {
      if (this.#hasEnded) releaseAll(results);
      else this.#follow(() => this.#store(step, results));
    }, (e) => this.#fail(locatedAt(e, step.node)));
  }

  /** Stores the results of a step and marks it done. */
  #store(step: PlanStep, results: HostResults): void {
    if (this.context.aborted) this.#fail(this.context.reason);
    if (this.#hasEnded) return releaseAll(results);
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
    this.#states.finish(step);
    if (this.#phase !== "sweeping") this.#queueReady(step);
  }

  /** Queues the steps that became ready by the end of this one. */
  #queueReady({ before }: PlanStep): void {
    for (const next of before) {
      if (this.#states.isWaiting(next) && this.#isReady(this.#plan.steps[next])) {
        this.#states.queue(next);
      }
    }
  }
}

function releaseAll(results: HostResults): void {
  for (const r of results) releaseValue(r as RunValue | null);
}
