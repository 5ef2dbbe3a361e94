// The work whose kernels are timed beside each other.

import type { Attrs } from "../../src/engine/core/op.ts";

/** Work to sweep over. */
export interface Work {
  readonly op: string;
  readonly shapes: readonly (readonly number[])[];
  readonly attrs?: Attrs;
  /** Values of inputs that the host reads, by their place. */
  readonly hosts?: Readonly<Record<number, readonly number[]>>;
}

const mm = (m: number, k: number, n: number, attrs: Attrs = {}): Work => ({
  op: "MatMul",
  shapes: [attrs.transpose_a ? [k, m] : [m, k], attrs.transpose_b ? [n, k] : [k, n]],
  attrs: { transpose_a: false, transpose_b: false, ...attrs },
});

const CONV_ATTRS: Attrs = {
  strides: [1, 1, 1, 1],
  padding: "SAME",
  data_format: "NHWC",
  dilations: [1, 1, 1, 1],
  explicit_paddings: [],
};

/** A convolution and both of its gradients. */
function conv(batch: number, size: number, from: number, to: number): readonly [Work, Work, Work] {
  const x = [batch, size, size, from], filter = [3, 3, from, to], y = [batch, size, size, to];
  return [
    { op: "Conv2D", shapes: [x, filter], attrs: CONV_ATTRS },
    {
      op: "Conv2DBackpropInput",
      shapes: [[4], filter, y],
      attrs: CONV_ATTRS,
      hosts: { 0: x },
    },
    { op: "Conv2DBackpropFilter", shapes: [x, [4], y], attrs: CONV_ATTRS, hosts: { 1: filter } },
  ];
}

const [conv56, input56, filter56] = conv(32, 56, 64, 64);
const [conv14, input14, filter14] = conv(32, 14, 256, 256);

/** Products and convolutions, the most telling first. */
export const TILED: readonly Work[] = [
  mm(4096, 4096, 4096),
  mm(128, 768, 3072),
  mm(1024, 1024, 1024),
  mm(32768, 128, 128),
  mm(256, 256, 256),
  mm(2048, 2048, 2048),
  mm(512, 512, 512),
  mm(64, 16384, 64),
  mm(128, 784, 128),
  mm(1024, 128, 512),
  mm(196, 512, 96),
  mm(3136, 64, 384),
  conv56,
  conv14,
  filter56,
  input14,
  mm(4096, 4096, 4096, { transpose_b: true }),
  mm(128, 1024, 512, { transpose_a: true }),
  mm(1024, 65536, 128, { transpose_a: true }),
  filter14,
  input56,
  mm(4095, 4097, 4093),
  ...conv(1, 7, 512, 512).slice(0, 1),
  ...conv(1, 56, 64, 64).slice(0, 1),
  {
    op: "BatchMatMulV2",
    shapes: [[192, 512, 64], [192, 64, 512]],
    attrs: { adj_x: false, adj_y: false },
  },
];

/** Small problems with edges, on which tiles must be right before they are timed. */
export const PROOFS: Readonly<Record<string, Work>> = {
  MatMul: mm(130, 68, 132),
  BatchMatMulV2: {
    op: "BatchMatMulV2",
    shapes: [[3, 70, 36], [3, 36, 68]],
    attrs: { adj_x: false, adj_y: false },
  },
  ...Object.fromEntries(conv(2, 9, 12, 20).map((work) => [work.op, work])),
};

const attention = (length: number, depth: number, causal: boolean): Work => ({
  op: "_Attention",
  shapes: Array.from({ length: 3 }, () => [4, length, 16, depth]),
  attrs: { causal, scale: 1 / Math.sqrt(depth) },
});

const MEMORY_SHAPE = [8192, 4096];

/** Ops whose variants are timed beside each other. */
export const VARIED: readonly Work[] = [
  attention(1024, 64, true),
  attention(2048, 128, true),
  attention(512, 64, false),
  attention(128, 64, true),
  { op: "Sum", shapes: [MEMORY_SHAPE, [1]], hosts: { 1: [1] }, attrs: { keep_dims: false } },
  { op: "Sum", shapes: [MEMORY_SHAPE, [1]], hosts: { 1: [0] }, attrs: { keep_dims: false } },
  { op: "Sum", shapes: [MEMORY_SHAPE, [2]], hosts: { 1: [0, 1] }, attrs: { keep_dims: false } },
  { op: "Softmax", shapes: [MEMORY_SHAPE] },
  { op: "Softmax", shapes: [[262144, 128]] },
  { op: "Transpose", shapes: [MEMORY_SHAPE, [2]], hosts: { 1: [1, 0] } },
  { op: "AddV2", shapes: [MEMORY_SHAPE, MEMORY_SHAPE] },
  { op: "ArgMax", shapes: [MEMORY_SHAPE, []], hosts: { 1: [1] }, attrs: { output_type: "int32" } },
  {
    op: "Cumsum",
    shapes: [MEMORY_SHAPE, []],
    hosts: { 1: [1] },
    attrs: { exclusive: false, reverse: false },
  },
];

/** A shorter form of work, for machines on which all of this would take hours. */
export function shrink(work: Work): Work {
  const less = (n: number): number => Math.max(1, n > 64 ? n >> 5 : n > 16 ? n >> 1 : n);
  return {
    ...work,
    shapes: work.shapes.map((shape) => shape.map(less)),
    ...(work.hosts && {
      hosts: Object.fromEntries(
        Object.entries(work.hosts).map(([i, v]) => [i, v.length === 4 ? v.map(less) : v]),
      ),
    }),
  };
}
