// Runs the programs of tensorflow/tfjs-examples on Weft and on TensorFlow.js, and compares their first steps.
//
//   deno run -A tools/run.ts tests/tfjs/examples/main.ts --from DIR [--only a,b] [--where cpu|webgpu|browser]
//
// --from is a checkout of the repository; without it, it is cloned into the system's cache folder. Nothing of it is kept here: its
// files are bundled as they are (drivers may ask for fewer steps), with Weft in the place of @tensorflow/tfjs-core. Data are made.
// Exit status 0 means that each example which has a driver ran, that its loss was finite and fell, and that its first loss and its
// results were TensorFlow.js's.

import { parseArgs } from "node:util";
import { stop } from "esbuild";
import { capture } from "../../../tools/command.ts";
import { exists } from "../../../tools/files.ts";
import { findChromium } from "../../../tools/browser.ts";
import { bundlePackages, type CoreFor, theirCore, UNION } from "../../../tools/tfjs_packages.ts";
import { bundleExample } from "./bundle.ts";
import { DRIVERS, NOT_RUN } from "./drivers/mod.ts";
import { libraryFiles, runInBrowser } from "./in_browser.ts";
import { TOLD } from "./run.ts";
import type { Told } from "./stage.ts";
import type { Driver } from "./types.ts";

const CHILD = new URL("./run.ts", import.meta.url).pathname;
const REPOSITORY = "https://github.com/tensorflow/tfjs-examples";
/** Allowed difference of float32 sums in another order after a few steps. */
const TOLERANCE = 2e-4;
const TOLERANCE_OF_GPU = 2e-3;
const TIMEOUT_MS = 180_000;
/** Maximum length of a printed error. */
const MAX_TEXT = 1500;

async function checkout(from: string): Promise<string> {
  if (from !== "") return await Deno.realPath(from);
  const cache = Deno.env.get("XDG_CACHE_HOME") ?? `${Deno.env.get("HOME") ?? "/tmp"}/.cache`;
  const folder = `${cache}/weft/tfjs-examples`;
  if (!exists(folder)) {
    const { code, stderr } = await capture("git", ["clone", "--depth=1", REPOSITORY, folder]);
    if (code !== 0) throw new Error(`Cannot clone ${REPOSITORY}: ${stderr.trim()}`);
  }
  return folder;
}

async function runInDeno(
  union: string,
  bundle: string,
  page: string,
  device: string,
): Promise<Told> {
  const args = ["run", "-A", "--no-check", "--location", "http://localhost/", CHILD];
  const { code, stdout, stderr } = await capture(
    Deno.execPath(),
    [...args, union, bundle, page, device],
    { timeoutMs: TIMEOUT_MS },
  );
  const line = stdout.split("\n").find((line) => line.startsWith(TOLD));
  if (code === 0 && line !== undefined) return JSON.parse(line.slice(TOLD.length));
  throw new Error(`it ended with status ${code}: ${stderr.trim() || stdout.trim()}`);
}

const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;

/** Returns the fault of a run; null for none. */
function complaint(weft: Told, theirs: Told | null, where: string): string | null {
  const tolerance = where === "cpu" ? TOLERANCE : TOLERANCE_OF_GPU;
  const { losses, values, steps } = weft;
  if (losses.length === 0 && values.length === 0) return "it computed nothing";
  if (![...losses, ...values].every(Number.isFinite)) return "it has numbers that are not finite";
  const third = Math.ceil(losses.length / 3);
  if (losses.length > 1 && !(mean(losses.slice(-third)) < mean(losses.slice(0, third)))) {
    return `its loss did not fall in ${steps} steps: ${losses}`;
  }
  if (theirs === null) return null;
  const differs = (a: number, b: number) => Math.abs(a - b) > tolerance * Math.max(1, Math.abs(b));
  if (losses.length > 0 && differs(losses[0], theirs.losses[0])) {
    return `its first loss is ${losses[0]}, TensorFlow.js's ${theirs.losses[0]}`;
  }
  const at = Array.from(theirs.values).findIndex((v, i) =>
    !(i < values.length) || differs(values[i], v)
  );
  return at < 0 ? null : `its result ${at} is ${values[at]}, TensorFlow.js's ${theirs.values[at]}`;
}

/** Runs an example's bundle on Weft. */
type Runner = (name: string, driver: Driver) => Promise<Told>;

interface Places {
  readonly examples: string;
  readonly folder: string;
}

async function htmlOf(examples: string, name: string): Promise<string> {
  const path = `${examples}/${name}/index.html`;
  return exists(path) ? await Deno.readTextFile(path) : "<html><body></body></html>";
}

async function bundled(
  { examples, folder }: Places,
  name: string,
  platform: "node" | "browser",
): Promise<string> {
  const outfile = `${folder}/${name}.${platform}.mjs`;
  if (!exists(outfile)) {
    await bundleExample({ examples, name, driver: DRIVERS[name], outfile, platform });
  }
  return outfile;
}

/** Runs examples in Deno, on one of a library's devices. */
async function inDeno(
  places: Places,
  { core, device }: { core?: CoreFor; device: string },
): Promise<Runner> {
  const union = `${places.folder}/${core === undefined ? "weft" : "theirs"}.mjs`;
  await bundlePackages(UNION, union, core === undefined ? {} : { core });
  return async (name) => {
    const bundle = await bundled(places, name, "node");
    return runInDeno(union, bundle, `${places.examples}/${name}/index.html`, device);
  };
}

/** Runs examples in Chromium, on its GPU. */
async function inChromium(places: Places): Promise<Runner> {
  const chromium = await findChromium();
  if (chromium === null) throw new Error("Cannot run examples in a browser: there is no Chromium");
  const libraries = await libraryFiles();
  return async (name) => {
    const bundle = await bundled(places, name, "browser");
    return runInBrowser(chromium, libraries, { bundle, html: await htmlOf(places.examples, name) });
  };
}

async function runAll(
  places: Places,
  { where, only }: { where: string; only: string },
): Promise<number> {
  const isAsked = ([name, { inBrowser }]: [string, Driver]) =>
    (only === "" || only.split(",").includes(name)) && (where !== "browser" || inBrowser === true);
  const runWeft = where === "browser"
    ? await inChromium(places)
    : await inDeno(places, { device: where });
  const runTheirs = await inDeno(places, { core: await theirCore(), device: "cpu" });
  let failed = 0;
  const asked = Object.entries(DRIVERS).filter(isAsked);
  for (const [name, driver] of asked) {
    try {
      const weft = await runWeft(name, driver);
      const wrong = complaint(weft, driver.isSeeded ? await runTheirs(name, driver) : null, where);
      if (wrong !== null) throw new Error(wrong);
      console.log(`ok     ${name}: ${told(weft)}`);
    } catch (error) {
      failed++;
      const text = error instanceof Error ? error.message : String(error);
      console.log(`FAILED ${name}: ${text.slice(-MAX_TEXT)}`);
    }
  }
  if (only === "") {
    for (const [name, reason] of Object.entries(NOT_RUN)) console.log(`not run ${name}: ${reason}`);
  }
  console.log(`${asked.length - failed} ran, ${failed} failed`);
  return failed;
}

async function main(): Promise<number> {
  const { values: options } = parseArgs({
    options: {
      from: { type: "string", default: "" },
      only: { type: "string", default: "" },
      where: { type: "string", default: "cpu" },
    },
  });
  const examples = await checkout(options.from);
  const folder = await Deno.makeTempDir({ prefix: "weft-examples-" });
  try {
    return await runAll({ examples, folder }, options) === 0 ? 0 : 1;
  } finally {
    await stop();
    await Deno.remove(folder, { recursive: true });
  }
}

function told({ losses, steps, values, backend }: Told): string {
  const short = (x: number) => Number(x.toPrecision(4));
  const parts = [backend];
  if (steps > 0) parts.push(`${steps} steps`);
  if (losses.length > 0) parts.push(`loss ${short(losses[0])} to ${short(losses.at(-1)!)}`);
  if (Object.keys(values).length > 0) parts.push(`${Object.keys(values).length} results`);
  return parts.join(", ");
}

if (import.meta.main) Deno.exit(await main());
