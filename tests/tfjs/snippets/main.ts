// Runs the snippets in the doc comments of TensorFlow.js's packages on Weft and on TensorFlow.js, and compares what they write.
//
//   deno run -A tools/run.ts tests/tfjs/snippets/main.ts [--grep PART] [--verbose]
//
// Where TensorFlow.js itself writes other numbers for another seed of Math.random(), any numbers do. Exit status 0 means that all
// others wrote the same, but for those in tests/tfjs/snippets/expected.json, each with its reason.

import { parseArgs } from "node:util";
import { stop } from "esbuild";
import { capture } from "../../../tools/command.ts";
import { npmFolder } from "../../../tools/npm.ts";
import { bundlePackages, theirCore, UNION } from "../../../tools/tfjs_packages.ts";
import { type Snippet, WRITTEN, type Written } from "./run.ts";

const CHILD = new URL("./run.ts", import.meta.url).pathname;
const EXPECTED = new URL("./expected.json", import.meta.url);
const PACKAGES = ["core", "layers", "data", "converter"];
/** Numbers may differ by what float32 rounds, and by what a text shows of it. */
const TOLERANCE = 1e-4;
/** Datasets whose order depends on the time. */
const SHUFFLED = /\.shuffle\(\d+\)/;

async function declarationFiles(folder: URL): Promise<URL[]> {
  const found: URL[] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) found.push(...await declarationFiles(new URL(`${name}/`, folder)));
    else if (name.endsWith(".d.ts") && !name.includes("_test.")) found.push(new URL(name, folder));
  }
  return found.sort((a, b) => a.href < b.href ? -1 : 1);
}

/** The snippets of all packages, each once. */
async function findSnippets(): Promise<Snippet[]> {
  const found = new Map<string, Snippet>();
  for (const name of PACKAGES) {
    const folder = new URL("dist/", await npmFolder(`@tensorflow/tfjs-${name}`));
    for (const url of await declarationFiles(folder)) {
      const text = await Deno.readTextFile(url);
      const blocks = [...text.matchAll(/\* ```(?:js|javascript)\s*\n([\s\S]*?)\* ```/g)];
      blocks.forEach(([, block], i) => {
        const code = block.replaceAll(/^[ \t]*\* ?/gm, "").replaceAll("*\\/", "*/");
        const file = url.href.slice(folder.href.length, -".d.ts".length);
        if (!found.has(code)) found.set(code, { name: `${name}/${file}#${i}`, code });
      });
    }
  }
  return [...found.values()];
}

async function runAll(union: string, list: string, seed: number): Promise<Written[]> {
  const args = ["run", "-A", "--no-check", "--location", "http://localhost/snippets", CHILD];
  const { code, stdout, stderr } = await capture(
    Deno.execPath(),
    [...args, union, list, String(seed)],
    { timeoutMs: 300_000 },
  );
  if (code !== 0) throw new Error(`Snippets ended with status ${code}: ${stderr.slice(-2000)}`);
  return stdout.split("\n").filter((line) => line.startsWith(WRITTEN))
    .map((line) => JSON.parse(line.slice(WRITTEN.length)));
}

/** Numbers and words of a text. */
function tokens(lines: readonly string[]): string[] {
  // TensorFlow.js ends some of its rows with a comma.
  const text = lines.join("\n").replaceAll(/,(?=\s*\])/g, "");
  return text.match(/-?\d+(\.\d+)?(e[-+]?\d+)?|[A-Za-z_]\w*|[^\s\w]/g) ?? [];
}

function sameToken(a: string, b: string): boolean {
  if (a === b) return true;
  const [x, y] = [Number(a), Number(b)];
  return Math.abs(x - y) <= TOLERANCE * Math.max(1, Math.abs(y));
}

/**
 * Returns the difference of Weft's text from TensorFlow.js's; null for none. A second run shows whether it is random.
 */
function difference(
  { code }: Snippet,
  [weft, theirs, again]: readonly [Written, Written, Written],
): string | null {
  if (theirs.error !== null) return null;
  if (weft.error !== null) return `it failed: ${weft.error}`;
  const [a, b, c] = [weft, theirs, again].map(({ lines }) => tokens(lines));
  const isRandom = SHUFFLED.test(code) || b.some((token, i) => token !== c[i]);
  const isNumber = (token: string) => /\d/.test(token);
  const words = (all: readonly string[]) => all.filter((t) => /^[A-Za-z]/.test(t)).join(" ");
  const isSame = isRandom && b.length !== a.length
    ? words(a) === words(b)
    : a.length === b.length &&
      b.every((t, i) => sameToken(a[i], t) || isRandom && isNumber(a[i]) && isNumber(t));
  return isSame
    ? null
    : `it wrote\n${weft.lines.join("\n")}\n-- and not\n${theirs.lines.join("\n")}`;
}

/** Runs the snippets whose names hold `grep`; true where all is as expected. */
export async function compareSnippets(
  { grep = "", verbose = false }: { grep?: string; verbose?: boolean } = {},
): Promise<boolean> {
  const snippets = (await findSnippets()).filter(({ name }) => name.includes(grep));
  const expected: Record<string, string> = JSON.parse(await Deno.readTextFile(EXPECTED));
  const folder = await Deno.makeTempDir({ prefix: "weft-snippets-" });
  const count = { same: 0, known: 0, failing: 0, wrong: 0 };
  try {
    const [ours, others, list] = ["weft.mjs", "theirs.mjs", "snippets.json"]
      .map((name) => `${folder}/${name}`);
    await Deno.writeTextFile(list, JSON.stringify(snippets));
    await bundlePackages(UNION, ours);
    await bundlePackages(UNION, others, { core: await theirCore() });
    const [seed, other] = [1234567, 4242424];
    const weft = await runAll(ours, list, seed), theirs = await runAll(others, list, seed);
    const again = await runAll(others, list, other);
    snippets.forEach(({ name, code }, i) => {
      const differs = difference(snippets[i], [weft[i], theirs[i], again[i]]);
      if (verbose) console.log(`== ${name}\n${code}\n-- wrote\n${weft[i].lines.join("\n")}`);
      const isKnown = name in expected;
      if (differs === null && isKnown) {
        count.wrong++;
        console.log(`SAME NOW ${name} (take it out of expected.json)`);
      } else if (differs === null) {
        if (theirs[i].error === null) count.same++;
        else count.failing++;
      } else if (isKnown) {
        count.known++;
      } else {
        count.wrong++;
        console.log(`FAILED ${name}: ${differs.slice(0, 1500)}`);
      }
    });
  } finally {
    await stop();
    await Deno.remove(folder, { recursive: true });
  }
  console.log(
    `${snippets.length} snippets: ${count.same} the same, ${count.known} differ for a known reason, ` +
      `${count.failing} fail in TensorFlow.js as well, ${count.wrong} unexpected`,
  );
  return count.wrong === 0;
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      grep: { type: "string", default: "" },
      verbose: { type: "boolean", default: false },
    },
  });
  Deno.exit(await compareSnippets(values) ? 0 : 1);
}
