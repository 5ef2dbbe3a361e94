import type { DType, NdArray } from "@weft/weft";
import { ofTheDay } from "../effort.ts";
import { compareVariants, testOnGpu } from "./force_variant.ts";
import { noise, vector } from "./values.ts";

interface Case {
  readonly x: readonly number[];
  readonly filter: readonly number[];
  readonly strides?: readonly number[];
  readonly dilations?: readonly number[];
  readonly padding?: string | readonly number[];
  readonly format?: string;
  readonly dtype?: DType;
}

/** A sum over many terms: allow for its rounding. */
const NEAR = { ulps: 32, ulpsOfLargest: 32 };

function attrsOf(
  { x, strides = [1, 1], dilations = [1, 1], padding = "SAME", format }: Case,
): Record<string, unknown> {
  const first = format !== undefined && format[1] === "C";
  const around = (list: readonly number[]): number[] => (first ? [1, 1, ...list] : [1, ...list, 1]);
  const spread = (list: readonly number[]): number[] =>
    x.length === 5 && list.length === 2 ? [list[0], ...list] : [...list];
  return {
    strides: around(spread(strides)),
    dilations: around(spread(dilations)),
    data_format: format ?? (x.length === 5 ? "NDHWC" : "NHWC"),
    ...(typeof padding === "string" ? { padding } : {
      padding: "EXPLICIT",
      explicit_paddings: first ? [0, 0, 0, 0, ...padding] : [0, 0, ...padding, 0, 0],
    }),
  };
}

function outShape(c: Case, depthwise: boolean): number[] {
  const { x, filter, strides = [1, 1], dilations = [1, 1], padding = "SAME", format } = c;
  const first = format !== undefined && format[1] === "C";
  const axes = x.length - 2;
  const places = Array.from({ length: axes }, (_, i) => {
    const size = x[first ? 2 + i : 1 + i];
    const at = (
      list: readonly number[],
    ): number => (axes === 3 && list.length === 2 ? list[Math.max(0, i - 1)] : list[i]);
    const s = at(strides), extent = (filter[i] - 1) * at(dilations) + 1;
    if (padding === "SAME") return Math.ceil(size / s);
    const pads = padding === "VALID"
      ? 0
      : (padding[2 * i] as number) + (padding[2 * i + 1] as number);
    return Math.floor((size + pads - extent) / s) + 1;
  });
  const channels = depthwise ? filter[axes] * filter[axes + 1] : filter[axes + 1];
  return first ? [x[0], channels, ...places] : [x[0], ...places, channels];
}

async function compareAll(c: Case): Promise<void> {
  const dtype = c.dtype ?? "float32";
  const attrs = attrsOf(c);
  const x = noise(dtype, c.x, 1),
    filter = noise(dtype, c.filter, 2),
    dy = noise(dtype, outShape(c, false), 3);
  const [forward, input, weights] = c.x.length === 5
    ? ["Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2"]
    : ["Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"];
  await compareVariants(forward, [x, filter], attrs, NEAR);
  await compareVariants(input, [vector(...c.x), filter, dy], attrs, NEAR);
  await compareVariants(weights, [x, vector(...c.filter), dy], attrs, NEAR);
}

const CASES: readonly Case[] = [
  { x: [1, 5, 5, 1], filter: [3, 3, 1, 1] },
  { x: [2, 6, 7, 4], filter: [3, 3, 4, 8] },
  { x: [2, 6, 7, 3], filter: [3, 2, 3, 5], padding: "VALID" },
  { x: [1, 9, 8, 8], filter: [3, 3, 8, 12], strides: [2, 2] },
  { x: [1, 9, 8, 8], filter: [2, 3, 8, 4], strides: [3, 2], padding: "VALID" },
  { x: [1, 9, 10, 4], filter: [3, 3, 4, 4], dilations: [2, 3] },
  { x: [2, 7, 7, 4], filter: [3, 3, 4, 20], padding: [2, 1, 0, 3] },
  { x: [1, 8, 8, 5], filter: [1, 1, 5, 7] },
  { x: [1, 8, 8, 8], filter: [1, 1, 8, 4], strides: [2, 2] },
  { x: [2, 4, 4, 4], filter: [4, 4, 4, 8], padding: "VALID" },
  { x: [1, 5, 6, 4], filter: [1, 1, 4, 4], strides: [3, 3] },
  { x: [1, 3, 3, 2], filter: [5, 5, 2, 3] },
];

for (const c of CASES) {
  testOnGpu(
    `conv2d and its gradients agree with the CPU for ${JSON.stringify(c)}`,
    () => compareAll(c),
  );
}

testOnGpu("conv2d takes channels first", async () => {
  await compareAll({ x: [2, 4, 6, 7], filter: [3, 3, 4, 8], format: "NCHW" });
  await compareAll({
    x: [1, 3, 8, 8],
    filter: [3, 3, 3, 5],
    strides: [2, 2],
    format: "NCHW",
    padding: [1, 1, 1, 1],
  });
  await compareAll({ x: [1, 4, 5, 5], filter: [1, 1, 4, 4], format: "NCHW" });
});

testOnGpu("conv2d adds int32 exactly", async () => {
  const inputs: NdArray[] = [noise("int32", [1, 6, 6, 4], 1), noise("int32", [3, 3, 4, 4], 2)];
  await compareVariants("Conv2D", inputs, attrsOf({ x: [1, 6, 6, 4], filter: [3, 3, 4, 4] }));
});

testOnGpu("conv3d and its gradients agree with the CPU", async () => {
  const cases: Case[] = [
    { x: [1, 4, 5, 6, 4], filter: [2, 3, 3, 4, 4] },
    { x: [2, 5, 4, 4, 3], filter: [3, 2, 1, 3, 5], strides: [2, 1], padding: "VALID" },
    { x: [1, 5, 5, 5, 2], filter: [2, 2, 2, 2, 2], dilations: [2, 2] },
    { x: [1, 3, 4, 4, 4], filter: [3, 3, 3, 3, 4], format: "NCDHW" },
  ];
  for (const c of ofTheDay(cases, 2)) await compareAll(c);
});

async function compareDepthwise(c: Case): Promise<void> {
  const attrs = attrsOf(c);
  const x = noise("float32", c.x, 1),
    filter = noise("float32", c.filter, 2),
    dy = noise("float32", outShape(c, true), 3);
  await compareVariants("DepthwiseConv2dNative", [x, filter], attrs, NEAR);
  await compareVariants(
    "DepthwiseConv2dNativeBackpropInput",
    [vector(...c.x), filter, dy],
    attrs,
    NEAR,
  );
  await compareVariants(
    "DepthwiseConv2dNativeBackpropFilter",
    [x, vector(...c.filter), dy],
    attrs,
    NEAR,
  );
}

const DEPTHWISE: readonly Case[] = [
  { x: [2, 6, 7, 8], filter: [3, 3, 8, 1] },
  { x: [1, 9, 10, 4], filter: [3, 3, 4, 1], strides: [2, 2] },
  { x: [1, 9, 10, 4], filter: [2, 5, 4, 1], padding: "VALID" },
  { x: [1, 8, 12, 4], filter: [3, 3, 4, 1] },
  { x: [1, 2, 3, 8], filter: [3, 3, 8, 1] },
  { x: [1, 11, 7, 4], filter: [3, 2, 4, 1], strides: [1, 2] },
  {
    x: [2, 9, 8, 3],
    filter: [3, 2, 3, 2],
    strides: [1, 2],
    padding: [2, 0, 1, 1],
  },
  { x: [1, 9, 9, 4], filter: [3, 3, 4, 2], dilations: [2, 2] },
  { x: [1, 9, 9, 4], filter: [3, 3, 4, 1], dilations: [2, 3] },
  { x: [1, 9, 12, 4], filter: [2, 9, 4, 1], strides: [3, 3] },
  { x: [2, 4, 6, 5], filter: [3, 3, 4, 1], format: "NCHW" },
  { x: [1, 20, 9, 4], filter: [1, 1, 4, 1] },
];

for (const c of DEPTHWISE) {
  testOnGpu(
    `depthwiseConv2d and its gradients agree with the CPU for ${JSON.stringify(c)}`,
    () => compareDepthwise(c),
  );
}
