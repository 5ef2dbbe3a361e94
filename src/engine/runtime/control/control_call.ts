/**
 * ControlCall: one call of a control flow op inside a plan. It runs the op's functions, taped where a gradient is
 * wanted.
 */
import type { OpInput } from "../../core/apply.ts";
import { counter } from "../../core/collections/counter.ts";
import type { Device } from "../../core/device.ts";
import type { HostResults } from "../../core/contract/host_op.ts";
import { isTrainable } from "../../core/dtype.ts";
import { resourceOf } from "../../core/graph_node.ts";
import { NdArray } from "../../core/nd_array.ts";
import { Tensor } from "../../core/tensor.ts";
import { FLOATS } from "../../autodiff/flow.ts";
import { StepRecorder } from "../../autodiff/step_recorder.ts";
import type { DrawCounts } from "../../ops/random/state.ts";
import type { Branch } from "./branch.ts";
import type { ConcreteFunction } from "../functions/concrete_function.ts";
import { type CallOptions, run, runTo } from "../functions/run_body.ts";
import { cpuDevice } from "../devices/devices.ts";
import { isolated } from "../eager/isolated.ts";
import { onDevice } from "../eager/eager.ts";
import type { Boundary } from "../plan/boundary.ts";
import { NO_HOST } from "./host_state.ts";
import type { Later } from "../plan/later.ts";
import type { HostPlacing } from "../plan/place.ts";
import type { Plan } from "../plan/plan.ts";
import type { RunCall } from "../run/run_context.ts";
import { RunTape, tapeValue } from "../functions/run_tape.ts";
import { Turns } from "../functions/turns.ts";
import { asTensors, copyArray, releaseValue, type RunValue } from "../run/run_value.ts";
import { EagerTensor, outsideScopes, type Owned, withOwner } from "../eager/tensor.ts";

/** Options of running a function; `reads`: the inputs that {@linkcode ControlCall.run} takes from the call. */
interface BranchOptions extends Pick<CallOptions, "host" | "draws"> {
  readonly reads?: "kept" | "last of arguments" | "last of all";
}

const nextCall = counter(1);

/** Runs functions for one call of a control flow op, taped where a gradient is wanted. */
export class ControlCall {
  readonly call: RunCall;
  /** Inputs of the functions: those of the call, or the tape's own handles on them. */
  readonly inputs: readonly OpInput[];
  /** Records the functions; null where no gradient is wanted. */
  readonly recorder: StepRecorder | null;
  readonly #id = nextCall();
  readonly #owned: Owned[] = [];
  /** Results of functions: freed by then, or when the call ends, unless it hands them on. */
  readonly #results = new Set<OpInput>();
  #ended = false;
  #turning: { readonly branch: Branch; readonly turns: Turns } | null = null;
  readonly #draws: DrawCounts;

  /** `inputs` are the call's inputs that the functions get, `onHost` the numbers of those wanted on the host. */
  constructor(
    call: RunCall,
    inputs: readonly OpInput[],
    onHost: ReadonlySet<number> = NO_HOST.feeds,
  ) {
    this.call = call;
    this.#draws = call.draws.within(call.source);
    this.recorder = call.wanted.at(-1) ? new StepRecorder("all") : null;
    this.inputs = inputs.map((x, i) => {
      const isGiven = x instanceof EagerTensor && x.isGiven;
      const own = this.recorder ? this.#source(x, onHost.has(i) ? cpuDevice() : call.device) : x;
      if (isGiven) {
        (own as EagerTensor).holder = this.#id;
        x.isGiven = false;
        if (own !== x) x.dispose();
      }
      return own;
    });
  }

  /** Returns the tape's own handle on an input. */
  #source(x: OpInput, device: Device): OpInput {
    if (x instanceof Tensor && x.dtype === "resource") return x;
    return withOwner(this.#owned, () => {
      // Handles, such as the tape of what ran before, are on no device.
      if (x.dtype === "variant" && x instanceof NdArray) return asTensors([copyArray(x)])[0];
      const t = x.dtype === "variant" ? x as EagerTensor : onDevice(x, device);
      const own = t === x ? t.alias() : t;
      if (isTrainable(own.dtype)) this.recorder!.watch(own.id);
      return own;
    });
  }

  /**
   * Runs a function. What it returns lives until {@linkcode ControlCall.free}, or until the call ends. `reads`: which of its inputs the
   * call does not need any more, so that the function may have their memory: its arguments, or what it captures too. Default none.
   */
  run(
    branch: Branch,
    args: readonly OpInput[],
    options: BranchOptions = {},
  ): OpInput[] | Promise<OpInput[]> {
    const pause = this.call.context.turn();
    return pause === null
      ? this.#run(branch, args, options)
      : this.#runAfter(pause, branch, args, options);
  }

  #runAfter(
    pause: Promise<void>,
    branch: Branch,
    args: readonly OpInput[],
    options: BranchOptions,
  ): Promise<OpInput[]> {
    return pause.then(() => this.#run(branch, args, options));
  }

  /** Lets a function have the memory of tensors that are the call's, and one input each. */
  #give(tensors: readonly OpInput[], inputs: readonly OpInput[]): void {
    for (const t of tensors) {
      if (t instanceof NdArray || !(t instanceof EagerTensor) || t.holder !== this.#id) continue;
      t.isGiven = inputs.indexOf(t) === inputs.lastIndexOf(t);
    }
  }

  #run(
    branch: Branch,
    args: readonly OpInput[],
    { host, draws = this.#draws, reads = "kept" }: BranchOptions,
  ): OpInput[] | Promise<OpInput[]> {
    const inputs = this.#inputsOf(branch, args);
    if (reads !== "kept") this.#give(reads === "last of all" ? inputs : args, inputs);
    const out = run(this.#called(branch), inputs, this.call.context, { host, draws });
    return out instanceof Promise
      ? this.#takeAfter(out, branch, inputs, host)
      : this.#take(branch, inputs, out, host);
  }

  /** Like {@linkcode ControlCall.run} up to a boundary; it waits there, and for the `late` arguments. */
  runTo(
    boundary: Boundary,
    branch: Branch,
    args: readonly OpInput[],
    { host, late, draws }: Omit<CallOptions, "boundary"> = {},
  ): OpInput[] | Later<OpInput[]> {
    this.call.context.tick();
    const inputs = this.#inputsOf(branch, args);
    late?.whenSupplied((values) => late.numbers.forEach((n, i) => inputs[n] = values[i]));
    const out = runTo(this.#called(branch), inputs, this.call.context, {
      boundary,
      host,
      late,
      draws: draws ?? (branch.f.graph.ordered ? this.#draws : this.drawsOfRow()),
    });
    return Array.isArray(out)
      ? this.#take(branch, inputs, out, host)
      : out.map((values) => this.#take(branch, inputs, values, host));
  }

  /** Makes the counts of draws of one more row: with many under way, draws do not depend on their order. */
  drawsOfRow(): DrawCounts {
    return this.#draws.ofElement(this.#draws.next("element"));
  }

  /** The plan by which a function runs here. */
  planOf(branch: Branch, host?: HostPlacing): Plan {
    return this.#called(branch).plan(host, this.call.context.state);
  }

  #called({ f, taped }: Branch): ConcreteFunction {
    return taped ?? (this.recorder === null ? f : f.differentiable.forward);
  }

  /** Returns the inputs of a function: its arguments, then its captures. */
  #inputsOf({ from }: Branch, args: readonly OpInput[]): OpInput[] {
    const inputs = args.slice();
    for (let i = 0; i < from.length; i++) inputs.push(this.inputs[from[i]]);
    return inputs;
  }

  #takeAfter(
    pending: Promise<RunValue[]>,
    branch: Branch,
    inputs: readonly OpInput[],
    host: HostPlacing | undefined,
  ): Promise<OpInput[]> {
    return pending.then((values) => this.#take(branch, inputs, values, host));
  }

  #take(
    branch: Branch,
    inputs: readonly OpInput[],
    values: RunValue[],
    host: HostPlacing | undefined,
  ): OpInput[] {
    const taken = this.recorder === null ? values : this.#record(branch, inputs, values, host);
    const own = branch.f.outputs.length;
    this.#adopt(taken);
    return taken.length === own ? taken as OpInput[] : taken.slice(0, own);
  }

  /** Makes results belong to the call; results that come after its end are freed. */
  #adopt(values: readonly OpInput[]): readonly OpInput[] {
    for (const v of values) {
      if (this.#ended) releaseValue(v as RunValue);
      else if (!(v instanceof NdArray) && v instanceof EagerTensor) this.#hold(v);
    }
    return values;
  }

  #hold(t: EagerTensor): void {
    this.#results.add(t);
    t.holder = this.#id;
  }

  /** Returns a handle on a result or an input that can be freed by itself. */
  handle(v: OpInput): OpInput {
    if (!(v instanceof EagerTensor)) return v;
    const own = v.hold();
    this.#hold(own);
    return own;
  }

  /** Frees a result that is not needed any more. A tape has handles of its own on what it needs. */
  free(v: OpInput): void {
    if (this.#results.delete(v)) (v as EagerTensor).dispose();
  }

  /** {@linkcode ControlCall.free} for several. */
  freeAll(values: readonly OpInput[]): void {
    for (let i = 0; i < values.length; i++) this.free(values[i]);
  }

  /** Records the call as one application, with the values that its gradient needs. */
  #record(
    branch: Branch,
    inputs: readonly OpInput[],
    values: readonly RunValue[],
    host: HostPlacing | undefined,
  ): readonly OpInput[] {
    const { f } = branch, called = this.#called(branch), own = f.outputs.length;
    if (!called.outputs.some((o) => isTrainable(o.dtype))) return values;
    const isTurn = branch === this.#turning?.branch;
    const outputs: readonly EagerTensor[] = isTurn && values.every((v) => v instanceof EagerTensor)
      ? values
      : outsideScopes(() => asTensors(values, host?.fetches));
    if (this.#ended) return outputs;
    if (isTurn) {
      this.#addTurn(inputs, outputs);
      return outputs.slice(0, own);
    }
    const attrs = called.callAttrs(inputs);
    this.recorder!.record({ def: f.op, inputs, outputs, attrs });
    // What is returned beyond the function's own results is the tape's alone.
    for (const t of outputs.slice(own)) t.dispose();
    return outputs.slice(0, own);
  }

  /**
   * Records the calls of a function as one step from now on: it is the body of a loop. `isLastOnly`: results of a turn before the last one
   * are read by further turns alone.
   */
  takeTurns(branch: Branch, options: { readonly isLastOnly: boolean }): void {
    const { recorder } = this;
    if (recorder === null || recorder.flow !== FLOATS || branch.f.mayCapture) return;
    const called = this.#called(branch);
    if (called.variantOf === null) return;
    this.#turning = { branch, turns: new Turns(called, options) };
  }

  /** Number of turns on the tape. */
  get turns(): number {
    return this.#turning?.turns.count ?? 0;
  }

  /** Takes the turns after the first `count` from the tape: a body was begun before its loop was known to end. */
  keepTurns(count: number): void {
    this.#turning?.turns.keep(count);
  }

  #addTurn(inputs: readonly OpInput[], outputs: readonly Tensor[]): void {
    const { turns } = this.#turning!, recorder = this.recorder!;
    if (turns.count === 0) {
      recorder.steps.push(turns.step());
      for (const x of inputs) if (x.dtype === "resource") recorder.read(resourceOf(x as Tensor));
    }
    if (!turns.isLastOnly) {
      for (const y of outputs) if (isTrainable(y.dtype)) recorder.watch(y.id);
    }
    turns.add(inputs, outputs);
  }

  /** Runs eager code as a part of the call: on its device, taped, and with the call as owner of new tensors. */
  within<R>(fn: () => R, device: Device = this.call.device): R {
    return this.#owning(this.#owned, fn, device);
  }

  /** Does the same for code whose results are like those of functions: {@linkcode ControlCall.free} frees each. */
  made(fn: () => readonly Tensor[]): readonly OpInput[] {
    const owned: Owned[] = [];
    let values: readonly Tensor[] = [];
    try {
      values = this.#owning(owned, fn);
    } finally {
      for (const t of owned) if (!values.includes(t as Tensor)) t.dispose();
    }
    return this.#adopt(values);
  }

  #owning<R>(owned: Owned[], fn: () => R, device: Device = this.call.device): R {
    const recorders = this.recorder ? [this.recorder] : [];
    return isolated({ device: device.name, recorders }, () => withOwner(owned, fn));
  }

  /** Runs the call and returns its results with the tape; frees the call's other tensors, also after an error. */
  settle(
    work: () => readonly OpInput[] | Promise<readonly OpInput[]>,
  ): HostResults | Promise<HostResults> {
    const fail = (e: unknown): never => {
      this.recorder?.release();
      this.#end();
      throw e;
    };
    let values: readonly OpInput[] | Promise<readonly OpInput[]>;
    try {
      values = work();
    } catch (e) {
      return fail(e);
    }
    return values instanceof Promise
      ? values.then((v) => this.#finish(v), fail)
      : this.#finish(values);
  }

  #finish(values: readonly OpInput[]): HostResults {
    const tape = this.recorder && new RunTape(this.recorder, this.inputs, values);
    // A returned tensor that is no result, such as an input, stays with its owner.
    const results = values.map((v) =>
      v instanceof EagerTensor && !this.#results.delete(v) ? v.hold() : v
    );
    this.#end();
    return [...results, tape && tapeValue(tape)];
  }

  #end(): void {
    this.#ended = true;
    this.freeAll([...this.#results]);
    for (const t of this.#owned) t.dispose();
    this.#owned.length = 0;
  }
}
