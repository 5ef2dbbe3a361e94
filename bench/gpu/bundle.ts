// Writes the measuring program as one file with its peers within, for machines that have Deno and a GPU but no network.

import { run } from "../../tools/command.ts";
import { IMPORT_MAP, ROOT } from "../../tools/files.ts";

/** The union package, as bench/peers/tfjs.ts loads it where nothing is bundled. */
const UNION_PACKAGE = "npm:@tensorflow/tfjs@4.22.0";

/** Writes the file. Resolves to the exit code of the bundler. */
export async function bundle(path: string): Promise<number> {
  const folder = await Deno.makeTempDir({ prefix: "weft_gpu_" });
  const measure = new URL("./measure.ts", import.meta.url).href;
  const map = new URL(IMPORT_MAP, ROOT).pathname;
  try {
    await Deno.writeTextFile(
      `${folder}/entry.ts`,
      `import * as tfjs from "${UNION_PACKAGE}";
import { main } from "${measure}";
Deno.exit(await main(Deno.args, { tfjs: () => Promise.resolve(tfjs) }));
`,
    );
    const args = ["bundle", "--quiet", "--platform", "deno", "--import-map", map, "-o", path];
    return (await run(Deno.execPath(), [...args, `${folder}/entry.ts`])).code;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
