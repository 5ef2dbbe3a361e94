/**
 * `deno task protos`: writes *_pb.ts from the .proto files beside them, with buf and protoc-gen-es, which npx fetches.
 * The first line of each says what it was made from; a test compares.
 *
 * @module
 */

import { runTask } from "./dev/help.ts";
import { enterRoot } from "./files.ts";

/** Where .proto files and what is made of them stand. Those of one folder may import one another. */
export const FOLDERS: readonly string[] = ["src/tensorflow/proto", "src/onnx/proto"];

const PACKAGES = ["@bufbuild/buf@1.75.0", "@bufbuild/protoc-gen-es@2.13.0"];

/** The .proto files of a folder by name, sorted. */
export function sources(folder: string): string[] {
  return [...Deno.readDirSync(folder)].map((e) => e.name).filter((n) => n.endsWith(".proto"))
    .sort();
}

/** Returns the first line of a folder's generated files. They import one another, so it describes all of them. */
export async function origin(folder: string): Promise<string> {
  const text = sources(folder).map((name) => Deno.readTextFileSync(`${folder}/${name}`)).join("\n");
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  const hex = Array.from(new Uint8Array(hash), (b) => b.toString(16).padStart(2, "0")).join("");
  return `// Written by \`deno task protos\` from .proto files of SHA-256 ${hex}.`;
}

async function generate(folder: string): Promise<boolean> {
  const work = await Deno.makeTempDir();
  const template = {
    version: "v2",
    plugins: [{
      local: "protoc-gen-es",
      out: "out",
      opt: ["target=ts", "import_extension=ts"],
    }],
  };
  for (const name of sources(folder)) await Deno.copyFile(`${folder}/${name}`, `${work}/${name}`);
  await Deno.writeTextFile(`${work}/buf.gen.yaml`, JSON.stringify(template));
  await Deno.writeTextFile(`${work}/buf.yaml`, JSON.stringify({ version: "v2" }));
  // npx, since buf comes as a program for each system, of which Deno wants all and npm the one.
  const npx = ["--yes", ...PACKAGES.flatMap((p) => ["--package", p]), "buf", "generate"];
  const { success } = await new Deno.Command("npx", { args: npx, cwd: work }).spawn().status;
  if (!success) return false;
  const first = await origin(folder);
  for (const { name } of Deno.readDirSync(`${work}/out`)) {
    const text = await Deno.readTextFile(`${work}/out/${name}`);
    await Deno.writeTextFile(`${folder}/${name}`, `${first}\n${text}`);
    console.log(`${folder}/${name}`);
  }
  await Deno.remove(work, { recursive: true });
  return true;
}

async function main(): Promise<number> {
  enterRoot();
  for (const folder of FOLDERS) if (!await generate(folder)) return 1;
  return 0;
}

if (import.meta.main) await runTask(import.meta.url, main);
