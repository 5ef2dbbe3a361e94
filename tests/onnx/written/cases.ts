/** Functions that are written as ONNX: every op by its samples, with known shapes, open ones and all its dtypes, and programs. */
import * as tf from "@weft/weft";
import { encodeOnnx } from "@weft/weft/onnx";
import { apply } from "../../../src/engine/core/apply.ts";
import { argOfInput, type OpDef, registeredOps } from "../../../src/engine/core/op.ts";
import { dtypesOf } from "../../../src/library/testing/op_case.ts";
import { drawInputs, type OpSample } from "../../../src/library/testing/op_sample.ts";
import { FAMILIES } from "../../op_samples/mod.ts";

/** A function to write, and what it is called with. */
export interface Case {
  readonly name: string;
  /** The op that it is about, or the program. */
  readonly op: string;
  readonly f: Parameters<typeof encodeOnnx>[0];
  readonly feeds: Readonly<Record<string, tf.NdArray>>;
  readonly run: () => unknown;
  readonly opset?: number;
  /** False where the results are drawn: only their shapes and dtypes are compared. */
  readonly isRandom?: boolean;
  /** Tolerated difference, relative to one plus the largest number. Default 1e-5. */
  readonly near?: number;
}

const SAMPLES = Object.assign({}, ...Object.values(FAMILIES)) as Record<
  string,
  readonly OpSample[]
>;

/** Ops that have samples, in order of definition. */
export function sampledOps(): OpDef[] {
  return registeredOps().filter((d) => SAMPLES[d.name] !== undefined);
}

/** Tolerances of halves. */
const NEAR: Partial<Record<tf.DType, number>> = { float16: 2e-3, bfloat16: 2e-2 };

/** Ops that draw random numbers. */
const RANDOM = /^(Random(Uniform|StandardNormal)|Multinomial)/;

/** An op on each of its samples. */
export function casesOf(def: OpDef): Case[] {
  return SAMPLES[def.name].flatMap((sample, k) => {
    const dtypes = dtypesOf(def, sample);
    const first = dtypes.includes("float32") ? "float32" : dtypes[0];
    return [
      ...[true, false].map((known) => caseOf(def, sample, { known, k, dtype: first })),
      ...dtypes.filter((d) => d !== first && k < 2).map((dtype) =>
        caseOf(def, sample, { known: true, k, dtype })
      ),
    ];
  });
}

function caseOf(
  def: OpDef,
  sample: OpSample,
  { known, k, dtype }: { readonly known: boolean; readonly k: number; readonly dtype: tf.DType },
): Case {
  const inputs = drawInputs(sample, dtype), feeds: Record<string, tf.NdArray> = {};
  const isHost = (i: number): boolean =>
    def.signature.isHostInput[argOfInput(def, i, inputs.length)] ?? false;
  inputs.forEach((a, i) => {
    if (isHost(i)) return;
    if (isComplex(a)) [feeds[`x${i}`], feeds[`x${i}_imag`]] = partsOf(a);
    else {
      feeds[`x${i}`] = a.dtype === "bfloat16" ? tf.cast(tf.tensor(a), "float32").ndarraySync() : a;
    }
  });
  // Python has no arrays of bfloat16, ONNX no complex numbers: these models take and give floats.
  const plain = (x: tf.Tensor): tf.Tensor[] =>
    isComplex(x) ? [tf.real(x), tf.imag(x)] : [x.dtype === "bfloat16" ? tf.cast(x, "float32") : x];
  const f = tf.function((...xs: tf.Tensor[]) => {
    let next = 0;
    const given = inputs.map((a, i) => {
      if (isHost(i)) return a;
      const x = xs[next++];
      if (isComplex(a)) return tf.complex(x, xs[next++]);
      return x.dtype === a.dtype ? x : tf.cast(x, a.dtype);
    });
    return apply(def, given, sample.attrs ?? {}).flatMap(plain);
  }, {
    inputSignature: Object.entries(feeds).map(([name, a]) =>
      tf.TensorSpec(known ? a.shape : a.shape.map(() => null), a.dtype, name)
    ),
  });
  return {
    name: `${def.name} ${k} ${dtype} ${known ? "known" : "open"}`,
    op: def.name,
    f,
    feeds,
    run: () => f(...Object.values(feeds).map((a) => tf.tensor(a))),
    isRandom: RANDOM.test(def.name),
    ...(NEAR[dtype] !== undefined && { near: NEAR[dtype] }),
  };
}

function isComplex({ dtype }: { readonly dtype: tf.DType }): boolean {
  return dtype.startsWith("complex");
}

function partsOf(a: tf.NdArray): tf.NdArray[] {
  const x = tf.tensor(a);
  return [tf.real(x).ndarraySync(), tf.imag(x).ndarraySync()];
}

/** Writes a case, or gives the reason why it is refused. */
export function write({ f, opset = 18 }: Case): Uint8Array | string {
  try {
    return encodeOnnx(f, { opset });
  } catch (e) {
    if (e instanceof tf.errors.UnimplementedError) return e.message;
    throw e;
  }
}
