/** The layout of pictures of graphs: boxes and lines that stay apart, whatever the graph. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { type Layout, layout, type LayoutGraph } from "../../src/library/display/layout.ts";
import { effort } from "../effort.ts";

const SIZES = { width: 150, height: 40, across: 24, down: 30 };

/** A graph of `[from, to]`. */
function graph(count: number, pairs: readonly (readonly [number, number])[]): LayoutGraph {
  return { count, edges: pairs.map(([from, to]) => ({ from, to })) };
}

/** Draws numbers below 1 from a seed. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 1103515245 + 12345) % 2 ** 31) / 2 ** 31;
}

/** Checks a layout: boxes apart, lines from box to box that cross no other, all of it inside. */
function check({ count, edges }: LayoutGraph, made: Layout): void {
  const { width, height } = SIZES;
  assertEquals([made.boxes.length, made.paths.length], [count, edges.length]);
  const places = [...made.boxes, ...made.paths.flat()].map(({ x }) => x);
  if (count > 0) assert(Math.min(...places) <= 2 * SIZES.across, "no empty margin at the left");
  for (const { x, y } of made.boxes) {
    assert(x >= 0 && y >= 0 && x + width <= made.width && y + height <= made.height);
  }
  made.boxes.forEach((a, i) =>
    made.boxes.slice(0, i).forEach((b) =>
      assert(
        Math.abs(a.x - b.x) >= width || Math.abs(a.y - b.y) >= height,
        `box ${i} lies on another`,
      )
    )
  );
  edges.forEach(({ from, to }, e) => {
    const points = made.paths[e]!, first = points[0]!, last = points.at(-1)!;
    const source = made.boxes[from]!, target = made.boxes[to]!;
    assertEquals(first, { x: source.x + width / 2, y: source.y + height });
    assert(last.y === target.y && last.x > target.x && last.x < target.x + width);
    if (from >= to) return;
    assert(source.y < target.y, `edge ${from} ${to} goes up`);
    // Lines pass a layer straight, between the points of a pair.
    for (let p = 1; p + 1 < points.length - 1; p += 2) {
      const [a, b] = [points[p]!, points[p + 1]!];
      assertEquals([b.x, b.y - a.y], [a.x, height]);
      for (const box of made.boxes) {
        assert(
          box.y !== a.y || a.x <= box.x || a.x >= box.x + width,
          `edge ${from} ${to} crosses a box`,
        );
      }
    }
  });
}

const GRAPHS: Readonly<Record<string, LayoutGraph>> = {
  "nothing": graph(0, []),
  "a box": graph(1, []),
  "boxes without lines": graph(30, []),
  "a chain": graph(4, [[0, 1], [1, 2], [2, 3]]),
  "a line past others": graph(4, [[0, 1], [1, 2], [2, 3], [0, 3], [0, 2]]),
  "the same line twice": graph(2, [[0, 1], [0, 1]]),
  "a circle": graph(3, [[0, 1], [1, 2], [2, 0]]),
  "a line to itself": graph(1, [[0, 0]]),
  "a late input": graph(4, [[0, 1], [1, 3], [2, 3]]),
  "two parts": graph(5, [[0, 2], [1, 4]]),
  "a fan": graph(60, Array.from({ length: 59 }, (_, i) => [0, i + 1] as const)),
};

for (const [what, g] of Object.entries(GRAPHS)) {
  Deno.test(`layout() places ${what}`, () => check(g, layout(g, SIZES)));
}

Deno.test("layout() keeps boxes and lines of random graphs apart, and is the same each time", () => {
  for (let seed = 1; seed <= effort(20, 200); seed++) {
    const random = randomFrom(seed), count = 2 + Math.floor(random() * 60);
    const pairs = Array.from({ length: Math.floor(random() * 2 * count) }, () => {
      const to = 1 + Math.floor(random() * (count - 1));
      return [Math.floor(random() * to), to] as const;
    });
    const g = graph(count, pairs), made = layout(g, SIZES);
    check(g, made);
    assertEquals(layout(g, SIZES), made);
  }
});

Deno.test("layout() untangles lines that cross only as they are numbered", () => {
  const g = graph(6, [[0, 5], [1, 4], [2, 3]]);
  const { boxes } = layout(
    graph(8, [
      ...g.edges.map(({ from, to }) => [from, to] as const),
      [0, 6],
      [1, 6],
      [2, 6],
      [5, 7],
      [4, 7],
      [3, 7],
    ]),
    SIZES,
  );
  const order = (nodes: readonly number[]) => nodes.toSorted((a, b) => boxes[a]!.x - boxes[b]!.x);
  const above = order([0, 1, 2]), below = order([5, 4, 3]);
  assertEquals(below.map((n) => 5 - n), above);
});

Deno.test("a layer that reads nothing stands above its first reader", () => {
  const { boxes } = layout(GRAPHS["a late input"]!, SIZES);
  assertEquals(boxes[2]!.y, boxes[1]!.y);
});

Deno.test("layout() of thousands of boxes with long lines ends", () => {
  const count = 3000;
  const pairs = Array.from(
    { length: count - 1 },
    (_, i) => [[i, i + 1], [Math.floor(i / 7), i + 1]] as const,
  ).flat();
  const made = layout(graph(count, pairs as [number, number][]), SIZES);
  assertEquals(made.boxes.length, count);
});

Deno.test("what a tape's backward pass adds to a function has the scope of the forward op", () => {
  const w = tf.variable([[1, 2], [3, 4]], true, "w");
  const optimizer = tf.train.sgd(0.1);
  const loss = (x: tf.Tensor) =>
    tf.nameScope("layer", () => tf.sum(tf.nameScope("inner", () => tf.square(tf.matMul(x, w)))));
  const step = tf.function((x: tf.Tensor) => optimizer.minimize(() => loss(x), true));
  step(tf.ones([3, 2]));
  assertEquals(boxesOf(tf.toSvg(step, { fold: true })).labels.sort(), [
    "3 in layer",
    "6 in gradient_tape",
    "9 in SGD",
    "Placeholder",
  ]);
  const names = tf.summary(step);
  assertStringIncludes(names, "gradient_tape/layer/inner/MatMul");
  // A tape of a tape: its scope stands before that of what it differentiates.
  const second = tf.function((x: tf.Tensor) => tf.grad((y) => tf.sum(tf.grad(loss)(y)))(x));
  assertEquals(second(tf.ones([3, 2])).shape, [3, 2]);
  assertStringIncludes(tf.summary(second), "gradient_tape/gradient_tape/layer/inner/");
  // Eager code has no names.
  assertEquals(tf.grad(loss)(tf.ones([1, 2])).shape, [1, 2]);
});

Deno.test("pictures fold constants and reads of variables into their readers, and name called functions", () => {
  const g = new tf.Graph();
  const half = tf.function((x: tf.Tensor) => tf.mul(x, 0.5), { name: "half" });
  g.asDefault(() => {
    const x = tf.placeholder("float32", [2], "x"), w = tf.variable([1, 2], true, "w");
    half(tf.reshape(tf.add(tf.mul(x, w), 3), [1, 2]));
    tf.matMul(tf.ones([2, 2]), tf.tensor([[1, 2], [3, 4]]));
  });
  const svg = tf.toSvg(g);
  for (const label of ["Mul w", "AddV2 3", "Reshape [1,2]", "half()", "MatMul "]) {
    assertStringIncludes(svg, `>${label}`);
  }
  for (const type of ["Const", "VarHandleOp", "ReadVariableOp"]) {
    assert(!new RegExp(`bold">${type}`).test(svg), type);
  }
  const alone = new tf.Graph();
  alone.asDefault(() => tf.scalar(1));
  assertEquals(tf.toSvg(alone).match(/<rect /g)?.length, 1);
});

/** Two layers of three operations each, with an inner scope, and a sum of both. */
function scoped(): tf.Graph {
  const graph = new tf.Graph();
  graph.asDefault(() => {
    const x = tf.placeholder("float32", [2], "x");
    const layer = (x: tf.Tensor, name: string): tf.Tensor =>
      tf.nameScope(name, () => tf.nameScope("inner", () => tf.neg(tf.square(tf.relu(x)))).relu());
    tf.add(layer(layer(x, "a"), "b"), x);
  });
  return graph;
}

/** Names of the boxes of a picture, and its lines that go up. */
function boxesOf(svg: string): { labels: string[]; up: number } {
  const labels = [...svg.matchAll(/font-weight="bold">([^<]*)</g)].map(([, label]) => label!);
  const ends = [...svg.matchAll(/<path class="\w+" d="M\S+ (\d+)[^"]*? (\d+)"/g)];
  return { labels, up: ends.filter(([, from, to]) => Number(to) < Number(from)).length };
}

Deno.test("scopes of names are boxes of a picture, and those that are named stay open", () => {
  const graph = scoped();
  const labels = (fold: boolean | string[]) => boxesOf(tf.toSvg(graph, { fold })).labels;
  assertEquals(labels(true), ["Placeholder", "4 in a", "4 in b", "AddV2"]);
  assertEquals(labels(["b"]), ["Placeholder", "4 in a", "3 in inner", "Relu", "AddV2"]);
  assertEquals(labels(["a", "b", "a/inner", "b/inner"]).length, 10);
  assertEquals(labels(false), labels(["a", "b", "a/inner", "b/inner"]));
  assertEquals(labels([]), labels(true));
  assertStringIncludes(tf.toDot(graph, { fold: true }), '"a" -> "b"');
  assertStringIncludes(tf.toSvg(graph, { fold: true }), 'data-scope="a"');
  for (const wrong of ["a", 1, [1], {}]) {
    assertThrows(() => tf.toSvg(graph, { fold: wrong as never }), TypeError, "fold");
  }
});

Deno.test("a picture that fits has scopes open as far as a screen has room, outer ones first", () => {
  const graph = scoped();
  assertEquals(tf.toSvg(graph, { fold: "fit" }), tf.toSvg(graph));

  const steps = (x: tf.Tensor, count: number): tf.Tensor => {
    for (let i = 0; i < count; i++) x = tf.add(tf.relu(x), tf.sigmoid(x));
    return x;
  };
  const block = new tf.Graph();
  block.asDefault(() => {
    let x: tf.Tensor = tf.placeholder("float32", [2], "x");
    tf.nameScope("block", () => {
      for (const name of ["first", "second", "third"]) {
        x = tf.nameScope(name, () => steps(x, name === "second" ? 2 : 30));
      }
    });
    tf.nameScope("wide", () => {
      for (let i = 0; i < 200; i++) tf.square(x);
    });
  });
  const picture = tf.toSvg(block, { fold: "fit" });
  const [, width, height] = /width="(\d+)" height="(\d+)"/.exec(picture)!;
  assert(Number(width) <= 1600 && Number(height) <= 1000, `${width}×${height}`);
  const { labels } = boxesOf(picture);
  assertEquals(labels.filter((label) => /^\d/.test(label)), [
    "90 in first",
    "90 in third",
    "200 in wide",
  ]);
  assertEquals(labels.length, 1 + 3 + 6);
});

Deno.test("scopes that read each other are boxes still, with a line that goes up", () => {
  const graph = new tf.Graph();
  graph.asDefault(() => {
    const x = tf.placeholder("float32", [2], "x");
    const a = tf.nameScope("a", () => tf.neg(tf.square(x)));
    const b = tf.nameScope("b", () => tf.neg(tf.square(a)));
    tf.nameScope("a/", () => tf.relu(b));
  });
  const { labels, up } = boxesOf(tf.toSvg(graph, { fold: true }));
  assertEquals(labels, ["Placeholder", "3 in a", "2 in b"]);
  assertEquals(up, 1);
});
