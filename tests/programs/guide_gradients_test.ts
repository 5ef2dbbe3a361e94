/** First steps from a guide to automatic differentiation: sources, targets, watching, jacobians, custom gradients. */

import * as tf from "@weft/weft";
import { after, ONLY_STEP, testPrograms } from "./harness.ts";
import { gradient, gradients } from "./network.ts";

type T = tf.Tensor;
type Grads = Record<string, T>;
/** 1 where there is no gradient. */
const isNone = (g: T | null): T => tf.scalar(g === null ? 1 : 0);
const dense = (x: T, w: T, b: T): T => tf.add(tf.matMul(x, w), b);
const LAYER = { w: [3, 2], b: [2] };
const AROUND_2 = { shape: [4], offset: 2 };

testPrograms([
  {
    name: "guide: sources in a record, and in a list",
    variables: LAYER,
    inputs: { x: [1, 3] },
    without: ONLY_STEP,
    build: ({ v }) => ({ x }) => {
      const tape = new tf.GradientTape({ persistent: true });
      const loss = tf.mean(tf.square(dense(x, v.w, v.b)));
      const { w, b } = tape.gradient(loss, { w: v.w, b: v.b }) as Grads;
      const [w2] = tape.gradient(loss, [v.w]) as T[];
      tape.dispose();
      return { loss, w, b, w2 };
    },
  },
  {
    name: "guide: what a tape watches by itself",
    variables: { x0: { values: [3], shape: [] } },
    inputs: { x3: { shape: [], offset: 2 } },
    without: ONLY_STEP,
    build: ({ v: { x0 }, own }) => {
      const frozen = own(tf.variable(3, false));
      return ({ x3 }) => {
        const sum = tf.add(x0, 1);
        const tape = new tf.GradientTape();
        const y = tf.add(tf.add(tf.square(x0), tf.square(frozen)), tf.add(tf.square(sum), x3));
        const seen = tf.scalar(tape.watchedVariables().length);
        const [dx0, ...others] = tape.gradient(y, [x0, frozen, sum, x3]) as (T | null)[];
        return { y, dx0: dx0!, seen, none: tf.stack(others.map(isNone)) };
      };
    },
  },
  {
    name: "guide: a tensor on the way between",
    inputs: { x: AROUND_2 },
    without: ONLY_STEP,
    build: () => ({ x }) => {
      const tape = new tf.GradientTape({ persistent: true });
      tape.watch(x);
      const y = tf.mul(x, x), z = tf.mul(y, y);
      const [dy, dx] = [gradient(tape, z, y), gradient(tape, z, x)];
      tape.dispose();
      return { dy, dx };
    },
  },
  {
    name: "guide: several targets, and a target that is no scalar",
    variables: { x: { values: [2], shape: [] } },
    inputs: { to: AROUND_2 },
    without: ONLY_STEP,
    build: ({ v: { x } }) => ({ to }) => {
      const tape = new tf.GradientTape({ persistent: true });
      const y0 = tf.square(x), y1 = tf.div(1, x), y2 = tf.mul(x, to);
      const both = tape.gradient({ y0, y1 }, x) as T;
      const along = tape.gradient(y2, x, { outputGradients: tf.square(to) }) as T;
      const all = tape.gradient([y0, [y2]], x) as T;
      tape.dispose();
      return { both, along, all };
    },
  },
  {
    name: "guide: one element's slope each",
    inputs: { x: { shape: [9], scale: 8 } },
    without: ONLY_STEP,
    build: () => ({ x }) => {
      const tape = new tf.GradientTape();
      tape.watch(x);
      return { slopes: gradient(tape, tf.sigmoid(x), x) };
    },
  },
  {
    name: "guide: the branch that was taken has the gradient",
    variables: { a: { values: [2], shape: [] }, b: { values: [3], shape: [] } },
    inputs: { x: [] },
    without: ONLY_STEP,
    build: ({ v: { a, b } }) => ({ x }) => {
      const tape = new tf.GradientTape();
      const y = tf.cond(tf.greater(x, 0), () => tf.identity(a), () => tf.square(b));
      const [da, db, dx] = tape.gradient(y, [a, b, x], { unconnectedGradients: "none" }) as (
        | T
        | null
      )[];
      return {
        y,
        da: da ?? tf.scalar(0),
        db: db ?? tf.scalar(0),
        dx: isNone(dx),
      };
    },
  },
  {
    name: "guide: where no gradient comes through",
    variables: { x: { values: [2], shape: [] } },
    inputs: { i: { below: 9, shape: [2] } },
    without: ONLY_STEP,
    build: ({ v: { x } }) => ({ i }) => {
      const tape = new tf.GradientTape({ persistent: true });
      tape.watch(i);
      const whole = tf.mul(i, i);
      const rounded = tf.cast(tf.cast(tf.mul(x, 3.7), "int32"), "float32");
      const other = tf.mul(tf.stopGradient(tf.square(x)), tf.oneHot(i, 3));
      const found = [
        tape.gradient(whole, i),
        tape.gradient(rounded, x),
        tape.gradient(other, x),
        tape.gradient(tf.argMax(tf.mul(other, x)), x),
      ] as (T | null)[];
      const zero = tape.gradient(rounded, x, { unconnectedGradients: "zero" }) as T;
      tape.dispose();
      return { none: tf.stack(found.map(isNone)), zero };
    },
  },
  {
    name: "guide: a state hides where its value came from",
    variables: { x0: { values: [3], shape: [] }, x1: { values: [0], shape: [] } },
    without: ONLY_STEP,
    build: ({ v: { x0, x1 }, effect }) => () => {
      const tape = new tf.GradientTape({ persistent: true });
      const added = effect(x1.assignAdd(x0));
      const y = after([added], () => tf.square(x1));
      const [d0, d1] = tape.gradient(y, [x0, x1]) as (T | null)[];
      tape.dispose();
      return { none: isNone(d0), d1: d1! };
    },
  },
  {
    name: "guide: a tape that begins anew, and elements of an array of tensors",
    inputs: { x: AROUND_2 },
    without: ONLY_STEP,
    build: () => ({ x }) => {
      const tape = new tf.GradientTape();
      tape.watch(x);
      const lost = tf.mul(x, x);
      tape.reset();
      tape.watch(x);
      const powers = new tf.TensorArray("float32", 3, { clearAfterRead: false })
        .write(0, x).write(1, tf.square(x)).write(2, tf.pow(x, 3));
      const y = tf.add(
        tf.sum(powers.gather([0, 2])),
        tf.sum(tf.mul(powers.read(1), powers.read(2))),
      );
      return { dx: tape.gradient([y, lost], x) as T };
    },
  },
  {
    name: "guide: two tapes at once, of different things",
    inputs: { x0: [], x1: { shape: [], offset: 1 } },
    without: ONLY_STEP,
    build: () => ({ x0, x1 }) => {
      const [tape0, tape1] = [new tf.GradientTape(), new tf.GradientTape()];
      tape0.watch(x0);
      tape1.watch(x1);
      const sum = tf.add(tf.sin(x0), tf.sigmoid(x1));
      return { d0: gradient(tape0, sum, x0), d1: gradient(tape1, sum, x1) };
    },
  },
  {
    name: "guide: a penalty for how much inputs matter",
    variables: LAYER,
    inputs: { x: [4, 3] },
    without: ONLY_STEP,
    build: ({ v, effect }) => ({ x }) => {
      const outer = new tf.GradientTape();
      const inner = new tf.GradientTape({ watchAccessedVariables: false });
      inner.watch(x);
      const loss = tf.sum(tf.square(tf.softplus(dense(x, v.w, v.b))));
      const dx = gradient(inner, loss, x);
      const magnitude = tf.norm(dx);
      const [dw, db] = gradients(outer, magnitude, [v.w, v.b]);
      effect(v.w.assignSub(tf.mul(dw, 0.05)));
      effect(v.b.assignSub(tf.mul(db, 0.05)));
      return { magnitude, dw, db };
    },
  },
  {
    name: "guide: the jacobian of a layer, and its sum over targets is the gradient",
    variables: { w: [5, 3], b: [3] },
    inputs: { x: [4, 5] },
    without: ONLY_STEP,
    build: ({ v: { w, b } }) => ({ x }) => {
      const tape = new tf.GradientTape({ persistent: true });
      const y = tf.relu(dense(x, w, b));
      const dw = tape.jacobian(y, w) as T, { b: db } = tape.jacobian(y, { b }) as Grads;
      const g = gradient(tape, y, w);
      tape.dispose();
      return { dw, db, near: tf.max(tf.abs(tf.sub(g, tf.sum(dw, [0, 1])))) };
    },
  },
  {
    name: "guide: the hessian of a layer's kernel, and a step of Newton's",
    variables: { w1: [3, 2], w2: [2, 2] },
    inputs: { x: [4, 3] },
    without: ONLY_STEP,
    build: ({ v: { w1, w2 }, effect }) => ({ x }) => {
      const t2 = new tf.GradientTape();
      const t1 = new tf.GradientTape();
      const loss = tf.mean(tf.pow(tf.matMul(tf.tanh(tf.matMul(x, w1)), w2), 2));
      const g = gradient(t1, loss, w1);
      const h = t2.jacobian(g, w1) as T;
      const matrix = tf.add(tf.reshape(h, [6, 6]), tf.mul(tf.eye(6), 1));
      const [q, r] = tf.linalg.qr(matrix);
      const right = tf.matMul(q, tf.reshape(g, [6, 1]), true);
      const update = tf.reshape(tf.linalg.triangularSolve(r, right, false), [3, 2]);
      effect(w1.assignSub(update));
      return { loss, h, update };
    },
  },
  {
    name: "guide: jacobians of a batch",
    variables: { w: [3, 4], o: [4, 2] },
    inputs: { x: [5, 3] },
    without: ONLY_STEP,
    build: ({ v: { w, o } }) => ({ x }) => {
      const tape = new tf.GradientTape({ persistent: true });
      tape.watch(x);
      const y = tf.matMul(tf.elu(tf.matMul(x, w)), o);
      const whole = tape.jacobian(y, x) as T, rows = tape.batchJacobian(y, x)!;
      tape.dispose();
      return { rows, same: tf.sub(tf.sum(whole, 2), rows) };
    },
  },
  {
    name: "guide: a gradient that is clipped on its way back",
    variables: { w: { values: [2], shape: [] } },
    inputs: { x: AROUND_2 },
    without: ONLY_STEP,
    build: ({ v: { w } }) => {
      const clipped = tf.customGrad((x) => ({
        value: tf.identity(x as T),
        gradFunc: (dy: T) => tf.clipByNorm(dy, 0.5),
      }));
      return ({ x }) => {
        const tape = new tf.GradientTape();
        return { dw: gradient(tape, tf.mul(clipped(tf.mul(w, w)), x), w) };
      };
    },
  },
  {
    name: "guide: log(1 + exp(x)), stable, twice differentiated",
    inputs: { x: { shape: [5], scale: 40 } },
    without: ONLY_STEP,
    build: () => {
      const log1pexp = tf.customGrad((x, save) => {
        const e = tf.exp(x as T);
        (save as (t: T[]) => void)([e]);
        return {
          value: tf.log(tf.add(1, e)),
          gradFunc: (dy: T, [e]: T[]) => tf.mul(dy, tf.sub(1, tf.div(1, tf.add(1, e)))),
        };
      });
      return ({ x }) => {
        const [outer, inner] = [new tf.GradientTape(), new tf.GradientTape()];
        outer.watch(x);
        inner.watch(x);
        const first = gradient(inner, log1pexp(x), x);
        return { first, second: gradient(outer, tf.mul(first, x), x) };
      };
    },
  },
  {
    name: "guide: a gradient of one's own that has one itself",
    inputs: { x: AROUND_2 },
    without: ONLY_STEP,
    build: () => {
      const slope = tf.customGrad((x, dy) => ({
        value: tf.mul(dy as T, tf.mul(x as T, 10)),
        gradFunc: (ddy: T) => [tf.mul(ddy, 7), tf.mul(ddy, 5)],
      }));
      const square = tf.customGrad((x) => ({
        value: tf.square(x as T),
        gradFunc: (dy: T) => slope(x as T, dy),
      }));
      return ({ x }) => {
        const [t2, t1] = [new tf.GradientTape(), new tf.GradientTape()];
        t2.watch(x);
        t1.watch(x);
        const y = square(x), first = gradient(t1, y, x);
        return { y, first, second: gradient(t2, first, x) };
      };
    },
  },
  {
    name: "guide: rows of a table that were looked up",
    variables: { table: [6, 3] },
    inputs: { ids: { below: 6, shape: [2, 2] } },
    without: ONLY_STEP,
    build: ({ v: { table }, effect }) => ({ ids }) => {
      const tape = new tf.GradientTape();
      const loss = tf.sum(tf.square(tf.gather(table, ids)));
      const g = tape.gradient(loss, table) as tf.IndexedSlices;
      const { indices, values } = g;
      const scaled = new tf.IndexedSlices(tf.mul(values, 0.1), indices);
      effect(table.scatterSub(scaled));
      return {
        loss,
        indices,
        values,
        rows: tf.unsortedSegmentSum(values, indices, 6),
        norm: tf.globalNorm([g]),
      };
    },
  },
  {
    name: "guide: a source that is gathered and used whole",
    variables: { table: [6, 3] },
    inputs: { ids: { below: 6, shape: [4] } },
    without: ONLY_STEP,
    build: ({ v: { table } }) => ({ ids }) => {
      const tape = new tf.GradientTape();
      const some = tf.gather(tf.mul(table, 2), ids), all = tf.sum(tf.pow(table, 3));
      return { g: tf.add(gradient(tape, [tf.square(some), all] as unknown as T, table), 0) };
    },
  },
]);
