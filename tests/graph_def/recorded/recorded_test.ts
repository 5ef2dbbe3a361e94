/** Graphs of TensorFlow that were recorded with it, imported and run. */
import { testRecorded } from "./replay.ts";

testRecorded("ragged_variants", "ragged tensors are elements of lists");
testRecorded("crosses", "features are crossed, from ragged, sparse and dense tensors");
testRecorded("tables", "tables change, hold tensors and refuse reserved keys");
testRecorded("other_forms", "forms of other devices and versions are ops of ours");
testRecorded("arrays_v1", "arrays of TensorFlow 1 are written and read in loops of frames");
testRecorded(
  "random_graphs",
  "random graphs with branches, loops, calls and maps are TensorFlow's",
);
testRecorded("ragged_features", "ragged features of records have partitions of every kind");
