/** Files of the package that pages load, and that these suffice: programs are bundled as pages are, weighed and run. */

import { assert, assertEquals } from "@std/assert";
import "@weft/weft";
import { registeredOps } from "../src/engine/core/op.ts";
import { capture } from "../tools/command.ts";
import { list, read } from "../tools/files.ts";
import { installPackage, PAGES, weigh, type Weight } from "../tools/package/weigh.ts";
import { putPackage } from "./built.ts";
import { HAS_WEBGPU } from "./devices.ts";
import { isOfTheDay } from "./effort.ts";
import { packedBytes } from "./packed.ts";

/** Limits of a page: KiB, compressed, at its start and in all, and the files loaded later. */
interface Limits {
  readonly first: number;
  readonly whole: number;
  readonly loads: readonly string[];
}

const PAGE: Readonly<Record<string, Limits>> = {
  add: { first: 34, whole: 86, loads: ["vectors"] },
  mlp: { first: 81, whole: 132, loads: ["vectors"] },
  mlp_webgpu: { first: 81, whole: 146, loads: ["adapter", "webgpu_device"] },
  ort: { first: 264, whole: 313, loads: ["vectors"] },
  ort_webgpu: { first: 264, whole: 346, loads: ["adapter", "webgpu_device", "window_kernels"] },
  all: {
    first: 120,
    whole: 207,
    loads: ["images", "selections", "spectra", "vectors", "windows"],
  },
};

let home = "";

Deno.test.beforeAll(async () => {
  home = await installPackage(putPackage);
});

Deno.test.afterAll(() => Deno.remove(home, { recursive: true }));

/** Tests of pages: half of them run on a day. Each bundles the library, which takes seconds. */
let count = 0;

function test(name: string, fn: () => Promise<void>, ignore = false): void {
  if (isOfTheDay(count++, 2)) Deno.test({ name, ignore, fn });
}

/** Runs the files of a page. Gives what it wrote, and the files it loaded later. */
async function runPage({ files, later }: Weight): Promise<{ wrote: string; loaded: string[] }> {
  const folder = await Deno.makeTempDir({ prefix: "weft_page_" });
  try {
    for (const [name, bytes] of files) {
      const note = later.has(name) ? `\nconsole.error("loaded ${name.split("-")[0]}");` : "";
      await Deno.writeTextFile(`${folder}/${name}`, new TextDecoder().decode(bytes) + note);
    }
    const args = ["run", "-A", "--no-config", "--no-prompt", `${folder}/page.js`];
    const { code, stdout, stderr } = await capture(Deno.execPath(), args, { timeoutMs: 600_000 });
    assertEquals(code, 0, stderr);
    const loaded = [...stderr.matchAll(/^loaded (\w+)$/gm)].map(([, name]) => name);
    return { wrote: stdout.trim(), loaded: loaded.sort() };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

for (const [name, { first, whole, loads }] of Object.entries(PAGE)) {
  const onGpu = name.endsWith("webgpu");
  test(
    `a page of "${name}" loads at most ${whole} KiB and runs${onGpu ? " [webgpu]" : ""}`,
    async () => {
      const { program, writes } = PAGES[name];
      const page = await weigh(program + (onGpu ? "\nDeno.exit(0);" : ""), home, {
        packed: packedBytes,
      });
      assertEquals(await runPage(page), { wrote: writes, loaded: loads });
      const all = page.whole(page.later.keys().filter((f) => loads.includes(f.split("-")[0])));
      assert(page.first() <= first * 1024, `${page.first()} bytes at the beginning`);
      assert(all <= whole * 1024, `${all} bytes`);
    },
    onGpu && !HAS_WEBGPU,
  );
}

test("a page begins with few files, and without what writes and runs kernels", async () => {
  const { begins, modules } = await weigh(PAGES.mlp.program, home);
  assert(begins.size <= 4, [...begins].join());
  const places = [...modules].filter(([, bytes]) => bytes > 0).map(([place]) => place);
  assert(places.some((place) => place.endsWith("/devices/cpu/heap.js")));
  const other =
    /\/devices\/cpu\/(engine|prepare|\w+_prepared|threads\/threads?|wasm\/(?!features)\w+)\.js$/;
  assertEquals(places.filter((place) => other.test(place)), []);
});

test("a page loads the kernels of its ops when a device is awaited, and computes the same before", async () => {
  const program = `import { argMax, conv2d, fill, setBackend, tidy } from "@weft/weft/eager";
    const compute = () => tidy(() => {
      const sums = conv2d(fill([1, 4, 4, 1], 1), fill([3, 3, 1, 2], 1), 1, "valid");
      return [...sums.dataSync(), argMax(sums).dataSync()[0]].join(" ");
    });
    const before = compute();
    await setBackend("cpu");
    console.log(before, before === compute());`;
  assertEquals(await runPage(await weigh(program, home)), {
    wrote: "9 9 9 9 9 9 9 9 0 true",
    loaded: ["selections", "vectors", "windows"],
  });
});

test("a page of the whole library shares tensors with eager code, and has ops that it only names", async () => {
  const program = `import * as eager from "@weft/weft/eager";
    import * as tf from "@weft/weft";
    console.log(eager.scalar(2).add(1) instanceof tf.Tensor);
    const graph = new tf.Graph(), node = [{ name: "x", op: "StringUpper", input: ["s"] }];
    const s = { name: "s", op: "Const", attr: { dtype: { type: "DT_STRING" },
      value: { tensor: { dtype: "DT_STRING", tensorShape: {}, stringVal: [btoa("abc")] } } } };
    graph.asDefault(() => tf.importGraphDef({ node: [s, ...node] }, { prefix: "" }));
    console.log(new TextDecoder().decode(await new tf.Session({ graph }).run("x:0")));`;
  assertEquals((await runPage(await weigh(program, home))).wrote, "true\nABC");
});

/** Names of the ops that a page of the package has. */
async function opsOf(program: string): Promise<string[]> {
  const page = `${program}
    import { registeredOps } from "./node_modules/@weft/weft/modules/src/engine/core/op.js";
    console.log(registeredOps().map(({ name }) => name).join());`;
  return (await runPage(await weigh(page, home))).wrote.split("\n").at(-1)!.split(",");
}

test("a page has all ops once it names something that makes graphs; those that only files have come with their readers", async () => {
  const all = registeredOps().map(({ name }) => name).sort();
  const few = new Set(
    await opsOf(`import { Graph } from "@weft/weft"; console.log(new Graph().version);`),
  );
  const texts = list("src/tensorflow/ops", ".ts").map(read).join();
  // Some names are made of parts there.
  const parts = /SparseDenseCwise|QuantizeAndDequantizeV|Grad$/;
  const ofFiles = (op: string): boolean =>
    texts.includes(`"${op}"`) || parts.test(op) && texts.includes(parts.exec(op)![0]);
  assertEquals(all.filter((op) => !few.has(op) && !ofFiles(op)), []);
  const whole = await opsOf(
    `import { importGraphDef } from "@weft/weft"; console.log(importGraphDef);`,
  );
  assertEquals(whole.sort(), all);
});

test("a page that names nothing of graphs has the ops that its modules look up, methods and texts", async () => {
  const program = `import { gather, grad, io, Session, sum, tensor, TensorArray } from "@weft/weft";
    const x = tensor([[1, 2], [3, 4]]), rows = new TensorArray("float32", 2);
    const picked = grad((x) => sum(gather(x, [1, 1])))(x);
    console.log(x.matMul(x).arraySync().join(), picked.arraySync().join(), String(x.slice([0, 1], [1, 1]).square()), x.variable().shape.join(), JSON.stringify(x));
    rows.write(0, x.slice([0], [1]));
    console.log(await x.eval().catch(({ message }) => message), typeof io, typeof Session);`;
  const page = await weigh(program, home);
  const names = new Set(await opsOf(program));
  const texts = [...page.files.values()].map((b) => new TextDecoder().decode(b)).join();
  // Printing in graphs looks up these two.
  const looked = [...lookedUp()].filter((op) =>
    texts.includes(`"${op}"`) && !["PrintV2", "StringFormat"].includes(op)
  );
  assert(looked.length > 20, looked.join());
  assertEquals(looked.filter((op) => !names.has(op)), []);
  for (const other of ["StatelessWhile", "StringUpper"]) assert(!names.has(other), other);
  const [first, second] = (await runPage(page)).wrote.split("\n");
  assertEquals(first, "7,10,15,22 0,0,2,2 Tensor(float32[1,1]) [[4]] 2,2 [[1,2],[3,4]]");
  assert(second.startsWith("Tensor.graph is undefined when eager"), second);
});

/** Names by which modules look up ops. */
function lookedUp(): Set<string> {
  const found = list("src/engine", ".ts").map(read).join("\n").matchAll(/\blookupOp\("(\w+)"\)/g);
  return new Set([...found].map(([, op]) => op));
}

test("a page gives graphs the methods, texts and loops that modules provide, whichever of their names it has", async () => {
  const program =
    `import { constant, function as compiled, mul, train, variable } from "@weft/weft";
    const w = variable(4), optimizer = train.accumulate(train.sgd(1), 2);
    const step = compiled(() => optimizer.minimize(() => mul(w, w), true));
    step();
    step();
    console.log(String(constant([1]).add(1)), w.item());`;
  assertEquals((await runPage(await weigh(program, home))).wrote, "Tensor(float32[1]) [2] -4");
});

test("a page of ./ort has every op that its rules and passes name", async () => {
  const { program } = PAGES.ort, has = new Set(await opsOf(program));
  const texts = [...(await weigh(program, home)).files.values()].map((b) =>
    new TextDecoder().decode(b)
  ).join();
  // Names of ONNX's ops, of effects, of an op that files of TensorFlow alone have, and of one that vmap() alone makes.
  const others = ["StringSplit", "StringFormat", "PrintV2", "FusedBatchNormV3", "_EachRow"];
  const named = registeredOps().map(({ name }) => name).filter((op) => texts.includes(`"${op}"`));
  assert(named.length > 100);
  assertEquals(named.filter((op) => !has.has(op) && !others.includes(op)), []);
});

test("a page that names little of the whole library writes GraphDefs, and values as texts and JSON", async () => {
  const program = `import { constant, Graph } from "@weft/weft";
    const graph = new Graph(), x = constant([1, 2]);
    graph.asDefault(() => constant(3).add(4).relu());
    console.log(graph.toGraphDef().node.map(({ op }) => op).join(), JSON.stringify(x), String(x.square()));`;
  assertEquals(
    (await runPage(await weigh(program, home))).wrote,
    "Const,Const,AddV2,Relu [1,2] Tensor(float32[2]) [1, 4]",
  );
});

test("a page that names sparse tensors has their ops, which files of graphs have too", async () => {
  const program = `import { sparse, SparseTensor } from "@weft/weft";
    const x = sparse.reorder(new SparseTensor([[1, 0], [0, 1]], [5, 7], [2, 2]));
    const sum = sparse.add(x, sparse.slice(x, [0, 0], [2, 2]));
    console.log(sparse.toDense(sum).dataSync().join(), sparse.reduceSum(x, 0).dataSync().join());`;
  assertEquals((await runPage(await weigh(program, home))).wrote, "0,14,10,0 5,7");
});
