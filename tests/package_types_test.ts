/** The package's declarations in the oldest TypeScript that knows them and in the newest, with its libraries checked: no `skipLibCheck`. */

import { assert, assertEquals } from "@std/assert";
import oldest from "npm:typescript@5.7.3";
import { capture } from "../tools/command.ts";
import { readConfig } from "../tools/files.ts";
import { packageFolder } from "../tools/npm.ts";
import { putPackage } from "./built.ts";

const NEWEST = "npm:typescript@7.0.2/tsc";

/** Every entry but those whose packages beside them have declarations that want `skipLibCheck`; `required` leaves out what only modules can have. */
function consumer(required: boolean): string {
  const entries = Object.keys(readConfig().exports).filter((name) =>
    !["./numpy", "./tfjs", ...(required ? ["./image"] : [])].includes(name)
  );
  return `
import * as tf from "@weft/weft";
import { createHandler } from "@weft/weft/serve";
${entries.map((name, i) => `import * as all${i} from "@weft/weft${name.slice(1)}";`).join("\n")}
export const all: object[] = [${entries.map((_, i) => `all${i}`)}];
const x: tf.Tensor = tf.tensor([[1, 2], [3, 4]]);
const f = tf.function((y: tf.Tensor) => tf.sum(tf.square(y)));
export const slope: tf.Tensor = tf.grad((y: tf.Tensor) => f(y) as tf.Tensor)(x);
export const device: object = tf.webgpuDevice();
// @ts-expect-error Models are needed.
createHandler({});
`;
}

/**
 * Modules and files that `require`, as Node tells them apart; and Node10, the default of CommonJS, which knows no exports of packages. There the
 * declarations are the same files, which are checked once.
 */
const SETTINGS = [
  ["Node16", "Node16", ["consumer.mts", "consumer.cts"], { skipLibCheck: false }],
  ["CommonJS", "Node10", ["consumer.cts"], { skipLibCheck: true }],
] as const;

/** TypeScript's libraries in Vite's templates, and the types of `using`. */
const LIBRARIES = ["es2022", "dom", "dom.iterable", "esnext.disposable"];

const home = await Deno.realPath(await Deno.makeTempDir({ prefix: "weft_types_" }));
Deno.test.beforeAll(async () => {
  await putPackage(`${home}/node_modules/@weft/weft`);
  await Deno.mkdir(`${home}/node_modules/@bufbuild`);
  await Deno.symlink(
    await packageFolder("@bufbuild/protobuf"),
    `${home}/node_modules/@bufbuild/protobuf`,
  );
  await Deno.writeTextFile(`${home}/consumer.mts`, consumer(false));
  await Deno.writeTextFile(`${home}/consumer.cts`, consumer(true));
});
Deno.test.afterAll(() => Deno.remove(home, { recursive: true }));

Deno.test("TypeScript 5.7 knows the types of all entries, without skipLibCheck and without types of WebGPU", () => {
  const checked = new Set<string>();
  for (const [module, resolution, files, { skipLibCheck }] of SETTINGS) {
    const program = oldest.createProgram(files.map((file) => `${home}/${file}`), {
      module: oldest.ModuleKind[module],
      moduleResolution: oldest.ModuleResolutionKind[resolution],
      target: oldest.ScriptTarget.ES2022,
      lib: LIBRARIES.map((name) => `lib.${name}.d.ts`),
      strict: true,
      noEmit: true,
      types: [],
      skipLibCheck,
    });
    const found = oldest.getPreEmitDiagnostics(program).map(({ file, messageText }) =>
      `${file?.fileName.slice(home.length)}: ${
        oldest.flattenDiagnosticMessageText(messageText, "\n")
      }`
    );
    assertEquals(found, [], resolution);
    const declared = program.getSourceFiles().map(({ fileName }) => fileName)
      .filter((name) => name.includes("/node_modules/"));
    assert(declared.length > 100, `${declared.length} files of declarations`);
    if (skipLibCheck) assertEquals(declared.filter((name) => !checked.has(name)), []);
    else for (const name of declared) checked.add(name);
  }
});

Deno.test("TypeScript 7 knows them in modules and in files that require", async () => {
  const [module, , files] = SETTINGS[0];
  await Deno.writeTextFile(
    `${home}/tsconfig.json`,
    JSON.stringify({
      compilerOptions: {
        module,
        target: "ES2022",
        lib: LIBRARIES,
        strict: true,
        exactOptionalPropertyTypes: true,
        noEmit: true,
        types: [],
      },
      files,
    }),
  );
  const flags = ["--quiet", "-A", "--no-config", "--node-modules-dir=none"];
  const { stdout } = await capture(
    Deno.execPath(),
    ["run", ...flags, NEWEST, "-p", `${home}/tsconfig.json`],
    { timeoutMs: 300_000 },
  );
  assertEquals(stdout, "");
});
