/**
 * RunTape: what eager code inside a plan did, as a value that flows along a graph edge to its gradient; and the op that differentiates it.
 * May import core, ops, autodiff and runtime files.
 */
import { apply, type OpInput, withRecorders } from "../core/apply.ts";
import { type DType, DTYPES, isTrainable } from "../core/dtype.ts";
import { defineOp, type GradContext, type OpDef } from "../core/op.ts";
import { NdArray } from "../core/nd_array.ts";
import { resourceOf } from "../core/graph_node.ts";
import { Tensor } from "../core/tensor.ts";
import type { Spec } from "../core/tensor_spec.ts";
import { InvalidArgumentError } from "../core/errors.ts";
import { backprop, type Seed } from "../autodiff/backprop.ts";
import { type Step, stepValue } from "../autodiff/steps.ts";
import { type StepRecorder, tapeCount } from "../autodiff/tape.ts";
import { fill, zerosOfTensor } from "../ops/creation.ts";
import { BodyCall } from "./body_call.ts";
import { onDevice } from "./eager.ts";
import { type HostCall, type HostResults, setHostOp } from "./run_context.ts";
import type { HandleStorage } from "./storage.ts";
import type { EagerTensor } from "./tensor.ts";

/** The recorded steps of one call. Reference-counted: a tape of higher order keeps the one it was made from. */
export class RunTape implements Disposable {
  /** Steps in order, those of earlier tapes first. */
  readonly steps: readonly Step[];
  /** Ids of the inputs. */
  readonly sources: readonly number[];
  /** Ids of the results; 0 for literals. */
  readonly targets: readonly number[];
  readonly #recorder: StepRecorder;
  readonly #parent: RunTape | null;
  #refs = 1;

  /** Takes over the recorder. */
  constructor(
    recorder: StepRecorder,
    sources: readonly OpInput[] | readonly number[],
    targets: readonly (OpInput | null)[],
    parent: RunTape | null = null,
  ) {
    this.steps = parent ? [...parent.steps, ...recorder.steps] : recorder.steps;
    this.sources = sources.map((s) => (typeof s === "number" ? s : stepValue(s).id));
    this.targets = targets.map((t) => (t === null ? 0 : stepValue(t).id));
    this.#recorder = recorder;
    this.#parent = parent?.retain() ?? null;
    tapeCount.live++;
  }

  /** Adds a holder. */
  retain(): this {
    this.#refs++;
    return this;
  }

  /** Drops a holder; the last one frees what the steps keep. */
  [Symbol.dispose](): void {
    if (--this.#refs !== 0) return;
    tapeCount.live--;
    this.#recorder.release();
    this.#parent?.[Symbol.dispose]();
  }
}

/** The tape as a value of a run. */
export function tapeValue(tape: RunTape): NdArray {
  return new NdArray("variant", [], [tape]);
}

/** The tape in a value. */
function tapeOf(x: OpInput): RunTape {
  const handles = x instanceof NdArray
    ? x.data
    : ((x as EagerTensor).storage as HandleStorage).handles;
  return handles[0] as unknown as RunTape;
}

/** Differentiates a tape: inputs are the tape, its sources, and one gradient per target. Has a tape of its own, for higher orders. */
export const TapeGradient: OpDef = defineOp({
  name: "TapeGradient",
  inputs: ["input: Tin"],
  outputs: ["output: Tout", "tape: variant"],
  attrs: [
    "Tin: list(type)",
    "Tout: list(type)",
    "sources: int",
    "targets: list(int)",
    "strict: bool = false",
    "shapes: list(shape)",
  ],
  infer: (_, { shapes }) => [...shapes, []],
  grad: {
    captures: true,
    saves: ["input", "tape"],
    vjp: (saved, dys, ctx) => {
      const inputs = Array.from(
        { length: ctx.inputs.length - 1 },
        (_, k) => saved[`input:${k + 1}`],
      );
      return [
        null,
        ...tapeGradient(saved.tape, inputs, dys, { ...ctx, inputs: ctx.inputs.slice(1) }),
      ];
    },
  },
  host: true,
});

/** Spec of the gradient of an input: its own, a variable's for a handle, null where there is none. */
function gradientSpec(t: Tensor, spec: Spec): Spec | null {
  const resource = resourceOf(t);
  if (resource) return resource.trainable ? { dtype: resource.dtype, shape: resource.shape } : null;
  return DTYPES[spec.dtype].kind !== "handle" && isTrainable(spec.dtype) ? spec : null;
}

/** Applies {@linkcode TapeGradient}: one gradient per input, null for those that have none. `strict`: an input without one is an error. */
export function tapeGradient(
  tape: Tensor,
  inputs: readonly Tensor[],
  dys: readonly Tensor[],
  ctx: GradContext,
  strict = false,
): (Tensor | null)[] {
  const targets: number[] = [];
  const given: Tensor[] = [];
  ctx.outputs.forEach((o, i) => {
    if (DTYPES[o.dtype].kind === "handle" || !isTrainable(o.dtype)) return;
    targets.push(i);
    given.push(dys[i]);
  });
  const specs = inputs.map((t, i) => gradientSpec(t, ctx.inputs[i]));
  if (specs.every((s) => s === null)) return inputs.map(() => null);
  const all = [tape, ...inputs, ...given];
  const wanted = specs.filter((s): s is Spec => s !== null);
  const outputs = apply(TapeGradient, all, {
    Tin: all.map((t) => t.dtype),
    Tout: wanted.map((s) => s.dtype),
    sources: inputs.length,
    targets,
    strict,
    shapes: wanted.map((s) => s.shape),
  });
  let k = 0;
  return specs.map((s) => (s === null ? null : outputs[k++]));
}

function runGradient(call: HostCall): HostResults {
  const { sources, targets, strict } = call.attrs as {
    sources: number;
    targets: number[];
    strict: boolean;
    Tout: DType[];
  };
  const tape = tapeOf(call.inputs[0]);
  const body = new BodyCall(call.device, call.wanted.at(-1) === true);
  try {
    const inputs = call.inputs.slice(1, 1 + sources);
    const dys = call.inputs.slice(1 + sources).map((x) => body.input(x) as Tensor);
    // Beyond the call's own inputs come handles of variables that its body may have read.
    const ids = inputs.map((x, i) => tape.sources[i] ?? stepValue(x).id);
    watchAll(body.recorder, tape, ids);
    const grads = body.within(() =>
      withRecorders(body.recorder ? [body.recorder] : [], () => {
        // The recorder sees everything here; the contexts would tell it twice.
        for (const d of dys) d.context = null;
        const seeds: Seed[] = targets.flatMap((
          t,
          k,
        ) => (tape.targets[t] === 0 ? [] : [{ id: tape.targets[t], grad: dys[k] }]));
        const variables = inputs.filter((x): x is Tensor =>
          x instanceof Tensor && x.dtype === "resource"
        );
        return backprop(tape.steps, seeds, { sources: ids, variables });
      })
    );
    const wanted = inputs.flatMap((x, i) => (hasGradient(x) ? [i] : []));
    const results = wanted.map((i) => {
      const g = grads[i];
      if (g !== null) return body.result(g);
      if (strict && i < tape.sources.length) throw cutTape(call.node, i);
      return body.result(body.within(() => zerosFor(inputs[i], body)));
    });
    if (!body.recorder) return [...results, null];
    const next = new RunTape(
      body.recorder,
      [...ids, ...dys.map((d) => d.id)],
      wanted.map((i) => grads[i]),
      tape,
    );
    return [...results, tapeValue(next)];
  } catch (e) {
    body.recorder?.release();
    throw e;
  } finally {
    body.end();
  }
}

function hasGradient(x: OpInput): boolean {
  if (x instanceof Tensor && x.dtype === "resource") return resourceOf(x)?.trainable ?? false;
  return DTYPES[x.dtype].kind !== "handle" && isTrainable(x.dtype);
}

function zerosFor(x: OpInput, body: BodyCall): Tensor {
  const resource = x instanceof Tensor ? resourceOf(x) : undefined;
  return resource
    ? fill(resource.shape as number[], 0, resource.dtype)
    : zerosOfTensor(onDevice(x, body.device));
}

/** A tape of higher order follows everything the first one followed. */
function watchAll(recorder: StepRecorder | null, tape: RunTape, sources: readonly number[]): void {
  if (!recorder) return;
  for (const id of sources) recorder.watch(id);
  for (const step of tape.steps) {
    for (const o of step.outputs) if (isTrainable(o.dtype)) recorder.watch(o.id);
  }
}

function cutTape(node: string, input: number): InvalidArgumentError {
  return new InvalidArgumentError(
    `No gradient reached input ${input} in ${node}: the body does not use the input, or cut the tape by reading its value (strictGradients)`,
    { op: "TapeGradient", node },
  );
}

setHostOp("TapeGradient", runGradient, { local: true });
