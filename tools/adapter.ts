/**
 * Finds out whether this machine has a WebGPU adapter.
 *
 * The question is asked in a child process (this file run on its own), because a broken graphics
 * driver can take a whole process down, and because a process asks its drivers only once.
 * `deno run -A tools/adapter.ts --install` installs a software adapter where there is none.
 *
 * @module
 */

import { capture } from "./command.ts";
import { prepareWebGpu } from "./environment.ts";
import { exists } from "./files.ts";
import { installVulkanDriver } from "./vulkan_driver.ts";

/** An adapter that gave us a device. */
export interface AdapterFacts {
  /** The adapter's own words about itself. */
  readonly description: string;
  /** True for an adapter that is a program on the CPU. */
  readonly software: boolean;
}

const PROBE_TIMEOUT_MS = 180_000;

/** Manifests of SwiftShader, where packages of Chromium put it. */
const SWIFTSHADER = ["chromium", "chromium-browser", "google-chrome"].flatMap((name) =>
  ["/usr/lib", "/usr/lib64", "/opt"].map((folder) => `${folder}/${name}/vk_swiftshader_icd.json`)
);

/**
 * The environment in which SwiftShader is the adapter: it has the least limits that WebGPU allows and no f16, by which kernels are seen
 * that other adapters forgive. Throws where Chromium has not brought it.
 */
export function swiftShader(): Readonly<Record<string, string>> {
  const manifest = SWIFTSHADER.find((file) => exists(file));
  if (manifest === undefined) {
    throw new Error(
      `Cannot find SwiftShader, which comes with Chromium: looked for ${SWIFTSHADER.join(", ")}`,
    );
  }
  return { VK_ICD_FILENAMES: manifest };
}

/** The adapter that a program started now, with more in its environment, would get, or null where there is none. */
export async function findAdapter(
  env: Readonly<Record<string, string>> = {},
): Promise<AdapterFacts | null> {
  const args = ["run", "-A", "--no-config", import.meta.url];
  const { code, stdout } = await capture(Deno.execPath(), args, {
    timeoutMs: PROBE_TIMEOUT_MS,
    env,
  });
  // Drivers may write to standard output as well; ours is the last line.
  const line = stdout.trim().split("\n").at(-1);
  return code === 0 && line ? JSON.parse(line) : null;
}

/**
 * Like {@linkcode findAdapter}, and where there is no adapter tries to install a software one.
 *
 * @param say Receives what is being done, a line at a time.
 * @param env More of the environment of what asks.
 */
export async function findOrInstallAdapter(
  say: (line: string) => void,
  env: Readonly<Record<string, string>> = {},
): Promise<AdapterFacts | null> {
  const adapter = await findAdapter(env);
  if (adapter !== null) return adapter;
  say("WebGPU: no adapter found");
  return await installVulkanDriver(say) ? await findAdapter(env) : null;
}

/** One line for people. */
export function describeAdapter(adapter: AdapterFacts): string {
  return `${adapter.description}${adapter.software ? " (software)" : ""}`;
}

async function probe(): Promise<AdapterFacts | null> {
  const adapter = await navigator.gpu?.requestAdapter();
  if (!adapter) return null;
  const { description, device, vendor, isFallbackAdapter } = adapter.info;
  (await adapter.requestDevice()).destroy();
  return {
    description: description || [vendor, device].filter(Boolean).join(" ") || "unnamed adapter",
    software: isFallbackAdapter,
  };
}

async function main(args: readonly string[]): Promise<number> {
  if (!args.includes("--install")) {
    console.log(JSON.stringify(await probe()));
    return 0;
  }
  prepareWebGpu();
  const adapter = await findOrInstallAdapter(console.log);
  console.log(`WebGPU: ${adapter ? describeAdapter(adapter) : "no adapter"}`);
  return adapter ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
