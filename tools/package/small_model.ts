/** A model of ONNX that fits a line. */

/** A model with y = MatMul(x, w), as a file of ONNX has it. */
export const MODEL: string =
  "CAoSADpXChEKAXgKAXcSAXkiBk1hdE11bBIBZyoTCAIIARABQgF3SggAAABAAABAQFoUCgF4Eg8KDQgBEgkKAxIBbgoCCAJiFAoBeRIPCg0IARIJCgMSAW4KAggBQgQKABAV";
