/**
 * `deno task protos`: writes src/tensorflow/proto/*_pb.ts from the .proto files beside them, with buf and
 * protoc-gen-es, which npx fetches. The first line of each says what it was made from; a test compares.
 *
 * @module
 */

import { enterRoot } from "./files.ts";

/** Where the .proto files and what is made of them stand. */
export const FOLDER = "src/tensorflow/proto";

const PACKAGES = ["@bufbuild/buf@1.75.0", "@bufbuild/protoc-gen-es@2.13.0"];

/** The .proto files by name, sorted. */
export function sources(): string[] {
  return [...Deno.readDirSync(FOLDER)].map((e) => e.name).filter((n) => n.endsWith(".proto"))
    .sort();
}

/** What the first line of a generated file says. Files import one another, so it speaks of all of them. */
export async function origin(): Promise<string> {
  const text = sources().map((name) => Deno.readTextFileSync(`${FOLDER}/${name}`)).join("\n");
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  const hex = Array.from(new Uint8Array(hash), (b) => b.toString(16).padStart(2, "0")).join("");
  return `// Written by \`deno task protos\` from .proto files of SHA-256 ${hex}.`;
}

async function main(): Promise<number> {
  enterRoot();
  const work = await Deno.makeTempDir();
  const template = {
    version: "v2",
    plugins: [{
      local: "protoc-gen-es",
      out: "out",
      opt: ["target=ts", "import_extension=ts"],
    }],
  };
  for (const name of sources()) await Deno.copyFile(`${FOLDER}/${name}`, `${work}/${name}`);
  await Deno.writeTextFile(`${work}/buf.gen.yaml`, JSON.stringify(template));
  await Deno.writeTextFile(`${work}/buf.yaml`, JSON.stringify({ version: "v2" }));
  // npx, since buf comes as a program for each system, of which Deno wants all and npm the one.
  const npx = ["--yes", ...PACKAGES.flatMap((p) => ["--package", p]), "buf", "generate"];
  const { success } = await new Deno.Command("npx", { args: npx, cwd: work }).spawn().status;
  if (!success) return 1;
  const first = await origin();
  for (const { name } of Deno.readDirSync(`${work}/out`)) {
    const text = await Deno.readTextFile(`${work}/out/${name}`);
    await Deno.writeTextFile(`${FOLDER}/${name}`, `${first}\n${text}`);
    console.log(`${FOLDER}/${name}`);
  }
  await Deno.remove(work, { recursive: true });
  return 0;
}

if (import.meta.main) Deno.exit(await main());
