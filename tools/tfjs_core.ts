/**
 * The subpaths of `@tensorflow/tfjs-core` that packages import, and our modules that stand for them: for the package that
 * `deno task build` makes, and for tests that bundle packages from npm.
 *
 * @module
 */

const ALL = "src/tfjs/core/mod.ts";
const BACKEND_UTIL = "src/tfjs/core/backend_util/mod.ts";

/** The name that packages import. */
export const TFJS_CORE = "@tensorflow/tfjs-core";

/** Subpaths and our modules. Those that hold nothing of their own lead to the whole. */
export const SUBPATHS: Readonly<Record<string, string>> = {
  "dist/backends/backend": "src/tfjs/core/backend.ts",
  "dist/backends/backend_util": BACKEND_UTIL,
  "dist/backends/complex_util": BACKEND_UTIL,
  "dist/backends/einsum_util": BACKEND_UTIL,
  "dist/backends/kernel_impls": "src/tfjs/core/kernel_impls.ts",
  "dist/backends/non_max_suppression_impl": "src/tfjs/core/kernel_impls.ts",
  "dist/base": ALL,
  "dist/engine": "src/tfjs/core/engine.ts",
  "dist/environment": "src/tfjs/core/environment.ts",
  "dist/globals": ALL,
  "dist/index": ALL,
  "dist/io/io": "src/tfjs/core/io/mod.ts",
  "dist/io/io_utils": "src/tfjs/core/io/io_utils.ts",
  "dist/io/router_registry": "src/tfjs/core/io/router_registry.ts",
  "dist/io/types": "src/tfjs/core/io/io_utils.ts",
  "dist/kernel_names": ALL,
  "dist/kernel_registry": ALL,
  "dist/ops/axis_util": BACKEND_UTIL,
  "dist/ops/broadcast_util": BACKEND_UTIL,
  "dist/ops/conv_util": BACKEND_UTIL,
  "dist/ops/dropout_util": "src/tfjs/core/dropout_util.ts",
  "dist/ops/operation": ALL,
  "dist/ops/ops": ALL,
  "dist/ops/ops_for_converter": ALL,
  "dist/ops/slice_util": "src/tfjs/core/backend_util/slice.ts",
  "dist/optimizers/optimizer": "src/tfjs/core/optimizer.ts",
  "dist/public/chained_ops/register_all_chained_ops": ALL,
  "dist/register_all_gradients": ALL,
  "dist/serialization": "src/tfjs/core/serialization.ts",
  "dist/tensor": ALL,
  "dist/tensor_types": ALL,
  "dist/tensor_util": "src/tfjs/core/tensor_util.ts",
  "dist/tensor_util_env": "src/tfjs/core/tensor_util_env.ts",
  "dist/test_util": "src/tfjs/core/test_util.ts",
  "dist/types": ALL,
  "dist/util": "src/tfjs/core/util/mod.ts",
  "dist/util_base": "src/tfjs/core/util/mod.ts",
};

/** Our module for what a package imports: `@tensorflow/tfjs-core` or a subpath of it. Throws for a subpath that has none. */
export function moduleFor(specifier: string): string {
  if (specifier === TFJS_CORE) return ALL;
  const subpath = specifier.slice(TFJS_CORE.length + 1).replace(/\.js$/, "");
  const found = SUBPATHS[subpath];
  if (found === undefined) {
    throw new Error(`Cannot find ${specifier}: no module of ours stands for it`);
  }
  return found;
}
