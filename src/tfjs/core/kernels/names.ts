/** TensorFlow.js's names of the kernels of Weft's ops. */

/** Kernel names that differ from their op's. */
const NAMES: Readonly<Record<string, string>> = {
  _BatchNorm: "FusedBatchNorm",
  _FusedConv2D: "FusedConv2D",
  AddV2: "Add",
  ConcatV2: "Concat",
  FillNumber: "Fill",
  FloorMod: "Mod",
  ImageProjectiveTransformV3: "Transform",
  MatMul: "BatchMatMul",
  Mul: "Multiply",
  Pad: "PadV2",
  ReverseV2: "Reverse",
  SelectV2: "Select",
  Split: "SplitV",
  StatelessMultinomial: "Multinomial",
  TopKV2: "TopK",
  UniqueV2: "Unique",
};

/** Returns TensorFlow.js's name of the kernel that computes an op; the op's own where it has none. */
export function kernelName(op: string): string {
  return NAMES[op] ?? op;
}
