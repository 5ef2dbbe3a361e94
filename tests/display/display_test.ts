/** What `console.log`, `JSON.stringify` and pictures show. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
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
      assertEquals(Deno.inspect(v), "<tf.Variable 'shown' float32[]> 3");
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
  assertThrows(() => tf.toSvg(3 as unknown as tf.Graph), TypeError, "received number");
  assertThrows(() => tf.toDot(g, { feed: [] } as never), TypeError);
});

Deno.test("notebooks show a graph as its picture", () => {
  const g = graph();
  const shown = (g as unknown as Record<symbol, () => Record<string, string>>)[
    Symbol.for("Jupyter.display")
  ]();
  assertEquals(shown, { "text/plain": Deno.inspect(g), "image/svg+xml": tf.toSvg(g) });
});

Deno.test("console.log() of a dataset is its text", () => {
  const d = tf.data.range(0, 3);
  assertEquals(Deno.inspect(d), String(d));
});
