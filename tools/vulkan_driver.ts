/**
 * Installs Mesa's software Vulkan driver where that can be done without asking: on Debian and its
 * relatives, as root or with a `sudo` that wants no password. `WEFT_NO_INSTALL=1` forbids it.
 *
 * @module
 */

import { capture, run } from "./command.ts";
import { exists } from "./files.ts";

const PACKAGE = "mesa-vulkan-drivers";
const APT_TIMEOUT_MS = 300_000;

/**
 * Installs the driver.
 *
 * @param say Receives what is being done, a line at a time.
 * @returns Whether apt says that the driver is installed.
 */
export async function installVulkanDriver(say: (line: string) => void): Promise<boolean> {
  const reason = await whyNot();
  if (reason !== null) {
    say(`WebGPU: not installing ${PACKAGE}: ${reason}`);
    return false;
  }
  const install = ["install", "--yes", "--no-install-recommends", PACKAGE];
  say(`WebGPU: installing ${PACKAGE} with apt`);
  // A fresh container has no package lists: a first failure only means that they are missing.
  if (await apt(install, "quiet")) return true;
  if (await apt(["update"]) && await apt(install)) return true;
  say(`WebGPU: apt could not install ${PACKAGE}`);
  return false;
}

async function whyNot(): Promise<string | null> {
  if (Deno.env.get("WEFT_NO_INSTALL") === "1") return "WEFT_NO_INSTALL is set";
  if (Deno.build.os !== "linux" || !exists("/etc/debian_version")) {
    return "this is not Debian or a relative of it";
  }
  if (isRoot()) return null;
  const { code } = await capture("sudo", ["-n", "true"]);
  return code === 0 ? null : "that needs root or a sudo without a password";
}

async function apt(args: readonly string[], output?: "quiet"): Promise<boolean> {
  // `env` sets the variable on the far side of sudo, which would drop it.
  const command = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", ...args];
  const [program, ...rest] = isRoot() ? command : ["sudo", "-n", ...command];
  const start = output === "quiet" ? capture : run;
  const { code } = await start(program, rest, { timeoutMs: APT_TIMEOUT_MS });
  return code === 0;
}

function isRoot(): boolean {
  return Deno.uid() === 0;
}
