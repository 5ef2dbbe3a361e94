/** Graph building: names, scopes, lookups, control dependencies, devices, finalize. */
import { sealArray } from "../../src/engine/core/nd_array.ts";
import * as tf from "@weft/weft";
import { assert, assertEquals, assertThrows } from "@std/assert";

function inGraph<T>(fn: (g: tf.Graph) => T): T {
  const g = new tf.Graph();
  return g.asDefault(() => fn(g));
}
const ph = (name?: string): tf.Tensor => tf.placeholder("float32", [], name);

Deno.test("Graph names operations uniquely, whatever the case of their letters", () => {
  inGraph(() => {
    const names = ["x", "X", "x", "x_1", "y"].map((n) => ph(n).op.name);
    assertEquals(names, ["x", "X_1", "x_2", "x_1_1", "y"]);
  });
});

Deno.test("Graph refuses names that are not valid at the root", () => {
  inGraph(() => {
    for (const bad of ["foo bar", "_x", "a:0"]) {
      assertThrows(() => ph(bad), tf.ValueError, `'${bad}' is not a valid root scope name`);
    }
  });
});

Deno.test("nameScope() prefixes, makes itself unique, is re-entered by a final slash and reset by null", () => {
  inGraph(() => {
    tf.nameScope("a", (scope) => {
      assertEquals(scope, "a/");
      assertEquals(ph("x").op.name, "a/x");
      tf.nameScope("b", () => assertEquals(ph("x").op.name, "a/b/x"));
      tf.nameScope(null, () => assertEquals(ph("x").op.name, "x"));
    });
    tf.nameScope("a", () => assertEquals(ph("x").op.name, "a_1/x"));
    tf.nameScope("a/", () => assertEquals(ph("y").op.name, "a/y"));
  });
});

Deno.test("Graph lookups name what is wrong", () => {
  inGraph((g) => {
    const a = ph("a");
    assertEquals(g.getTensorByName("a:0") === a, true);
    assertEquals(g.getOperationByName("a") === a.op, true);
    const cases: [() => unknown, new (...args: never[]) => Error, string][] = [
      [
        () => g.getTensorByName("a"),
        tf.ValueError,
        "The name 'a' refers to an Operation, not a Tensor",
      ],
      [() => g.getTensorByName("a:1"), tf.LookupError, "exists but only has 1 outputs"],
      [
        () => g.getTensorByName("zz:0"),
        tf.LookupError,
        "The operation, 'zz', does not exist in the graph",
      ],
      [
        () => g.getTensorByName("zz"),
        tf.ValueError,
        "looks like an (invalid) Operation name, not a Tensor",
      ],
      [
        () => g.getOperationByName("a:0"),
        tf.ValueError,
        "Name 'a:0' appears to refer to a Tensor, not a Operation",
      ],
      [
        () => g.getOperationByName("zz"),
        tf.LookupError,
        "The name 'zz' refers to an Operation not in the graph",
      ],
      [
        () => a.op as unknown as tf.Operation && (a.op as unknown as tf.Operation).getAttr("zz"),
        tf.ValueError,
        "has no attr named 'zz'",
      ],
    ];
    for (const [fn, type, text] of cases) assertThrows(fn, type as ErrorConstructor, text);
  });
});

Deno.test("controlDependencies() adds edges, but none that data edges make needless", () => {
  inGraph(() => {
    const a = ph("a");
    const names = (t: tf.Tensor): string[] => t.op.controlInputs.map((o) => o.name);
    tf.controlDependencies([a], () => {
      const b = ph("b");
      assertEquals(names(b), ["a"]);
      assertEquals(names(tf.add(b, b)), []);
      assertEquals(names(tf.neg(a)), []);
      tf.controlDependencies([b], () => assertEquals(names(ph("c")), ["a", "b"]));
      tf.controlDependencies(null, () => assertEquals(names(ph("d")), []));
    });
    assertEquals(names(ph("e")), []);
  });
});

Deno.test("device() merges field by field, the inner one winning", () => {
  inGraph(() => {
    tf.device("/job:worker/task:1", () => {
      tf.device("/CPU:0", () => assertEquals(ph().device, "/job:worker/task:1/device:CPU:0"));
      tf.device(null, () => assertEquals(ph().device, ""));
    });
    assertThrows(
      () => tf.device("bogus/xx", ph),
      tf.ValueError,
      "Unknown attribute 'bogus' is encountered while parsing the device spec",
    );
  });
});

Deno.test("colocateWith() copies the device and notes the operation", () => {
  inGraph(() => {
    const a = tf.device("/CPU:0", () => ph("a"));
    const b = tf.colocateWith(a, () => tf.neg(a));
    assertEquals([b.device, b.op.attrs._class], ["/device:CPU:0", ["loc:@a"]]);
  });
});

Deno.test("Graph takes no more operations after finalize()", () => {
  const g = new tf.Graph();
  g.asDefault(ph);
  g.finalize();
  assertThrows(() => g.asDefault(ph), tf.RuntimeError, "Graph is finalized and cannot be modified");
});

Deno.test("Graph refuses tensors of another graph", () => {
  const other = inGraph(() => ph());
  assertThrows(() => inGraph(() => tf.neg(other)), tf.ValueError, "must be from the same graph as");
});

Deno.test("symbolic tensors refuse to be numbers, iterators or values", () => {
  inGraph(() => {
    const x = ph("x");
    assertThrows(() => (x as unknown as number) + 1, TypeError, "is not allowed");
    assertThrows(
      () => [...(x as unknown as number[])],
      TypeError,
      "Iterating over a symbolic tf.Tensor is not allowed",
    );
    assertThrows(() => x.dataSync(), TypeError, "it is symbolic, so it has no value");
  });
});

Deno.test("eager code refuses symbolic tensors that escaped", () => {
  const x = inGraph(() => ph("x"));
  assertThrows(() => tf.neg(x), TypeError, "is out of scope and cannot be used here");
});

Deno.test("a tensor knows the operations that read it, each once", () => {
  inGraph(() => {
    const x = tf.placeholder("float32", [], "x"), y = tf.placeholder("float32", [], "y");
    const a = tf.mul(x, x), b = tf.add(a, y);
    const readers = (t: tf.Tensor) => (t as tf.SymbolicTensor).consumers();
    assertEquals([x, y, a, b].map(readers), [[a.op], [b.op], [b.op], []]);
  });
});

Deno.test("shape inference errors name the op, the node and the inputs", () => {
  inGraph(() => {
    const a = tf.placeholder("float32", [2, 3], "a"), b = tf.placeholder("float32", [4, 5], "b");
    const e = assertThrows(() => tf.nameScope("dense", () => tf.matMul(a, b)), Error) as Error;
    for (const part of ["MatMul", "dense/", "float32[2,3]", "float32[4,5]"]) {
      assertEquals(e.message.includes(part), true, `${part} is missing in: ${e.message}`);
    }
  });
});

Deno.test("setShape() refines, and refuses what conflicts", () => {
  inGraph(() => {
    const x = tf.placeholder("float32");
    x.setShape([null]);
    x.setShape([3]);
    assertEquals(x.shape, [3]);
    assertThrows(
      () => x.setShape([4]),
      tf.ValueError,
      "Dimension 0 in both shapes must be equal, but are 3 and 4",
    );
    assertThrows(
      () => x.setShape([3, 1]),
      tf.ValueError,
      "Shapes must be equal rank, but are 1 and 2",
    );
  });
});

Deno.test("asDefault() builds until the first await, and errors after it say so", async () => {
  const graph = new tf.Graph();
  await graph.asDefault(async () => {
    const x = tf.placeholder("float32", [], "x");
    const y = tf.neg(x);
    await Promise.resolve();
    const after: readonly (() => unknown)[] = [
      () => tf.placeholder("float32", []),
      () => tf.add(x, y),
      () => tf.gradients(tf.scalar(1), tf.scalar(1)),
      () => tf.importGraphDef({ node: [], versions: { producer: 1 } }),
      () => tf.compat.v1.variable(1),
      () => tf.compat.v1.getVariable("v", { shape: [] }),
    ];
    for (const f of after) assertThrows(f, Error, "first await", f.toString());
    assertEquals(graph.asDefault(() => tf.add(x, y)).graph, graph);
  });
  assertEquals(graph.operations.map((o) => o.name), ["x", "Neg", "AddV2"]);
});

Deno.test("graphs copy the elements of a constant, unless its array is sealed", () => {
  const graph = new tf.Graph(), array = new tf.NdArray("float32", [2], Float32Array.of(1, 2));
  const valueOf = (a: tf.NdArray): unknown => graph.constant(a).op.attrs.value;
  assert(valueOf(array) !== array);
  assert(valueOf(sealArray(array)) === array);
});
