/**
 * Ops of every meaning joined with what makes their inputs and with what reads their results: eager code, functions, sessions and
 * gradients give the same, whatever plans join.
 */

import * as tf from "@weft/weft";
import { assert, assertEquals } from "@std/assert";
import { registeredOpNames } from "@weft/weft/testing";
import { apply } from "../../src/engine/core/apply.ts";
import type { Meaning } from "../../src/engine/core/meaning.ts";
import { attentionOptions } from "../../src/engine/graph/passes/attention.ts";
import { lookupOp, type OpDef } from "../../src/engine/core/op.ts";
import { difference } from "../../src/library/testing/compare.ts";
import { dtypesOf } from "../../src/library/testing/op_case.ts";
import {
  drawInputs,
  drawValues,
  isFree,
  type OpSample,
  type SampleInput,
} from "../../src/library/testing/op_sample.ts";
import { isHostInput, problemOf } from "../../src/library/testing/run_op.ts";
import { some } from "../effort.ts";
import { type TestDevice, testOnDevices } from "../devices.ts";
import { FAMILIES } from "../op_samples/mod.ts";
import { type Part, PRODUCERS, READERS } from "./readers.ts";

/** Ops of one meaning that are tried, and of those without one: shaders of a GPU cost more than kernels of the CPU. */
const OPS = 1;
const OPAQUE_OPS: Readonly<Record<TestDevice, number>> = { cpu: 8, webgpu: 2 };
/** Kinds of ops that plans join with what comes before or after. */
const JOINED_KINDS: ReadonlySet<Meaning["kind"]> = new Set([
  "pointwise",
  "reduce",
  "rows",
  "product",
]);
/** Combinations that are tried as a rule. */
const USUAL: Readonly<Record<TestDevice, number>> = { cpu: 200, webgpu: 60 };
/** Elements of a value that is joined. */
const MOST = 400;
/** Programs that one function holds. */
const TOGETHER = 32;
/** Greatest share of programs without a gradient: no input of theirs is float32. */
const WITHOUT_GRADIENT = 0.1;
/** Least share of producers, ops and readers that fit each other: some readers want a matrix or an image. */
const FITTING = 0.85;

const TABLE = Object.assign({}, ...Object.values(FAMILIES)) as (typeof FAMILIES)[string];

/** An op with inputs that fit it, of which `free` may be made by others. */
interface Middle {
  readonly name: string;
  readonly def: OpDef;
  readonly attrs: NonNullable<OpSample["attrs"]>;
  readonly inputs: readonly tf.NdArray[];
  readonly free: number;
  readonly shape: readonly number[];
}

/** Returns a key that differs for different meanings. */
function keyOf(meaning: Meaning): string {
  const more = meaning as unknown as Record<string, unknown>;
  const own = ["how", "way", "op", "takes", "gives", "of", "program"].map((k) => more[k] ?? "");
  return `${meaning.kind} ${own.filter((v) => typeof v === "string").join(" ")}`;
}

/** True for a square matrix of chosen values: it is invertible, and what producers make of it may have two equal rows. */
function isChosenMatrix(x: SampleInput): boolean {
  if (x instanceof tf.NdArray || x.values === undefined) return false;
  const [rows, columns] = x.shape.slice(-2);
  return rows === columns;
}

/** The first sample of an op whose result others can read as float32; null for none. */
function middleOf(name: string): Middle | null {
  const def = lookupOp(name)!;
  if (def.stateful || def.host) return null;
  for (const sample of TABLE[name] ?? []) {
    if (!dtypesOf(def, sample).includes("float32")) continue;
    const attrs = sample.attrs ?? {}, inputs = drawInputs(sample, "float32");
    const { outputs: [out] } = problemOf(def, inputs, attrs);
    const fits = out !== undefined && out.shape?.every((d) => d !== null && d > 0) &&
      ["float32", "int32", "bool"].includes(out.dtype) && out.shape.length > 0 &&
      out.shape.length < 5 && out.shape.reduce((a, b) => a * b, 1) <= MOST;
    if (!fits) continue;
    const free = sample.inputs.findIndex((x, i) =>
      isFree(x) && !isChosenMatrix(x) && inputs[i].dtype === "float32" &&
      !isHostInput(def, i, inputs.length)
    );
    return { name, def, attrs, inputs, free, shape: out.shape };
  }
  return null;
}

function middles(on: TestDevice): Middle[] {
  const byKey = new Map<string, Middle[]>();
  for (const name of registeredOpNames()) {
    const made = middleOf(name), key = keyOf(lookupOp(name)!.meaning);
    const list = byKey.get(key) ?? [];
    if (made && list.length < (key.startsWith("opaque") ? OPAQUE_OPS[on] : OPS)) {
      byKey.set(key, [...list, made]);
    }
  }
  return [...byKey.values()].flat();
}

/** Ops without a gradient, as in TensorFlow. */
const NO_GRADIENT = ["Dilation2DBackpropInput", "Dilation2DBackpropFilter"];

/** A program: its inputs, and what it makes of them. */
interface Program {
  readonly name: string;
  /** The op in its middle. */
  readonly op: string;
  /** The number of its reader. */
  readonly reader: number;
  readonly inputs: readonly tf.NdArray[];
  readonly run: (inputs: readonly tf.Tensor[]) => tf.Tensor;
}

/** The op with what comes before and after it; null where they do not fit. */
function program(
  middle: Middle,
  before: Part,
  after: Part,
  seed: number,
): Omit<Program, "reader"> | null {
  const { def, attrs, free, shape } = middle;
  const first = free < 0 ? [] : before.operands(middle.inputs[free].shape);
  const further = after.operands(shape);
  if (first === null || further === null) return null;
  const hosts = middle.inputs.map((_, i) => isHostInput(def, i, middle.inputs.length));
  const own = middle.inputs.filter((_, i) => !hosts[i]);
  const operands = [...first, ...further].map(({ dtype, shape }, i) =>
    drawValues({ shape, low: -2, high: 3 }, dtype, seed + i)
  );
  const run = (given: readonly tf.Tensor[]): tf.Tensor => {
    const brought = given.slice(own.length);
    let at = 0;
    const inputs = middle.inputs.map((x, i) => (hosts[i] ? x : given[at++]));
    if (free >= 0) {
      inputs[free] = before.apply(inputs[free] as tf.Tensor, brought.slice(0, first.length));
    }
    const [made] = apply(def, inputs, attrs);
    const y = made.dtype === "float32" ? made : tf.cast(made, "float32");
    return after.apply(y, brought.slice(first.length));
  };
  const name = `${before.name}, ${middle.name}, ${after.name}`;
  return { name, op: middle.name, inputs: [...own, ...operands], run };
}

/** Gradients of a program; zeros stand for none. */
function gradient({ run }: Program, inputs: readonly tf.Tensor[]): tf.Tensor {
  using tape = new tf.GradientTape();
  const xs = inputs.filter((x) => x.dtype === "float32");
  tape.watch(xs);
  const y = run(inputs);
  const total = tf.sum(tf.mul(y, tf.cos(tf.reshape(tf.range(0, y.size), y.shape))));
  const grads = tape.gradient(total, xs) as (tf.Tensor | null)[];
  return tf.concat(xs.map((x, i) => tf.reshape(grads[i] ?? tf.zerosLike(x), [-1])), 0);
}

// Plans make one op of attention however small it is.
attentionOptions.leastOnCpu = 0;

const TOLERANCE = { ulps: 256, ulpsOfLargest: 256, absolute: 2e-5 };

/** Runs programs together in one way, and compares with what eager code gave. */
type Way = (programs: readonly Program[]) => Promise<readonly tf.NdArray[]>;

function tensorsOf(programs: readonly Program[]): tf.Tensor[] {
  return programs.flatMap((p) => p.inputs.map((x) => tf.tensor(x)));
}

/** Applies `each` to each program, on the inputs of all. */
function forEach(
  programs: readonly Program[],
  inputs: readonly tf.Tensor[],
  each: (p: Program, inputs: readonly tf.Tensor[]) => tf.Tensor,
): tf.Tensor[] {
  let at = 0;
  return programs.map((p) => each(p, inputs.slice(at, at += p.inputs.length)));
}

function inFunction(each: (p: Program, inputs: readonly tf.Tensor[]) => tf.Tensor): Way {
  return async (programs) => {
    using _ = tf.scope();
    const fn = tf.function((...inputs: tf.Tensor[]) => forEach(programs, inputs, each));
    const results = await fn.async(...tensorsOf(programs)) as tf.Tensor[];
    return await Promise.all(results.map((t) => t.ndarray()));
  };
}

const inSession: Way = async (programs) => {
  const graph = new tf.Graph();
  const feeds = new Map<tf.Tensor, tf.NdArray>();
  const fetches = graph.asDefault(() => {
    const given = programs.flatMap((p) => p.inputs);
    const inputs = given.map((x) => tf.placeholder(x.dtype, x.shape));
    inputs.forEach((p, i) => feeds.set(p, given[i]));
    return forEach(programs, inputs, (p, own) => tf.reshape(p.run(own), [-1]));
  });
  await using session = new tf.Session({ graph });
  return await session.run(fetches, { feeds }) as tf.NdArray[];
};

/** Runs programs eagerly; a program that throws is a failure, since all of them are valid. */
function eagerly(
  programs: readonly Program[],
  each: (p: Program, x: readonly tf.Tensor[]) => tf.Tensor,
): tf.NdArray[] {
  return programs.map((p) => {
    using _ = tf.scope();
    try {
      return each(p, tensorsOf([p])).ndarraySync();
    } catch (cause) {
      throw new Error(`${p.name} threw eagerly`, { cause });
    }
  });
}

/** Finds the programs whose results differ from the eager ones. After an error each is tried alone. */
async function differing(
  programs: readonly Program[],
  way: Way,
  want: readonly tf.NdArray[],
  name: string,
): Promise<string[]> {
  if (programs.length === 0) return [];
  let found: readonly tf.NdArray[];
  try {
    found = await way(programs);
  } catch (e) {
    if (programs.length === 1) {
      return [`${programs[0].name}, ${name}: threw ${String(e).slice(0, 300)}`];
    }
    const lists: string[] = [];
    for (const [i, p] of programs.entries()) {
      lists.push(...await differing([p], way, [want[i]], name));
    }
    return lists;
  }
  return programs.flatMap((p, i) => {
    const w = want[i];
    const flat = name === "session" ? new tf.NdArray(w.dtype, [w.size], w.data) : w;
    const text = difference(found[i], flat, w.dtype, TOLERANCE);
    return text === null ? [] : [`${p.name}, ${name}: ${text}`];
  });
}

/**
 * Every reader with every op, and with every producer where the op is the first of its meaning (on a GPU: of a kind that takes part in
 * joined kernels). Readers are outermost, so that an even sample has all of them.
 */
function allPrograms(on: TestDevice): Program[] {
  const ops = middles(on), made: Program[] = [];
  const keys = ops.map(({ def: { meaning }, free }) => {
    if (free < 0) return null;
    if (on === "cpu") return keyOf(meaning);
    return JOINED_KINDS.has(meaning.kind) ? meaning.kind : null;
  });
  const isFirst = keys.map((key, m) => key !== null && keys.indexOf(key) === m);
  let wanted = 0;
  for (const [r, accesses] of READERS.entries()) {
    for (const [m, middle] of ops.entries()) {
      for (const [b, before] of PRODUCERS.entries()) {
        if (!isFirst[m] && b !== (m + r) % PRODUCERS.length) continue;
        const after = accesses[(m + r + b) % accesses.length];
        const one = program(middle, before, after, 7 * m + r);
        wanted++;
        if (one !== null) made.push({ ...one, reader: r });
      }
    }
  }
  assert(made.length >= FITTING * wanted, `${made.length} of ${wanted} programs fit`);
  return made;
}

/** An even sample, and a program of each kind of op and of each reader that has none there. */
function sampled(programs: readonly Program[], usual: number): readonly Program[] {
  const tried = some(programs, usual);
  const met = new Set<string | number>(tried.flatMap((p) => [kindOf(p), p.reader]));
  const further = programs.filter((p) => {
    const isNew = !met.has(kindOf(p)) || !met.has(p.reader);
    met.add(kindOf(p)).add(p.reader);
    return isNew;
  });
  return [...tried, ...further];
}

function kindOf({ op }: Program): Meaning["kind"] {
  return lookupOp(op)!.meaning.kind;
}

testOnDevices(
  "ops of every meaning may be joined with all that reads and makes values",
  async (on) => {
    const failures: string[] = [];
    const tried = sampled(allPrograms(on), USUAL[on]);
    const kinds = new Set(registeredOpNames().map((name) => lookupOp(name)!.meaning.kind));
    const left = [...kinds].filter((kind) => !tried.some((p) => kindOf(p) === kind));
    // What is fed and what is constant stand in every program.
    assertEquals(left.sort(), ["constant", "input"]);
    assertEquals(new Set(tried.map((p) => p.reader)).size, READERS.length);
    const hasGradient = ({ op, inputs }: Program): boolean =>
      !NO_GRADIENT.includes(op) && inputs.some((x) => x.dtype === "float32");
    const without = tried.filter((p) => !hasGradient(p)).length;
    assert(without <= WITHOUT_GRADIENT * tried.length, `${without} programs have no gradient`);
    for (let i = 0; i < tried.length; i += TOGETHER) {
      const batch = tried.slice(i, i + TOGETHER), derived = batch.filter(hasGradient);
      const run = (p: Program, x: readonly tf.Tensor[]): tf.Tensor => p.run(x);
      const want = eagerly(batch, run), grads = eagerly(derived, gradient);
      failures.push(
        ...await differing(batch, inFunction(run), want, "function"),
        ...await differing(batch, inSession, want, "session"),
        ...await differing(derived, inFunction(gradient), grads, "gradient"),
      );
    }
    assertEquals(failures, []);
  },
);
