/**
 * A convolution and its two gradients: they are each other's, whatever the number of axes and whether channels mix.
 */
import { apply1, type OpInput } from "../../core/apply.ts";
import type { GpuVariant } from "../../core/dispatch.ts";
import { type Attrs, defineOp, type OpDef } from "../../core/op.ts";
import type { Portable } from "../../core/portable.ts";
import type { PartialShape, Shape } from "../../core/shape.ts";
import { shapeText } from "../../core/shape.ts";
import { type Spec, specText } from "../../core/tensor_spec.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { ValueError } from "../../core/errors.ts";
import { type ConvKernel, runConv } from "../../kernels/host/conv.ts";
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

/** One op of a family. */
export interface ConvMember {
  /** TensorFlow's name. */
  readonly name: string;
  /** Host kernel. */
  readonly cpu: ConvKernel;
  /** Device kernels, tried in order. */
  readonly gpu: readonly GpuVariant[];
  /** Gradients: the attribute that types the input of a shape. Without it that is int32. */
  readonly sizes?: string;
  /** What a portable GraphDef has in its place. */
  readonly portable?: Portable;
}

/** What {@linkcode defineConvFamily} takes. */
export interface ConvFamilyDefinition {
  /** Function of users, for messages. */
  readonly fn: string;
  /** Rank of input and filter. */
  readonly rank: 4 | 5;
  /** Whether each channel is convolved with filters of its own: the filter then ends in `[channels, multiplier]`. */
  readonly depthwise?: boolean;
  /** Attributes of all three. */
  readonly attrs: readonly string[];
  /** The convolution. */
  readonly forward: ConvMember;
  /** Its gradient with respect to the input. */
  readonly inputGradient: ConvMember;
  /** Its gradient with respect to the filter. */
  readonly filterGradient: ConvMember;
}

/** The three ops of a family. */
export interface ConvFamily {
  /** The convolution. */
  readonly forward: OpDef;
  /** Its gradient with respect to the input. */
  readonly inputGradient: OpDef;
  /** Its gradient with respect to the filter. */
  readonly filterGradient: OpDef;
}

/** The attributes that a convolution and its gradients share. */
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

/** Throws `ValueError` where a gradient has not the shape of the convolution's result. */
function checkGradient(op: string, want: PartialShape, dy: PartialShape): void {
  if (want === null || dy === null) return;
  if (
    want.length !== dy.length || want.some((d, i) => d !== null && dy[i] !== null && d !== dy[i])
  ) {
    throw new ValueError(
      `Cannot compute ${op}: out_backprop must have shape ${shapeText(want)}, received ${
        shapeText(dy)
      }`,
    );
  }
}

/** The shape that `sizes` holds, where the operands that it completes give a result like `dy`. Throws `ValueError` where they do not. */
function gradientShape(
  family: ConvFamilyDefinition,
  op: string,
  { sizes, dy, operands }: {
    readonly sizes: Spec;
    readonly dy: Spec;
    readonly operands: (sized: Spec) => readonly [Spec, Spec];
  },
  attrs: Attrs,
): PartialShape {
  checkRank(dy.shape, family.rank, op, "out_backprop");
  if (sizes.value === undefined) return new Array<null>(family.rank).fill(null);
  const shape = hostInts(sizes.value);
  checkGradient(op, convShape(family, op, operands({ dtype: dy.dtype, shape }), attrs), dy.shape);
  return shape;
}

/** Defines a convolution and its gradients. */
export function defineConvFamily(family: ConvFamilyDefinition): ConvFamily {
  const { fn, rank, depthwise, attrs } = family;
  const of = depthwise ? "channels" : "windows";
  const geometry = (x: Shape, filter: Shape, attrs: Attrs) => {
    const channels = depthwise ? filter[rank - 2] * filter[rank - 1] : filter[rank - 1];
    return windowGeometry(x, filter, channels, attrs);
  };
  const gradientAttrs = ({ sizes }: ConvMember) =>
    sizes === undefined ? attrs : [...attrs, `${sizes}: index = int32`];

  const inputGradientOf = (sizes: TensorLike, filter: OpInput, dy: OpInput, attrs: Attrs): Tensor =>
    apply1(inputGradient, [toIndexInput(sizes, "inputSizes", fn), filter, dy], convAttrs(attrs));
  const filterGradientOf = (x: OpInput, sizes: TensorLike, dy: OpInput, attrs: Attrs): Tensor =>
    apply1(filterGradient, [x, toIndexInput(sizes, "filterSizes", fn), dy], convAttrs(attrs));

  const forward = defineOp({
    name: family.forward.name,
    ...(family.forward.portable === undefined ? {} : { portable: family.forward.portable }),
    inputs: ["input: T", "filter: T"],
    outputs: ["output: T"],
    attrs,
    meaning: { kind: "product", of, gives: "result", fuses: true },
    infer: ([x, filter], attrs) => [convShape(family, family.forward.name, [x, filter], attrs)],
    grad: {
      saves: ["input", "filter"],
      vjp: ({ input, filter }, [dy], { attrs, needs, shapeOf }) => [
        needs[0] ? inputGradientOf(shapeOf(0), filter, dy, attrs) : null,
        needs[1] ? filterGradientOf(input, shapeOf(1), dy, attrs) : null,
      ],
    },
    cpu: ([x, filter], [out], { attrs }) =>
      runConv(family.forward.cpu, geometry(x.shape, filter.shape, attrs), x, filter, out),
    gpu: family.forward.gpu,
  });

  const inputGradient = defineOp({
    name: family.inputGradient.name,
    ...(family.inputGradient.portable === undefined
      ? {}
      : { portable: family.inputGradient.portable }),
    inputs: [
      `input_sizes: ${family.inputGradient.sizes ?? "int32"}`,
      "filter: T",
      "out_backprop: T",
    ],
    outputs: ["output: T"],
    attrs: gradientAttrs(family.inputGradient),
    hostInputs: ["input_sizes"],
    meaning: { kind: "product", of, gives: "input gradient" },
    infer: ([sizes, filter, dy], attrs) => {
      const op = family.inputGradient.name;
      checkRank(filter.shape, rank, op, "filter");
      return [gradientShape(family, op, { sizes, dy, operands: (x) => [x, filter] }, attrs)];
    },
    grad: {
      saves: ["filter", "out_backprop"],
      vjp: ({ filter, out_backprop }, [g], { attrs, needs, shapeOf }) => [
        null,
        needs[1] ? filterGradientOf(g, shapeOf(1), out_backprop, attrs) : null,
        needs[2] ? apply1(forward, [g, filter], convAttrs(attrs)) : null,
      ],
    },
    cpu: ([, filter, dy], [out], { attrs }) =>
      runConv(family.inputGradient.cpu, geometry(out.shape, filter.shape, attrs), dy, filter, out),
    gpu: family.inputGradient.gpu,
  });

  const filterGradient = defineOp({
    name: family.filterGradient.name,
    ...(family.filterGradient.portable === undefined
      ? {}
      : { portable: family.filterGradient.portable }),
    inputs: [
      "input: T",
      `filter_sizes: ${family.filterGradient.sizes ?? "int32"}`,
      "out_backprop: T",
    ],
    outputs: ["output: T"],
    attrs: gradientAttrs(family.filterGradient),
    hostInputs: ["filter_sizes"],
    meaning: { kind: "product", of, gives: "filter gradient" },
    infer: ([x, sizes, dy], attrs) => {
      const op = family.filterGradient.name;
      checkRank(x.shape, rank, op, "input");
      return [gradientShape(family, op, { sizes, dy, operands: (filter) => [x, filter] }, attrs)];
    },
    grad: {
      saves: ["input", "out_backprop"],
      vjp: ({ input, out_backprop }, [g], { attrs, needs, shapeOf }) => [
        needs[0] ? inputGradientOf(shapeOf(0), g, out_backprop, attrs) : null,
        null,
        needs[2] ? apply1(forward, [input, g], convAttrs(attrs)) : null,
      ],
    },
    cpu: ([x, , dy], [out], { attrs }) =>
      runConv(family.filterGradient.cpu, geometry(x.shape, out.shape, attrs), x, dy, out),
    gpu: family.filterGradient.gpu,
  });
  return { forward, inputGradient, filterGradient };
}
