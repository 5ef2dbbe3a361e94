/** Output of `console.log`, `JSON.stringify` and pictures. */
// Runs alone: its snapshots lie beside it.
import * as tf from "@weft/weft";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { assertSnapshot } from "@std/testing/snapshot";
import { build, stop } from "esbuild";
import { fromFileUrl } from "../../tools/paths.ts";
import { testOnDevices, testOnGpu } from "../devices.ts";

const SYMBOLS = [Symbol.for("Deno.customInspect"), Symbol.for("nodejs.util.inspect.custom")];

function graph(): tf.Graph {
  const g = new tf.Graph();
  g.asDefault(() => {
    const x = tf.placeholder("float32", [2, 2], "x");
    const y = tf.matMul(x, x);
    const z = tf.numpyFunction(
      function sharpen(a: tf.NdArray) {
        return a;
      },
      [y],
      tf.TensorSpec([2, 2], "float32"),
      { name: "py" },
    );
    tf.controlDependencies([y], () => tf.neg(z));
  });
  return g;
}

const SHOWN: readonly (readonly [string, () => unknown, string])[] = [
  ["an array", () => new tf.NdArray("int32", [2], Int32Array.of(1, 2)), "NdArray(int32[2]) [1, 2]"],
  [
    "an operation",
    () => graph().getOperationByName("MatMul"),
    "<tf.Operation 'MatMul' type=MatMul>\n  inputs: x:0, x:0\n  outputs: MatMul:0 float32[2,2]",
  ],
  [
    "a symbolic tensor",
    () => graph().getTensorByName("x:0"),
    "<tf.Tensor 'x:0' float32[2,2]>",
  ],
  [
    "a function",
    () =>
      tf.function(function twice(x: tf.Tensor) {
        return tf.add(x, x);
      }, { name: "twice" }),
    "<tf.function twice: 0 traces>",
  ],
];

for (const [what, make, text] of SHOWN) {
  Deno.test(`console.log() of ${what} is short`, () => {
    const x = make() as Record<symbol, () => string>;
    for (const symbol of SYMBOLS) assertEquals(x[symbol](), text);
    assertEquals(Deno.inspect(x), text);
  });
}

Deno.test("console.log() of graphs and sessions says what is in them", () => {
  const g = graph();
  const text = `<tf.Graph ${g.key}: 4 operations: MatMul, Neg, Placeholder, PyFunc>`;
  assertEquals(Deno.inspect(g), text);
  assertEquals(Deno.inspect(new tf.Session({ graph: g })), `<tf.Session of ${text}>`);
});

Deno.test("console.log() of tensors and variables of the host shows values, cut where they are many", () => {
  tf.tidy(() =>
    tf.device("/CPU:0", () => {
      assertEquals(Deno.inspect(tf.tensor1d([1, 2])), "Tensor(float32[2]) [1, 2]");
      const many = Deno.inspect(tf.zeros([1000]));
      assert(many.length < 100 && many.includes("..."), many);
      const v = tf.variable(tf.scalar(3), true, "shown");
      const shown = "<tf.Variable 'shown' float32[]> 3";
      assertEquals([Deno.inspect(v), v.toString(), `${v}`], [shown, shown, shown]);
      v.dispose();
      const gone = tf.scalar(1);
      gone.dispose();
      assertEquals(Deno.inspect(gone), "Tensor(float32[]) disposed");
    })
  );
});

testOnGpu("console.log() of a tensor on a GPU reads nothing back", () => {
  tf.tidy(() => assertStringIncludes(Deno.inspect(tf.add(tf.zeros([2]), 1)), "on /device:GPU:0"));
});

testOnDevices("JSON.stringify() writes values", () => {
  tf.tidy(() => {
    const value = { a: tf.tensor2d([[1, 2], [3, 4]]), s: tf.scalar(5), t: tf.tensor1d(["x", "y"]) };
    assertEquals(JSON.stringify(value), '{"a":[[1,2],[3,4]],"s":5,"t":["x","y"]}');
    assertEquals(JSON.stringify(tf.cast(value.a, "int64").ndarraySync()), '[["1","2"],["3","4"]]');
  });
});

Deno.test("summary() is a line a node, with the functions of scripts", () => {
  assertEquals(tf.summary(graph()).split("\n"), [
    "name    op                results       inputs",
    "x       Placeholder       float32[2,2]",
    "MatMul  MatMul            float32[2,2]  x, x",
    "py      PyFunc sharpen()  float32[2,2]  MatMul",
    "Neg     Neg               float32[2,2]  py, ^MatMul",
  ]);
});

testOnDevices("toDot() and toSvg() mark devices, scripts and readbacks", (device) => {
  const dot = tf.toDot(graph()), svg = tf.toSvg(graph());
  assertStringIncludes(dot, '"py" [label="sharpen()\\npy", fillcolor="#fde68a"]');
  assertStringIncludes(dot, '"MatMul" -> "Neg" [style=dashed]');
  assertStringIncludes(svg, "sharpen()");
  assertEquals(svg.match(/<rect /g)?.length, 4);
  // Small matrices stay on the host, which the picture says as a run would.
  const big = new tf.Graph();
  big.asDefault(() => {
    const x = tf.device(
      device === "webgpu" ? "/GPU:0" : "/CPU:0",
      () => tf.matMul(tf.ones([64, 64]), tf.ones([64, 64])),
    );
    tf.numpyFunction((a: tf.NdArray) => a, [x], "float32", { name: "py" });
  });
  const reads = device === "webgpu";
  assertEquals(tf.toDot(big).includes('label="read"'), reads);
  assertEquals(tf.toSvg(big).includes('class="readback"'), reads);
  assertEquals(tf.toSvg(big).includes('class="gpu"'), reads);
});

Deno.test("toSvg() writes names as text, of functions too, and boxes that do not lie on each other", () => {
  const g = new tf.Graph();
  g.asDefault(() => {
    const x = tf.placeholder("float32", [], "a>b");
    for (let i = 0; i < 5; i++) tf.neg(x);
  });
  const svg = tf.toSvg(g);
  assertStringIncludes(svg, "a&gt;b");
  const places = [...svg.matchAll(/<rect x="(\d+)" y="(\d+)"/g)].map((m) => `${m[1]},${m[2]}`);
  assertEquals(new Set(places).size, 6);
  const f = tf.function((x: tf.Tensor) => tf.neg(x), {
    inputSignature: [tf.TensorSpec([2], "float32")],
  });
  assertStringIncludes(tf.toDot(f), "Neg");
  assertThrows(
    () => tf.toSvg(3 as unknown as tf.Graph),
    TypeError,
    "Argument 'graph' passed to 'toSvg' must be",
  );
  assertThrows(() => tf.toDot(g, { feed: [] } as never), TypeError);
});

Deno.test("pictures of a graph are drawn as in their snapshots", async (t) => {
  await tf.setBackend("cpu");
  await assertSnapshot(t, tf.toDot(graph()));
  await assertSnapshot(t, tf.toSvg(graph()).replaceAll("><", ">\n<"));
});

type Shown = Readonly<Record<string, string>>;

/** Returns a notebook's display of a value. */
async function inNotebook(x: unknown): Promise<Shown> {
  return await (x as Record<symbol, () => Shown>)[Symbol.for("Jupyter.display")]();
}

Deno.test("notebooks show graphs and sessions as pictures", async () => {
  const g = graph(), session = new tf.Session({ graph: g });
  const picture = { "image/svg+xml": tf.toSvg(g) };
  assertEquals(await inNotebook(g), { "text/plain": Deno.inspect(g), ...picture });
  assertEquals(await inNotebook(session), { "text/plain": Deno.inspect(session), ...picture });
});

testOnDevices(
  "notebooks show matrices as tables, what is shaped like an image as one",
  async () => {
    const { "text/plain": text, "text/html": html } = await inNotebook(
      tf.tensor([[1, 2], [3, 4.5]]),
    );
    assertEquals(text, `Tensor(float32[2,2]) [[1, 2  ],\n${" ".repeat(22)}[3, 4.5]]`);
    assertEquals(html.replace(/<caption>.*<\/caption>/, "").replace(/<[^>]+>/g, " ").split(/ +/), [
      ...["", "1", "2", "3", "4.5", ""],
    ]);
    const long = (await inNotebook(tf.range(0, 100)))["text/html"];
    assertEquals([...long.matchAll(/<td>/g)].length, 13);
    assertStringIncludes(long, "<td>…</td><td>94</td>");
    const name = await inNotebook(tf.tensor(["<b>"]).ndarraySync());
    assertStringIncludes(name["text/html"], "&lt;b&gt;");
    assertEquals(Object.keys(await inNotebook(tf.scalar(1))), ["text/plain"]);
    assertEquals(Object.keys(await inNotebook(tf.zeros([0, 3]))), ["text/plain"]);
    assertEquals(Object.keys(await inNotebook(tf.zeros([4, 4, 3]))), ["text/plain"]);
    const image = tf.reshape(tf.linspace(0, 1, 8 * 9 * 3), [8, 9, 3]);
    const png = Uint8Array.from(
      atob((await inNotebook(image))["image/png"]),
      (c) => c.charCodeAt(0),
    );
    const back = tf.io.decodePng(png);
    assertEquals(back.shape, [8, 9, 3]);
    assertEquals(await back.array(), await tf.round(tf.mul(image, 255)).array());
    const v = tf.variable([1, 2]);
    assertStringIncludes((await inNotebook(v))["text/html"], "<td>2</td>");
    v.dispose();
  },
);

testOnDevices("pictures of sessions show what is joined, and what is read back", (device) => {
  const g = new tf.Graph();
  const session = new tf.Session({ graph: g });
  g.asDefault(() => {
    const x = tf.placeholder("float32", [64, 64], "x");
    const y = tf.device(
      device === "webgpu" ? "/GPU:0" : "/CPU:0",
      () => tf.tanh(tf.add(tf.matMul(x, x), 1)),
    );
    tf.numpyFunction(
      function sharpen(a: tf.NdArray) {
        return a;
      },
      [y],
      tf.TensorSpec([64, 64], "float32"),
    );
  });
  const svg = tf.toSvg(g, { session });
  assertStringIncludes(svg, "joined MatMul·");
  assertStringIncludes(svg, "sharpen()");
  assertEquals(svg.includes('class="readback"'), device === "webgpu");
  // What is fed takes the place of what leads to it.
  const fed = tf.toSvg(g, {
    session,
    feeds: [g.operations.find((op) => op.type === "Tanh")!.outputs[0]],
  });
  assertEquals(fed.includes("MatMul"), false);
  assertStringIncludes(fed, "sharpen()");
  assertThrows(() => tf.toSvg(new tf.Graph(), { session }), tf.ValueError, "another graph");
});

testOnDevices("template literals write what the console shows, and read nothing", async () => {
  const g = graph(), t = tf.tensor([[1, 2], [3, 4]]);
  using v = tf.variable([1, 2]);
  const disposed = tf.zeros([2]);
  disposed.dispose();
  const things = [
    ...[t, tf.zeros([100, 100]), tf.scalar(3), tf.tensor(["a"]), disposed, v],
    ...[g, new tf.Session({ graph: g }), g.getOperationByName("MatMul"), g.getTensorByName("x:0")],
    ...[tf.data.range(3).batch(2), tf.gather(t, [0])],
  ];
  const counts = await tf.profile(() =>
    things.forEach((x) => assertEquals(`${x}`, Deno.inspect(x)))
  );
  assertEquals(counts.readbacks, 0);
  assertThrows(() => +(t as unknown as number), tf.errors.OperatorNotAllowedInGraphError);
});

Deno.test("JSON.stringify() of what has no values is its text", () => {
  const g = graph();
  for (
    const x of [
      g,
      new tf.Session({ graph: g }),
      g.getOperationByName("Neg"),
      g.getTensorByName("x:0"),
      tf.data.range(3),
    ]
  ) assertEquals(JSON.parse(JSON.stringify({ x })), { x: `${x}` });
});

Deno.test("minified builds show the same", async () => {
  const program = `import * as tf from "@weft/weft";
const show = (x) => x[Symbol.for("nodejs.util.inspect.custom")]();
const g = new tf.Graph();
const op = g.asDefault(() => tf.neg(tf.placeholder("float32", [2], "x"))).operation;
export const texts = [tf.tensor([1, 2]), tf.variable([3], true, "v"), new tf.NdArray("int32", [1], [7]), op, g,
  new tf.Session({ graph: g }), tf.data.range(0, 3), tf.function((x) => x, { name: "f" }),
].map(show).concat(JSON.stringify(tf.tensor([[1], [2]])));`;
  const root = new URL("../../", import.meta.url);
  const texts = async (minify: boolean): Promise<string[]> => {
    const { outputFiles } = await build({
      stdin: { contents: program, resolveDir: fromFileUrl(root) },
      alias: { "@weft/weft": fromFileUrl(new URL("mod.ts", root)) },
      bundle: true,
      format: "esm",
      write: false,
      minify,
    });
    const url = URL.createObjectURL(
      new Blob([outputFiles[0].text], { type: "text/javascript" }),
    );
    const { texts } = await import(url);
    URL.revokeObjectURL(url);
    return texts;
  };
  try {
    const plain = await texts(false);
    assertEquals(plain.length, 9);
    assert(plain.every((text) => !text.includes("[object")), plain.join("\n"));
    assertEquals(await texts(true), plain);
  } finally {
    await stop();
  }
});

Deno.test("console.log() of a dataset is its text", () => {
  const d = tf.data.range(0, 3);
  assertEquals(Deno.inspect(d), String(d));
});

Deno.test("summary(), toDot() and toSvg() show the trace of a function's last call", () => {
  const f = tf.function((x: tf.Tensor, scale: number) => tf.mul(tf.neg(x), scale));
  const uncalled = tf.function((x: tf.Tensor, scale: number) => tf.mul(x, scale));
  assertThrows(() => tf.summary(uncalled), TypeError, "it wants 2 arguments; call it, or give");
  assertThrows(() => uncalled.getConcreteFunction(), TypeError, "Cannot trace __inference_");
  f(tf.ones([2]), 1);
  f(tf.ones([3]), 1);
  assertStringIncludes(tf.summary(f), "Neg    Neg          float32[3]");
  f(tf.ones([2]), 1);
  assertStringIncludes(tf.summary(f), "Neg    Neg          float32[2]");
  assertStringIncludes(tf.toDot(f), "Neg");
  assertStringIncludes(tf.toSvg(f), "Neg");
  assertEquals(f.traceCount, 2);
  const optional = tf.function((x?: tf.Tensor) => tf.neg(x ?? tf.ones([4])));
  assertStringIncludes(tf.summary(optional), "float32[4]");
  assertEquals(f.graph, f.getConcreteFunction(tf.TensorSpec([2]), 1).graph);
  assertThrows(() => tf.summary(tf.ones([2]) as never), TypeError, "a tf.Graph or a tf.function");
  assertThrows(() => tf.toSvg(null as never), TypeError, "but got null");
});
