/** Further samples of the image ops and of those that move blocks of space: every convention, odd sizes, all fill modes. */

import { NdArray } from "@weft/weft";
import type { OpSample } from "@weft/weft/testing";
import { any, floats, sample, type SampleTable, typed, vector } from "./inputs.ts";

const CONVENTIONS = [
  {},
  { align_corners: true },
  { half_pixel_centers: true },
] as const;
const pairs = (...values: number[]): NdArray =>
  new NdArray("int32", [values.length / 2, 2], Int32Array.from(values));
/** Sizes that grow, shrink, stay and degenerate. */
const SIZES: readonly (readonly [number[], number[]])[] = [
  [[1, 3, 4, 2], [6, 5]],
  [[2, 5, 4, 4], [3, 2]],
  [[1, 1, 3, 1], [4, 1]],
  [[1, 7, 6, 3], [2, 11]],
];
const resized = (make: (shape: number[], size: number[], attrs: object) => OpSample): OpSample[] =>
  CONVENTIONS.flatMap((attrs) => SIZES.map(([shape, size]) => make(shape, size, attrs)));
const REAL = ["float32", "int32"] as const;

const BOXES = floats([3, 4], 0, 0, 1, 1, 0.1, 0.2, 0.7, 0.9, -0.2, 0.5, 0.6, 1.3);
const SMALL_BOXES = floats([2, 4], 0.1, 0.2, 0.71, 0.83, 0.05, 0.52, 0.63, 0.97);
const TURN = floats([1, 8], 0.9, -0.3, 0.7, 0.2, 1.1, -0.4, 0.01, -0.02);
const WARPS = ["CONSTANT", "REFLECT", "WRAP", "NEAREST"].flatMap((fill_mode) =>
  ["NEAREST", "BILINEAR"].map((interpolation) => ({ fill_mode, interpolation }))
);

/** Samples by TensorFlow op name. */
export const IMAGE_SAMPLES: SampleTable = {
  ResizeBilinear: resized((shape, size, attrs) =>
    sample([any(...shape), vector(...size)], attrs, { dtypes: REAL, gpuAbsolute: 1e-5 })
  ),
  ResizeBilinearBack: resized((shape, size, attrs) =>
    sample([any(...shape), vector(...size)], { T: "float32", ...attrs }, { gpuAbsolute: 1e-5 })
  ),
  ResizeBilinearGrad: [
    sample([any(1, 6, 5, 2), any(1, 3, 4, 2)], {}, { dtypes: ["float32"], gpuAbsolute: 1e-5 }),
  ],
  ResizeNearestNeighbor: resized((shape, size, attrs) =>
    sample([any(...shape), vector(...size)], attrs)
  ),
  ResizeNearestNeighborGrad: resized((shape, size, attrs) =>
    sample([any(...shape), vector(...size)], attrs, { ulps: 64 })
  ),
  CropAndResize: [
    sample([typed("float32", 2, 4, 5, 3), SMALL_BOXES, vector(1, 0), vector(3, 4)], {}, {
      secondOrder: false,
      gpuAbsolute: 1e-4,
    }),
    sample([typed("float32", 2, 4, 5, 3), SMALL_BOXES, vector(1, 0), vector(3, 4)], {}, {
      wrt: [0],
      gpuAbsolute: 1e-4,
    }),
    sample([typed("float32", 2, 4, 5, 3), BOXES, vector(0, 1, 1), vector(1, 2)], {
      extrapolation_value: 7,
    }, { gpuAbsolute: 1e-4, gradient: false, secondOrder: false }),
    sample([typed("float32", 2, 4, 5, 3), BOXES, vector(0, 1, 1), vector(3, 4)], {
      method: "nearest",
    }, {
      gradient: false,
      secondOrder: false,
    }),
  ],
  CropAndResizeGradImage: [
    sample([any(2, 3, 4, 3), SMALL_BOXES, vector(1, 0), vector(2, 4, 5, 3)], { T: "float32" }, {
      gpuAbsolute: 1e-4,
      secondOrder: false,
    }),
  ],
  ImageProjectiveTransformV3: WARPS.map((attrs) =>
    sample([typed("float32", 2, 5, 6, 2), TURN, vector(4, 7), floats([], 3)], attrs, {
      wrt: [0],
      gpuAbsolute: 1e-4,
    })
  ),
  ProjectiveTransformBack: WARPS.slice(0, 4).map((attrs) =>
    sample([typed("float32", 1, 4, 7, 2), TURN, vector(1, 5, 6, 2)], attrs, {
      wrt: [0],
      gpuAbsolute: 1e-4,
    })
  ),
  RotateWithOffset: [
    sample([any(2, 5, 6, 3)], { radians: 0.7, fill_value: [4], center: [0.5, 0.25] }),
    sample([any(1, 4, 4, 4)], { radians: -2, fill_value: [1, 2, 3], center: [0.5, 0.5] }),
  ],
  RotateBack: [sample([any(2, 5, 6, 3)], { radians: 0.7, fill_value: [0], center: [0.5, 0.25] })],
  SpaceToBatchND: [
    sample([any(1, 4, 4, 2), vector(2, 2), pairs(0, 0, 0, 0)]),
    sample([any(2, 3, 5, 3), vector(2, 3), pairs(1, 0, 0, 1)]),
    sample([any(2, 4), vector(2), pairs(0, 0)]),
  ],
  BatchToSpaceND: [
    sample([any(4, 2, 2, 2), vector(2, 2), pairs(0, 0, 0, 0)]),
    sample([any(6, 2, 2, 3), vector(2, 3), pairs(1, 0, 0, 1)]),
  ],
  DepthToSpace: [
    sample([any(2, 2, 3, 12)], { block_size: 2 }),
    sample([any(1, 9, 2, 2)], { block_size: 3, data_format: "NCHW" }),
  ],
  SpaceToDepth: [
    sample([any(2, 4, 6, 3)], { block_size: 2 }),
    sample([any(1, 2, 6, 3)], { block_size: 3, data_format: "NCHW" }),
  ],
};
