/**
 * The names of TensorFlow.js's kernels, each a constant of its own as programs import them.
 */
/** Name of a kernel. */
export const Abs = "Abs";
/** Name of a kernel. */
export const Acos = "Acos";
/** Name of a kernel. */
export const Acosh = "Acosh";
/** Name of a kernel. */
export const Add = "Add";
/** Name of a kernel. */
export const AddN = "AddN";
/** Name of a kernel. */
export const All = "All";
/** Name of a kernel. */
export const Any = "Any";
/** Name of a kernel. */
export const ArgMax = "ArgMax";
/** Name of a kernel. */
export const ArgMin = "ArgMin";
/** Name of a kernel. */
export const Asin = "Asin";
/** Name of a kernel. */
export const Asinh = "Asinh";
/** Name of a kernel. */
export const Atan = "Atan";
/** Name of a kernel. */
export const Atanh = "Atanh";
/** Name of a kernel. */
export const Atan2 = "Atan2";
/** Name of a kernel. */
export const AvgPool = "AvgPool";
/** Name of a kernel. */
export const AvgPoolGrad = "AvgPoolGrad";
/** Name of a kernel. */
export const AvgPool3D = "AvgPool3D";
/** Name of a kernel. */
export const AvgPool3DGrad = "AvgPool3DGrad";
/** Name of a kernel. */
export const BatchMatMul = "BatchMatMul";
/** Name of a kernel. */
export const BatchToSpaceND = "BatchToSpaceND";
/** Name of a kernel. */
export const Bincount = "Bincount";
/** Name of a kernel. */
export const BitwiseAnd = "BitwiseAnd";
/** Name of a kernel. */
export const BroadcastTo = "BroadcastTo";
/** Name of a kernel. */
export const BroadcastArgs = "BroadcastArgs";
/** Name of a kernel. */
export const Cast = "Cast";
/** Name of a kernel. */
export const Ceil = "Ceil";
/** Name of a kernel. */
export const ClipByValue = "ClipByValue";
/** Name of a kernel. */
export const Complex = "Complex";
/** Name of a kernel. */
export const ComplexAbs = "ComplexAbs";
/** Name of a kernel. */
export const Concat = "Concat";
/** Name of a kernel. */
export const Conv2D = "Conv2D";
/** Name of a kernel. */
export const Conv2DBackpropFilter = "Conv2DBackpropFilter";
/** Name of a kernel. */
export const Conv2DBackpropInput = "Conv2DBackpropInput";
/** Name of a kernel. */
export const Conv3D = "Conv3D";
/** Name of a kernel. */
export const Conv3DBackpropFilterV2 = "Conv3DBackpropFilterV2";
/** Name of a kernel. */
export const Conv3DBackpropInputV2 = "Conv3DBackpropInputV2";
/** Name of a kernel. */
export const Cos = "Cos";
/** Name of a kernel. */
export const Cosh = "Cosh";
/** Name of a kernel. */
export const Cumprod = "Cumprod";
/** Name of a kernel. */
export const Cumsum = "Cumsum";
/** Name of a kernel. */
export const CropAndResize = "CropAndResize";
/** Name of a kernel. */
export const DenseBincount = "DenseBincount";
/** Name of a kernel. */
export const DepthToSpace = "DepthToSpace";
/** Name of a kernel. */
export const DepthwiseConv2dNative = "DepthwiseConv2dNative";
/** Name of a kernel. */
export const DepthwiseConv2dNativeBackpropFilter = "DepthwiseConv2dNativeBackpropFilter";
/** Name of a kernel. */
export const DepthwiseConv2dNativeBackpropInput = "DepthwiseConv2dNativeBackpropInput";
/** Name of a kernel. */
export const Diag = "Diag";
/** Name of a kernel. */
export const Dilation2D = "Dilation2D";
/** Name of a kernel. */
export const Dilation2DBackpropInput = "Dilation2DBackpropInput";
/** Name of a kernel. */
export const Dilation2DBackpropFilter = "Dilation2DBackpropFilter";
/** Name of a kernel. */
export const Draw = "Draw";
/** Name of a kernel. */
export const RealDiv = "RealDiv";
/** Name of a kernel. */
export const Einsum = "Einsum";
/** Name of a kernel. */
export const Elu = "Elu";
/** Name of a kernel. */
export const EluGrad = "EluGrad";
/** Name of a kernel. */
export const Erf = "Erf";
/** Name of a kernel. */
export const Equal = "Equal";
/** Name of a kernel. */
export const Exp = "Exp";
/** Name of a kernel. */
export const ExpandDims = "ExpandDims";
/** Name of a kernel. */
export const Expm1 = "Expm1";
/** Name of a kernel. */
export const FFT = "FFT";
/** Name of a kernel. */
export const Fill = "Fill";
/** Name of a kernel. */
export const FlipLeftRight = "FlipLeftRight";
/** Name of a kernel. */
export const Floor = "Floor";
/** Name of a kernel. */
export const FloorDiv = "FloorDiv";
/** Name of a kernel. */
export const FusedBatchNorm = "FusedBatchNorm";
/** Name of a kernel. */
export const GatherV2 = "GatherV2";
/** Name of a kernel. */
export const GatherNd = "GatherNd";
/** Name of a kernel. */
export const Greater = "Greater";
/** Name of a kernel. */
export const GreaterEqual = "GreaterEqual";
/** Name of a kernel. */
export const Identity = "Identity";
/** Name of a kernel. */
export const IFFT = "IFFT";
/** Name of a kernel. */
export const Imag = "Imag";
/** Name of a kernel. */
export const IsFinite = "IsFinite";
/** Name of a kernel. */
export const IsInf = "IsInf";
/** Name of a kernel. */
export const IsNan = "IsNan";
/** Name of a kernel. */
export const LeakyRelu = "LeakyRelu";
/** Name of a kernel. */
export const Less = "Less";
/** Name of a kernel. */
export const LessEqual = "LessEqual";
/** Name of a kernel. */
export const LinSpace = "LinSpace";
/** Name of a kernel. */
export const Log = "Log";
/** Name of a kernel. */
export const Log1p = "Log1p";
/** Name of a kernel. */
export const LogicalAnd = "LogicalAnd";
/** Name of a kernel. */
export const LogicalNot = "LogicalNot";
/** Name of a kernel. */
export const LogicalOr = "LogicalOr";
/** Name of a kernel. */
export const LogicalXor = "LogicalXor";
/** Name of a kernel. */
export const LogSoftmax = "LogSoftmax";
/** Name of a kernel. */
export const LowerBound = "LowerBound";
/** Name of a kernel. */
export const LRN = "LRN";
/** Name of a kernel. */
export const LRNGrad = "LRNGrad";
/** Name of a kernel. */
export const MatrixBandPart = "MatrixBandPart";
/** Name of a kernel. */
export const Max = "Max";
/** Name of a kernel. */
export const Maximum = "Maximum";
/** Name of a kernel. */
export const MaxPool = "MaxPool";
/** Name of a kernel. */
export const MaxPoolGrad = "MaxPoolGrad";
/** Name of a kernel. */
export const MaxPool3D = "MaxPool3D";
/** Name of a kernel. */
export const MaxPool3DGrad = "MaxPool3DGrad";
/** Name of a kernel. */
export const MaxPoolWithArgmax = "MaxPoolWithArgmax";
/** Name of a kernel. */
export const Mean = "Mean";
/** Name of a kernel. */
export const Min = "Min";
/** Name of a kernel. */
export const Minimum = "Minimum";
/** Name of a kernel. */
export const MirrorPad = "MirrorPad";
/** Name of a kernel. */
export const Mod = "Mod";
/** Name of a kernel. */
export const Multinomial = "Multinomial";
/** Name of a kernel. */
export const Multiply = "Multiply";
/** Name of a kernel. */
export const Neg = "Neg";
/** Name of a kernel. */
export const NotEqual = "NotEqual";
/** Name of a kernel. */
export const NonMaxSuppressionV3 = "NonMaxSuppressionV3";
/** Name of a kernel. */
export const NonMaxSuppressionV4 = "NonMaxSuppressionV4";
/** Name of a kernel. */
export const NonMaxSuppressionV5 = "NonMaxSuppressionV5";
/** Name of a kernel. */
export const OnesLike = "OnesLike";
/** Name of a kernel. */
export const OneHot = "OneHot";
/** Name of a kernel. */
export const Pack = "Pack";
/** Name of a kernel. */
export const PadV2 = "PadV2";
/** Name of a kernel. */
export const Pool = "Pool";
/** Name of a kernel. */
export const Pow = "Pow";
/** Name of a kernel. */
export const Prelu = "Prelu";
/** Name of a kernel. */
export const Prod = "Prod";
/** Name of a kernel. */
export const RaggedGather = "RaggedGather";
/** Name of a kernel. */
export const RaggedRange = "RaggedRange";
/** Name of a kernel. */
export const RaggedTensorToTensor = "RaggedTensorToTensor";
/** Name of a kernel. */
export const Range = "Range";
/** Name of a kernel. */
export const Real = "Real";
/** Name of a kernel. */
export const Reciprocal = "Reciprocal";
/** Name of a kernel. */
export const Relu = "Relu";
/** Name of a kernel. */
export const Reshape = "Reshape";
/** Name of a kernel. */
export const ResizeNearestNeighbor = "ResizeNearestNeighbor";
/** Name of a kernel. */
export const ResizeNearestNeighborGrad = "ResizeNearestNeighborGrad";
/** Name of a kernel. */
export const ResizeBilinear = "ResizeBilinear";
/** Name of a kernel. */
export const ResizeBilinearGrad = "ResizeBilinearGrad";
/** Name of a kernel. */
export const Relu6 = "Relu6";
/** Name of a kernel. */
export const Reverse = "Reverse";
/** Name of a kernel. */
export const Round = "Round";
/** Name of a kernel. */
export const Rsqrt = "Rsqrt";
/** Name of a kernel. */
export const ScatterNd = "ScatterNd";
/** Name of a kernel. */
export const TensorScatterUpdate = "TensorScatterUpdate";
/** Name of a kernel. */
export const SearchSorted = "SearchSorted";
/** Name of a kernel. */
export const Select = "Select";
/** Name of a kernel. */
export const Selu = "Selu";
/** Name of a kernel. */
export const Slice = "Slice";
/** Name of a kernel. */
export const Sin = "Sin";
/** Name of a kernel. */
export const Sinh = "Sinh";
/** Name of a kernel. */
export const Sign = "Sign";
/** Name of a kernel. */
export const Sigmoid = "Sigmoid";
/** Name of a kernel. */
export const Softplus = "Softplus";
/** Name of a kernel. */
export const Sqrt = "Sqrt";
/** Name of a kernel. */
export const Sum = "Sum";
/** Name of a kernel. */
export const SpaceToBatchND = "SpaceToBatchND";
/** Name of a kernel. */
export const SplitV = "SplitV";
/** Name of a kernel. */
export const Softmax = "Softmax";
/** Name of a kernel. */
export const SparseFillEmptyRows = "SparseFillEmptyRows";
/** Name of a kernel. */
export const SparseReshape = "SparseReshape";
/** Name of a kernel. */
export const SparseSegmentMean = "SparseSegmentMean";
/** Name of a kernel. */
export const SparseSegmentSum = "SparseSegmentSum";
/** Name of a kernel. */
export const SparseToDense = "SparseToDense";
/** Name of a kernel. */
export const SquaredDifference = "SquaredDifference";
/** Name of a kernel. */
export const Square = "Square";
/** Name of a kernel. */
export const StaticRegexReplace = "StaticRegexReplace";
/** Name of a kernel. */
export const StridedSlice = "StridedSlice";
/** Name of a kernel. */
export const StringNGrams = "StringNGrams";
/** Name of a kernel. */
export const StringSplit = "StringSplit";
/** Name of a kernel. */
export const StringToHashBucketFast = "StringToHashBucketFast";
/** Name of a kernel. */
export const Sub = "Sub";
/** Name of a kernel. */
export const Tan = "Tan";
/** Name of a kernel. */
export const Tanh = "Tanh";
/** Name of a kernel. */
export const Tile = "Tile";
/** Name of a kernel. */
export const TopK = "TopK";
/** Name of a kernel. */
export const Transform = "Transform";
/** Name of a kernel. */
export const Transpose = "Transpose";
/** Name of a kernel. */
export const Unique = "Unique";
/** Name of a kernel. */
export const Unpack = "Unpack";
/** Name of a kernel. */
export const UnsortedSegmentSum = "UnsortedSegmentSum";
/** Name of a kernel. */
export const UpperBound = "UpperBound";
/** Name of a kernel. */
export const ZerosLike = "ZerosLike";
/** Name of a kernel. */
export const Step = "Step";
/** Name of a kernel. */
export const FromPixels = "FromPixels";
/** Name of a kernel. */
export const RotateWithOffset = "RotateWithOffset";
/** Name of a kernel. */
export const _FusedMatMul = "_FusedMatMul";
/** Name of a kernel. */
export const FusedConv2D = "FusedConv2D";
/** Name of a kernel. */
export const FusedDepthwiseConv2D = "FusedDepthwiseConv2D";
