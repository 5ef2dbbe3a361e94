/** Ops that are refused, with the reason that an error tells. */
import { type OpEntry, refused } from "../rule.ts";

/** The entries of these ops. */
export const REFUSED: Readonly<Record<string, OpEntry>> = {
  ...refused(
    "arrays without a flow are of TensorFlow before 1.0: write the graph with a version that has TensorArrayV3",
    ...["", "Close", "Concat", "Gather", "Grad", "Pack", "Read", "Scatter", "Size", "Split"]
      .flatMap(
        (part) => [`TensorArray${part}`, `TensorArray${part}V2`],
      ).filter((op) => op !== "TensorArrayPackV2"),
    ...["TensorArrayUnpack", "TensorArrayWrite", "TensorArrayWriteV2"],
  ),
  ...refused(
    "gradients of loops of TensorFlow 1 are not here: import the part before them and call tf.gradients",
    ...["TensorArrayGradV3", "TensorArrayGradWithShape"],
    ...["Stack", "StackPush", "StackPop", "StackClose"].flatMap((op) => [op, `${op}V2`]),
  ),
  ...refused(
    "queues of TensorFlow 1 are not here: feed what they give, or iterate over tf.data",
    ...["FIFOQueueV2", "PaddingFIFOQueueV2", "PriorityQueueV2", "RandomShuffleQueueV2"],
    ...["QueueEnqueueV2", "QueueEnqueueManyV2", "QueueDequeueV2", "QueueDequeueManyV2"],
    ...["QueueDequeueUpToV2", "QueueCloseV2", "QueueSizeV2", "QueueIsClosed", "QueueIsClosedV2"],
    ...["FIFOQueue", "PaddingFIFOQueue", "PriorityQueue", "RandomShuffleQueue", "FakeQueue"],
    ...["QueueEnqueue", "QueueEnqueueMany", "QueueDequeue", "QueueDequeueMany"],
    ...["QueueDequeueUpTo", "QueueClose", "QueueSize"],
  ),
  ...refused(
    "readers of TensorFlow 1 are not here: feed what they give, or iterate over tf.data",
    ...["FixedLengthRecordReaderV2", "IdentityReaderV2", "TFRecordReaderV2", "TextLineReaderV2"],
    ...["WholeFileReaderV2", "ReaderReadV2", "ReaderReadUpToV2", "LMDBReader"],
    ...["FixedLengthRecordReader", "IdentityReader", "TFRecordReader", "TextLineReader"],
    ...["WholeFileReader", "ReaderRead", "ReaderReadUpTo", "ReaderReset", "ReaderResetV2"],
  ),
  ...refused(
    "datasets run outside of graphs: feed the elements of tf.data",
    ...[
      "Iterator",
      "IteratorV2",
      "IteratorGetNext",
      "IteratorGetNextSync",
      "IteratorToStringHandle",
    ],
    ...["MakeIterator", "OneShotIterator", "AnonymousIteratorV3"],
  ),
  ...refused(
    'its rule is in another entry, add import "@weft/weft/tf"',
    ...["BlockLSTM", "BlockLSTMV2", "BlockLSTMGrad", "BlockLSTMGradV2", "LSTMBlockCell"],
    ...["LSTMBlockCellGrad", "GRUBlockCell", "GRUBlockCellGrad", "SparseSplit"],
    ...["CholeskyGrad", "SparseSegmentSumGrad", "SparseSegmentMeanGrad", "SparseSegmentSqrtNGrad"],
    ...["SparseSegmentSumGradV2", "SparseSegmentMeanGradV2", "SparseSegmentSqrtNGradV2"],
  ),
  ...refused(
    "summaries are not written from graphs: import what computes their values, and write those by a file writer",
    ...["ScalarSummary", "HistogramSummary", "ImageSummary", "AudioSummary", "AudioSummaryV2"],
    ...["TensorSummary", "TensorSummaryV2", "MergeSummary", "SummaryWriter", "WriteSummary"],
    ...["CreateSummaryFileWriter", "FlushSummaryWriter", "CloseSummaryWriter"],
    ...["Audio", "Graph", "Histogram", "Image", "RawProto", "Scalar"].map((k) =>
      `Write${k}Summary`
    ),
  ),
  ...refused(
    "it is a kernel for CUDA: export the model for CPUs",
    ...["CudnnRNN", "CudnnRNNV2", "CudnnRNNV3"].flatMap((
      op,
    ) => [op, op.replace("RNN", "RNNBackprop")]),
    ...["CudnnRNNCanonicalToParams", "CudnnRNNCanonicalToParamsV2", "CudnnRNNParamsSize"],
    ...["CudnnRNNParamsToCanonical", "CudnnRNNParamsToCanonicalV2"],
  ),
  ...refused(
    "it is a kernel for TPUs: convert the model for CPUs",
    ...["TPUCompile", "TPUExecute", "TPUPartitionedCall", "TPUReplicate", "TPUReplicateMetadata"],
  ),
};
