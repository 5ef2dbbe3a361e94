/** Tests that other platforms than Deno do not run, by how their paths start, each with the reason. */

/** Paths from the repository's root. */
export const EXCLUDED: Readonly<Record<string, string>> = {
  "tests/architecture_test.ts": "reads the sources",
  "tests/browser/": "starts browsers",
  "tests/differences/": "reads its table and TensorFlow's results from files",
  "tests/mutate_test.ts": "tests our tools",
  "tests/programs/": "reads TensorFlow's results from a file",
  "tests/distribute/": "serves TensorFlow's protocol, which wants a server's platform",
  "tests/core/entry_lines_test.ts": "loads entries for servers too",
  "tests/core/caller_lines_test.ts":
    "looks for its own lines in stacks, and a bundle has no other; tests/package_test.ts looks for a page's",
  "tests/devices/kernel_table_test.ts": "looks kernels up before any other test has brought them",
  "tests/devices/ready_test.ts": "loads a module once more, and a bundle has each once",
  "tests/devices/cpu/oracle_test.ts":
    "thousands of problems for WebAssembly that is the same everywhere",
  "tests/devices/webgpu/packed_half_test.ts": "hides f16 from all tests of a page",
  "tests/devices/webgpu/shaders_test.ts": "reads the sources; shaders_test.ts here asks Tint",
  "tests/examples/": "runs programs",
  "tests/import_map_test.ts": "reads deno.json",
  "tests/node/": "starts Node",
  "tests/npm_only/": "compares our assertions with Node's",
  "tests/ops/array_op_check_test.ts": "tests/op_check_test.ts does the same",
  "tests/ops/image_op_check_test.ts": "tests/op_check_test.ts does the same",
  "tests/package_test.ts": "tests what is published",
  "tests/protobuf_test.ts": "tests our benches",
  "tests/limits_test.ts": "reads the sources",
  "tests/script/upstream/recipe_test.ts": "starts a server, and pages have no sockets",
  "tests/script/upstream/collected_test.ts": "starts processes that collect garbage",
  "tests/shaders_test.ts": "tests our tools",
  "tests/io/served_files_test.ts": "starts a server, and pages have no sockets",
  "tests/ort/": "installs packages from npm, and has onnxruntime-web as Deno wants it",
  "tests/tfjs_core/": "bundles packages from npm, starts servers and compilers",
  "tests/tools_test.ts": "tests our tools",
};

/** Tests that other platforms always run, by how their paths start: the rest only where all is to be tried. */
export const PLATFORM: Readonly<Record<string, string>> = {
  "tests/devices/": "memory, threads, features of WebAssembly and WebGPU",
  "tests/io/": "files, compression",
  "tests/core/": "float16, numbers as text",
  "tests/script/marshal": "typed arrays that engines have or not",
  "tests/script/worker": "workers",
  "tests/script/upstream/documents": "the examples that script ops are judged by",
};

/** Tests of the numbers that kernels compute, which are the same wherever WebAssembly is: others run them where all is to be tried. */
export const NUMBERS: readonly string[] = [
  ...["conv", "copy", "depthwise", "fused", "gemm", "pointwise", "pool", "reduce", "rows"],
].map((name) => `tests/devices/cpu/${name}_test.ts`);

/** Paths that Node does not run either, though browsers do. */
export const NOT_IN_NODE: Readonly<Record<string, string>> = {
  "tests/devices/webgpu/buffer_pool_test.ts": "takes WebGPU's constants, which Node has not",
  "tests/graph/random_graphs_test.ts": "tries ops of every dtype as it is loaded, float16 as well",
  "tests/ops/half_test.ts": "wants Float16Array, which Node 20 has not",
  "tests/script/worker": "a bundle has no file for workers; tests/package_test.ts starts them",
  "tests/tfjs/": "a bundle has TensorFlow.js as browsers want it, and so it does not start",
};

const RENAMED = "looks for the name of a variable, and a bundle renames some";
const OTHER_ENTRIES =
  "a bundle holds the ops of other entries and other tests as well, which their own tests cover";
const NO_ASYNC_STORAGE =
  "browsers cannot tell whose code goes on after an await: the garbage collector finds what it made";

/** Names of tests that fail in every bundle, each with the reason. */
const NOT_IN_BUNDLES: Readonly<Record<string, string>> = Object.fromEntries([
  ["every kind of variant has problems of random shapes, or a reason why not", OTHER_ENTRIES],
  ["a closure that cannot be sent is refused at the call, with what it uses", RENAMED],
  ["every variant of every op is chosen for some sample on some adapter", OTHER_ENTRIES],
  ["every op has samples, or a reason why not", OTHER_ENTRIES],
  ["every op is TensorFlow's, has parts or a reason why not", OTHER_ENTRIES],
]);

const NO_FILES = "a page has no files";

/** Names of tests that fail in pages, each with the reason. */
export const NOT_IN_PAGES: Readonly<Record<string, string>> = {
  ...NOT_IN_BUNDLES,
  "readGraphDef() names the file that is missing": NO_FILES,
  "mistakes with files are told in words that lead on": NO_FILES,
  "a compiled MLP step with Adam is 9 dispatches and 1 submit, and makes nothing new when warm [webgpu]":
    "SwiftShader is given other kernels than Mesa's driver: 12 dispatches",
  ...Object.fromEntries(["cpu", "webgpu"].flatMap((device) => [
    [
      `runs that are in flight when the session closes end, and what comes after leaves nothing [${device}]`,
      NO_ASYNC_STORAGE,
    ],
    [
      `what a body makes after an await is its own, used or not, until it keeps it [${device}]`,
      NO_ASYNC_STORAGE,
    ],
    [
      `H1 calls that wait at the same time own what each makes, whichever ends first [${device}]`,
      NO_ASYNC_STORAGE,
    ],
    [
      `what an awaited body computes of variables is freed with it, and differentiated [${device}]`,
      NO_ASYNC_STORAGE,
    ],
    [
      `an op is found again among more applications than are compared one by one [${device}]`,
      "other tests of the page have had those that are compared",
    ],
  ])),
};

const NO_WORKER_FILE =
  "the tests' bundle has no file that Node starts a worker from, as the package has";

/** Names of tests that fail in Node, each with the reason. */
export const TESTS_NOT_IN_NODE: Readonly<Record<string, string>> = {
  ...NOT_IN_BUNDLES,
  "ctx.seed repeats in workers, and is each call's own": NO_WORKER_FILE,
  "map() in workers gets arrays, a seed each, and keeps the order": NO_WORKER_FILE,
  "map() in workers names what fails, and needs Tout": NO_WORKER_FILE,
};
