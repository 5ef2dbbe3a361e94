/**
 * apply: hands an op to the current interpreter (eager or graph) and tells the tapes about it.
 */
import type { CompositeTensor } from "./composite.ts";
import type { Attrs, OpDef } from "./op.ts";
import type { NdArray } from "./nd_array.ts";
import type { DType } from "./dtype.ts";
import { Tensor, type TensorContext } from "./tensor.ts";
import { Dynamic } from "./scope_context.ts";
import { InternalError } from "./errors.ts";

/** An input as an interpreter gets it: a tensor, or a literal that need not become one. */
export type OpInput = Tensor | NdArray;

/** Gives meaning to ops: executes them, or adds them to a graph. */
export interface Interpreter {
  /** True where results are symbolic. */
  readonly symbolic: boolean;
  /** How many operations the graph being built has; absent where none is. */
  operationCount?(): number;
  /** Applies an op; returns its outputs and the completed attributes through `Applied`. */
  apply(def: OpDef, inputs: readonly OpInput[], attrs: Attrs): Tensor[];
  /** Makes a tensor of a literal, of another dtype where that is given. */
  constant(value: NdArray, dtype?: DType): Tensor;
  /** Runs a function and disposes the tensors it made, but for those it returns. Absent where nothing needs to be disposed. */
  readonly tidy?: <T>(fn: () => T) => T;
}

/** One application, as a tape sees it. */
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

/** Something that watches applications, such as a tape. */
export interface Recorder {
  /** Called after each application, innermost recorder last. */
  record(application: Application): void;
}

let base: Interpreter | undefined;
const interpreter = new Dynamic<Interpreter | undefined>(undefined);
const recorders = new Dynamic<readonly Recorder[]>([]);
const keeping = new Dynamic(false);

/** Sets the interpreter that works where no graph is entered: eager execution. */
export function setBaseInterpreter(eager: Interpreter): void {
  base = eager;
  interpreter.current ??= eager;
}

export function currentInterpreter(): Interpreter {
  const { current } = interpreter;
  if (current === undefined) throw new InternalError("Cannot apply an op: no runtime is loaded");
  return current;
}

/** Runs `fn` under another interpreter; `null` means eager execution. */
export function withInterpreter<R>(other: Interpreter | null, fn: () => R): R {
  return interpreter.within(other ?? base, fn);
}

/** Runs `fn` with these recorders in place of the current ones. */
export function withRecorders<R>(list: readonly Recorder[], fn: () => R): R {
  return recorders.within(list, fn);
}

export function currentRecorders(): readonly Recorder[] {
  return recorders.current;
}

/** Sets the recorders in force: for a tape that starts and stops outside a callback. */
export function setRecorders(list: readonly Recorder[]): void {
  recorders.current = list;
}

/** What ops without attributes are applied with. */
export const NO_ATTRS: Attrs = {};

/**
 * Applies an op: eager execution computes, a graph adds a node. Tapes are told.
 * Throws `TypeError` and `ValueError` for inputs that do not fit, an `OpError` where a kernel fails.
 */
export function apply(def: OpDef, inputs: readonly OpInput[], attrs: Attrs = NO_ATTRS): Tensor[] {
  for (let i = 0; i < inputs.length; i++) {
    const x = inputs[i] as Partial<CompositeTensor>;
    if (x.isComposite) return x.applyOp!(def, inputs, attrs) as Tensor[];
  }
  const outputs = currentInterpreter().apply(def, inputs, attrs);
  const told = recorders.current;
  if (told.length > 0) announce({ def, inputs, outputs, attrs }, told);
  else if (hasContext(inputs)) flowOn({ def, inputs, outputs, attrs });
  return outputs;
}

/** Tells tapes and contexts of an application that was not made by {@linkcode apply}, or not at once. */
export function announce(application: Application, list: readonly Recorder[]): void {
  for (const r of list) r.record(application);
  if (hasContext(application.inputs)) flowOn(application);
}

/** True where one of the inputs flows through a script's body, or is watched for one. */
export function hasContext(inputs: readonly OpInput[]): boolean {
  for (let i = 0; i < inputs.length; i++) {
    const x = inputs[i];
    if (x instanceof Tensor && x.context !== null) return true;
  }
  return false;
}

/** Passes the contexts of the inputs on to the outputs. One that only watches gives way to one that owns. */
function flowOn(application: Application): void {
  const contexts = new Set<TensorContext>();
  for (const x of application.inputs) if (x instanceof Tensor && x.context) contexts.add(x.context);
  for (const c of contexts) {
    for (const o of application.outputs) {
      if (o.context === null || o.context.watchesOnly) o.context = c;
      c.adopt(o);
    }
    c.record?.(application);
  }
}

/** {@linkcode apply} for ops of one output. */
export function apply1(def: OpDef, inputs: readonly OpInput[], attrs: Attrs = NO_ATTRS): Tensor {
  return apply(def, inputs, attrs)[0];
}

/** Runs what is made of several ops as one: tensors made on the way are disposed, those returned are not. */
export function compose<T>(fn: () => T): T {
  return disposes() ? currentInterpreter().tidy!(fn) : fn();
}

/** True where what is made on the way to a result is to be disposed. */
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
