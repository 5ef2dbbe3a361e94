/** `apply`: passes an op to the current interpreter (eager or graph) and records it on tapes. */
import type { CompositeTensor } from "./composite.ts";
import type { Attrs, OpDef } from "./op.ts";
import { NdArray } from "./nd_array.ts";
import type { DType } from "./dtype.ts";
import type { Tensor, TensorContext } from "./tensor.ts";
import { Dynamic } from "./scope_context.ts";
import { type Seam, seam } from "./contract/seam.ts";

/** An input for an interpreter: a tensor, or a literal that need not become one. */
export type OpInput = Tensor | NdArray;

/** Gives meaning to ops: executes them, or adds them to a graph. */
export interface Interpreter {
  /** True where results are symbolic. */
  readonly symbolic: boolean;
  /** Number of operations of the graph being built; absent in eager execution. */
  operationCount?(): number;
  /** Applies an op; returns its outputs and the completed attributes through `Applied`. */
  apply(def: OpDef, inputs: readonly OpInput[], attrs: Attrs): Tensor[];
  /** Makes a tensor of a literal, converted to `dtype` where given. */
  constant(value: NdArray, dtype?: DType): Tensor;
  /**
   * Runs a function and disposes the tensors it made, except its result's. Absent where nothing needs to be disposed.
   */
  readonly tidy?: <T>(fn: () => T) => T;
}

/** One application of an op, for tapes. */
export interface Application {
  /** The op. */
  readonly def: OpDef;
  /** Its inputs. */
  readonly inputs: readonly OpInput[];
  /** Its outputs. */
  readonly outputs: readonly Tensor[];
  /** Attributes as given. */
  readonly attrs: Attrs;
}

/** An observer of applications, such as a tape. */
export interface Recorder {
  /** Called after each application, innermost recorder last. */
  record(application: Application): void;
}

/** The interpreter that works where no graph is entered. */
export const eagerInterpreter: Seam<Interpreter> = seam("the eager interpreter");
/** The interpreter in force; null for the eager one. */
export const interpreter: Dynamic<Interpreter | null> = new Dynamic<Interpreter | null>(null);
/** The recorders in force. */
export const recorders: Dynamic<readonly Recorder[]> = new Dynamic<readonly Recorder[]>([]);
const keeping = new Dynamic(false);

export function currentInterpreter(): Interpreter {
  return interpreter.current ?? eagerInterpreter.to("apply an op");
}

/** Runs `fn` under another interpreter; `null` means eager execution. */
export function withInterpreter<R>(other: Interpreter | null, fn: () => R): R {
  return interpreter.within(other, fn);
}

/** Runs `fn` with these recorders in place of the current ones. */
export function withRecorders<R>(list: readonly Recorder[], fn: () => R): R {
  return recorders.within(list, fn);
}

export function currentRecorders(): readonly Recorder[] {
  return recorders.current;
}

/** Sets the current recorders: for a tape that starts and stops outside a callback. */
export function setRecorders(list: readonly Recorder[]): void {
  recorders.current = list;
}

/** The attributes of ops without any. */
export const NO_ATTRS: Attrs = {};

/**
 * Applies an op: eager execution computes, a graph adds a node. Recorders are notified. Throws `TypeError` and
 * `ValueError` for inputs that do not fit, an `OpError` where a kernel fails.
 */
export function apply(def: OpDef, inputs: readonly OpInput[], attrs: Attrs = NO_ATTRS): Tensor[] {
  let flows = false;
  for (let i = 0; i < inputs.length; i++) {
    const x = inputs[i] as NdArray | Tensor & Partial<CompositeTensor>;
    if (x instanceof NdArray || x.context === null) continue;
    // Composite values have no context.
    if (x.isComposite) return x.applyOp!(def, inputs, attrs) as Tensor[];
    flows = true;
  }
  const outputs = currentInterpreter().apply(def, inputs, attrs);
  const told = recorders.current;
  if (told.length > 0) announce({ def, inputs, outputs, attrs }, told);
  else if (flows) flowOn({ def, inputs, outputs, attrs });
  return outputs;
}

/** Notifies recorders and contexts of an application that {@linkcode apply} did not make, or that came later. */
export function announce(application: Application, list: readonly Recorder[]): void {
  for (const r of list) r.record(application);
  if (hasContext(application.inputs)) flowOn(application);
}

/** True where one of the inputs has a context: it flows through a script's body, or is watched for one. */
export function hasContext(inputs: readonly OpInput[]): boolean {
  for (let i = 0; i < inputs.length; i++) {
    const x = inputs[i];
    if (!(x instanceof NdArray) && x.context !== null) return true;
  }
  return false;
}

/** Passes the contexts of the inputs on to the outputs. A watching context gives way to an owning one. */
function flowOn(application: Application): void {
  const contexts = new Set<TensorContext>();
  for (const x of application.inputs) {
    if (!(x instanceof NdArray) && x.context) contexts.add(x.context);
  }
  for (const c of contexts) {
    for (const o of application.outputs) {
      if (o.context === null || o.context.watchesOnly) o.context = c;
      c.adopt(o);
    }
    c.record?.(application);
  }
}

/** Is {@linkcode apply} for ops of one output. */
export function apply1(def: OpDef, inputs: readonly OpInput[], attrs: Attrs = NO_ATTRS): Tensor {
  return apply(def, inputs, attrs)[0];
}

/** Runs a function of several ops as one: its intermediate tensors are disposed, its results are not. */
export function compose<T>(fn: () => T): T {
  return disposes() ? currentInterpreter().tidy!(fn) : fn();
}

/** True where intermediate tensors are to be disposed. */
export function disposes(): boolean {
  return currentInterpreter().tidy !== undefined && !keeping.current;
}

/** Runs `fn` with {@linkcode compose} disposing nothing: for recorders that keep no tensors alive themselves. */
export function keepingAll<R>(fn: () => R): R {
  return keeping.within(true, fn);
}

export function dtypeOf(input: OpInput): DType {
  return input.dtype;
}
