// Which of the compiled test files inside npm @tensorflow/tfjs-core are asked for, and why the rest are not.
//
// Everything under ops/ and optimizers/ is in, plus a few files about tensors and gradients. A file or spec whose
// functions Weft does not export yet is skipped by itself (see scan.ts), so this list needs no care as ops grow.

import { npmFolder } from "../../../tools/npm.ts";

/** Test files outside ops/, optimizers/ and io/. */
const EXTRA_FILES: readonly string[] = [
  "backends/backend_test.js",
  "backends/complex_util_test.js",
  "browser_util_test.js",
  "buffer_test.js",
  "debug_mode_test.js",
  "device_util_test.js",
  "engine_test.js",
  "environment_test.js",
  "flags_test.js",
  "globals_test.js",
  "gradients_test.js",
  "hash_util_test.js",
  "kernel_registry_test.js",
  "public/chained_ops/register_all_chained_ops_test.js",
  "serialization_test.js",
  "tensor_test.js",
  "tensor_util_test.js",
  "test_util_test.js",
  "types_test.js",
  "util_test.js",
  "variable_test.js",
  "version_test.js",
];

/** Files that are not about what a program can call, with the reason. */
const EXCLUDED_FILES: Readonly<Record<string, string>> = {
  "io/indexed_db_test.js": "needs a browser's database",
  "io/model_management_test.js": "needs a browser's database",
  "ops/draw_test.js": "needs a browser canvas",
  "ops/dropout_util_test.js": "tests an internal module of TensorFlow.js",
  "ops/from_pixels_test.js": "needs a browser canvas",
  "ops/identity_pool_test.js": "is a helper of the pool tests",
  "ops/rand_test.js": "tests the internal host generators of TensorFlow.js",
};

/**
 * Specs whose literals are rounded more than they show (3.18 for 3.1796, 0 for 4.5e-5), so that only TensorFlow.js's own
 * tolerance fits them.
 */
const ROUNDED_SPECS: ReadonlySet<string> = new Set([
  "ops/batchnorm_test.js: batchNorm2D gradient with clones batchnorm2D",
  "ops/batchnorm_test.js: batchNorm2D simple batchnorm2D gradients, 2x2",
  "ops/batchnorm_test.js: batchNorm3D simple batchnorm3D gradients, 2x1x2",
  "ops/batchnorm_test.js: batchNorm4D simple batchnorm4D gradients, 2x1x1x2",
  "ops/losses/sigmoid_cross_entropy_test.js: sigmoidCrossEntropy All right",
  "optimizers/adam_optimizer_test.js: AdamOptimizer basic",
  "optimizers/adamax_optimizer_test.js: AdamaxOptimizer basic",
]);

/** True for a spec that is compared with TensorFlow.js's tolerance instead of Weft's. */
export function isRoundedSpec(file: string, spec: string): boolean {
  return ROUNDED_SPECS.has(`${file}: ${spec}`);
}

/** One file of the suite. */
export interface SuiteFile {
  /** Path inside the package's `dist` folder, for example "ops/add_test.js". */
  readonly name: string;
  readonly url: URL;
}

/** The suite as found in the package. */
export interface Suite {
  /** The package's `dist` folder. */
  readonly folder: URL;
  readonly files: readonly SuiteFile[];
  readonly excluded: readonly { name: string; reason: string }[];
  /** Names of TensorFlow.js's tensor methods that no JavaScript array has. */
  readonly methods: readonly string[];
}

/** Methods of TensorFlow.js's tensor class itself that the tests use. */
const OWN_METHODS: readonly string[] = ["buffer", "bufferSync", "bytes", "clone", "print"];

/** Names of TensorFlow.js's tensor methods. Ops are one file each: "arg_max.js" is `argMax`, "as2d.js" `as2D`. */
async function tensorMethods(folder: URL): Promise<string[]> {
  const methods = [...OWN_METHODS];
  for await (const { name } of Deno.readDir(new URL("public/chained_ops/", folder))) {
    if (!name.endsWith(".js") || name.startsWith("register_")) continue;
    methods.push(
      name.slice(0, -".js".length)
        .replace(/_([a-z])/g, (_, letter) => letter.toUpperCase())
        .replace(/^(as\d)d$/, "$1D"),
    );
  }
  return methods;
}

async function testFilesUnder(folder: URL, prefix: string): Promise<string[]> {
  const found: string[] = [];
  for await (const entry of Deno.readDir(new URL(prefix, folder))) {
    const name = prefix + entry.name;
    if (entry.isDirectory) found.push(...await testFilesUnder(folder, `${name}/`));
    else if (name.endsWith("_test.js")) found.push(name);
  }
  return found;
}

/** Finds the suite, fetching the package where needed; `pattern` keeps the files whose name contains it. */
export async function findSuite(pattern: string): Promise<Suite> {
  const folder = new URL("dist/", await npmFolder("@tensorflow/tfjs-core"));
  const names = [
    ...await testFilesUnder(folder, "ops/"),
    ...await testFilesUnder(folder, "optimizers/"),
    ...await testFilesUnder(folder, "io/"),
    ...EXTRA_FILES,
  ].sort();
  const files: SuiteFile[] = [];
  const excluded: { name: string; reason: string }[] = [];
  for (const name of names) {
    const reason = EXCLUDED_FILES[name];
    if (reason !== undefined) excluded.push({ name, reason });
    else if (name.includes(pattern)) files.push({ name, url: new URL(name, folder) });
  }
  const methods = (await tensorMethods(folder)).filter((name) => !(name in Array.prototype));
  return { folder, files, excluded, methods };
}
