/** Graphs of TensorFlow that were recorded with it, imported and run. */
import { testRecorded } from "./replay.ts";

testRecorded("ragged_variants", "ragged tensors are elements of lists");
testRecorded("crosses", "features are crossed, from ragged, sparse and dense tensors");
testRecorded("tables", "tables change, hold tensors and refuse reserved keys");
