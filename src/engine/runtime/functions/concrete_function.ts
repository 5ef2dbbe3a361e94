/** ConcreteFunction: a traced body with its plan, and the forward and backward variants that differentiate it. */
import {
  announce,
  apply,
  currentRecorders,
  hasContext,
  type OpInput,
  withInterpreter,
} from "../../core/apply.ts";
import { urgently } from "../../core/device.ts";
import type { DType } from "../../core/dtype.ts";
import { type Attrs, defineOp, type GradContext, type OpDef } from "../../core/op.ts";
import { RecentMap } from "../../core/collections/recent_map.ts";
import type { Tensor } from "../../core/tensor.ts";
import { FailedPreconditionError, InternalError } from "../../core/errors.ts";
import { resourceOf } from "../../core/graph_node.ts";
import { NdArray } from "../../core/nd_array.ts";
import { zerosOfSpec, zerosOfTensor } from "../../ops/array/fill_ops.ts";
import { IndexedSlices } from "../../ops/array/indexed_slices.ts";
import { DrawCounts } from "../../ops/random/state.ts";
import { mayCapture } from "../../autodiff/steps.ts";
import { tapeMemory } from "../../autodiff/step_recorder.ts";
import { UNSEEN } from "../../autodiff/unseen.ts";
import { effectAttrs, type FuncGraph } from "../../graph/func_graph.ts";
import { buildIr, type IrGraph } from "../../graph/ir.ts";
import type { Operation, SymbolicTensor } from "../../graph/operation.ts";
import { runPasses } from "../../graph/passes/pipeline.ts";
import { run, start } from "./run_body.ts";
import { traceBackward, type TracedBackward } from "./trace_backward.ts";
import { execute } from "../plan/execute.ts";
import { foldOrdinary } from "../plan/folder.ts";
import type { HostPlacing } from "../plan/place.ts";
import { checkPlacement, makePlan, type Plan } from "../plan/make_plan.ts";
import { Results } from "../plan/prepared.ts";
import { defaultDevice } from "../devices/devices.ts";
import { asTensors, settled, withOwnIds } from "../run/run_value.ts";
import { isEager } from "../eager/tensor.ts";
import { namesGraphState, newRunContext, type RunCall } from "../run/run_context.ts";
import type { SessionState } from "../run/session_state.ts";
import { FunctionPlans } from "./function_plans.ts";

function callOp(name: string, effects: "none" | "ordered"): OpDef {
  return defineOp({
    name,
    inputs: ["args: Tin"],
    outputs: ["output: Tout"],
    attrs: ["Tin: list(type)", "Tout: list(type)", "f: func"],
    infer: (_, { f }) => (f as ConcreteFunction).outputs.map((t) => t.staticShape),
    grad: {
      captures: (attrs) => (attrs.f as ConcreteFunction).mayCapture,
      saves: ["output"],
      reads: (attrs, output) => (attrs.f as ConcreteFunction).variantOf?.reads(output) ?? true,
      partial: true,
      vjp: callGradient,
    },
    effects,
    stateful: effects === "ordered",
    host: { run: runCall, eager: (inputs, attrs) => callNow(name, inputs, attrs.f) },
  });
}

/** Calls a pure function. Its inputs are the arguments, the captured tensors, and the handles of variables. */
export const PartitionedCall: OpDef = callOp("PartitionedCall", "none");
/** Calls a function with effects. */
export const StatefulPartitionedCall: OpDef = callOp("StatefulPartitionedCall", "ordered");

/** A traced body for one set of input specs. */
export class ConcreteFunction {
  readonly graph: FuncGraph;
  readonly outputs: readonly SymbolicTensor[];
  /** Draw counts of its random ops in eager calls. */
  readonly draws: DrawCounts = new DrawCounts(true);
  /** Plans, except those of sessions where the body names state that each session has for itself. */
  readonly #plans = new FunctionPlans((host) => this.#makePlan(host, null));
  #namesGraphState: boolean | null = null;
  /** The function that this is the forward variant of; null for any other. */
  variantOf: ForwardBackward | null = null;
  #forward: ForwardBackward | null = null;
  #callAttrs: Attrs | null = null;
  #mayCapture: boolean | null = null;
  readonly #isTapeOnly: boolean;

  /**
   * Outputs may exceed the graph's own: a forward variant also returns the values that the gradient needs.
   * `isTapeOnly`: calls are for the first gradient alone, and run no effects.
   */
  constructor(
    graph: FuncGraph,
    outputs: readonly SymbolicTensor[] = graph.outputs,
    { isTapeOnly = false }: { readonly isTapeOnly?: boolean } = {},
  ) {
    this.graph = graph;
    this.outputs = outputs;
    this.#isTapeOnly = isTapeOnly;
  }

  get name(): string {
    return this.graph.name;
  }
  /** The op that calls it. */
  get op(): OpDef {
    return this.graph.stateful ? StatefulPartitionedCall : PartitionedCall;
  }

  /** Builds the graph of a run, before any pass. Feeds are the arguments, then the captures. */
  ir(): IrGraph {
    const { inputs, captures, effects } = this.graph;
    const feeds = [...inputs, ...captures.map((c) => c.inner)];
    return buildIr({ fetches: this.outputs, targets: this.#isTapeOnly ? [] : effects, feeds });
  }

  /** Returns the plan for the default device, in a run of this session. `host`: values on the host, or wanted there. */
  plan(host?: HostPlacing, session: SessionState | null = null): Plan {
    if (session === null) return this.#plans.get(host);
    this.#namesGraphState ??= this.graph.operations.some(namesGraphState);
    if (!this.#namesGraphState) return this.#plans.get(host);
    const make = () => new FunctionPlans((host) => this.#makePlan(host, session));
    return session.keep(this, make).get(host);
  }

  #makePlan(host: HostPlacing | undefined, state: SessionState | null): Plan {
    const ir = this.ir();
    checkPlacement(ir, true);
    const passed = runPasses(foldOrdinary(ir), defaultDevice().type);
    return makePlan(passed, { host, state, firstOrder: this.#isTapeOnly });
  }

  /** Frees everything that it and its gradients keep between calls. A later call plans it anew. */
  release(): void {
    this.#plans.release();
    this.#forward?.release();
  }

  /** True where an op may read variables that are not inputs, such as the body of a script. */
  get mayCapture(): boolean {
    return this.#mayCapture ??= this.graph.operations.some(mayCapture);
  }

  /** Returns the variant that also returns the values for the gradient, and the gradient as a function of those. */
  get differentiable(): ForwardBackward {
    if (!this.#forward) {
      this.#forward = differentiate(this);
      this.#forward.forward.variantOf = this.#forward;
    }
    return this.#forward;
  }

  /** Returns the attributes of a call: one object for all calls with as many inputs. */
  callAttrs(inputs: readonly OpInput[]): Attrs {
    const known = this.#callAttrs, { graph } = this;
    if (known !== null && (known.Tin as DType[]).length === inputs.length) return known;
    return this.#callAttrs = {
      Tin: inputs.map((x) => x.dtype),
      Tout: this.outputs.map((t) => t.dtype),
      f: this,
      ...(graph.ordered ? {} : effectAttrs(graph)),
    };
  }
}

/** A differentiable function: its forward variant and its gradients. */
export interface ForwardBackward {
  readonly plain: ConcreteFunction;
  /** Returns the outputs, then every value of the body that gradients of any order read. */
  readonly forward: ConcreteFunction;
  /** True for an output of `forward` whose value a gradient of any order reads. */
  reads(output: number): boolean;
  /** Returns the requested gradient. */
  backward(asked: BackwardAsked): Backward;
  /** Frees everything that these keep between calls. */
  release(): void;
}

/** Selects a gradient of a function. */
export interface BackwardAsked {
  /**
   * `first` if only the function's own outputs have a gradient, `full` if the further ones do, as for higher orders.
   */
  readonly order: "first" | "full";
  /** Handles of variables that are not inputs of the function but that its ops may read. */
  readonly unseen: readonly Tensor[];
  /** For each input, true if it needs a gradient; unseen variables last. */
  readonly needs: readonly boolean[];
}

/** A gradient as a function. */
export interface Backward extends Pick<TracedBackward, "dyFor" | "dxAt"> {
  /** Takes the gradients of outputs `dyFor`, then the values of outputs `reads`; null if no gradient flows. */
  readonly f: ConcreteFunction | null;
  /** Outputs of `forward` whose values it takes. */
  readonly reads: readonly number[];
}

/** Traces gradients of the outputs, then of the values that those read, until no more are read. */
function differentiate(f: ConcreteFunction): ForwardBackward {
  const all = [...f.outputs], read = new Set<SymbolicTensor>();
  const addNeeds = ({ reads }: TracedBackward): boolean => {
    const fresh = reads.filter((t) => !all.includes(t));
    for (const t of reads) read.add(t);
    all.push(...fresh);
    return fresh.length > 0;
  };
  let ys: readonly SymbolicTensor[] = f.outputs;
  while (addNeeds(traceBackward(f, { ys }))) ys = [...all];
  if (f.mayCapture) { while (addNeeds(traceBackward(f, { ys: all, unseen: [UNSEEN] }))); }
  return gradientsThrough(
    f,
    all.length === f.outputs.length ? f : new ConcreteFunction(f.graph, all),
    { read },
  );
}

/**
 * Makes the gradients of a function that read the results of `forward`, a variant of it. `values`: those that stand for
 * the body's, where they differ; `read`: those that gradients read. `serves` tells which a gradient can read; that of
 * all inputs always can.
 */
export function gradientsThrough(
  f: ConcreteFunction,
  forward: ConcreteFunction,
  {
    values: all = forward.outputs,
    read = new Set(all),
    serves = ({ reads }) => reads.every((t) => read.has(t)),
  }: {
    readonly values?: readonly SymbolicTensor[];
    readonly read?: ReadonlySet<SymbolicTensor>;
    readonly serves?: (traced: TracedBackward) => boolean;
  } = {},
): ForwardBackward {
  const known = new RecentMap<string, Backward>(64, ({ f }) => f?.release());
  return {
    plain: f,
    forward,
    reads: (output) => read.has(all[output]),
    backward({ order, unseen, needs }) {
      const key = `${order}:${needs.map(Number)}:${unseen.map((v) => resourceOf(v)!.id)}`;
      let found = known.get(key);
      if (!found) {
        const asked = { ys: order === "first" ? f.outputs : all, unseen };
        let traced = traceBackward(f, { ...asked, needs });
        // A rule that gives fewer gradients may read other values: then it gives them all.
        if (!serves(traced)) traced = traceBackward(f, asked);
        const { graph, reads, ...rest } = traced;
        const made = graph.outputs.length === 0 ? null : new ConcreteFunction(graph);
        known.set(key, found = { ...rest, f: made, reads: reads.map((t) => all.indexOf(t)) });
      }
      return found;
    },
    release() {
      if (forward !== f) forward.release();
      known.clear();
    },
  };
}

/** Inputs of a call: arguments, captures, handles. */
export function callInputs(f: ConcreteFunction, args: readonly OpInput[]): OpInput[] {
  const inputs = args.slice(), { captures, resources } = f.graph;
  for (const { outer } of captures) inputs.push(outer);
  inputs.push(...resources);
  return inputs;
}

/** Returns {@linkcode callInputs} for a call now. Throws `RuntimeError` for a disposed tensor: captures are not copied. */
export function liveInputs(f: ConcreteFunction, args: readonly OpInput[]): OpInput[] {
  const inputs = callInputs(f, args);
  for (let i = 0; i < inputs.length; i++) {
    const x = inputs[i];
    if (!(x instanceof NdArray) && x.isDisposed) x.throwIfDisposed();
  }
  return inputs;
}

/** Calls a function from eager code or a graph by applying the op, so that tapes record it. */
export function callFunction(f: ConcreteFunction, args: readonly OpInput[]): Tensor[] {
  const inputs = liveInputs(f, args);
  return ownOutputs(f, apply(f.op, inputs, variantFor(f, inputs).callAttrs(inputs)));
}

/** Returns the forward variant under a tape, else the function. */
function variantFor(f: ConcreteFunction, inputs: readonly OpInput[]): ConcreteFunction {
  const isTaped = currentRecorders().length > 0 || hasContext(inputs);
  return isTaped ? f.differentiable.forward : f;
}

/** Returns the function's own outputs and disposes the further ones of a forward variant, which the tapes hold. */
function ownOutputs(f: ConcreteFunction, outputs: Tensor[]): Tensor[] {
  const own = f.outputs.length;
  if (outputs.length === own) return outputs;
  for (let i = own; i < outputs.length; i++) outputs[i].dispose();
  return outputs.slice(0, own);
}

/** Calls {@linkcode callFunction} in eager code, and awaits bodies. */
export async function callFunctionAsync(
  f: ConcreteFunction,
  args: readonly OpInput[],
): Promise<Tensor[]> {
  const inputs = liveInputs(f, args), recorders = currentRecorders();
  const called = variantFor(f, inputs), attrs = called.callAttrs(inputs);
  return await settled(run(called, inputs, newRunContext()), inputs, (values, inputs) => {
    const outputs = withOwnIds(asTensors(values), inputs);
    announce({ def: f.op, inputs, outputs, attrs }, recorders);
    return ownOutputs(f, outputs);
  });
}

function callGradient(
  saved: Readonly<Record<string, Tensor>>,
  dys: readonly Tensor[],
  { attrs, needs, spent, outputs }: GradContext,
): (Tensor | null)[] {
  const called = attrs.f as ConcreteFunction;
  const first = saved["output:0"];
  const node = first?.isSymbolic ? first.op as unknown as Operation : null;
  const parts = node === null ? partsOf(called) : extendNode(node, called);
  const values = node?.outputs ?? called.outputs.map((_, k) => saved[`output:${k}`]);
  const own = callInputs(called, called.graph.inputs).length;
  const unseen = needs.slice(own).map((_, k) => saved[`args:${own + k}`]);
  const order = dys.slice(parts.plain.outputs.length).some((d) => d) ? "full" : "first";
  const backward = parts.backward({ order, unseen, needs });
  if (backward.f === null) return needs.map(() => null);
  const given = backward.dyFor.map((i) => {
    const dy = dys[i] as Tensor | null;
    if (dy !== null && spent[i]) tapeMemory().give(dy);
    return dy ?? (values[i] ? zerosOfTensor(values[i]) : zerosOfSpec(outputs[i]));
  });
  const grads = callFunction(backward.f, [...given, ...backward.reads.map((i) => values[i])]);
  return backward.dxAt.map((at) => {
    if (at === null) return null;
    if (typeof at === "number") return grads[at];
    return new IndexedSlices(grads[at.values], grads[at.indices], at.shape);
  });
}

/** Returns the parts of a recorded call, which called the forward variant. */
function partsOf(called: ConcreteFunction): ForwardBackward {
  if (called.variantOf) return called.variantOf;
  throw new InternalError(
    `Cannot differentiate a call of ${called.name}: its forward variant was not called`,
  );
}

/** Adds the further outputs that the gradient reads to a call in a graph. */
function extendNode(node: Operation, f: ConcreteFunction): ForwardBackward {
  if (f.variantOf) return f.variantOf;
  const parts = f.differentiable;
  if (parts.forward !== f) {
    for (const t of parts.forward.outputs.slice(node.outputs.length)) {
      node.addOutput({ dtype: t.dtype, shape: t.staticShape });
    }
    const Tout = parts.forward.outputs.map((t) => t.dtype);
    node.setAttrs({ ...node.attrs, f: parts.forward, Tout });
  }
  return parts;
}

/** Calls a function eagerly. Throws `FailedPreconditionError` if it must wait. */
export function callNow(op: string, inputs: readonly OpInput[], f: ConcreteFunction): Tensor[] {
  const context = newRunContext({ canWait: false });
  const out = urgently(() => withInterpreter(null, () => start(f, inputs, context, {}, execute)));
  // Results are tensors that were made just now.
  if (out instanceof Results) return out.tensors();
  if (out instanceof Promise) {
    out.then((late) => late.forEach((v) => isEager(v) && v.dispose()), () => {});
    const error = new FailedPreconditionError(
      `Cannot call ${f.name} synchronously: a script body or a read in it must be awaited, use await f.async(...)`,
      { op },
    );
    // The work after the wait must not run behind the caller's back.
    context.abort(error);
    throw error;
  }
  return withOwnIds(asTensors(out), inputs);
}

function runCall(
  { inputs, attrs, context, draws, source, wanted }: RunCall,
): ReturnType<typeof run> {
  const f = attrs.f as ConcreteFunction;
  const plain = f.variantOf?.plain ?? f;
  const further = wanted.indexOf(true, plain.outputs.length) >= 0;
  return run(further ? f : plain, inputs, context, { draws: draws.within(source) });
}
