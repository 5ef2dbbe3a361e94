/** Samples of the ops that only move elements. */

import { NdArray } from "@weft/weft";
import type { OpSample } from "@weft/weft/testing";
import { any, number, sample, type SampleTable, vector } from "./inputs.ts";

/** Pairs for each axis. */
const pairs = (...values: number[]): NdArray =>
  new NdArray("int32", [values.length / 2, 2], Int32Array.from(values));
/** Shapes and what is done to them. */
const each = <T>(cases: readonly T[], make: (c: T) => OpSample): OpSample[] => cases.map(make);

const PERMUTATIONS: readonly (readonly [number[], number[]])[] = [
  [[2, 3], [1, 0]],
  [[2, 3, 4], [2, 0, 1]],
  [[], []],
  [[5], [0]],
  [[3, 0, 2], [1, 2, 0]],
  [[16, 24], [1, 0]],
  [[3, 12, 20], [0, 2, 1]],
  [[33, 70], [1, 0]],
  [[2, 3, 5, 8], [0, 2, 1, 3]],
  [[2, 4, 3, 9], [0, 3, 1, 2]],
  [[2, 3, 2, 2, 3, 2], [5, 3, 1, 4, 2, 0]],
  [[2, 3], [-1, -2]],
];

const SLICES: readonly (readonly [number[], number[], number[]])[] = [
  [[4, 5], [1, 2], [2, 3]],
  [[8], [4], [4]],
  [[7], [3], [-1]],
  [[3, 4, 8], [1, 0, 4], [2, 4, 4]],
  [[3, 4], [0, 4], [3, 0]],
  [[2, 3, 4, 5], [0, 1, 0, 1], [-1, 2, -1, 3]],
];

const MASKS = {
  begin_mask: 0,
  end_mask: 0,
  ellipsis_mask: 0,
  new_axis_mask: 0,
  shrink_axis_mask: 0,
};
const STRIDED:
  readonly (readonly [number[], number[], number[], number[], Partial<typeof MASKS>])[] = [
    [[5, 6], [0, 1], [5, 6], [2, 3], {}],
    [[8], [-2], [-9], [-3], {}],
    [[4, 5, 6], [3, 0, 1], [0, 5, 5], [-2, 1, 2], {}],
    [[4, 5], [1, 2], [2, 4], [1, 1], { shrink_axis_mask: 1 }],
    [[3, 4, 5], [1, 0, -1], [2, 0, 0], [1, 1, 1], { ellipsis_mask: 2, shrink_axis_mask: 4 }],
    [[3, 4], [0, 0, 1], [0, 3, 4], [1, 2, 1], { new_axis_mask: 1 }],
    [[6, 4], [2, 1], [3, 2], [-1, 1], { begin_mask: 1, end_mask: 3 }],
    [[4], [3], [1], [1], {}],
  ];

const SHIFTS: readonly (readonly [number[], number[], number[]])[] = [
  [[5], [2], [0]],
  [[3, 4], [-1, 5], [0, 1]],
  [[2, 3, 8], [1], [-2]],
  [[4, 4], [0, 0], [0, 1]],
];

/** Samples by TensorFlow op name. */
export const ARRAY_MOVE_SAMPLES: SampleTable = {
  Transpose: each(PERMUTATIONS, ([shape, perm]) => sample([any(...shape), vector(...perm)])),
  InvertPermutation: [sample([vector(2, 0, 3, 1)])],
  ReverseV2: each(
    [[[2, 3], [1]], [[4], [0]], [[2, 3, 4], [0, -1]], [[3, 2], []], [[2, 0], [0, 1]]] as const,
    ([shape, axes]) => sample([any(...shape), vector(...axes)]),
  ),
  Roll: each(
    SHIFTS,
    ([shape, shifts, axes]) => sample([any(...shape), vector(...shifts), vector(...axes)]),
  ),
  Slice: each(
    SLICES,
    ([shape, begin, size]) => sample([any(...shape), vector(...begin), vector(...size)]),
  ),
  StridedSlice: each(
    STRIDED,
    ([shape, begin, end, strides, masks]) =>
      sample([any(...shape), vector(...begin), vector(...end), vector(...strides)], {
        ...MASKS,
        ...masks,
      }),
  ),
  StridedSliceGrad: [
    sample([vector(5, 6), vector(0, 1), vector(5, 6), vector(2, 3), any(3, 2)], MASKS),
    sample([vector(8), vector(-2), vector(-9), vector(-3), any(3)], MASKS),
    sample([vector(4, 8), vector(1, 0), vector(2, 8), vector(1, 1), any(8)], {
      ...MASKS,
      shrink_axis_mask: 1,
    }),
  ],
  Pad: each(
    [[[2, 3], [1, 2, 0, 1]], [[4], [4, 0]], [[2, 3, 4], [0, 0, 1, 1, 0, 0]], [[3], [0, 0]], [
      [0, 2],
      [1, 1, 0, 2],
    ]] as const,
    ([shape, margins]) => sample([any(...shape), pairs(...margins)]),
  ),
  PadV2: each(
    [[[2, 3], [1, 2, 0, 1]], [[8], [4, 4]], [[2, 3, 4], [0, 0, 1, 1, 0, 0]], [[0], [
      1,
      2,
    ]]] as const,
    ([shape, margins]) => sample([any(...shape), pairs(...margins), any()]),
  ),
  MirrorPad: ["REFLECT", "SYMMETRIC"].flatMap((mode) =>
    each(
      [[[3, 4], [2, 1, 0, 3]], [[5], [4, 4]], [[4, 3, 8], [1, 1, 2, 2, 0, 0]]] as const,
      ([shape, margins]) => sample([any(...shape), pairs(...margins)], { mode }),
    )
  ),
  MirrorPadGrad: ["REFLECT", "SYMMETRIC"].flatMap((mode) =>
    each(
      [[[6, 7], [2, 1, 0, 3]], [[9], [3, 2]], [[7, 3], [0, 3, 0, 0]]] as const,
      ([shape, margins]) => sample([any(...shape), pairs(...margins)], { mode }, { ulps: 64 }),
    )
  ),
  Tile: each(
    [[[2, 3], [2, 3]], [[4], [3]], [[2, 1, 8], [1, 4, 1]], [[], []], [[3, 2], [0, 2]]] as const,
    ([shape, times]) => sample([any(...shape), vector(...times)]),
  ),
  BroadcastTo: each(
    [[[3], [2, 3]], [[2, 1, 4], [2, 5, 4]], [[], [2, 3]], [[1], [8]], [[2, 1], [3, 2, 0]]] as const,
    ([shape, to]) => sample([any(...shape), vector(...to)]),
  ),
  BroadcastArgs: [sample([vector(2, 1, 3), vector(4, 1)])],
  ConcatV2: [
    sample([any(2, 3), any(2, 4), number(1)]),
    sample([any(2, 3), any(1, 3), any(4, 3), number(-2)]),
    sample([any(2, 4), any(2, 8), number(1)]),
    sample([any(0, 2), any(3, 2), number(0)]),
    sample([...Array.from({ length: 9 }, (_, i) => any(2, i + 1, 2)), number(1)]),
  ],
  Pack: [
    sample([any(2, 3), any(2, 3)], { axis: 1 }),
    sample([any(), any(), any()], { axis: 0 }),
    sample([any(4, 2), any(4, 2), any(4, 2)], { axis: -1 }),
    sample([any(2, 4), any(2, 4)], { axis: -2 }),
  ],
  Unpack: [
    sample([any(2, 3)], { axis: 1, num: 3 }),
    sample([any(2, 8)], { axis: 0, num: 2 }),
    sample([any(2, 3, 2)], { axis: -2, num: 3 }),
  ],
  Split: [
    sample([number(1), any(2, 6)], { num_split: 3 }),
    sample([number(-2), any(4, 8)], { num_split: 2 }),
  ],
  SplitV: [
    sample([any(2, 6), vector(1, 3, 2), number(1)], { num_split: 3 }),
    sample([any(12), vector(4, -1), number(0)], { num_split: 2 }),
  ],
};
