/**
 * RunTape: the record of eager code inside a plan, as a value that flows along a graph edge to its gradient; and the op
 * that differentiates it.
 */
import { apply, type OpInput, withRecorders } from "../../core/apply.ts";
import { DTYPES, isTrainable } from "../../core/dtype.ts";
import { handleIn } from "../../core/contract/held.ts";
import type { HostResults } from "../../core/contract/host_op.ts";
import { defineOp, type GradContext, type OpDef } from "../../core/op.ts";
import { NdArray } from "../../core/nd_array.ts";
import { handleOf, type Resource, resourceOf } from "../../core/graph_node.ts";
import { isConcrete } from "../../core/shape.ts";
import { Tensor } from "../../core/tensor.ts";
import type { Spec } from "../../core/tensor_spec.ts";
import { InvalidArgumentError } from "../../core/errors.ts";
import { backpropInTurns, type Seed } from "../../autodiff/backprop.ts";
import { type Step, stepValue } from "../../autodiff/steps.ts";
import { HeldTape, type StepRecorder, tapeCount } from "../../autodiff/step_recorder.ts";
import { gradientMap, isUnseen, zerosOfVariable } from "../../autodiff/unseen.ts";
import { cast } from "../../ops/array/cast.ts";
import { fill } from "../../ops/array/creation.ts";
import { zerosOfTensor } from "../../ops/array/fill_ops.ts";
import { dense, IndexedSlices } from "../../ops/array/indexed_slices.ts";
import { range } from "../../ops/array/ranges.ts";
import { variableSpec } from "../../graph/handle_spec.ts";
import { BodyCall } from "./body_call.ts";
import { onDevice } from "../eager/eager.ts";
import { isEager } from "../eager/tensor.ts";
import type { RunCall } from "../run/run_context.ts";

/** The recorded steps of one call. A tape of higher order keeps the one it came from. */
export class RunTape extends HeldTape {
  /** Steps in order, those of earlier tapes first. */
  readonly steps: readonly Step[];
  readonly sources: readonly number[];
  /** Ids of the results; 0 for literals. */
  readonly targets: readonly number[];
  /** The trainable variables that were read, by id. */
  readonly variables: ReadonlyMap<number, Resource>;
  #single: readonly Step[] | null = null;
  readonly #recorder: StepRecorder;
  readonly #parent: RunTape | null;

  constructor(
    recorder: StepRecorder,
    sources: readonly OpInput[] | readonly number[],
    targets: readonly (OpInput | null)[],
    parent: RunTape | null = null,
  ) {
    super();
    this.steps = parent ? [...parent.single, ...recorder.steps] : recorder.steps;
    this.sources = sources.map((s) => (typeof s === "number" ? s : stepValue(s).id));
    this.targets = targets.map((t) => (t === null ? 0 : stepValue(t).id));
    this.variables = parent
      ? new Map([...parent.variables, ...recorder.variables])
      : recorder.variables;
    this.#recorder = recorder;
    this.#parent = parent?.retain() ?? null;
    tapeCount.live++;
  }

  /** The steps without groups, for gradients that are recorded themselves. */
  get single(): readonly Step[] {
    return this.#single ??= this.steps.flatMap((s) => s.group?.steps() ?? [s]);
  }

  protected override free(): void {
    tapeCount.live--;
    this.#recorder.release();
    this.#parent?.[Symbol.dispose]();
  }
}

export function tapeValue(tape: RunTape): NdArray {
  return new NdArray("variant", [], [tape]);
}

/**
 * Differentiates a tape: inputs are the tape, its sources, and one gradient per target. It has a tape of its own, for
 * higher orders.
 */
export const TapeGradient: OpDef = defineOp({
  name: "TapeGradient",
  portable: { never: "it reads the tape of what a script, a loop or a branch did" },
  inputs: ["input: Tin"],
  outputs: ["output: Tout", "tape: variant"],
  attrs: [
    "Tin: list(type)",
    "Tout: list(type)",
    "sources: int",
    "wanted: list(int)",
    "targets: list(int)",
    "rows: list(int) = []",
    "strict: bool = false",
    "shapes: list(shape)",
  ],
  infer: (_, { shapes }) => [...shapes, []],
  grad: {
    captures: true,
    saves: ["input", "tape"],
    vjp: (saved, dys, ctx) => {
      const rest = withoutFirst(ctx);
      const inputs = rest.inputs.map((_, k) => saved[`input:${k + 1}`]);
      return [null, ...tapeGradient(saved.tape, inputs, dys, rest)];
    },
  },
  host: { run: runGradient, local: true, tapeSources: ({ sources }) => sources },
});

/** Returns a gradient's context without the first input, which has no gradient. */
export function withoutFirst(ctx: GradContext): GradContext {
  return { ...ctx, inputs: ctx.inputs.slice(1), needs: ctx.needs.slice(1) };
}

/** Returns the spec of an input's gradient: the input's own, a variable's for a handle, null if it has none. */
function gradientSpec(t: Tensor, spec: Spec): Spec | null {
  if (t.dtype === "resource") {
    const variable = variableSpec(t);
    return variable && isTrainable(variable.dtype) ? variable : null;
  }
  return DTYPES[spec.dtype].kind !== "handle" && isTrainable(spec.dtype) ? spec : null;
}

/** Options of {@linkcode tapeGradient}. */
export interface TapeGradientsOptions {
  /** Throw for an input without a gradient. Default false. */
  readonly strict?: boolean | undefined;
  /** Numbers of the inputs whose gradient is `IndexedSlices` if their shape is known. */
  readonly rows?: ReadonlySet<number>;
}

/** Applies {@linkcode TapeGradient}: one gradient per input, null for those that have or need none. */
export function tapeGradient(
  tape: Tensor,
  inputs: readonly Tensor[],
  dys: readonly Tensor[],
  ctx: GradContext,
  { strict = false, rows: asked }: TapeGradientsOptions = {},
): (Tensor | null)[] {
  const targets: number[] = [];
  const given: Tensor[] = [];
  ctx.outputs.forEach((o, i) => {
    if (DTYPES[o.dtype].kind === "handle" || !isTrainable(o.dtype)) return;
    targets.push(i);
    given.push(dys[i]);
  });
  const specs = inputs.map((t, i) =>
    ctx.needs[i] || strict ? gradientSpec(t, ctx.inputs[i]) : null
  );
  const wanted = specs.flatMap((s, i) => (s === null ? [] : [i]));
  if (wanted.length === 0) return inputs.map(() => null);
  const rows = wanted.filter((i) => asked?.has(i) && isConcrete(specs[i]!.shape));
  const made = wanted.flatMap((i): Spec[] => {
    const { dtype, shape } = specs[i]!;
    if (!rows.includes(i)) return [{ dtype, shape }];
    return [{ dtype, shape: [null, ...shape!.slice(1)] }, { dtype: "int32", shape: [null] }];
  });
  const all = [tape, ...inputs, ...given];
  const outputs = apply(TapeGradient, all, {
    Tin: all.map((t) => t.dtype),
    Tout: made.map((s) => s.dtype),
    sources: inputs.length,
    wanted,
    targets,
    rows,
    strict,
    shapes: made.map((s) => s.shape),
  });
  const grads = new Array<Tensor | null>(inputs.length).fill(null);
  let k = 0;
  for (const i of wanted) {
    const g = outputs[k++];
    grads[i] = rows.includes(i)
      ? new IndexedSlices(g, outputs[k++], specs[i]!.shape as readonly number[])
      : g;
  }
  return grads;
}

function runGradient(call: RunCall): HostResults | Promise<HostResults> {
  const { sources, wanted, targets, rows, strict } = call.attrs as {
    sources: number;
    wanted: number[];
    targets: number[];
    rows: number[];
    strict: boolean;
  };
  const tape = handleIn(call.inputs[0]) as RunTape;
  const body = new BodyCall(call.device, call.wanted.at(-1) === true);
  const fail = (e: unknown): never => {
    body.recorder?.release();
    body.end();
    throw e;
  };
  try {
    const inputs = call.inputs.slice(1, 1 + sources);
    const given = call.inputs.slice(1 + sources),
      dys = body.within(() => body.inputs(given)) as Tensor[];
    for (const x of given) if (isEager(x) && x.isGiven) x.dispose();
    // The call's own inputs are followed by handles of variables that its body may have read.
    const ids = inputs.map((x, i) => tape.sources[i] ?? stepValue(x).id);
    const unseen = inputs.some(isUnseen)
      ? [...tape.variables.values()].filter((r) => !ids.includes(r.id))
      : [];
    const handles = inputs.filter((x): x is Tensor =>
      x instanceof Tensor && x.dtype === "resource" && !isUnseen(x)
    );
    const all = [...ids, ...unseen.map((r) => r.id)];
    watchAll(body.recorder, tape, all);
    // The recorder sees every op here; the contexts would record it twice.
    for (const d of dys) d.context = null;
    const within = <R>(fn: () => R): R =>
      body.within(() => withRecorders(body.recorder ? [body.recorder] : [], fn));
    const seeds: Seed[] = targets.flatMap((
      t,
      k,
    ) => (tape.targets[t] === 0 ? [] : [{ id: tape.targets[t], grad: dys[k], isOwn: true }]));
    const isFirst = body.recorder === null && unseen.length === 0;
    const found = backpropInTurns(isFirst ? tape.steps : tape.single, seeds, {
      // A source that needs no gradient is not followed, and gives no warning.
      sources: all.map((id, i) => i < ids.length && !wanted.includes(i) ? -1 : id),
      variables: [...handles, ...unseen.map((r) => handleOf(r)!)],
      within,
      turn: () => call.context.turn(),
    });
    const finish = (found: readonly (Tensor | null)[]): HostResults => {
      const grads = within(() =>
        found.map((g, i) => g && (rows.includes(i) ? asRows(g) : dense(g)))
      );
      const mapOfUnseen = (): NdArray =>
        gradientMap(
          new Map(unseen.flatMap((r, k) => {
            const g = grads[ids.length + k];
            return g === null ? [] : [[r, body.result(g)] as const];
          })),
        );
      const parts = wanted.flatMap((i): (Tensor | null)[] => {
        const g = grads[i];
        if (g instanceof IndexedSlices) return [g.values, g.indices];
        if (g !== null || isUnseen(inputs[i])) return [g];
        if (strict && i < tape.sources.length) throw cutTape(call.node, i);
        const zeros = body.within(() => zerosFor(inputs[i], body, rows.includes(i)));
        return zeros instanceof IndexedSlices ? [zeros.values, zeros.indices] : [zeros];
      });
      const results = parts.map((g) => (g === null ? mapOfUnseen() : body.result(g)));
      const next = body.recorder &&
        new RunTape(body.recorder, [...ids, ...dys.map((d) => d.id)], parts, tape);
      body.end();
      return [...results, next && tapeValue(next)];
    };
    return found instanceof Promise ? found.then(finish).catch(fail) : finish(found);
  } catch (e) {
    return fail(e);
  }
}

function zerosFor(x: OpInput, body: BodyCall, isRows: boolean): Tensor {
  const resource = x instanceof Tensor ? resourceOf(x) : undefined;
  if (isRows) {
    const { shape, dtype } = resource ? variableSpec(x as Tensor)! : x;
    return new IndexedSlices(
      fill([0, ...shape!.slice(1) as number[]], 0, dtype),
      fill([0], 0, "int32"),
    );
  }
  return resource ? zerosOfVariable(resource) : zerosOfTensor(onDevice(x, body.device));
}

/** Returns a gradient as rows and `int32` indices: all rows of a dense one. */
function asRows(g: Tensor): IndexedSlices {
  const { values, indices } = g instanceof IndexedSlices
    ? g
    : { values: g, indices: range(0, g.shape[0], 1, "int32") };
  return new IndexedSlices(values, cast(indices, "int32"));
}

/** A tape of higher order follows everything that the first one followed. */
function watchAll(recorder: StepRecorder | null, tape: RunTape, sources: readonly number[]): void {
  if (!recorder) return;
  for (const id of sources) recorder.watch(id);
  for (const step of tape.single) {
    for (const o of step.outputs) if (isTrainable(o.dtype)) recorder.watch(o.id);
  }
}

function cutTape(node: string, input: number): InvalidArgumentError {
  return new InvalidArgumentError(
    `No gradient reached input ${input} in ${node}: the body does not use the input, or cut the tape by reading its value (strictGradients)`,
    { op: "TapeGradient", node },
  );
}
