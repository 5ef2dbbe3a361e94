/**
 * The categories under which documentation lists what is exported. A category is where a module lies: so it is written once here, and
 * the build puts it into the declarations (`@category`), from which JSR and editors read it.
 *
 * @module
 */

/** Beginnings of paths under src/, and their categories; of several that fit, the longest holds. */
const CATEGORIES: Readonly<Record<string, string>> = {
  "cluster/": "Data",
  "engine/autodiff/": "Gradients",
  "engine/batching/": "Control flow",
  "engine/core/": "Tensors",
  "engine/core/apply": "Ops of one's own",
  "engine/core/device": "Devices",
  "engine/core/dispatch": "Ops of one's own",
  "engine/core/errors": "Errors",
  "engine/core/gpu_": "Devices",
  "engine/core/graph_node": "Graphs",
  "engine/core/meaning": "Ops of one's own",
  "engine/core/op": "Ops of one's own",
  "engine/core/portable": "Graphs",
  "engine/core/scalar/": "Ops of one's own",
  "engine/devices/": "Devices",
  "engine/graph/": "Graphs",
  "engine/kernels/": "Ops of one's own",
  "engine/ops/": "Ops",
  "engine/ops/array/": "Ops: shape and slicing",
  "engine/ops/array/indexed_slices": "Gradients",
  "engine/ops/conv/": "Ops: convolution and pooling",
  "engine/ops/fused/": "Ops: convolution and pooling",
  "engine/ops/image/": "Ops: images and signals",
  "engine/ops/linalg/": "Ops: linear algebra",
  "engine/ops/pointwise/": "Ops: elementwise",
  "engine/ops/ragged/": "Ragged and sparse",
  "engine/ops/random/": "Ops: random numbers",
  "engine/ops/reduce/": "Ops: reduction",
  "engine/ops/rows/": "Ops: normalization, softmax and losses",
  "engine/ops/signal/": "Ops: images and signals",
  "engine/ops/state/": "Variables",
  "engine/ops/text/": "Ops: strings and tables",
  "engine/runtime/": "Devices",
  "engine/runtime/branches/": "Control flow",
  "engine/runtime/eager/": "Memory",
  "engine/runtime/functions/": "Functions",
  "engine/runtime/loops/": "Control flow",
  "engine/runtime/plan/": "Looking in",
  "engine/runtime/session/": "Sessions",
  "engine/runtime/trace": "Looking in",
  "engine/runtime/variables/": "Variables",
  "engine/script/": "Script ops",
  "engine/types": "Tensors",
  "entries/eager/": "Ops",
  "entries/image/": "Models and files",
  "entries/numpy/": "Script ops",
  "entries/ops/": "Ops of one's own",
  "library/data/": "Data",
  "library/debugging/": "Looking in",
  "library/display/": "Looking in",
  "library/io/": "Models and files",
  "library/testing/": "Testing",
  "library/metrics/": "Training",
  "library/train/": "Training",
  "onnx/": "Models and files",
  "ort/": "Models and files",
  "serve/": "Serving",
  "tensorflow/": "Models and files",
  "tensorflow/compat_v1/": "TensorFlow 1",
  "tensorflow/files/": "Models and files",
  "tensorflow/graph/": "Graphs",
  "tensorflow/ops/": "Ops",
  "tensorflow/graph_def/": "Graphs",
  "tfjs/": "TensorFlow.js",
  "tfjs/core/": "TensorFlow.js",
  "tfjs/exchange/": "TensorFlow.js",
  "tfjs/graph_model/": "Models and files",
  "tfjs/keras/": "Models and files",
};

const BY_LENGTH = Object.entries(CATEGORIES).sort(([a], [b]) => b.length - a.length);

/** The category of what a module exports, given its path from the root. Throws where the table knows none. */
export function categoryOf(file: string): string {
  const path = file.replace(/^src\//, "");
  const found = BY_LENGTH.find(([start]) => path.startsWith(start));
  if (found === undefined) {
    throw new Error(`Cannot tell the category of ${file}: add it to CATEGORIES`);
  }
  return found[1];
}
