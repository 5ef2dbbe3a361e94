/**
 * The common parts of the four script functions: reading arguments, adding a node, eager calls, and the decorator form.
 */
import { apply, currentInterpreter, type OpInput } from "../core/apply.ts";
import { CompositeTensor } from "../core/composite.ts";
import { describe } from "../core/convert.ts";
import { isForeignArray } from "../core/arrays/foreign_array.ts";
import { dtypeOfArray } from "../core/dtype.ts";
import { checkDepth, isPlainObject, mapDense, NestWalk, setKey } from "../core/nest.ts";
import { NdArray } from "../core/nd_array.ts";
import type { Attrs, OpDef } from "../core/op.ts";
import { withScope } from "../core/scope_context.ts";
import { Tensor } from "../core/tensor.ts";
import { TensorSpecClass } from "../core/tensor_spec.ts";
import { TypeError } from "../core/throwing/builtin_errors.ts";
import { calledAt, withLongStacks } from "../core/throwing/user_stack.ts";
import { OperatorNotAllowedInGraphError } from "../core/errors.ts";
import { toInput } from "../ops/input.ts";
import { scriptSeeds } from "../ops/random/state.ts";
import { currentGraph } from "../graph/current_graph.ts";
import type { Graph } from "../graph/graph.ts";
import { decorator, isCall, type ScriptCall } from "./decorator.ts";
import { checkCallable, makeScript, type Script, type ScriptOptions } from "./script.ts";
import { missingTout, packOutputs, parseTout } from "./tout.ts";

/** Arguments of a script call: the nest with numbered leaves, and the leaves. */
interface Arguments {
  readonly args: unknown;
  readonly inputs: OpInput[];
}

/** Reads `inp`. Throws `TypeError` for a value that is no list, or an element that is no tensor. */
export function readArguments(inp: unknown, op: string): Arguments {
  if (inp instanceof Tensor && inp.isSymbolic) {
    throw new OperatorNotAllowedInGraphError(
      `Iterating over a symbolic tf.Tensor is not allowed: inp of ${op} must be a list of tensors, received ${inp}`,
    );
  }
  if (!Array.isArray(inp)) {
    throw new TypeError(
      `inp of ${op} must be a list of tensors: ${describe(inp)} is not iterable as one`,
    );
  }
  return areTensors(inp) ? readTensors(inp, op) : readNest(inp, op);
}

function readTensors(list: readonly unknown[], op: string): Arguments {
  const args: number[] = [], inputs: OpInput[] = [];
  for (let i = 0; i < list.length; i++) {
    args.push(0);
    inputs.push(convert(list[i], op));
  }
  return { args, inputs };
}

function readNest(inp: readonly unknown[], op: string): Arguments {
  const inputs: OpInput[] = [], walk = new NestWalk(), known = new Map<unknown, boolean>();
  const visit = (v: unknown, depth: number): unknown => {
    if (Array.isArray(v) && (depth === 0 || v.length === 0 || isStructure(v, depth, known))) {
      walk.enter(depth, inputs.length);
      return mapDense(v, (e) => visit(e, depth + 1));
    }
    if (isPlainObject(v) && !isForeignArray(v)) {
      walk.enter(depth, inputs.length);
      const out: Record<string, unknown> = {};
      for (const k of Object.keys(v).sort()) setKey(out, k, visit(v[k], depth + 1));
      return out;
    }
    if (v instanceof CompositeTensor && op === "EagerPyFunc") {
      for (const t of v.components) inputs.push(convert(t, op));
      return v.spec;
    }
    inputs.push(convert(v, op));
    return 0;
  };
  return { args: visit(inp, 0), inputs };
}

/** True for a list of tensors without a nest or holes, the common case. */
function areTensors(list: readonly unknown[]): boolean {
  for (let i = 0; i < list.length; i++) if (!(list[i] instanceof Tensor)) return false;
  return true;
}

/** True for a nested list that contains a tensor: a structure. A list of plain values is one tensor. */
export function isStructure(
  list: readonly unknown[],
  depth: number,
  known: Map<unknown, boolean>,
): boolean {
  checkDepth(depth);
  let found = known.get(list);
  if (found !== undefined) return found;
  found = list.some((v) =>
    v instanceof Tensor || v instanceof NdArray || v instanceof TensorSpecClass ||
    v instanceof CompositeTensor || dtypeOfArray(v) !== undefined || isPlainObject(v) ||
    (Array.isArray(v) && isStructure(v, depth + 1, known))
  );
  known.set(list, found);
  return found;
}

function convert(v: unknown, op: string): OpInput {
  if (v instanceof CompositeTensor) throw inconvertible(v, op);
  try {
    return toInput(v as Tensor, "input", op);
  } catch (cause) {
    throw inconvertible(v, op, { cause });
  }
}

function inconvertible(v: unknown, op: string, options?: ErrorOptions): TypeError {
  return new TypeError(
    `Tensors in list passed to 'input' of '${op}' Op have types [<NOT CONVERTIBLE TO TENSOR>] that are invalid. Tensors: [${
      describe(v)
    }]`,
    options,
  );
}

/** Attributes of a script op. */
export function attrsOf(script: Script, inputs: readonly OpInput[]): Attrs {
  return {
    token: script.token,
    Tin: inputs.map((x) => x.dtype),
    Tout: script.outputs.specs.map((s) => s.dtype),
    _script: script,
  };
}

/** Adds the node, or runs the op; returns outputs in the nest of `Tout`. */
export function callScript(
  def: OpDef,
  given: Script,
  inputs: readonly OpInput[],
  { name, ordered = !given.vectorized }: { readonly name?: string; readonly ordered?: boolean },
): unknown {
  const seeds = scriptSeeds();
  const script = seeds === null ? given : { ...given, seeds };
  const attrs = ordered
    ? attrsOf(script, inputs)
    : { ...attrsOf(script, inputs), _unordered: true };
  const graph = currentGraph(), node = { def, inputs, attrs };
  if (graph) return addNode(graph, script, node, name);
  const n = script.outputs.specs.length, outputs = apply(def, inputs, attrs);
  return packOutputs(script.outputs, outputs.length === n ? outputs : outputs.slice(0, n));
}

/** Adds the node of a script. Eager calls, which are many, do not come here. */
function addNode(
  graph: Graph,
  { outputs: { specs }, outputs }: Script,
  { def, inputs, attrs }: {
    readonly def: OpDef;
    readonly inputs: readonly OpInput[];
    readonly attrs: Attrs;
  },
  name: string | undefined,
): unknown {
  if (specs.length > 0) {
    const made = withScope({ opName: name ?? null }, () => apply(def, inputs, attrs));
    return packOutputs(outputs, made.slice(0, specs.length));
  }
  const op = graph.addOp(def, inputs, attrs, name === undefined ? {} : { name });
  return def.name === "PyFuncStateless" ? [] : op;
}

/** True while a graph is being built. */
export function isSymbolicNow(): boolean {
  return currentInterpreter().symbolic;
}

/** The options of every script and call. */
interface CallOptions extends ScriptOptions {
  readonly name?: string;
  readonly ordered?: boolean;
}

/** A function that makes script ops. */
export interface ScriptKind<O extends CallOptions> {
  /** Its name in `tf`. */
  readonly name: string;
  /** Throws `TypeError` for unknown options. */
  readonly check: (options: O | undefined) => void;
  readonly opOf: (options: O) => OpDef;
  /** Set if `Tout` may contain composite tensors. */
  readonly takes?: "composites";
  /** Runs a script in eager code, where the op does not run by itself. */
  readonly run?: (script: Script, inputs: readonly OpInput[]) => Tensor[];
  /** Runs a script in eager code and awaits it. */
  readonly runAsync: (
    script: Script,
    inputs: readonly OpInput[],
    def: OpDef,
  ) => Promise<Tensor[]>;
}

/** Calls a script function, or returns a decorator for the arguments of one. */
export function callOrDecorate<O extends CallOptions>(
  kind: ScriptKind<O>,
  call: ScriptCall<O>,
): unknown {
  if (!isCall(call)) return decorator(kind.name, call, (later) => callOrDecorate(kind, later));
  const { options } = call, { def, script, inputs } = prepare(kind, call);
  if (kind.run === undefined || isSymbolicNow()) return callScript(def, script, inputs, options);
  return packOutputs(script.outputs, kind.run(script, inputs));
}

/** Calls a script function and awaits its inputs and body. In a graph it adds the node. */
export async function callAsync<O extends CallOptions>(
  kind: ScriptKind<O>,
  call: ScriptCall<O>,
): Promise<unknown> {
  const { def, script, inputs } = prepare(kind, call);
  if (isSymbolicNow()) return callScript(def, script, inputs, call.options);
  const place = withLongStacks(() => new Error());
  try {
    return packOutputs(script.outputs, await kind.runAsync(script, inputs, def));
  } catch (error) {
    throw calledAt(place, error);
  }
}

function prepare<O extends CallOptions>(
  { name, check, opOf, takes }: ScriptKind<O>,
  { func, inp, tout, options }: ScriptCall<O>,
): { readonly def: OpDef; readonly script: Script; readonly inputs: OpInput[] } {
  check(options);
  checkCallable(func);
  if (tout === undefined) throw missingTout(name);
  const def = opOf(options), outputs = parseTout(tout, takes);
  const { args, inputs } = readArguments(inp, def.name);
  return { def, script: makeScript(func, args, outputs, options), inputs };
}
