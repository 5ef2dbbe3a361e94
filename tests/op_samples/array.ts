/** Samples of ops that keep elements as they are, look at shapes, or make constants. */

import { any, number, sample, type SampleTable, typed, vector } from "./inputs.ts";

export const ARRAY: SampleTable = {
  Identity: [sample([any(2, 3)]), sample([any()]), sample([any(0)])],
  StopGradient: [sample([any(2, 3)])],
  _After: [sample([any(2, 3), typed("int32", 2)]), sample([any(), typed("float32", 2, 2)])],
  Reshape: [
    sample([any(2, 3), vector(3, -1)]),
    sample([any(6), vector(1, 2, 3)]),
    sample([any(1), vector()]),
    sample([any(0, 3), vector(3, 0)]),
  ],
  Shape: [sample([any(2, 3)]), sample([any()]), sample([any(0, 1)], { out_type: "int64" })],
  Rank: [sample([any(2, 3)]), sample([any()])],
  Size: [sample([any(2, 3)]), sample([any()]), sample([any(0, 2)], { out_type: "int64" })],
  ExpandDims: [
    sample([any(2, 3), number(1)]),
    sample([any(2, 3), number(-1)]),
    sample([any(), number(0)]),
  ],
  Squeeze: [
    sample([any(1, 2, 1, 3)]),
    sample([any(1, 2, 1, 3)], { squeeze_dims: [0] }),
    sample([any(1, 2, 1, 3)], { squeeze_dims: [-2] }),
  ],
  Fill: [
    sample([vector(2, 3), any()]),
    sample([vector(), any()]),
    sample([vector(0, 2), any()]),
    sample([vector(1031), any()]),
  ],
  FillNumber: [
    sample([vector(2, 3)], { T: "float32", value: 1.5 }),
    sample([vector(7)], { T: "int32", value: -3 }),
    sample([vector()], { T: "bool", value: 1 }),
    sample([vector(5)], { T: "complex64", value: 2 }),
  ],
  ZerosLike: [sample([any(2, 3)]), sample([any()]), sample([any(0)])],
  OnesLike: [
    sample([any(2, 3)], {}, {
      dtypes: ["float32", "int32", "bool", "float64", "int64", "complex64", "uint8"],
    }),
    sample([any()], {}, { dtypes: ["float32"] }),
  ],
};
