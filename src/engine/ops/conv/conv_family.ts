/**
 * Defines a convolution and its two gradients, which are each other's, for any number of axes, with or without mixing
 * channels.
 */
import { apply1, type OpInput } from "../../core/apply.ts";
import type { MeaningOf } from "../../core/meaning.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { type Attrs, defineOp, type OpDef, type OpInit } from "../../core/op.ts";
import type { Portable } from "../../core/portable.ts";
import { compatible, type PartialShape, shapeText } from "../../core/shape.ts";
import { type Spec, specText } from "../../core/tensor_spec.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { ValueError } from "../../core/errors.ts";
import {
  convBackwardFilter,
  convBackwardInput,
  convForward,
  type ConvKernel,
  runConv,
} from "../../kernels/host/conv.ts";
import {
  checkRank,
  isChannelsFirst,
  orderShape,
  spatialAttrs,
  spatialAxes,
  spatialOutputs,
  windowGeometry,
} from "../../kernels/conv/geometry.ts";
import { hostInts } from "../array/view.ts";
import { toIndexInput } from "../input.ts";

/** The ops of a family: the convolution and its gradients with respect to input and filter. */
type Members<T> = Readonly<Record<"forward" | "inputGradient" | "filterGradient", T>>;

interface ConvMember {
  readonly name: string;
  /** The attribute with the dtype of a gradient's shape input; without it int32. */
  readonly sizes?: string;
  /** The replacement in a portable GraphDef. */
  readonly portable?: Portable;
}

type ConvKernels = Members<ConvKernel>;

interface ConvFamilyDefinition extends Members<ConvMember> {
  readonly fn: string;
  readonly rank: 4 | 5;
  /** Makes host kernels that convolve each channel with its own filters, which end in `[channels, multiplier]`. */
  readonly depthwise?: ConvKernels;
  readonly attrs: readonly string[];
}

/** Makes host kernels of convolutions that mix channels. */
const MIXING: ConvKernels = {
  forward: convForward,
  inputGradient: convBackwardInput,
  filterGradient: convBackwardFilter,
};

/** Attributes of a convolution and its gradients. */
export function convAttrs(attrs: Attrs): Attrs {
  const { strides, padding, explicit_paddings, data_format, dilations } = attrs;
  return { strides, padding, explicit_paddings, data_format, dilations };
}

/** Infers shapes of one op. Throws `ValueError` where shapes do not fit. */
function convShape(
  { rank, depthwise }: ConvFamilyDefinition,
  op: string,
  [x, filter]: readonly [Spec, Spec],
  attrs: Attrs,
): PartialShape {
  checkRank(x.shape, rank, op, "input");
  checkRank(filter.shape, rank, op, "filter");
  const first = isChannelsFirst(attrs);
  const spatial = spatialAttrs(attrs, rank);
  const s = x.shape ?? new Array<null>(rank).fill(null),
    f = filter.shape ?? new Array<null>(rank).fill(null);
  const channels = s[first ? 1 : rank - 1], wanted = f[rank - 2], last = f[rank - 1];
  if (channels !== null && wanted !== null && channels !== wanted) {
    throw new ValueError(
      `Cannot convolve ${specText(x)} with ${
        specText(filter)
      } in ${op}: depth of input (${channels}) must match input depth for filter ${wanted}`,
    );
  }
  const known = channels ?? wanted;
  const outChannels = !depthwise ? last : known === null || last === null ? null : known * last;
  const sizes = spatialAxes(rank, first).map((a) => s[a]);
  return orderShape(s[0], spatialOutputs(sizes, f.slice(0, rank - 2), spatial), outChannels, first);
}

/** Throws `ValueError` for a gradient that does not have the shape of the convolution's result. */
function checkGradient(op: string, want: PartialShape, dy: PartialShape): void {
  if (compatible(want, dy)) return;
  throw new ValueError(
    `Cannot compute ${op}: out_backprop must have shape ${shapeText(want)}, received ${
      shapeText(dy)
    }`,
  );
}

/** Returns the shape in `sizes`, if it and the other operand give a result like `dy`; else throws `ValueError`. */
function gradientShape(
  family: ConvFamilyDefinition,
  of: "input" | "filter",
  [sizes, other, dy]: readonly Spec[],
  attrs: Attrs,
): PartialShape {
  const op = family[`${of}Gradient`].name, { rank } = family;
  checkRank(other.shape, rank, op, of === "input" ? "filter" : "input");
  checkRank(dy.shape, rank, op, "out_backprop");
  if (sizes.value === undefined) return new Array<null>(rank).fill(null);
  const shape = hostInts(sizes.value), sized = { dtype: dy.dtype, shape };
  const operands = of === "input" ? [sized, other] as const : [other, sized] as const;
  checkGradient(op, convShape(family, op, operands, attrs), dy.shape);
  return shape;
}

export function defineConvFamily(family: ConvFamilyDefinition): Members<OpDef> {
  const { fn, rank, depthwise } = family, kernels = depthwise ?? MIXING;
  const sizesOf = (member: ConvMember): string => member.sizes ?? "int32";
  const define = (
    member: keyof Members<unknown>,
    gives: MeaningOf<"convolution">["gives"],
    { run, ...init }: Pick<OpInit, "inputs" | "hostInputs" | "infer" | "grad"> & {
      /** The kernel's image, filter and two operands. */
      readonly run: (inputs: readonly NdArray[], out: NdArray) => readonly NdArray[];
    },
  ): OpDef => {
    const { name, sizes, portable } = family[member], cpu = kernels[member];
    return defineOp({
      ...init,
      name,
      ...(portable && { portable }),
      outputs: ["output: T"],
      attrs: [...family.attrs, ...(sizes === undefined ? [] : [`${sizes}: index = int32`])],
      meaning: {
        kind: "convolution",
        of: depthwise ? "channels" : "windows",
        gives,
        fuses: gives === "result",
      },
      cpu: (inputs, [out], { attrs }) => {
        const [x, { shape: filter }, a, b] = run(inputs, out);
        const channels = depthwise ? filter[rank - 2] * filter[rank - 1] : filter[rank - 1];
        runConv(cpu, windowGeometry(x.shape, filter, channels, attrs), a, b, out);
      },
    });
  };

  const inputGradientOf = (sizes: TensorLike, filter: OpInput, dy: OpInput, attrs: Attrs): Tensor =>
    apply1(inputGradient, [toIndexInput(sizes, "inputSizes", fn), filter, dy], convAttrs(attrs));
  const filterGradientOf = (x: OpInput, sizes: TensorLike, dy: OpInput, attrs: Attrs): Tensor =>
    apply1(filterGradient, [x, toIndexInput(sizes, "filterSizes", fn), dy], convAttrs(attrs));

  const forward = define("forward", "result", {
    inputs: ["input: T", "filter: T"],
    infer: ([x, filter], attrs) => [convShape(family, family.forward.name, [x, filter], attrs)],
    grad: {
      saves: ["input", "filter"],
      vjp: ({ input, filter }, [dy], { attrs, needs, shapeOf }) => [
        needs[0] ? inputGradientOf(shapeOf(0), filter, dy, attrs) : null,
        needs[1] ? filterGradientOf(input, shapeOf(1), dy, attrs) : null,
      ],
    },
    run: ([x, filter]) => [x, filter, x, filter],
  });

  const inputGradient = define("inputGradient", "input gradient", {
    inputs: [`input_sizes: ${sizesOf(family.inputGradient)}`, "filter: T", "out_backprop: T"],
    hostInputs: ["input_sizes"],
    infer: (inputs, attrs) => [gradientShape(family, "input", inputs, attrs)],
    grad: {
      saves: ["filter", "out_backprop"],
      vjp: ({ filter, out_backprop }, [g], { attrs, needs, shapeOf }) => [
        null,
        needs[1] ? filterGradientOf(g, shapeOf(1), out_backprop, attrs) : null,
        needs[2] ? apply1(forward, [g, filter], convAttrs(attrs)) : null,
      ],
    },
    run: ([, filter, dy], dx) => [dx, filter, dy, filter],
  });

  const filterGradient = define("filterGradient", "filter gradient", {
    inputs: ["input: T", `filter_sizes: ${sizesOf(family.filterGradient)}`, "out_backprop: T"],
    hostInputs: ["filter_sizes"],
    infer: ([x, sizes, dy], attrs) => [gradientShape(family, "filter", [sizes, x, dy], attrs)],
    grad: {
      saves: ["input", "out_backprop"],
      vjp: ({ input, out_backprop }, [g], { attrs, needs, shapeOf }) => [
        needs[0] ? inputGradientOf(shapeOf(0), g, out_backprop, attrs) : null,
        null,
        needs[2] ? apply1(forward, [input, g], convAttrs(attrs)) : null,
      ],
    },
    run: ([x, , dy], df) => [x, df, x, dy],
  });
  return { forward, inputGradient, filterGradient };
}
