/** Permissions: every entry can be imported without any, and says what it lacks where it needs some. */

import { assertEquals } from "@std/assert";
import { capture } from "../tools/command.ts";

const ROOT = new URL("../", import.meta.url);
const MAP = new URL("tests/npm_only/import_map.json", ROOT).pathname;

async function run(program: string, flags: readonly string[] = []): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "weft_permissions_" });
  try {
    const path = `${folder}/program.ts`;
    await Deno.writeTextFile(path, program);
    const options = ["--no-prompt", "--no-check", "--no-lock", "-q", "--import-map", MAP, ...flags];
    const { code, stdout, stderr } = await capture(Deno.execPath(), ["run", ...options, path], {
      timeoutMs: 300_000,
    });
    assertEquals(code, 0, stderr);
    return stdout.trim();
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const attempt = `
  const attempt = async (name, work) => {
    try { await work(); console.log(name, "works"); } catch (e) { console.log(name, e.name); }
  };`;

Deno.test("entries need no permission to be imported, and computing needs none", async () => {
  const { exports } = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT)));
  const entries = Object.keys(exports).map((name) => `@weft/weft${name.slice(1)}`);
  const program = `${entries.map((name) => `import "${name}";`).join("\n")}
    import * as tf from "@weft/weft";
    import { decodeImage, encodeJpeg, encodePng } from "@weft/weft/image";
    ${attempt}
    const image = new tf.NdArray("uint8", [1, 1, 3], Uint8Array.of(1, 2, 3));
    await attempt("sum", () => tf.sum([1, 2]).data());
    await attempt("png", () => decodeImage(encodePng(image)));
    await attempt("jpeg", () => decodeImage(encodeJpeg(image)));
    const w = tf.variable([1]);
    await attempt("save", () => tf.io.saveVariables("/tmp/w.npz", { w }));
    await attempt("load", () => tf.io.loadVariables("/tmp/w.npz", { w }));`;
  assertEquals(
    await run(program),
    "sum works\npng works\njpeg PermissionDeniedError\nsave PermissionDeniedError\nload PermissionDeniedError",
  );
});

Deno.test("a save needs to read and write in the folder alone, and a load to read the file alone", async () => {
  const folder = await Deno.makeTempDir({ prefix: "weft_permissions_" });
  const program = `import * as tf from "@weft/weft"; ${attempt}
    const w = tf.variable([1]), path = "${folder}/w.npz";
    await attempt("save", () => tf.io.saveVariables(path, { w }));
    await attempt("load", () => tf.io.loadVariables(path, { w }));`;
  const both = [`--allow-write=${folder}`, `--allow-read=${folder}`];
  assertEquals(await run(program, both), "save works\nload works");
  const one = [`--allow-write=${folder}`, `--allow-read=${folder}/w.npz`];
  assertEquals(await run(program, one), "save PermissionDeniedError\nload works");
  assertEquals([...Deno.readDirSync(folder)].map((e) => e.name), ["w.npz"]);
  await Deno.remove(folder, { recursive: true });
});
