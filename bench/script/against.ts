// Times the rows of bench/script/main.ts in this state and another, in one process and in turns: `deno task bench against ENTRY --scripts`.
//
// The rows are bundled with each state's library, as a process imports a name but once. Ratios are those of the least times, of the
// tenths and of the medians, the other's by this one's: below 1 is slower than it was.

import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { capture } from "../../tools/command.ts";
import { NPM_ONLY_IMPORT_MAP } from "../../tools/jsr.ts";
import type { Device } from "../row.ts";
import type { Row } from "./main.ts";

/** Milliseconds of both states together: until their code is compiled, and then for samples. */
const WARM_MS = 1500, ROW_MS = 4500;
/** Microseconds of a sample. */
const SAMPLE_US = 1500;
/** Fewest samples, where calls are long. */
const FEWEST = 7;

/** The exports of a bundle. */
interface Bundle {
  readonly rowsOf: (device: Device) => readonly Row[];
  readonly setBackend: (device: Device) => Promise<boolean>;
}

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** The targets of an import map of a checkout, as paths where they are files. */
function importsOf(root: string): Map<string, string> {
  const map = join(root, NPM_ONLY_IMPORT_MAP);
  const { imports } = JSON.parse(Deno.readTextFileSync(map)) as { imports: object };
  return new Map(
    Object.entries(imports).map(([name, to]) => [
      name,
      to.startsWith(".") ? pathToFileURL(resolve(dirname(map), to)).href : to,
    ]),
  );
}

/** Bundles the rows of this state with the library of the checkout at `root`. */
async function bundled(root: string, folder: string): Promise<Bundle> {
  const imports = importsOf(ROOT), theirs = importsOf(root);
  for (const [name, to] of theirs) {
    if (name.startsWith("@weft/")) imports.set(name, to);
  }
  await Deno.mkdir(folder);
  // It looks for a file beside itself, and no row needs it.
  const stub = join(folder, "no_jpeg.ts");
  await Deno.writeTextFile(stub, "export const decode = null, encode = null;\n");
  imports.set("@cwasm/jpeg-turbo", pathToFileURL(stub).href);
  const map = join(folder, "import_map.json"), out = join(folder, "rows.js");
  await Deno.writeTextFile(map, JSON.stringify({ imports: Object.fromEntries(imports) }));
  const entry = join(folder, "entry.ts"), rows = new URL("main.ts", import.meta.url).href;
  await Deno.writeTextFile(
    entry,
    `export { rowsOf } from "${rows}";\nexport { setBackend } from "@weft/weft";\n`,
  );
  const args = ["bundle", "--quiet", "--no-lock", "--import-map", map, "--output", out, entry];
  const { code, stderr } = await capture(Deno.execPath(), args);
  if (code !== 0) throw new Error(`Cannot bundle the rows of "${root}": ${stderr}`);
  return await import(pathToFileURL(out).href);
}

/** Prints a line for each row. Returns an exit code. */
export async function compareScripts(
  entry: string,
  { device, only, otherFirst }: {
    readonly device: Device;
    readonly only: readonly string[];
    readonly otherFirst: boolean;
  },
): Promise<number> {
  const folder = await Deno.makeTempDir({ prefix: "weft_bench_" });
  try {
    const load = (root: string): Promise<Bundle> =>
      bundled(root, join(folder, root === ROOT ? "now" : "other"));
    const other = dirname(resolve(entry)), roots = otherFirst ? [other, ROOT] : [ROOT, other];
    const bundles: Bundle[] = [];
    for (const root of roots) bundles.push(await load(root));
    for (const bundle of bundles) await bundle.setBackend(device);
    const [first, second] = bundles.map((b) => b.rowsOf(device));
    for (const [i, { what }] of first.entries()) {
      if (only.length > 0 && !only.some((part) => what.includes(part))) continue;
      const pair = otherFirst ? [second[i], first[i]] : [first[i], second[i]];
      console.log(`${what.padEnd(62)}${await compared(pair).catch((e) => ` ${e.message}`)}`);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  return 0;
}

/** Times a row in both states: this one's first. */
async function compared(pair: readonly Row[]): Promise<string> {
  const made = pair.map((row) => row.make()), samples = pair.map((): number[] => []);
  const run = async (k: number, calls: number): Promise<number> => {
    const began = performance.now();
    for (let i = 0; i < calls; i++) {
      const result = made[k].call();
      if (result instanceof Promise) await result;
    }
    return 1000 * (performance.now() - began) / calls;
  };
  try {
    const each = [Infinity, Infinity];
    for (let began = performance.now(), i = 0; i < 4 || performance.now() - began < WARM_MS; i++) {
      for (const k of [0, 1]) each[k] = await run(k, Math.max(1, Math.ceil(SAMPLE_US / each[k])));
    }
    const calls = Math.max(1, Math.ceil(SAMPLE_US / Math.min(...each)));
    for (
      const began = performance.now();
      samples[0].length < FEWEST || performance.now() - began < ROW_MS;
    ) {
      for (const k of [0, 1]) samples[k].push(await run(k, calls));
    }
  } finally {
    for (const { free } of made) await free?.();
  }
  for (const list of samples) list.sort((a, b) => a - b);
  const at = (part: number): number[] => samples.map((l) => l[Math.floor(part * (l.length - 1))]);
  const ratio = (part: number): string => {
    const [now, was] = at(part);
    return (was / now).toFixed(2);
  };
  const [now, was] = at(0).map((t) => t.toFixed(1));
  return ` ${ratio(0)}, tenth ${ratio(0.1)}, median ${ratio(0.5)}  ${now} µs, was ${was}`;
}
