/**
 * Runs a plan: step by step, synchronously as far as it goes, with pending steps overlapping where they are independent.
 * May import core, graph and runtime files.
 */
import { type OpInput, withInterpreter, withRecorders } from "../core/apply.ts";
import { DTYPES } from "../core/dtype.ts";
import { NdArray } from "../core/nd_array.ts";
import { withScope } from "../core/scope_context.ts";
import { compatible, shapeText } from "../core/shape.ts";
import { InvalidArgumentError } from "../core/errors.ts";
import { constantTensor, executeOn } from "./eager.ts";
import { EagerTensor, outsideScopes } from "./tensor.ts";
import type { Plan, PlanStep } from "./plan.ts";
import { hostOp, type HostResults, isLocal, type RunContext } from "./run_context.ts";
import { locatedAt } from "./run_errors.ts";
import { copyArray, releaseValue, type RunValue } from "./run_value.ts";

/** How to run a plan. */
export interface ExecuteOptions {
  /** True: the feeds are the run's own, to be changed, handed on and freed. */
  readonly ownsFeeds?: boolean;
  /** True: a fetched value that came to the host anyway is returned as the host array. */
  readonly toHost?: boolean;
}

/**
 * Runs a plan. Returns the fetched values, each a handle of its own that the caller owns; a promise where something had to be awaited.
 * Feeds stay the caller's. Throws (or rejects with) the first error, located at its node, as soon as it is known: what is in flight
 * then is told through the context's signal, and what it returns later is freed.
 */
export function execute(
  plan: Plan,
  feeds: readonly RunValue[],
  context: RunContext,
  options: ExecuteOptions = {},
): RunValue[] | Promise<RunValue[]> {
  return shielded(() => new Execution(plan, feeds, context, options).run());
}

/** Runs code of a plan with nothing of the caller's around it: eagerly, outside scopes and tapes. */
function shielded<R>(fn: () => R): R {
  return withInterpreter(
    null,
    () => withRecorders([], () => withScope(NO_SCOPE, () => outsideScopes(fn))),
  );
}
const NO_SCOPE = { device: null, opName: null };

/** Constants of a plan on the devices that use them; live as long as the plan. */
const constants = new WeakMap<Plan, Map<string, EagerTensor>>();
const released = new WeakSet<Plan>();

/** Frees what a plan holds between runs. */
export function releasePlan(plan: Plan): void {
  released.add(plan);
  for (const t of constants.get(plan)?.values() ?? []) t.dispose();
  constants.delete(plan);
}

const WAITING = 0, QUEUED = 1, STARTED = 2, DONE = 3;
const RESULT = 0, CONSTANT = 1, FEED = 2;

class Execution {
  readonly #plan: Plan;
  readonly #context: RunContext;
  readonly #values: (RunValue | undefined)[];
  /** Host copies of values that live on a device. */
  readonly #hosts: (NdArray | undefined)[];
  readonly #uses: number[];
  readonly #kinds: Uint8Array;
  readonly #states: Uint8Array;
  readonly #toHost: boolean;
  readonly #queue: number[] = [];
  #reading: Map<number, Promise<void>> | null = null;
  #left: number;
  #failed = false;
  #error: unknown;
  #forget: (() => void) | null = null;
  #resolve: ((values: RunValue[]) => void) | null = null;
  #reject: ((error: unknown) => void) | null = null;

  constructor(
    plan: Plan,
    feeds: readonly RunValue[],
    context: RunContext,
    { ownsFeeds = false, toHost = false }: ExecuteOptions,
  ) {
    this.#plan = plan;
    this.#context = context;
    this.#values = new Array(plan.slots).fill(undefined);
    this.#hosts = new Array(plan.slots).fill(undefined);
    this.#uses = plan.uses.slice();
    this.#kinds = plan.kinds;
    this.#states = new Uint8Array(plan.steps.length);
    this.#left = plan.steps.length;
    this.#toHost = toHost;
    for (const { slot, value } of plan.constants) this.#values[slot] = value;
    if (ownsFeeds && feeds.length > 0) {
      this.#kinds = plan.kinds.slice();
      for (const slot of plan.feeds) this.#kinds[slot] = RESULT;
    }
    for (let i = 0; i < feeds.length; i++) {
      const slot = plan.feeds[i];
      if (ownsFeeds && this.#uses[slot] === 0) releaseValue(feeds[i]);
      else this.#values[slot] = feeds[i];
    }
  }

  run(): RunValue[] | Promise<RunValue[]> {
    const { steps } = this.#plan;
    try {
      if (this.#context.aborted) throw this.#context.reason;
      for (let i = 0; i < steps.length; i++) {
        if (!this.#isReady(steps[i])) continue;
        this.#start(steps[i]);
        if (this.#failed) throw this.#error;
      }
      if (this.#left === 0) return this.#finish();
    } catch (e) {
      this.#fail(e);
      throw this.#error;
    }
    this.#forget = this.#context.onAbort((reason) => this.#fail(reason));
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  #isReady(step: PlanStep): boolean {
    const { after } = step;
    for (let i = 0; i < after.length; i++) if (this.#states[after[i]] !== DONE) return false;
    return true;
  }

  /** Begins a step: at once, or after what it reads from the GPU has come. */
  #start(step: PlanStep): void {
    this.#states[step.index] = STARTED;
    const reading = step.mayRead ? this.#read(step) : undefined;
    if (reading) {
      reading.then(
        () => this.#resume(() => this.#perform(step)),
        (e) => this.#fail(locatedAt(e, step.node)),
      );
    } else this.#perform(step);
  }

  #perform(step: PlanStep): void {
    const { node } = step;
    let results: HostResults | Promise<HostResults>;
    try {
      if (!node.def.host) {
        const inputs = step.inputs.map((slot, i) =>
          step.onHost[i] ? this.#host(slot) : this.#tensor(slot, step)
        );
        results = executeOn(node.def, inputs, node.attrs, step.device);
      } else results = this.#callHost(step);
    } catch (e) {
      throw locatedAt(e, node);
    }
    if (results instanceof Promise) {
      results.then((r) => this.#complete(step, r), (e) => this.#fail(locatedAt(e, node)));
    } else this.#store(step, results);
  }

  #callHost(step: PlanStep): HostResults | Promise<HostResults> {
    const { node } = step;
    const given: boolean[] = [];
    const inputs = step.inputs.map((slot, i): OpInput => {
      if (!step.onHost[i]) {
        given.push(false);
        return this.#tensor(slot, step);
      }
      const array = this.#host(slot);
      // The last reader of a result may have it; constants and the caller's feeds are never given away.
      const give = this.#uses[slot] === 1 &&
        (this.#kinds[slot] === RESULT || this.#values[slot] !== array);
      if (give) this.#hosts[slot] = undefined;
      given.push(give);
      return array;
    });
    return hostOp(node.def)({
      node: node.name,
      def: node.def,
      attrs: node.attrs,
      inputs,
      given,
      device: step.device,
      wanted: step.wanted,
      source: node.source,
      context: this.#context,
    });
  }

  /** A pending step has its results. */
  #complete(step: PlanStep, results: HostResults): void {
    if (this.#failed) { for (const r of results) releaseValue(r as RunValue | null); }
    else this.#resume(() => this.#store(step, results));
  }

  /** Goes on after an await: with `fn`, then with every step that became ready. */
  #resume(fn: () => void): void {
    if (this.#failed) return;
    try {
      shielded(() => {
        fn();
        while (this.#queue.length > 0 && !this.#failed) {
          this.#start(this.#plan.steps[this.#queue.shift()!]);
        }
        if (this.#left === 0 && !this.#failed) {
          this.#forget?.();
          this.#resolve?.(this.#finish());
        }
      });
    } catch (e) {
      this.#fail(e);
    }
  }

  /** Reads what this step needs from the GPU, and with it whatever its boundary will need and already has. */
  #read(step: PlanStep): Promise<void> | undefined {
    let slots: number[] | undefined;
    let waits: Promise<void>[] | undefined;
    for (let i = 0; i < step.inputs.length; i++) {
      const slot = step.inputs[i];
      if (!step.offGpu[i] || !this.#isRemote(slot)) continue;
      const under = this.#reading?.get(slot);
      if (under) (waits ??= []).push(under);
      else if (!slots?.includes(slot)) (slots ??= []).push(slot);
    }
    if (slots) {
      for (const slot of step.reads) {
        if (!slots.includes(slot) && this.#isRemote(slot) && !this.#reading?.has(slot)) {
          slots.push(slot);
        }
      }
      const pending = this.#readSlots(slots);
      if (pending) (waits ??= []).push(pending);
    }
    if (waits) return waits.length === 1 ? waits[0] : Promise.all(waits).then(() => {});
  }

  #isRemote(slot: number): boolean {
    const v = this.#values[slot];
    return v instanceof EagerTensor && v.storage.device.type === "GPU" &&
      this.#hosts[slot] === undefined;
  }

  #readSlots(slots: readonly number[]): Promise<void> | undefined {
    const tensors = slots.map((s) => this.#values[s] as EagerTensor);
    const { device } = tensors[0].storage;
    const reads = tensors.map((t) => ({
      buffer: t.storage.buffer,
      spec: { dtype: t.dtype, shape: t.staticShape },
    }));
    const keep = (arrays: readonly NdArray[]): void =>
      arrays.forEach((a, i) => this.#hosts[slots[i]] = a);
    device.check();
    const now = device.readSync(reads);
    if (now) return void keep(now);
    const reading = this.#reading ??= new Map();
    const pending = device.read(reads).then((arrays) => {
      for (const s of slots) reading.delete(s);
      if (!this.#failed) keep(arrays);
    });
    for (const s of slots) reading.set(s, pending);
    return pending;
  }

  #host(slot: number): NdArray {
    const known = this.#hosts[slot];
    if (known) return known;
    const v = this.#values[slot]!;
    return v instanceof NdArray ? v : this.#hosts[slot] = v.ndarraySync();
  }

  /** The value as an input of a kernel on the step's device. */
  #tensor(slot: number, step: PlanStep): OpInput {
    const v = this.#values[slot]!;
    if (!(v instanceof NdArray)) {
      if (
        !(v instanceof EagerTensor) || v.storage.device === step.device || !isLocal(step.node.def)
      ) return v;
      const host = this.#hosts[slot];
      if (step.device.type === "CPU" || this.#kinds[slot] !== RESULT) return host ?? v;
      // A value made on the CPU goes up once, however many steps read it.
      const array = host ?? v.ndarraySync();
      this.#hosts[slot] = array;
      v.dispose();
      return this.#values[slot] = constantTensor(array, step.device);
    }
    if (DTYPES[v.dtype].kind === "handle") return v;
    switch (this.#kinds[slot]) {
      case FEED:
        return v;
      case CONSTANT:
        return this.#constant(slot, v, step);
    }
    // A script's result: uploaded once, however many steps read it; the host array stays for scripts.
    this.#hosts[slot] = v;
    return this.#values[slot] = constantTensor(v, step.device);
  }

  #constant(slot: number, value: NdArray, step: PlanStep): OpInput {
    if (released.has(this.#plan)) return value;
    let map = constants.get(this.#plan);
    if (!map) constants.set(this.#plan, map = new Map());
    const key = `${slot}${step.device.name}`;
    let t = map.get(key);
    if (!t || t.isDisposed) map.set(key, t = constantTensor(value, step.device));
    return t;
  }

  #store(step: PlanStep, results: HostResults): void {
    if (this.#context.aborted) this.#fail(this.#context.reason);
    if (this.#failed) {
      for (const r of results) releaseValue(r as RunValue | null);
      return;
    }
    const { outputs } = step.node;
    for (let i = 0; i < outputs.length; i++) {
      const r = results[i] as RunValue | null | undefined;
      if (r === null || r === undefined) continue;
      const slot = step.outputs[i];
      if (outputs[i].promised) this.#checkPromise(step, i, results);
      if (this.#uses[slot] === 0) releaseValue(r);
      else this.#values[slot] = r;
    }
    for (let i = 0; i < step.inputs.length; i++) {
      const slot = step.inputs[i];
      if (--this.#uses[slot] === 0) this.#drop(slot);
    }
    this.#states[step.index] = DONE;
    this.#left--;
    // Before anything was pending the loop of run() comes by all steps in order.
    if (this.#resolve === null) return;
    for (const next of step.before) {
      if (this.#states[next] !== WAITING || !this.#isReady(this.#plan.steps[next])) continue;
      this.#states[next] = QUEUED;
      let at = this.#queue.length;
      while (at > 0 && this.#queue[at - 1] > next) at--;
      this.#queue.splice(at, 0, next);
    }
  }

  #checkPromise(step: PlanStep, i: number, results: HostResults): void {
    const { node } = step;
    const value = results[i] as RunValue;
    const declared = node.outputs[i].shape;
    const actual = value instanceof NdArray ? value.shape : value.staticShape;
    if (compatible(declared, actual)) return;
    for (let k = i; k < results.length; k++) releaseValue(results[k] as RunValue | null);
    throw locatedAt(
      new InvalidArgumentError(
        `Shape of output ${i} of ${node.name} is ${
          shapeText(actual)
        }, which is not compatible with the declared shape ${shapeText(declared)}`,
      ),
      node,
    );
  }

  #drop(slot: number): void {
    const v = this.#values[slot];
    if (v && this.#kinds[slot] === RESULT) releaseValue(v);
    this.#values[slot] = undefined;
    this.#hosts[slot] = undefined;
  }

  #finish(): RunValue[] {
    return this.#plan.fetches.map((slot) => {
      const v = this.#values[slot]!;
      const last = --this.#uses[slot] === 0 && this.#kinds[slot] === RESULT;
      if (v instanceof NdArray) return last ? v : copyArray(v);
      const host = this.#hosts[slot];
      if (this.#toHost && host) {
        if (last) v.dispose();
        return last ? host : copyArray(host);
      }
      return last || !(v instanceof EagerTensor)
        ? v
        : new EagerTensor(v.dtype, v.staticShape, v.storage.retain());
    });
  }

  /** Ends the run with its first error and frees everything it holds. */
  #fail(error: unknown): void {
    if (this.#failed) return;
    this.#failed = true;
    this.#error = error;
    this.#forget?.();
    for (let slot = 0; slot < this.#values.length; slot++) this.#drop(slot);
    this.#context.abort(error);
    this.#reject?.(error);
  }
}

export type { RunValue };
