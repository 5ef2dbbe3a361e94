/** Every op in `vmap`, with each of its inputs differing between rows and all of them, against a loop over the rows. */

import { assertEquals } from "@std/assert";
import * as tf from "@weft/weft";
import { apply } from "../../src/engine/core/apply.ts";
import { lookupOp } from "../../src/engine/core/op.ts";
import { loopWarning } from "../../src/engine/batching/walk.ts";
import { difference } from "../../src/library/testing/compare.ts";
import { dtypesOf } from "../../src/library/testing/op_case.ts";
import { drawValues, type OpSample } from "../../src/library/testing/op_sample.ts";
import { testOnDevices } from "../devices.ts";
import { some } from "../effort.ts";
import { FAMILIES } from "../op_samples/mod.ts";

const ROWS = 3;
const TOLERANCE = { ulps: 64, ulpsOfLargest: 64, absolute: 1e-5 };

/** Ops whose results have a shape that depends on values: rows cannot be stacked. */
const OF_OWN_SHAPES =
  /^(Where|UniqueV2|ListDiff|NonMaxSuppression|CombinedNonMax|DynamicPartition|DenseTo|SetSize|Sparse|DenseCountSparse|Ragged|String|Unicode|CTCGreedy|CTCBeam|ParseTensor|_OntoRows|FirstEqual|Stateless|Range$|LinSpace|_FilledRows|_EmptyRows|_WriteRows|_ClearRows|_AppendRow)/;

/** Ops of which a call may run in a loop over the rows, each with the reason. */
const LOOPS: Readonly<Record<string, string>> = {
  Betainc: "rows of unknown shape",
  ...named(
    "UnsortedSegmentSum UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd CropAndResize ImageProjectiveTransformV3",
    "an unknown number of rows",
  ),
  GenerateBoundingBoxProposals: "boxes are picked by the host",
  ...named("CropAndResizeGradImage CropAndResizeGradBoxes", "an unknown number of rows"),
  ...named(
    "Dilation2D Dilation2DBackpropInput Dilation2DBackpropFilter",
    "an unknown number of rows",
  ),
  ...named("PadV2 MatrixDiagV3 MatrixDiagPartV3", "the value of the padding differs"),
  ...named("_TakeRow _PutRow _Place _CheckedIndices", "rows of lists"),
  ...named("Conv2D Conv2DBackpropInput Conv2DBackpropFilter", "filters differ in another layout"),
  ...named("DepthwiseConv2dNative DepthwiseConv2dNativeBackpropInput", "another layout"),
  DepthwiseConv2dNativeBackpropFilter: "another layout",
  ...named("Conv3D Conv3DBackpropInputV2 Conv3DBackpropFilterV2", "filters of three axes differ"),
  ...named("ResizeBilinearBack ProjectiveTransformBack", "gradients of warped images"),
  QuantizeAndDequantizeV3: "each slice of a row has a range of its own",
  ...named("BroadcastGradientArgs ConcatOffset", "shapes differ"),
  _CheckedGradient: "the gradient of a user's function is checked by itself",
  ...named(
    "StatelessRandomGammaV2 StatelessRandomGammaV3",
    "draws depend on what they are drawn from",
  ),
};

function named(names: string, reason: string): Record<string, string> {
  return Object.fromEntries(names.split(" ").map((name) => [name, reason]));
}

interface Inputs {
  /** Values of each row, or one for all. */
  readonly rows: readonly tf.NdArray[] | null;
  readonly one: tf.NdArray;
}

function inputsOf(sample: OpSample, dtype: tf.DType): Inputs[] {
  return sample.inputs.map((input, i) => {
    if (input instanceof tf.NdArray) return { rows: null, one: input };
    const draw = (k: number) => drawValues(input, input.dtype ?? dtype, i + 1 + 17 * k);
    return { rows: Array.from({ length: ROWS }, (_, k) => draw(k)), one: draw(0) };
  });
}

/** Compares `vmap` of an op with a loop; returns how it differs. */
async function compare(
  name: string,
  sample: OpSample,
  batched: readonly boolean[],
): Promise<string[]> {
  const def = lookupOp(name)!, dtype = dtypesOf(def, sample)[0]!;
  const inputs = inputsOf(sample, dtype), attrs = sample.attrs ?? {};
  const valueOf = (i: number, k: number) => batched[i] ? inputs[i]!.rows![k]! : inputs[i]!.one;
  let wanted: tf.NdArray[][];
  try {
    wanted = await Promise.all(Array.from({ length: ROWS }, async (_, k) => {
      const out = apply(def, inputs.map((_, i) => valueOf(i, k)), attrs);
      return await Promise.all(out.map((t) => t.ndarray()));
    }));
  } catch {
    return []; // What a sample cannot be run with is tested elsewhere.
  }
  const all = inputs.flatMap((input, i) =>
    batched[i] ? [tf.stack(input.rows!.map((r) => tf.tensor(r)))] : []
  );
  const mapped = tf.vmap((...given: tf.Tensor[]) => {
    const left = [...given];
    return apply(def, inputs.map((input, i) => batched[i] ? left.shift()! : input.one), attrs);
  });
  const compiled = tf.function(mapped, {
    inputSignature: all.map((t) => tf.TensorSpec([null, ...t.shape.slice(1)], t.dtype)),
  });
  const faults: string[] = [];
  for (const [how, run] of [["eagerly", mapped], ["compiled", compiled]] as const) {
    try {
      const got = await (run === compiled ? compiled.async(...all) : mapped(...all));
      for (const [o, t] of got.entries()) {
        for (const [k, row] of tf.unstack(t).entries()) {
          const found = await row.ndarray();
          const text = difference(found, wanted[k]![o]!, found.dtype, TOLERANCE);
          if (text !== null) faults.push(`${how}, output ${o}, row ${k}: ${text}`);
        }
      }
    } catch (error) {
      faults.push(`${how}: ${(error as Error).message.split("\n")[0]}`);
    }
  }
  return faults;
}

for (const [family, table] of Object.entries(FAMILIES)) {
  if (family === "optimizer") continue;
  testOnDevices(`vmap() of ops of the family ${family} is a loop over the rows`, async (device) => {
    // Rules do not know devices: on a GPU, whose every kernel is compiled, fewer cases show that they run there.
    const few = device === "webgpu" ? 1 : 2;
    const { write, named } = loopWarning;
    loopWarning.write = () => {};
    named.clear();
    try {
      const faults: string[] = [];
      for (const [name, samples] of Object.entries(table)) {
        const def = lookupOp(name)!;
        if (OF_OWN_SHAPES.test(name) || def.stateful || name.startsWith("Resource")) continue;
        for (const sample of some(samples, few)) {
          const drawn = sample.inputs.flatMap((x, i) => x instanceof tf.NdArray ? [] : [i]);
          if (drawn.length === 0) continue;
          const sets = drawn.length === 1 ? [drawn] : [drawn, ...some(drawn, few).map((i) => [i])];
          for (const set of sets) {
            using _scope = tf.scope();
            const flags = sample.inputs.map((_, i) => set.includes(i));
            const found = await compare(name, sample, flags);
            if (found.length > 0) {
              faults.push(
                `${name} ${JSON.stringify(sample.attrs ?? {})} rows of [${set}]: ${found[0]}`,
              );
            }
          }
        }
      }
      assertEquals(faults, []);
      assertEquals([...named].filter((name) => !(name in LOOPS)), [], "ops without a rule");
    } finally {
      loopWarning.write = write;
    }
  });
}
