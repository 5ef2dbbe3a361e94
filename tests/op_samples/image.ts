/** Samples of image ops. */

import { any, floats, ints, number, sample, type SampleTable, typed, vector } from "./inputs.ts";
import { NdArray } from "@weft/weft";

const matrix = (...rows: number[][]): NdArray =>
  new NdArray("int32", [rows.length, rows[0].length], Int32Array.from(rows.flat()));
const boxes = floats([3, 4], 0, 0, 1, 1, 0.25, 0.5, 0.875, 0.75, -0.25, 0.125, 0.5, 1.25);
const candidates = floats([4, 4], 0, 0, 1, 1, 0, 0.125, 1, 1.125, 0, 2, 1, 3, 0, 2, 1, 2.75);
const scores = floats([4], 0.9, 0.75, 0.6, 0.95);
const threshold = (value: number): NdArray => floats([], value);
/** Resized halves and thirds of integers are floats. */
const RESIZED = {
  dtypes: ["float32", "int32", "float64", "uint8"],
  integersFollowFloats: true,
} as const;
const half = { half_pixel_centers: true }, corners = { align_corners: true };
/** Rounding of positions decides which pixel is meant: float64 may decide otherwise. */
const FLOAT32 = { dtypes: ["float32"] } as const;
/** TensorFlow gives transforms no gradient. */
const IMAGES_ONLY = { ...FLOAT32, wrt: [0] };
/** Off the pixels' edges, where the gradient of boxes jumps. */
const inner = floats([2, 4], 0.07, 0.11, 0.86, 0.9, 0.27, 0.53, 0.87, 0.77);
const turn = { radians: 0.5, fill_value: [0], center: [0.5, 0.5] };
/** Halves of pixels away, a shear, a zoom. */
const transforms = floats([2, 8], 1, 0.25, 0.5, 0, 1, -0.25, 0, 0, 0.5, 0, 1, 0, 0.75, 0, 0, 0.125);

export const IMAGE: SampleTable = {
  ResizeBilinear: [
    sample([any(1, 2, 3, 2), vector(4, 6)], {}, RESIZED),
    sample([any(2, 5, 4, 1), vector(3, 7)], half, RESIZED),
    sample([any(1, 4, 4, 3), vector(2, 3)], corners, RESIZED),
    sample([any(1, 3, 3, 1), vector(1, 1)], corners, RESIZED),
  ],
  ResizeBilinearBack: [
    sample([typed("float32", 1, 4, 6, 2), vector(2, 3)], { T: "float32" }),
    sample([typed("float32", 2, 3, 7, 1), vector(5, 4)], { T: "float32", ...half }),
    sample([typed("float32", 1, 2, 3, 3), vector(4, 4)], { T: "float32", ...corners }),
  ],
  ResizeBilinearGrad: [
    sample([typed("float32", 1, 4, 6, 2), typed("float32", 1, 2, 3, 2)], {}, { wrt: [0] }),
    sample([typed("float32", 2, 3, 7, 1), typed("float32", 2, 5, 4, 1)], half, { wrt: [0] }),
  ],
  ResizeNearestNeighbor: [
    sample([any(1, 2, 3, 2), vector(4, 6)], {}, FLOAT32),
    sample([any(2, 5, 4, 1), vector(3, 7)], half, FLOAT32),
    sample([any(1, 4, 4, 3), vector(2, 3)], corners, FLOAT32),
  ],
  ResizeNearestNeighborGrad: [
    sample([any(1, 4, 6, 2), vector(2, 3)], {}, FLOAT32),
    sample([any(2, 3, 7, 1), vector(5, 4)], half, FLOAT32),
  ],
  SpaceToBatchND: [
    sample([any(1, 4, 4, 2), vector(2, 2), matrix([0, 0], [0, 0])]),
    sample([any(2, 3, 5), vector(2), matrix([1, 0])]),
  ],
  BatchToSpaceND: [
    sample([any(4, 2, 2, 2), vector(2, 2), matrix([0, 0], [0, 0])]),
    sample([any(4, 2, 5), vector(2), matrix([1, 0])]),
  ],
  DepthToSpace: [
    sample([any(1, 2, 3, 8)], { block_size: 2 }),
    sample([any(2, 4, 2, 3)], { block_size: 2, data_format: "NCHW" }, FLOAT32),
  ],
  SpaceToDepth: [
    sample([any(1, 4, 6, 2)], { block_size: 2 }),
    sample([any(2, 1, 4, 6)], { block_size: 2, data_format: "NCHW" }, FLOAT32),
  ],
  NonMaxSuppressionV3: [
    sample([candidates, scores, number(3), threshold(0.5), threshold(0)]),
    sample([candidates, scores, number(4), threshold(0.99), threshold(0.7)]),
    sample([floats([0, 4]), floats([0]), number(3), threshold(0.5), threshold(0)]),
  ],
  NonMaxSuppressionV4: [
    sample([candidates, scores, number(3), threshold(0.5), threshold(0)]),
    sample([candidates, scores, number(6), threshold(0.5), threshold(0)], {
      pad_to_max_output_size: true,
    }),
  ],
  NonMaxSuppressionV5: [
    sample([candidates, scores, number(3), threshold(0.5), threshold(0), threshold(0.5)]),
    sample([candidates, scores, number(6), threshold(0.5), threshold(0), threshold(0)], {
      pad_to_max_output_size: true,
    }),
  ],
  CropAndResize: [
    sample([typed("float32", 2, 5, 6, 2), boxes, ints(0, 1, 3), vector(3, 4)], {
      extrapolation_value: 0.5,
    }, { wrt: [0] }),
    // TensorFlow has no gradient of the gradient of boxes.
    sample([typed("float32", 2, 7, 7, 2), inner, vector(1, 0), vector(3, 4)], {}, {
      secondOrder: false,
    }),
    sample([typed("float32", 1, 4, 4, 1), boxes, vector(0, 0, 0), vector(1, 1)], {}, { wrt: [0] }),
    sample([typed("float32", 1, 4, 4, 1), boxes, vector(0, 0, 0), vector(2, 3)], {
      method: "nearest",
    }, {
      wrt: [0],
    }),
  ],
  CropAndResizeGradImage: [
    sample([typed("float32", 3, 3, 4, 2), boxes, ints(0, 1, 3), vector(2, 5, 6, 2)], {
      T: "float32",
    }, { wrt: [0] }),
    sample([typed("float32", 3, 2, 3, 1), boxes, vector(0, 0, 0), vector(1, 4, 4, 1)], {
      T: "float32",
      method: "nearest",
    }, {
      wrt: [0],
    }),
  ],
  CropAndResizeGradBoxes: [
    sample([typed("float32", 3, 3, 4, 2), typed("float32", 2, 5, 6, 2), boxes, ints(0, 1, 3)], {}, {
      wrt: [],
    }),
  ],
  ImageProjectiveTransformV3: [
    sample([any(2, 4, 5, 2), transforms, vector(4, 5), threshold(0.5)], {
      interpolation: "BILINEAR",
    }, IMAGES_ONLY),
    sample([any(2, 4, 5, 2), transforms, vector(3, 7), threshold(0)], {
      interpolation: "NEAREST",
      fill_mode: "REFLECT",
    }, IMAGES_ONLY),
    sample([any(2, 4, 5, 1), transforms, vector(4, 5), threshold(0)], {
      interpolation: "BILINEAR",
      fill_mode: "WRAP",
    }, IMAGES_ONLY),
    sample([any(2, 4, 5, 1), transforms, vector(4, 5), threshold(0)], {
      interpolation: "BILINEAR",
      fill_mode: "NEAREST",
    }, IMAGES_ONLY),
  ],
  ProjectiveTransformBack: [
    sample(
      [typed("float32", 2, 4, 5, 2), transforms, vector(2, 4, 5, 2)],
      { interpolation: "BILINEAR" },
      IMAGES_ONLY,
    ),
    sample([typed("float32", 2, 3, 7, 2), transforms, vector(2, 4, 5, 2)], {
      interpolation: "NEAREST",
      fill_mode: "REFLECT",
    }, IMAGES_ONLY),
  ],
  RotateWithOffset: [
    sample([typed("float32", 1, 5, 5, 2)], turn, { gradient: false }),
    sample([typed("float32", 2, 4, 3, 1)], { ...turn, radians: -2, center: [0.25, 0.75] }, {
      gradient: false,
    }),
  ],
  RotateBack: [sample([typed("float32", 1, 5, 5, 2)], turn, { gradient: false })],
};
