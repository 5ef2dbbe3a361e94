/**
 * Lines of programs that carry a state: from row to row, in scans joined with others, from draw to draw, in generators whose state is a
 * variable, and in variables of modules. The table's language is explained in templates.ts.
 *
 * @module
 */

import type { Template } from "./templates.ts";

/** Scans, beside what says the same without one. */
export const SCANS: readonly Template[] = [
  [
    "x:rows",
    "tf.foldl((a, e) => #expr(a, e), $x) ≡ tf.gather(tf.scan((a, e) => #expr(a, e), $x), #rows(x) - 1)",
    3,
  ],
  [
    "x:rows",
    "tf.scan((a, e) => #expr(a, e), tf.reverse($x, [0])) ≡ tf.reverse(tf.scan((a, e) => #expr(a, e), $x, { reverse: true }), [0])",
    2,
  ],
  [
    "x:rows",
    "tf.scan((a, e) => tf.add(a, e), $x, { reverse: #bool }) ≡ tf.cumsum($x, 0, false, #bool)",
    2,
  ],
  [
    "x:rows y:float32",
    'tf.scan(([a, n], e) => [tf.add(tf.mul(a, 0.5), tf.cast(tf.sum(e), "float32")), tf.add(n, 1)], $x, { initializer: [tf.sin($y), tf.constant(0, "int32")] })[#int(0,1)]',
    2,
  ],
  [
    "x:rows y=x",
    "tf.scan((a, [p, q]) => tf.add(tf.mul(a, 0.5), tf.sub(p, q)), [$x, $y], { initializer: tf.zerosLike(tf.gather($x, 0)) })",
    2,
  ],
  [
    "x:rows m:bool",
    "tf.scan(([a, seen], e) => [tf.where(seen, #expr(a, e), a), tf.logicalNot(seen)], $x, { initializer: [tf.zerosLike(tf.gather($x, 0)), tf.any($m)] })[#int(0,1)]",
    2,
  ],
  [
    "x:rows",
    "tf.scan((a, e) => tf.cond(tf.greater(tf.sum(a), tf.sum(e)), () => #expr(a, e), () => tf.mul(e, 0.5)), $x)",
    2,
  ],
  [
    "x:rows",
    'tf.scan((a, e) => tf.whileLoop((i) => tf.less(i, 2), (i, s) => [tf.add(i, 1), tf.mul(#expr(s, e), 0.5)], [tf.constant(0, "int32"), a])[1], $x)',
  ],
  [
    "x:rows",
    "tf.scan((a, e) => tf.reshape(tf.pyFunction((s, t) => tf.add(tf.mul(s, 0.5), t), [a, e], e.dtype), tf.shape(e)), $x)",
    2,
  ],
  [
    "x:rows",
    'tf.scan((a, e) => tf.add(a, tf.numpyFunction((s) => s, [tf.cast(tf.sum(e), "float32")], tf.TensorSpec([], "float32"))), $x, { initializer: tf.constant(1) })',
  ],
  ["x:matrices", "tf.mapFn((r) => tf.scan((a, v) => tf.add(tf.mul(a, 0.5), v), r), $x)"],
  [
    "x:matrices",
    "tf.vectorizedMap((r) => tf.scan((a, v) => #expr(a, v), r), $x) ≡ tf.mapFn((r) => tf.scan((a, v) => #expr(a, v), r), $x)",
    2,
  ],
  ["x:matrices", "tf.scan((h, e) => tf.tanh(tf.add(tf.mul(h, tf.mean(e)), e)), $x)", 2],
  [
    "x:rows",
    'tf.grad((v) => tf.sum(tf.scan((a, e) => tf.mul(tf.sin(a), tf.add(e, 1)), v)))(tf.cast($x, "float32"))',
  ],
  [
    "w:variable x:rows",
    'tf.scan((a, e) => tf.add(tf.mul(a, $w), tf.cast(tf.sum(e), "float32")), $x, { initializer: tf.identity($w) })',
  ],
  [
    "w:variable x:rows",
    'tf.scan((a, e) => ($w.assignAdd(tf.mul($w, 0.5)), tf.add(a, tf.mul(tf.sum($w), tf.cast(tf.sum(e), "float32")))), $x, { initializer: tf.constant(0) })',
  ],
];

/** A generator of a variable, made once and moved on by each draw wherever that stands. */
const G = "($w.generator ??= tf.random.Generator.fromSeed(#int(1,9)))";
const I = 'tf.constant(0, "int32")';

/** Draws of generators. */
export const GENERATORS: readonly Template[] = [
  [
    "w:variable",
    `((g) => tf.add(g.#pick(uniform|normal|truncatedNormal)(tf.shape($w)), $w))(${G})`,
    2,
  ],
  ["w:variable", `((g) => tf.sub(g.uniform([3]), g.normal([3])))(${G})`],
  ["w:variable i:int32", `((g) => tf.add(g.uniform(tf.shape($i), -5, 6, "int32"), $i))(${G})`, 2],
  ["w:variable", `((g) => (g.uniform([2]), tf.mod(tf.identity(g.state), 97n)))(${G})`, 2],
  [
    "w:variable",
    `((g) => tf.mod(#bool ? g.uniformFullInt([4], "int64") : g.makeSeeds(2), 97n))(${G})`,
  ],
  [
    "w:variable x:float32",
    `((g) => g.binomial([2, 3], [5, 6, 7], tf.sigmoid(tf.add(tf.sum($x), 0.3))))(${G})`,
  ],
  ["w:variable i:int32", `((g) => (g.skip(tf.abs(tf.sum($i))), g.uniform([2])))(${G})`],
  [
    "w:variable x=w",
    `((g) => tf.add(tf.cond(tf.greater(tf.sum($x), 0), () => g.normal([2]), () => (g.skip(3), g.uniform([2]))), g.uniform([])))(${G})`,
    2,
  ],
  [
    "w:variable x=w",
    `((g) => tf.whileLoop((i) => tf.less(i, #int(0,3)), (i, a) => [tf.add(i, 1), tf.mul(a, g.uniform([]))], [${I}, $x])[1])(${G})`,
    2,
  ],
  [
    "w:variable x:rows",
    `((g) => tf.mapFn((e) => tf.add(e, tf.cast(g.uniform([]), e.dtype)), $x))(${G})`,
  ],
  [
    "w:variable x:rows",
    `((g) => tf.scan((a, e) => tf.add(tf.mul(a, g.uniform([])), tf.cast(tf.sum(e), "float32")), $x, { initializer: tf.constant(0) }))(${G})`,
    2,
  ],
  [
    "w:variable x=w",
    `((g) => tf.pyFunction((a) => tf.mul(a, g.uniform([])), [$x], tf.TensorSpec(null, "float32")))(${G})`,
    2,
  ],
  [
    "w:variable x=w",
    `((g, f) => tf.sub(f($x), tf.mul(f($x), g.uniform([]))))(...((g) => [g, tf.function((a) => tf.add(a, g.normal([])))])(${G}))`,
    2,
  ],
  [
    "w:variable x=w",
    `((g) => ($w.assignAdd(tf.mul($x, g.uniform([]))), tf.mul($w, g.uniform([]))))(${G})`,
    2,
  ],
  ["w:variable", `((g) => (g.resetFromSeed(#int(1,9)), g.uniform([3])))(${G})`],
  [
    "w:variable x=w",
    `((g) => (tf.cond(tf.greater(tf.sum($x), 0), () => (g.resetFromSeed(4), tf.constant(1)), () => (g.skip(2), tf.constant(0))), g.uniform([2])))(${G})`,
  ],
  [
    "w:variable",
    `((g) => tf.random.statelessUniform([3], tf.cast(tf.gather(tf.transpose(g.makeSeeds(1)), 0), "int32")))(${G})`,
  ],
];

/** A module of two variables: one in an attribute, both in a module in it, beneath a list and an object. */
const M =
  "new (class Outer extends tf.Module { first = $w; inner = new (class Inner extends tf.Module { list = [{ v: $v }, $w] })() })()";
/** Its variables without it, each once. */
const EACH = "[...new Set([$w, $v])]";
/** Two texts of one meaning: what is done with the variables of the module, or of one in it, and with the same without it. */
const ofModule = (code: (variables: string) => string): string =>
  `${code(`${M}.#pick(variables|trainableVariables|inner.variables)`)} ≡ ${code(EACH)}`;

/** Variables of modules in modules. */
export const MODULES: readonly Template[] = [
  [
    "w:variable v:variable x=w",
    ofModule((all) =>
      `${all}.map((a) => tf.sum(a)).reduce((a, b) => tf.add(a, b), tf.mul($x, 0.5))`
    ),
    2,
  ],
  [
    "w:variable v:variable",
    ofModule((all) => `(${all}.forEach((a) => a.assign(tf.mul(a, 0.5))), tf.add($w, tf.sum($v)))`),
    2,
  ],
  [
    "w:variable v:variable x=w",
    ofModule((all) =>
      `(tf.cond(tf.greater(tf.sum($x), 0), () => (${all}.forEach((a) => a.assignAdd(tf.sin(a))), tf.constant(1)), () => tf.constant(0)), tf.sub($w, tf.sum($v)))`
    ),
  ],
  [
    "w:variable v:variable x=w",
    `((m) => tf.whileLoop((i) => tf.less(i, 2), (i, a) => [tf.add(i, 1), tf.add(tf.mul(a, m.first), tf.sum(m.inner.list[0].v))], [${I}, $x])[1])(${M})`,
  ],
  [
    "w:variable v:variable x=w",
    `((m, f) => tf.add(f(f($x)), m.submodules.length))(...((m) => [m, tf.function((a) => tf.mul(m.inner.list[1], tf.sub(a, tf.sum(m.inner.list[0].v))))])(${M}))`,
  ],
];
