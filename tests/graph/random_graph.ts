/**
 * Random graphs over every op: steps that read earlier values, unfolded eagerly or into a graph.
 *
 * A step is one op of the sample tables, or a small piece of a model, a script or a variable. Values that flow are float32 and
 * finite; where an op jumps (rounding, comparisons, choices) it gets the sample's own values, and hangs on earlier ones by an
 * addend that is always zero.
 */
import * as tf from "@weft/weft";
import { apply, type OpInput } from "../../src/engine/core/apply.ts";
import { lookupOp, type OpDef } from "../../src/engine/core/op.ts";
import { dtypesOf } from "../../src/library/testing/op_case.ts";
import {
  drawInputs,
  type OpSample,
  type SampleValues,
  uniform,
} from "../../src/library/testing/op_sample.ts";
import { isHostInput } from "../../src/library/testing/run_op.ts";
import { FAMILIES } from "../op_samples/mod.ts";

/** One step: which maker, three numbers that choose what it reads, and whether its result is fetched. */
export interface Step {
  readonly maker: number;
  readonly a: number;
  readonly b: number;
  readonly c: number;
  readonly fetch: boolean;
}

/** Facts from an eager run on a step's tensor. */
interface Fact {
  readonly shape: readonly number[];
  /** False: it holds no finite floats, and nothing reads it. */
  readonly flows: boolean;
  /** True: it is brought into [-2, 2] first. */
  readonly squash: boolean;
}

/** Facts of an eager run, in the order in which tensors came. */
export type Facts = readonly Fact[];

/** Source of steps' inputs. */
export interface Source {
  /** An earlier value, brought to a shape; which one is the step's choice. */
  take(shape: readonly number[]): tf.Tensor;
  /** The step's numbers. */
  readonly step: Step;
  /** Told of each call of a stateful script. */
  readonly log: string[];
  /** Variables to dispose of. */
  readonly variables: tf.Variable[];
}

/** A maker: what one step adds. */
export interface Maker {
  readonly name: string;
  readonly make: (source: Source) => readonly tf.Tensor[];
}

/** The result of unfolding. */
export interface Unfolded {
  readonly fetches: tf.Tensor[];
  readonly facts: Fact[];
  readonly log: string[];
  readonly variables: tf.Variable[];
}

/** Most elements of a sample that takes part. */
const LARGEST = 1500;
/** Further samples and dtypes of one op that may be drawn. */
const CHOICES = 6;

const sizeOf = (shape: readonly number[]): number => shape.reduce((n, d) => n * d, 1);

/** Runs `steps` with the interpreter in force. Without `facts` that must be the eager one. */
export function unfold(
  steps: readonly Step[],
  start: readonly tf.Tensor[],
  makers: readonly Maker[],
  known?: Facts,
): Unfolded {
  const facts: Fact[] = [];
  const values: { tensor: tf.Tensor; shape: readonly number[] }[] = [];
  const fetches: tf.Tensor[] = [];
  const log: string[] = [], variables: tf.Variable[] = [];
  const add = (tensor: tf.Tensor, fetch: boolean): void => {
    const fact = known ? known[facts.length] : factOf(tensor);
    facts.push(fact);
    if (!fact.flows) return;
    const float = asFloat(tensor);
    const value = fact.squash ? tf.mul(tf.tanh(float), 2) : float;
    values.push({ tensor: value, shape: fact.shape });
    if (fetch) fetches.push(value);
  };
  for (const t of start) add(t, false);
  steps.forEach((step) => {
    const next = uniform(step.a * 31 + step.b * 7 + step.c);
    let taken = 0;
    const take = (shape: readonly number[]): tf.Tensor => {
      const at = taken < 2 ? [step.a, step.b][taken] : Math.floor(next() * 1000);
      taken++;
      // Of values of the right shape there are few: prefer them now and then, so that nothing stands between two ops.
      const fitting = values.filter((v) => String(v.shape) === String(shape));
      const list = fitting.length > 0 && at % 3 > 0 ? fitting : values;
      const value = list[at % list.length];
      return adapt(value.tensor, value.shape, shape);
    };
    const made = makers[step.maker].make({ take, step, log, variables });
    for (const t of made) add(t, step.fetch);
  });
  for (const { tensor } of values.slice(-3)) if (!fetches.includes(tensor)) fetches.push(tensor);
  return { fetches, facts, log, variables };
}

function factOf(tensor: tf.Tensor): Fact {
  const shape = tensor.shape;
  const none = { shape, flows: false, squash: false };
  if (tensor.size === 0 || !canCast(tensor.dtype)) return none;
  const data = asFloat(tensor).dataSync() as Float32Array;
  if (!data.every(Number.isFinite)) return none;
  return { shape, flows: true, squash: data.some((v) => Math.abs(v) > 4) };
}

function canCast(dtype: tf.DType): boolean {
  return dtype !== "string" && dtype !== "variant" && dtype !== "resource";
}

/** Real parts where there are others. */
function asFloat(x: tf.Tensor): tf.Tensor {
  return tf.cast(x.dtype.startsWith("complex") ? tf.real(x) : x, "float32");
}

/** A value as one of another shape: its elements in a row, cut off or repeated. */
function adapt(x: tf.Tensor, from: readonly number[], to: readonly number[]): tf.Tensor {
  if (String(from) === String(to)) return x;
  const n = sizeOf(from), m = sizeOf(to);
  if (n === m) return tf.reshape(x, [...to]);
  if (n === 1) return tf.mul(tf.reshape(x, []), tf.ones([...to]));
  const row = tf.reshape(x, [n]);
  const fitting = m < n
    ? tf.slice(row, [0], [m])
    : tf.gather(row, Array.from({ length: m }, (_, i) => i % n));
  return tf.reshape(fitting, [...to]);
}

/** A maker for each op that computes the same every time and has a sample small enough. */
export function opMakers(): Maker[] {
  const makers: Maker[] = [];
  for (const [name, samples] of Object.entries(Object.assign({}, ...Object.values(FAMILIES)))) {
    const def = lookupOp(name)!;
    if (def.stateful || def.effects !== "none" || def.host) continue;
    const cases = (samples as OpSample[]).flatMap((s) => casesOf(def, s));
    // Results that are empty or not finite cannot be read on.
    const flowing = cases.filter((c) => flows(def, c));
    const list = flowing.length > 0 ? flowing : cases;
    const spread = list.filter((_, i) => i % Math.ceil(list.length / CHOICES) === 0);
    if (spread.length === 0) continue;
    let smooth: boolean | undefined;
    makers.push({
      name,
      make: (source) => {
        smooth ??= spread.every((c) => isSmooth(def, c));
        return applyCase(def, spread[source.step.c % spread.length], smooth, source);
      },
    });
  }
  return makers;
}

interface Case {
  readonly sample: OpSample;
  readonly inputs: readonly tf.NdArray[];
}

function casesOf(def: OpDef, sample: OpSample): Case[] {
  const dtypes = dtypesOf(def, sample).filter((t) => t !== "float16" && t !== "bfloat16");
  return dtypes.slice(0, 2).flatMap((dtype) => {
    const inputs = drawInputs(sample, dtype);
    return inputs.reduce((n, a) => n + a.size, 0) <= LARGEST ? [{ sample, inputs }] : [];
  });
}

function flows(def: OpDef, { sample, inputs }: Case): boolean {
  return tf.tidy(() => compute(def, inputs, sample).some((t) => factOf(t).flows));
}

function compute(
  def: OpDef,
  inputs: readonly tf.NdArray[],
  sample: OpSample,
): readonly tf.Tensor[] {
  const given = inputs.map((a, i) => isHostInput(def, i, inputs.length) ? a : tf.tensor(a));
  return apply(def, given, sample.attrs ?? {});
}

/** True for an input whose values may be any in [-2, 2]. */
function isFree(input: OpSample["inputs"][number]): boolean {
  const { low, high, distinct, whole, values } = input as SampleValues;
  return !(input instanceof tf.NdArray) &&
    [low, high, distinct, whole, values].every((v) => v === undefined);
}

/** Maximum distance of an input from the sample's values. */
const NEAR = 0.05;

function applyCase(
  def: OpDef,
  { sample, inputs }: Case,
  smooth: boolean,
  source: Source,
): readonly tf.Tensor[] {
  const given = inputs.map((array, i): OpInput => {
    if (isHostInput(def, i, inputs.length)) return array;
    const { dtype, shape, size } = array;
    const literal = tf.tensor(array);
    if (size === 0 || (dtype !== "float32" && dtype !== "int32")) return literal;
    if (dtype === "float32" && smooth && isFree(sample.inputs[i])) return source.take(shape);
    const other = source.take(shape);
    if (dtype === "float32" && smooth) return tf.add(literal, tf.mul(tf.tanh(other), NEAR));
    const zero = tf.cast(tf.mul(tf.tanh(other), 0.4), "int32");
    return tf.add(literal, tf.cast(zero, dtype));
  });
  return apply(def, given, sample.attrs ?? {});
}

/** True where no output jumps along lines through what the inputs may be. */
function isSmooth(def: OpDef, { sample, inputs }: Case): boolean {
  if (inputs.every((a) => a.dtype !== "float32")) return false;
  const moves = inputs.map((a, i) =>
    a.dtype === "float32" && !isHostInput(def, i, inputs.length) && a.size > 0
      ? isFree(sample.inputs[i]) ? 1 : NEAR
      : 0
  );
  const next = uniform(inputs.length);
  const STEPS = 24;
  for (let line = 0; line < 2; line++) {
    const directions = inputs.map((a) => Array.from({ length: a.size }, () => 2 * next() - 1));
    let before: (readonly number[])[] = [];
    for (let k = 0; k <= STEPS; k++) {
      const at = inputs.map((a, i) =>
        moves[i] === 0 ? a : a.map((v, e) => Number(v) + (moves[i] * k / STEPS) * directions[i][e])
      );
      const now = tf.tidy(() =>
        compute(def, at, sample).map((t) =>
          canCast(t.dtype) ? [...asFloat(t).dataSync() as Float32Array] : []
        )
      );
      const jumps = now.some((values, o) =>
        values.some((v, e) =>
          !Number.isFinite(v) || k > 0 && (before[o].length !== values.length ||
              Math.abs(v - before[o][e]) > (moves.includes(1) ? 0.5 : 0.05) * (1 + Math.abs(v)))
        )
      );
      if (jumps) return false;
      before = now;
    }
  }
  return true;
}

/** Formats a step for messages. */
export function stepText(step: Step, makers: readonly Maker[]): string {
  return `${makers[step.maker].name} ${JSON.stringify(step)}`;
}
