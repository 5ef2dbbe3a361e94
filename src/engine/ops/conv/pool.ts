/** The pooling ops of two and three axes and their gradients. */
import { apply, apply1, type OpInput } from "../../core/apply.ts";
import { type Attrs, defineOp, type GradRule, type OpDef } from "../../core/op.ts";
import type { Portable } from "../../core/portable.ts";
import { type PartialShape, type Shape, shapeText } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { ValueError } from "../../core/errors.ts";
import {
  checkRank,
  isChannelsFirst,
  orderShape,
  spatialAttrs,
  spatialAxes,
  spatialOutputs,
  type WindowGeometry,
  windowGeometry,
} from "../../kernels/conv/geometry.ts";
import {
  argMaxPoolCpu,
  avgPoolCpu,
  avgPoolGradCpu,
  maxPoolCpu,
  maxPoolGradCpu,
  maxPoolGradGradCpu,
} from "../../kernels/host/pool.ts";
import { hostInts } from "../array/view.ts";
import { toIndexInput } from "../input.ts";

const REAL = "{float16, bfloat16, float32, float64, int8, int16, int32, int64, uint8, uint16}";

/** Returns the window's extents along the spatial axes. Throws `ValueError` where `ksize` does not fit the rank. */
function windowOf(op: string, attrs: Attrs, rank: number): number[] {
  const ksize = attrs.ksize as readonly number[];
  if (ksize.length !== rank) {
    throw new ValueError(
      `Sliding window ksize field must specify ${rank} dimensions in ${op}, received ${
        shapeText(ksize)
      }`,
    );
  }
  const axes = spatialAxes(rank, isChannelsFirst(attrs));
  if (ksize.some((k, i) => k < 1 || (k !== 1 && !axes.includes(i)))) {
    throw new ValueError(
      `Pooling over batch or depth is not implemented in ${op}, received ksize ${shapeText(ksize)}`,
    );
  }
  return axes.map((a) => ksize[a]);
}

function geometry(op: string, shape: Shape, attrs: Attrs): WindowGeometry {
  const channels = shape[isChannelsFirst(attrs) ? 1 : shape.length - 1];
  return windowGeometry(shape, windowOf(op, attrs, shape.length), channels, attrs);
}

function poolShape(op: string, shape: PartialShape, attrs: Attrs, rank: number): PartialShape {
  checkRank(shape, rank, op, "input");
  const s = shape ?? new Array<null>(rank).fill(null);
  const first = isChannelsFirst(attrs);
  const sizes = spatialAxes(rank, first).map((a) => s[a]);
  return orderShape(
    s[0],
    spatialOutputs(sizes, windowOf(op, attrs, rank), spatialAttrs(attrs, rank)),
    s[first ? 1 : rank - 1],
    first,
  );
}

/** Attributes of a pooling and its gradients. */
function shared(attrs: Attrs): Attrs {
  const { ksize, strides, padding, explicit_paddings, data_format, dilations } = attrs;
  return { ksize, strides, padding, explicit_paddings, data_format, dilations };
}

/** The gradients of max pooling are linear in the incoming gradient, and each other's gradient. */
function maxGradRule(other: () => OpDef): GradRule {
  return {
    saves: ["orig_input", "orig_output"],
    vjp: ({ orig_input, orig_output }, [g], { attrs }) => [
      null,
      null,
      apply1(other(), [orig_input, orig_output, g], shared(attrs)),
    ],
  };
}

interface PoolOps {
  readonly max: OpDef;
  readonly avg: OpDef;
  readonly maxGrad: OpDef;
}

const dilations = (v: unknown): boolean => (v as number[]).every((d) => d === 1);
const explicit_paddings = (v: unknown): boolean => (v as number[]).length === 0;

function definePooling(suffix: "" | "3D"): PoolOps {
  const rank = suffix === "" ? 4 : 5;
  // `dilations` is Weft's own, and `explicit_paddings` where TensorFlow has only SAME and VALID.
  const attrs = [
    "ksize: list(int)",
    "strides: list(int)",
    "padding: string",
    "explicit_paddings: list(int) = []",
    `data_format: string = "${suffix === "" ? "NHWC" : "NDHWC"}"`,
    "dilations: list(int) = []",
  ];
  const portable: Portable = { without: { dilations, explicit_paddings } };
  const portableMax: Portable = suffix === "" ? { without: { dilations } } : portable;
  const name = { max: `MaxPool${suffix}`, avg: `AvgPool${suffix}` };

  const maxGradGrad: OpDef = defineOp({
    name: `${name.max}GradGrad`,
    inputs: ["orig_input: T", "orig_output: T", "grad: T"],
    outputs: ["output: T"],
    portable,
    attrs: [...attrs, `T: ${REAL}`],
    infer: ([x], a) => [poolShape(`${name.max}GradGrad`, x.shape, a, rank)],
    grad: maxGradRule(() => maxGrad),
    meaning: { kind: "window", takes: "max", gives: "second gradient" },
    cpu: ([x, , dd], [out], { attrs: a }) =>
      maxPoolGradGradCpu(geometry(name.max, x.shape, a), [x, dd], out),
  });

  const maxGrad: OpDef = defineOp({
    name: `${name.max}Grad`,
    inputs: suffix === ""
      ? ["orig_input: T", "orig_output: T", "grad: T"]
      : ["orig_input: TInput", "orig_output: TInput", "grad: T"],
    outputs: ["output: T"],
    portable: portableMax,
    attrs: [...attrs, `T: ${REAL}`, ...(suffix === "" ? [] : [`TInput: ${REAL}`])],
    infer: ([x], a) => {
      checkRank(x.shape, rank, `${name.max}Grad`, "orig_input");
      spatialAttrs(a, rank);
      return [x.shape];
    },
    grad: maxGradRule(() => maxGradGrad),
    meaning: { kind: "window", takes: "max", gives: "gradient" },
    cpu: ([x, , dy], [out], { attrs: a }) =>
      maxPoolGradCpu(geometry(name.max, x.shape, a), [x, dy], out),
  });

  const max = defineOp({
    name: name.max,
    inputs: ["input: T"],
    outputs: ["output: T"],
    portable: portableMax,
    attrs: [...attrs, `T: ${REAL}`],
    infer: ([x], a) => [poolShape(name.max, x.shape, a, rank)],
    grad: {
      saves: ["input", "output"],
      vjp: ({ input, output }, [dy], { attrs }) => [
        apply1(maxGrad, [input, output, dy], shared(attrs)),
      ],
    },
    meaning: { kind: "window", takes: "max", gives: "result" },
    cpu: ([x], [out], { attrs: a }) => maxPoolCpu(geometry(name.max, x.shape, a), x, out),
  });

  const avgGrad: OpDef = defineOp({
    name: `${name.avg}Grad`,
    inputs: ["orig_input_shape: int32", "grad: T"],
    outputs: ["output: T"],
    portable,
    attrs: [...attrs, "T: floating"],
    hostInputs: ["orig_input_shape"],
    infer: ([shape, dy], a) => {
      checkRank(dy.shape, rank, `${name.avg}Grad`, "grad");
      spatialAttrs(a, rank);
      return [shape.value === undefined ? new Array<null>(rank).fill(null) : hostInts(shape.value)];
    },
    grad: { saves: [], vjp: (_, [g], ctx) => [null, apply1(avg, [g], shared(ctx.attrs))] },
    meaning: { kind: "window", takes: "mean", gives: "gradient" },
    cpu: ([, dy], [out], { attrs: a }) => avgPoolGradCpu(geometry(name.avg, out.shape, a), dy, out),
  });

  const avg: OpDef = defineOp({
    name: name.avg,
    inputs: ["value: T"],
    outputs: ["output: T"],
    portable,
    attrs: [...attrs, "T: floating"],
    infer: ([x], a) => [poolShape(name.avg, x.shape, a, rank)],
    grad: {
      saves: [],
      vjp: (_, [dy], ctx) => [
        apply1(avgGrad, [toIndexInput(ctx.shapeOf(0), "shape", name.avg), dy], shared(ctx.attrs)),
      ],
    },
    meaning: { kind: "window", takes: "mean", gives: "result" },
    cpu: ([x], [out], { attrs: a }) => avgPoolCpu(geometry(name.avg, x.shape, a), x, out),
  });
  return { max, avg, maxGrad };
}

const flat = definePooling("");
const deep = definePooling("3D");

const MaxPoolWithArgmax = defineOp({
  name: "MaxPoolWithArgmax",
  inputs: ["input: T"],
  outputs: ["output: T", "argmax: Targmax"],
  portable: { without: { explicit_paddings } },
  attrs: [
    "ksize: list(int)",
    "strides: list(int)",
    "Targmax: index = int64",
    "padding: string",
    "explicit_paddings: list(int) = []",
    "include_batch_in_index: bool = false",
    `T: ${REAL}`,
  ],
  infer: ([x], attrs) => {
    const shape = poolShape("MaxPoolWithArgmax", x.shape, attrs, 4);
    return [shape, shape];
  },
  grad: {
    saves: ["input", "output"],
    vjp: ({ input, output }, [dy], { attrs }) => {
      const { ksize, strides, padding, explicit_paddings } = attrs;
      return [
        apply1(flat.maxGrad, [input, output, dy], { ksize, strides, padding, explicit_paddings }),
      ];
    },
  },
  meaning: { kind: "window", takes: "max", gives: "result and place" },
  cpu: ([x], outs, { attrs }) => {
    const window = geometry("MaxPoolWithArgmax", x.shape, attrs);
    argMaxPoolCpu(window, x, outs, attrs.include_batch_in_index);
  },
});

export function applyPool(type: "max" | "avg", axes: 2 | 3, x: OpInput, attrs: Attrs): Tensor {
  return apply1((axes === 2 ? flat : deep)[type], [x], attrs);
}

export function applyArgMaxPool(x: OpInput, attrs: Attrs): Tensor[] {
  return apply(MaxPoolWithArgmax, [x], attrs);
}
