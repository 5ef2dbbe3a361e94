/** Ways to put code into a sub-graph, each with what it computes written out in place: for tests that want both to be equal. */
import * as tf from "@weft/weft";

/** A function of a tensor to one of its shape. */
export type Body = (x: tf.Tensor) => tf.Tensor;

/** One way. */
export interface Form {
  /** Puts the body into the form. */
  readonly wrap: (body: Body) => Body;
  /** The same without it. */
  readonly unrolled: (body: Body) => Body;
}

const once = (body: Body): Body => body;
const twice = (body: Body): Body => (x) => body(body(x));
const onRows = (body: Body): Body => (x) => tf.add(body(x), body(tf.mul(x, 0.5)));
const rowsOf = (x: tf.Tensor): tf.Tensor => tf.stack([x, tf.mul(x, 0.5)]);

/** The forms by name. */
export const forms: Readonly<Record<string, Form>> = {
  plain: { wrap: once, unrolled: once },
  function: { wrap: (body) => tf.function(body), unrolled: once },
  cond: {
    wrap: (body) => (x) =>
      tf.cond(tf.greater(tf.sum(x), -100), () => body(x), () => tf.neg(body(x))),
    unrolled: once,
  },
  whileLoop: {
    wrap: (body) => (x) =>
      tf.whileLoop((i) => tf.less(i, 2), (i, y) => [tf.add(i, 1), body(y)], [
        tf.scalar(0, "int32"),
        x,
      ])[1],
    unrolled: twice,
  },
  mapFn: {
    wrap: (body) => (x) => tf.sum(tf.mapFn((row) => body(row), rowsOf(x)), 0),
    unrolled: onRows,
  },
  foldl: {
    wrap: (body) => (x) =>
      tf.foldl((a, row) => tf.add(a, body(row)), rowsOf(x), { initializer: tf.zerosLike(x) }),
    unrolled: onRows,
  },
  scan: {
    wrap: (body) => (x) =>
      tf.sum(tf.scan((_, row) => body(row), rowsOf(x), { initializer: tf.zerosLike(x) }), 0),
    unrolled: onRows,
  },
  pyFunction: {
    wrap: (body) => (x) => tf.pyFunction(body, [x], tf.TensorSpec(x.shape, "float32")),
    unrolled: once,
  },
};

/** One form inside another. */
export function nest(outer: Form, inner: Form): Form {
  return {
    wrap: (body) => outer.wrap(inner.wrap(body)),
    unrolled: (body) => outer.unrolled(inner.unrolled(body)),
  };
}
