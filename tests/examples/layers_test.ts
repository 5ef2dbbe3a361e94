/** The example of TensorFlow.js's layers learns on both devices. */

import { assert, assertEquals } from "@std/assert";
import { capture } from "../../tools/command.ts";
import { npmFolder } from "../../tools/npm.ts";
import { fromFileUrl } from "../../tools/paths.ts";
import { read, ROOT } from "../../tools/files.ts";
import { DEVICES, HAS_WEBGPU } from "../devices.ts";

/** The example's import map with its flat module of layers from npm's package, where no net may be. */
async function writeImportMap(folder: string): Promise<string> {
  const { imports } = JSON.parse(read("examples/layers_import_map.json"));
  const [, file] = /tfjs-layers@4\.22\.0\/(.*)$/.exec(imports["@tensorflow/tfjs-layers"])!;
  await Deno.copyFile(
    new URL(file, await npmFolder("@tensorflow/tfjs-layers")),
    `${folder}/layers.js`,
  );
  const core = new URL(imports["@tensorflow/tfjs-core"], new URL("examples/", ROOT)).href;
  const map = {
    imports: { "@tensorflow/tfjs-core": core, "@tensorflow/tfjs-layers": "./layers.js" },
  };
  await Deno.writeTextFile(`${folder}/import_map.json`, JSON.stringify(map));
  return `${folder}/import_map.json`;
}

for (const device of DEVICES) {
  Deno.test({
    name: `the example of layers tells nearly all digits rightly [${device}]`,
    ignore: device === "webgpu" && !HAS_WEBGPU,
    async fn() {
      const folder = await Deno.makeTempDir({ prefix: "weft-layers-" });
      try {
        const map = await writeImportMap(folder);
        const program = fromFileUrl(new URL("examples/layers.ts", ROOT));
        const args = [
          "run",
          "-A",
          "--no-check",
          "--no-config",
          "--import-map",
          map,
          program,
          device,
        ];
        const { code, stdout, stderr } = await capture(Deno.execPath(), args, {
          timeoutMs: 600_000,
        });
        assertEquals(code, 0, stderr);
        const found = new RegExp(`^${device}: \\d+ epochs, (\\d+) of 500 digits right`).exec(
          stdout,
        );
        assert(Number(found?.[1]) > 450, stdout);
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    },
  });
}
