import { type DType, NdArray } from "@weft/weft";
import { compareVariants, testOnGpu } from "./force_variant.ts";
import { noise, vector } from "./values.ts";

interface Case {
  readonly x: readonly number[];
  readonly window: readonly number[];
  readonly strides?: readonly number[];
  readonly dilations?: readonly number[];
  readonly padding?: string | readonly number[];
  readonly format?: string;
  readonly dtype?: DType;
}

function attrsOf(c: Case): Record<string, unknown> {
  const {
    x,
    window,
    strides = window.map(() => 1),
    dilations = window.map(() => 1),
    padding = "SAME",
    format,
  } = c;
  const first = format !== undefined && format[1] === "C";
  const around = (list: readonly number[]): number[] => (first ? [1, 1, ...list] : [1, ...list, 1]);
  return {
    ksize: around(window),
    strides: around(strides),
    dilations: around(dilations),
    data_format: format ?? (x.length === 5 ? "NDHWC" : "NHWC"),
    ...(typeof padding === "string" ? { padding } : {
      padding: "EXPLICIT",
      explicit_paddings: first ? [0, 0, 0, 0, ...padding] : [0, 0, ...padding, 0, 0],
    }),
  };
}

function outShape(c: Case): number[] {
  const {
    x,
    window,
    strides = window.map(() => 1),
    dilations = window.map(() => 1),
    padding = "SAME",
    format,
  } = c;
  const first = format !== undefined && format[1] === "C";
  const places = window.map((f, i) => {
    const size = x[first ? 2 + i : 1 + i], extent = (f - 1) * dilations[i] + 1;
    if (padding === "SAME") return Math.ceil(size / strides[i]);
    const pads = padding === "VALID"
      ? 0
      : (padding[2 * i] as number) + (padding[2 * i + 1] as number);
    return Math.floor((size + pads - extent) / strides[i]) + 1;
  });
  const channels = x[first ? 1 : x.length - 1];
  return first ? [x[0], channels, ...places] : [x[0], ...places, channels];
}

const NEAR = { ulps: 16, ulpsOfLargest: 16 };

async function compareAll(c: Case): Promise<void> {
  const suffix = c.x.length === 5 ? "3D" : "", dtype = c.dtype ?? "float32";
  const attrs = attrsOf(c),
    x = noise(dtype, c.x, 1),
    y = noise(dtype, outShape(c), 2),
    dy = noise(dtype, outShape(c), 3);
  await compareVariants(`MaxPool${suffix}`, [x], attrs, NEAR);
  await compareVariants(`MaxPool${suffix}Grad`, [x, y, dy], attrs, NEAR);
  await compareVariants(`MaxPool${suffix}GradGrad`, [x, y, noise(dtype, c.x, 4)], attrs, NEAR);
  if (dtype !== "float32") return;
  await compareVariants(`AvgPool${suffix}`, [x], attrs, NEAR);
  await compareVariants(`AvgPool${suffix}Grad`, [vector(...c.x), dy], attrs, NEAR);
}

const CASES: readonly Case[] = [
  { x: [1, 5, 5, 1], window: [2, 2] },
  { x: [2, 8, 7, 4], window: [2, 2], strides: [2, 2], padding: "VALID" },
  { x: [2, 8, 7, 4], window: [3, 3], strides: [2, 2] },
  { x: [1, 9, 6, 3], window: [3, 2], strides: [1, 3], padding: [1, 2, 0, 1] },
  { x: [1, 9, 9, 4], window: [2, 3], dilations: [3, 2] },
  // More taps than are spelled out: those of a line, where no window reaches over an edge.
  { x: [2, 7, 7, 8], window: [7, 7], padding: "VALID" },
  { x: [1, 12, 13, 3], window: [5, 4], strides: [2, 3], padding: "VALID" },
  { x: [1, 13, 12, 4], window: [5, 5], dilations: [3, 2], padding: "VALID" },
  { x: [1, 6, 20, 2], window: [2, 17], padding: "VALID" },
  { x: [1, 5, 6, 7, 4], window: [3, 3, 3], strides: [1, 2, 1], padding: "VALID" },
  { x: [1, 7, 7, 8], window: [7, 7], padding: "VALID" },
  { x: [1, 6, 6, 4], window: [1, 1], strides: [2, 2] },
  { x: [2, 5, 7, 4], window: [2, 2], dtype: "int32" },
  { x: [2, 8, 6, 4], window: [2, 2], strides: [2, 2] },
  { x: [1, 9, 4, 3], window: [3, 2], strides: [3, 2], dtype: "int32" },
  { x: [2, 64, 34, 17], window: [2, 2], strides: [2, 2], padding: "VALID" },
  { x: [1, 32, 34, 20], window: [3, 2], strides: [1, 2] },
  { x: [2, 14, 13, 40], window: [3, 2], strides: [1, 2] },
  { x: [1, 5, 5, 2048], window: [5, 5], padding: "VALID" },
];

for (const c of CASES) {
  testOnGpu(
    `pooling and its gradients agree with the CPU for ${JSON.stringify(c)}`,
    () => compareAll(c),
  );
}

testOnGpu("pooling takes channels first and three axes", async () => {
  await compareAll({ x: [2, 3, 8, 7], window: [3, 2], strides: [2, 1], format: "NCHW" });
  await compareAll({ x: [2, 3, 6, 8], window: [3, 2], strides: [3, 2], format: "NCHW" });
  await compareAll({ x: [1, 4, 6, 2, 4], window: [2, 3, 1], strides: [2, 3, 1] });
  await compareAll({ x: [1, 5, 6, 4, 4], window: [2, 3, 2], strides: [2, 1, 2] });
  await compareAll({ x: [2, 4, 5, 3, 2], window: [2, 2, 2], format: "NCDHW" });
});

testOnGpu("maxPoolWithArgmax finds the first maximum", async () => {
  for (const include_batch_in_index of [false, true]) {
    for (const shape of [[2, 6, 5, 3], [2, 6, 5, 4]]) {
      const attrs = {
        ksize: [1, 2, 3, 1],
        strides: [1, 2, 2, 1],
        padding: "SAME",
        Targmax: "int32",
        include_batch_in_index,
      };
      await compareVariants("MaxPoolWithArgmax", [noise("float32", shape, 5)], attrs, NEAR);
      const ties = new NdArray(
        "float32",
        shape,
        Float32Array.from(noise("int32", shape, 6).data as Int32Array, (v) => v % 3),
      );
      await compareVariants("MaxPoolWithArgmax", [ties], attrs, NEAR);
    }
  }
});

testOnGpu("maximum pooling passes over NaN", async () => {
  const x = noise("float32", [1, 6, 6, 4], 7);
  const data = (x.data as Float32Array).map((
    v,
    i,
  ) => (i % 3 === 0 ? NaN : i % 7 === 0 ? -Infinity : v));
  const attrs = attrsOf({ x: x.shape, window: [3, 3] });
  await compareVariants("MaxPool", [new NdArray("float32", x.shape, data)], attrs, NEAR);
  const image = new NdArray("float32", x.shape, data), dy = noise("float32", x.shape, 8);
  await compareVariants("MaxPoolGrad", [image, dy, dy], attrs, NEAR);
  const tiles = attrsOf({ x: x.shape, window: [3, 3], strides: [3, 3] });
  const places = noise("float32", [1, 2, 2, 4], 9);
  await compareVariants("MaxPoolGrad", [image, places, places], tiles, NEAR);
});
