/**
 * The categories under which documentation lists what is exported. A category is where a module lies: so it is written once here, and
 * the build puts it into the declarations (`@category`), from which JSR and editors read it.
 *
 * @module
 */

/** Beginnings of paths under src/, and their categories; of several that fit, the longest holds. */
const CATEGORIES: Readonly<Record<string, string>> = {
  "autodiff/": "Gradients",
  "compat_v1/": "TensorFlow 1",
  "core/": "Tensors",
  "core/apply": "Ops of one's own",
  "core/device": "Devices",
  "core/dispatch": "Ops of one's own",
  "core/errors": "Errors",
  "core/gpu_": "Devices",
  "core/graph_node": "Graphs",
  "core/meaning": "Ops of one's own",
  "core/op": "Ops of one's own",
  "core/portable": "Graphs",
  "core/scalar/": "Ops of one's own",
  "custom_ops/": "Ops of one's own",
  "data/": "Data",
  "debugging/": "Looking in",
  "devices/": "Devices",
  "display/": "Looking in",
  "distribute/": "Data",
  "eager/": "Ops",
  "graph/": "Graphs",
  "graph_model/": "Models and files",
  "image/": "Models and files",
  "io/": "Models and files",
  "kernels/": "Ops of one's own",
  "numpy/": "Script ops",
  "ops/": "Ops",
  "ops/array/": "Ops: shape and slicing",
  "ops/array/indexed_slices": "Gradients",
  "ops/conv/": "Ops: convolution and pooling",
  "ops/fused/": "Ops: convolution and pooling",
  "ops/image/": "Ops: images and signals",
  "ops/linalg/": "Ops: linear algebra",
  "ops/pointwise/": "Ops: elementwise",
  "ops/ragged/": "Ragged and sparse",
  "ops/random/": "Ops: random numbers",
  "ops/reduce/": "Ops: reduction",
  "ops/rows/": "Ops: normalization, softmax and losses",
  "ops/signal/": "Ops: images and signals",
  "ops/state/": "Variables",
  "portable/": "Graphs",
  "runtime/": "Devices",
  "runtime/branches/": "Control flow",
  "runtime/eager/": "Memory",
  "runtime/functions/": "Functions",
  "runtime/graph_defs/": "Graphs",
  "runtime/loops/": "Control flow",
  "runtime/plan/": "Looking in",
  "runtime/session/": "Sessions",
  "runtime/trace": "Looking in",
  "runtime/variables/": "Variables",
  "script/": "Script ops",
  "serve/": "Serving",
  "testing/": "Testing",
  "tf/": "Models and files",
  "tfjs/": "TensorFlow.js",
  "tfjs_core/": "TensorFlow.js",
  "train/": "Training",
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
