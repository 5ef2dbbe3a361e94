/**
 * cond and whileLoop: function-valued ops. Their gradient is the tape of what they did, which flows along an edge as a script's does.
 * May import core, ops, autodiff, graph and runtime files.
 */
import { apply, currentInterpreter, type OpInput, withRecorders } from "../core/apply.ts";
import { type Attrs, defineOp, type OpDef } from "../core/op.ts";
import { isTrainable } from "../core/dtype.ts";
import { flatten, type Nest, packAs, structureText } from "../core/nest.ts";
import { NdArray } from "../core/nd_array.ts";
import { compatible, type PartialShape, relaxShapes, shapeText } from "../core/shape.ts";
import { Tensor, type TensorLike } from "../core/tensor.ts";
import { specText } from "../core/tensor_spec.ts";
import { InvalidArgumentError, ValueError } from "../core/errors.ts";
import { StepRecorder } from "../autodiff/tape.ts";
import { RunTape, tapeGradient, tapeValue } from "./run_tape.ts";
import { asTensor, toInput } from "../ops/input.ts";
import { FuncGraph } from "../graph/func_graph.ts";
import type { SymbolicTensor } from "../graph/operation.ts";
import { ConcreteFunction, run, runRecorded } from "./concrete_function.ts";
import { type HostCall, type HostResults, setHostOp } from "./run_context.ts";
import { onDevice } from "./eager.ts";
import { EagerTensor, withOwner } from "./tensor.ts";

/** Functions that an op of control flow may call may read variables unseen. */
function branchesCapture(attrs: Attrs): boolean {
  return Object.values(attrs).some((v) => (v as Branch | null)?.f?.mayCapture === true);
}

const tapeGrad = {
  captures: branchesCapture,
  saves: ["input", "tape"],
  vjp: (
    saved: Readonly<Record<string, Tensor>>,
    dys: readonly Tensor[],
    ctx: Parameters<typeof tapeGradient>[3],
  ) =>
    tapeGradient(
      saved.tape,
      Array.from({ length: ctx.inputs.length }, (_, k) => saved[`input:${k}`]),
      dys,
      ctx,
    ),
};

/** Runs one of two functions. Inputs: the predicate, then what either captures. */
export const If: OpDef = defineOp({
  name: "If",
  inputs: ["cond: bool", "input: Tin"],
  outputs: ["output: Tout", "tape: variant"],
  attrs: ["Tin: list(type)", "Tout: list(type)", "then_branch: func", "else_branch: func"],
  hostInputs: ["cond"],
  infer: (_, { then_branch, else_branch }) => [
    ...(then_branch as Branch).f.outputs.map((t, i) =>
      relaxShapes(t.staticShape, (else_branch as Branch).f.outputs[i].staticShape)
    ),
    [],
  ],
  grad: {
    captures: branchesCapture,
    saves: ["input", "tape"],
    vjp: (saved, dys, ctx) => {
      const rest = { ...ctx, inputs: ctx.inputs.slice(1) };
      const inputs = Array.from({ length: rest.inputs.length }, (_, k) => saved[`input:${k}`]);
      return [null, ...tapeGradient(saved.tape, inputs, dys, rest)];
    },
  },
  host: true,
});

/** Repeats a function while another says so. Inputs: the loop variables, then what the functions capture. */
export const While: OpDef = defineOp({
  name: "While",
  inputs: ["input: Tin"],
  outputs: ["output: Tout", "tape: variant"],
  attrs: [
    "Tin: list(type)",
    "Tout: list(type)",
    "cond: func",
    "body: func",
    "maximum_iterations: int = -1",
    "_shapes: list(shape)",
  ],
  infer: (_, { _shapes }) => [...(_shapes as PartialShape[]), []],
  grad: tapeGrad,
  host: true,
});

/** A function and where its inputs are among those of the op. */
interface Branch {
  readonly f: ConcreteFunction;
  /** For each capture and handle of `f`, its place among the op's inputs. */
  readonly from: readonly number[];
}

/** Collects what several functions capture into one list of inputs. */
class CaptureList {
  readonly inputs: OpInput[] = [];
  readonly #at = new Map<number, number>();

  branch(f: ConcreteFunction, offset: number): Branch {
    const outer = [...f.graph.captures.map((c) => c.outer), ...f.graph.resources];
    return {
      f,
      from: outer.map((t) => {
        let i = this.#at.get(t.id);
        if (i === undefined) {
          i = offset + this.inputs.length;
          this.#at.set(t.id, i);
          this.inputs.push(t);
        }
        return i;
      }),
    };
  }
}

/**
 * Runs `thenFn` where `pred` is true, else `elseFn`; both must return the same nest of tensors of the same dtypes.
 * In eager mode one of them simply runs. TensorFlow op `If`. Throws `TypeError` where the results differ.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const f = tf.function((x: tf.Tensor) => tf.cond(tf.greater(x, 0), () => x, () => tf.neg(x)));
 * assertEquals((f(tf.scalar(-3)) as tf.Tensor).item(), 3);
 * ```
 */
export function cond<T extends Nest<Tensor>>(
  pred: TensorLike,
  thenFn: () => T,
  elseFn: () => T,
): T {
  for (const f of [thenFn, elseFn]) {
    if (typeof f !== "function") {
      throw new TypeError("true_fn and false_fn arguments to tf.cond must be callable");
    }
  }
  const p = asTensor(
    toInput(pred, "pred", "cond", { dtype: pred instanceof Tensor ? undefined : "bool" }),
  );
  if (!currentInterpreter().symbolic) return p.scalar() ? thenFn() : elseFn();
  const list = new CaptureList();
  const traced = [thenFn, elseFn].map((fn, i) =>
    trace(fn, [], i === 0 ? "cond_true" : "cond_false")
  );
  const [a, b] = traced;
  const texts = traced.map((t) =>
    structureText(t.structure) + t.f.outputs.map((o) => o.dtype).join()
  );
  if (texts[0] !== texts[1]) {
    throw new TypeError(
      `true_fn and false_fn arguments to tf.cond must have the same number, type, and overall structure of return values: received ${
        texts[0]
      } and ${texts[1]}`,
    );
  }
  const then_branch = list.branch(a.f, 0), else_branch = list.branch(b.f, 0);
  const effects = a.f.graph.stateful || b.f.graph.stateful;
  const outputs = apply(If, [p, ...list.inputs], {
    Tin: list.inputs.map((x) => x.dtype),
    Tout: a.f.outputs.map((o) => o.dtype),
    then_branch,
    else_branch,
    ...(effects ? { _ordered: true } : {}),
  });
  return packAs(a.structure, outputs.slice(0, a.f.outputs.length)) as T;
}

/** Options of {@linkcode whileLoop}. */
export interface WhileOptions {
  /** Stops after so many iterations. */
  readonly maximumIterations?: number;
  /** Shapes that hold in every iteration, in the nest of the variables; null dimensions may vary. */
  readonly shapeInvariants?: readonly (PartialShape | undefined)[];
}

/**
 * Repeats `body` on the loop variables while `condition` is true. In eager mode a plain loop. TensorFlow op `While`.
 * Throws `ValueError` where a variable's dtype or shape changes from one iteration to the next without a shape invariant.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const power = tf.function((x: tf.Tensor) =>
 *   tf.whileLoop((i) => tf.less(i, 3), (i, y) => [tf.add(i, 1), tf.mul(y, x)], [tf.scalar(0), tf.onesLike(x)])[1]
 * );
 * assertEquals(power(tf.scalar(2)).item(), 8);
 * ```
 */
export function whileLoop(
  condition: (...vars: Tensor[]) => TensorLike,
  body: (...vars: Tensor[]) => readonly TensorLike[] | TensorLike,
  vars: readonly TensorLike[],
  options: WhileOptions = {},
): Tensor[] {
  const start = vars.map((v, i) => asTensor(toInput(v, `vars[${i}]`, "whileLoop")));
  if (start.length === 0) throw new ValueError("No loop variables provided to whileLoop");
  if (!currentInterpreter().symbolic) return loopEagerly(condition, body, start, options);
  const shapes = start.map((t, i) => options.shapeInvariants?.[i] ?? t.staticShape);
  const specs = start.map((t, i) => ({ dtype: t.dtype, shape: shapes[i] }));
  const c = trace(
    (...ts: Tensor[]) => asTensor(toInput(condition(...ts), "condition", "whileLoop")),
    specs,
    "while_cond",
  );
  const b = trace(
    (...ts: Tensor[]) =>
      asList(body(...ts)).map((r, i) => asTensor(toInput(r, `body[${i}]`, "whileLoop"))),
    specs,
    "while_body",
  );
  checkLoop(b.f.outputs, start, shapes);
  const list = new CaptureList();
  const n = start.length;
  const condBranch = list.branch(c.f, n), bodyBranch = list.branch(b.f, n);
  const inputs = [...start, ...list.inputs];
  const effects = c.f.graph.stateful || b.f.graph.stateful;
  return apply(While, inputs, {
    Tin: inputs.map((x) => x.dtype),
    Tout: start.map((t) => t.dtype),
    cond: condBranch,
    body: bodyBranch,
    maximum_iterations: options.maximumIterations ?? -1,
    _shapes: shapes,
    ...(effects ? { _ordered: true } : {}),
  }).slice(0, n);
}

function asList(r: readonly TensorLike[] | TensorLike): readonly TensorLike[] {
  return Array.isArray(r) ? r as readonly TensorLike[] : [r as TensorLike];
}

function loopEagerly(
  condition: (...vars: Tensor[]) => TensorLike,
  body: (...vars: Tensor[]) => readonly TensorLike[] | TensorLike,
  start: readonly Tensor[],
  { maximumIterations = Infinity }: WhileOptions,
): Tensor[] {
  let vars = [...start];
  for (let i = 0; i < maximumIterations; i++) {
    if (!asTensor(toInput(condition(...vars), "condition", "whileLoop")).scalar()) break;
    const next = asList(body(...vars)).map((r, k) =>
      asTensor(toInput(r, `body[${k}]`, "whileLoop"))
    );
    if (next.length !== vars.length) throw wrongCount(next.length, vars.length);
    vars = next;
  }
  return vars;
}

function wrongCount(got: number, want: number): ValueError {
  return new ValueError(
    `The number of inputs and outputs of the loop body differ: received ${got} from body for ${want} loop variables`,
  );
}

function checkLoop(
  results: readonly Tensor[],
  start: readonly Tensor[],
  shapes: readonly PartialShape[],
): void {
  if (results.length !== start.length) throw wrongCount(results.length, start.length);
  results.forEach((r, i) => {
    if (r.dtype !== start[i].dtype) {
      throw new TypeError(
        `Loop variable ${i} enters the loop with type ${
          start[i].dtype
        }, but has type ${r.dtype} after one iteration`,
      );
    }
    const want = shapes[i];
    const varies = want !== null &&
      (r.staticShape === null || r.staticShape.length !== want.length ||
        want.some((d, k) => d !== null && r.staticShape![k] !== d));
    if (varies) {
      throw new ValueError(
        `Input tensor '${start[i]}' enters the loop with shape ${shapeText(want)}, but has shape ${
          shapeText(r.staticShape)
        } after one iteration. To allow the shape to vary across iterations, use the \`shape_invariants\` argument`,
      );
    }
  });
}

interface Traced {
  readonly f: ConcreteFunction;
  readonly structure: unknown;
}

function trace(
  fn: (...args: Tensor[]) => unknown,
  specs: readonly { dtype: Tensor["dtype"]; shape: PartialShape }[],
  name: string,
): Traced {
  const graph = new FuncGraph(name);
  const args = specs.map((s) => graph.addInput(s.dtype, s.shape));
  const result = graph.asDefault(() => withRecorders([], () => fn(...args)));
  graph.outputs = graph.asDefault(() =>
    flatten<unknown>(result as Nest<unknown>).map((r) => {
      const t = asTensor(toInput(r as Tensor, "result", name)) as SymbolicTensor;
      return t.graph === graph ? t : graph.captureOf(t);
    })
  );
  return { f: new ConcreteFunction(graph), structure: result };
}

/** Runs functions for one call of If or While, taped where the gradient is wanted. */
class ControlCall {
  readonly call: HostCall;
  readonly inputs: readonly OpInput[];
  readonly recorder: StepRecorder | null;
  readonly owned: EagerTensor[] = [];

  constructor(call: HostCall, inputs: readonly OpInput[]) {
    this.call = call;
    this.recorder = call.wanted.at(-1) ? new StepRecorder() : null;
    this.inputs = this.recorder ? inputs.map((x) => this.#source(x)) : inputs;
  }

  /** Sources of a tape are handles of its own. */
  #source(x: OpInput): OpInput {
    if (x instanceof Tensor && x.dtype === "resource") return x;
    return withOwner(this.owned, () => {
      const t = onDevice(x, this.call.device);
      const own = t === x ? new EagerTensor(t.dtype, t.staticShape, t.storage.retain()) : t;
      if (isTrainable(own.dtype)) this.recorder!.watch(own.id);
      return own;
    });
  }

  run(branch: Branch, args: readonly OpInput[]): OpInput[] | Promise<OpInput[]> {
    const inputs = [...args, ...branch.from.map((i) => this.inputs[i])];
    const { context } = this.call;
    if (!this.recorder) return run(branch.f, inputs, context);
    const recorder = this.recorder;
    return withOwner(
      this.owned,
      () =>
        runRecorded(
          branch.f,
          inputs,
          context,
          (def, ins, outputs, attrs: Attrs) =>
            recorder.record({ def, inputs: ins, outputs, attrs }),
        ),
    );
  }

  finish(values: readonly OpInput[]): HostResults {
    if (!this.recorder) return [...values, null];
    const tape = new RunTape(this.recorder, this.inputs, values);
    const results = values.map((v) => (v instanceof EagerTensor ? v.hold() : v));
    this.end();
    return [...results, tapeValue(tape)];
  }

  end(): void {
    for (const t of this.owned) t.dispose();
  }
}

function runIf(call: HostCall): HostResults | Promise<HostResults> {
  const control = new ControlCall(call, call.inputs.slice(1));
  const taken = (call.inputs[0] as NdArray).item();
  const out = control.run(taken ? call.attrs.then_branch : call.attrs.else_branch, []);
  return out instanceof Promise ? out.then((v) => control.finish(v)) : control.finish(out);
}

function runWhile(call: HostCall): HostResults | Promise<HostResults> {
  const { cond: test, body, maximum_iterations: limit, _shapes: shapes } = call.attrs;
  const control = new ControlCall(call, call.inputs);
  let vars = control.inputs.slice(0, shapes.length);
  const initial = new Set<OpInput>(vars);
  let iteration = 0;
  const goesOn = (r: readonly OpInput[]): boolean | Promise<boolean> => {
    const [p] = r;
    const read = (a: NdArray): boolean => {
      if (p instanceof EagerTensor && !control.recorder) p.dispose();
      return Boolean(a.item());
    };
    if (p instanceof NdArray) return Boolean(p.item());
    const t = p as EagerTensor;
    const now = t.storage.device.readSync([{
      buffer: t.storage.buffer,
      spec: { dtype: t.dtype, shape: t.staticShape },
    }]);
    return now ? read(now[0]) : t.ndarray().then(read);
  };
  const advance = (next: OpInput[]): void => {
    next.forEach((v, i) => {
      const shape = v instanceof Tensor ? v.staticShape : v.shape;
      if (!compatible(shapes[i], shape)) {
        throw new InvalidArgumentError(
          `Loop variable ${i} has ${
            specText({ dtype: v.dtype, shape })
          } after iteration ${iteration}, which breaks its shape invariant ${shapeText(shapes[i])}`,
          { op: "While", node: call.node },
        );
      }
    });
    if (!control.recorder) {
      for (const v of vars) {
        if (v instanceof EagerTensor && !initial.has(v) && !next.includes(v)) v.dispose();
      }
    }
    vars = next;
    iteration++;
  };
  const step = (): void | Promise<void> => {
    for (;;) {
      call.context.signal.throwIfAborted();
      if (iteration === limit) return;
      const tested = control.run(test, vars);
      const more = tested instanceof Promise ? tested.then(goesOn) : goesOn(tested);
      if (more instanceof Promise) {
        return more.then((m) => (m ? continueWith(control.run(body, vars)) : undefined));
      }
      if (!more) return;
      const next = control.run(body, vars);
      if (next instanceof Promise) return continueWith(next);
      advance(next);
    }
  };
  const continueWith = (next: OpInput[] | Promise<OpInput[]>): Promise<void> =>
    Promise.resolve(next).then((n) => {
      advance(n);
      return step();
    });
  // Loop variables that never ran through the body are the executor's: hand out handles of our own.
  const finish = (): HostResults =>
    control.finish(
      vars.map((
        v,
      ) => (v instanceof EagerTensor && initial.has(v) && !control.recorder ? v.hold() : v)),
    );
  const done = step();
  return done instanceof Promise ? done.then(finish) : finish();
}

setHostOp("If", runIf);
setHostOp("While", runWhile);
