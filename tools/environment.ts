/**
 * The environment that WebGPU needs, for our programs and the ones they start.
 *
 * @module
 */

import { exists } from "./files.ts";

/**
 * Sets what WebGPU needs on Linux, in this process and so in the ones it starts.
 *
 * - `DENO_WEBGPU_BACKEND=vulkan`: Deno's OpenGL back end makes about one process in 500 abort at
 *   exit, after its tests have passed. It is enough that the back end is enabled, so it is not.
 * - `XDG_RUNTIME_DIR`: the Vulkan loader complains on standard error where there is none.
 *
 * Values that are set already stay. Other systems have no such trouble, and macOS has no Vulkan.
 *
 * @returns The variables that were added.
 */
export function prepareWebGpu(): Record<string, string> {
  const added: Record<string, string> = {};
  if (Deno.build.os !== "linux") return added;
  if (!Deno.env.get("DENO_WEBGPU_BACKEND")) added.DENO_WEBGPU_BACKEND = "vulkan";
  if (!isDirectory(Deno.env.get("XDG_RUNTIME_DIR"))) added.XDG_RUNTIME_DIR = privateDirectory();
  for (const [name, value] of Object.entries(added)) Deno.env.set(name, value);
  return added;
}

/** A folder of ours under the system's temporary folder, readable by this user only. */
function privateDirectory(): string {
  const path = `${Deno.env.get("TMPDIR") ?? "/tmp"}/weft-runtime-${Deno.uid()}`;
  try {
    Deno.mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
  }
  const { isDirectory, uid, mode } = Deno.lstatSync(path);
  const isOurs = isDirectory && uid === Deno.uid() && ((mode ?? 0) & 0o077) === 0;
  return isOurs ? path : Deno.makeTempDirSync({ prefix: "weft-runtime-" });
}

function isDirectory(path: string | undefined): boolean {
  return path !== undefined && path !== "" && exists(path, "isDirectory");
}
