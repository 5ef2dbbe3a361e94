/** Programs in which `deno task fuzz programs` once found a difference, as it shrank them, and the mode that differed. */
import type { Program } from "../../tools/fuzz_programs/program.ts";

export const FOUND_PROGRAMS: readonly Program[] = [
  // function of unknown rank
  {
    "inputs": [{ "dtype": "int32", "shape": [], "data": [1] }],
    "lines": [{ "code": "tf.add(tf.sum($0), tf.reshape(tf.max($0), [1]))", "operands": [0] }, {
      "code": "tf.argMin($0, 0)",
      "operands": [1],
    }],
    "outputs": [2],
  },
  // gradient, function
  {
    "inputs": [{ "dtype": "float32", "shape": [2, 1], "data": [1, 1] }, {
      "dtype": "bool",
      "shape": [],
      "data": [1],
    }],
    "lines": [{ "code": "tf.matMul(tf.where($1, $0, 0), $0, false, true)", "operands": [0, 1] }],
    "outputs": [2],
  },
  // function of unknown rank
  {
    "inputs": [{ "dtype": "float32", "shape": [1, 1, 1], "data": [1] }],
    "lines": [{ "code": "tf.add(tf.sum($0), tf.reshape(tf.max($0), [1]))", "operands": [0] }],
    "outputs": [1],
  },
  // gradient, function of unknown rank
  {
    "inputs": [{ "dtype": "float32", "shape": [], "data": [0] }],
    "lines": [{ "code": "tf.prod($0, undefined, false)", "operands": [0] }],
    "outputs": [1],
  },
  // gradient, function of unknown dims
  {
    "inputs": [
      { "dtype": "float32", "shape": [], "data": [1] },
      { "dtype": "bool", "shape": [], "data": [1] },
      { "dtype": "float32", "shape": [2], "data": [1, 1] },
      { "dtype": "float32", "shape": [2, 2], "data": [0, 0, -1, -1] },
    ],
    "lines": [{ "code": "tf.stack([$0, $1], 0)", "operands": [0, 0] }, {
      "code": "tf.matMul(tf.where($1, $0, 0), $0, false, true)",
      "operands": [3, 1],
    }],
    "outputs": [5, 4, 2],
  },
  // function
  {
    "inputs": [{ "dtype": "float32", "shape": [1, 2], "data": [1, 1] }, {
      "dtype": "bool",
      "shape": [1, 1],
      "data": [1],
    }, { "dtype": "float32", "shape": [1, 1], "data": [1] }],
    "lines": [{ "code": "tf.matMul($0, $0, false, true)", "operands": [0] }, {
      "code": "tf.where($2, $0, $1)",
      "operands": [2, 3, 1],
    }],
    "outputs": [4],
  },
  // function
  {
    "inputs": [{ "dtype": "float32", "shape": [1, 1], "data": [1] }],
    "lines": [
      { "code": 'tf.numpyFunction((a) => a.data.length, [$0], "int32")', "operands": [0] },
      { "code": "tf.add(tf.sum($0), tf.reshape(tf.max($0), [1]))", "operands": [1] },
    ],
    "outputs": [2],
  },
  // gradient of a call
  {
    "inputs": [{ "dtype": "float32", "shape": [1, 1, 1], "data": [1] }],
    "lines": [{
      "code":
        "tf.where(tf.greater(tf.matMul($0, $0, false, true), 0), 1, tf.matMul($0, $0, false, true))",
      "operands": [0],
    }, { "code": "tf.matMul($0, $0, false, true)", "operands": [1] }],
    "outputs": [2],
  },
  // gradient, session
  {
    "inputs": [{ "dtype": "float32", "shape": [1, 1], "data": [1] }, {
      "dtype": "bool",
      "shape": [1],
      "data": [1],
    }],
    "lines": [{ "code": "tf.where($2, $0, $1)", "operands": [0, 0, 1] }, {
      "code": "tf.matMul($0, $0, false, true)",
      "operands": [2],
    }],
    "outputs": [3],
  },
  // function
  {
    "inputs": [{ "dtype": "float32", "shape": [5, 2], "data": [1, 1, 1, 1, 1, 1, 1, 1, 1, 1] }],
    "lines": [{
      "code":
        "tf.logicalAnd(tf.greater(tf.matMul($0, $0, false, true), 0), tf.less(tf.sum($0, -1), 1))",
      "operands": [0],
    }, { "code": 'tf.cast($0, "float32")', "operands": [1] }],
    "outputs": [2],
  },
  // function of unknown rank
  {
    "inputs": [{ "dtype": "float32", "shape": [], "data": [1] }],
    "lines": [{ "code": "tf.add(tf.sum($0), tf.reshape(tf.max($0), [1]))", "operands": [0] }, {
      "code": "tf.mapFn((e) => tf.greater(tf.sum(e), 0), $0)",
      "operands": [1],
    }],
    "outputs": [2],
  },
  // function of unknown rank
  {
    "inputs": [{ "dtype": "float32", "shape": [1], "data": [1] }],
    "lines": [{ "code": "tf.add(tf.sum($0), tf.reshape(tf.max($0), [1]))", "operands": [0] }],
    "outputs": [1],
  },
  // function of unknown rank
  {
    "inputs": [{ "dtype": "float32", "shape": [1, 1, 1], "data": [1] }],
    "lines": [{ "code": "tf.add(tf.sum($0), tf.reshape(tf.max($0), [1]))", "operands": [0] }, {
      "code": "tf.layerNorm($0)",
      "operands": [1],
    }],
    "outputs": [2],
  },
  // function of unknown rank
  {
    "inputs": [{ "dtype": "float32", "shape": [1], "data": [1] }],
    "lines": [{ "code": "tf.add(tf.sum($0), tf.reshape(tf.max($0), [1]))", "operands": [0] }, {
      "code": "tf.mean($0, [0], true)",
      "operands": [1],
    }],
    "outputs": [2],
  },
  // function of unknown rank
  {
    "inputs": [{ "dtype": "float32", "shape": [1], "data": [1] }, {
      "dtype": "float32",
      "shape": [1],
      "data": [1],
    }],
    "lines": [{ "code": "tf.add(tf.sum($0), tf.reshape(tf.max($0), [1]))", "operands": [0] }, {
      "code": "tf.mapFn((e) => tf.add(tf.sum(e), tf.cast(tf.sum($1), $0.dtype)), $0)",
      "operands": [2, 1],
    }],
    "outputs": [3],
  },
  // function of unknown rank
  {
    "inputs": [{ "dtype": "float32", "shape": [1, 1, 1], "data": [1] }],
    "lines": [{ "code": "tf.add(tf.sum($0), tf.reshape(tf.max($0), [1]))", "operands": [0] }, {
      "code":
        "tf.foldl((a, e) => tf.where(tf.less(a, 0.2), tf.zerosLike(a), tf.sigmoid(tf.add(a, tf.mul(a, tf.cast(tf.greater(e, 0), a.dtype))))), $0)",
      "operands": [1],
    }],
    "outputs": [2],
  },
  // function of unknown rank
  {
    "inputs": [{ "dtype": "float32", "shape": [3, 2], "data": [1, 2, 3, 4, 5, 6] }],
    "lines": [{
      "code":
        "tf.RaggedTensor.fromRowLengths($0, [1, 0, 2]).toTensor({ defaultValue: tf.sum($0) })",
      "operands": [0],
    }],
    "outputs": [1],
  },
  // function of unknown rank
  {
    "inputs": [{ "dtype": "float32", "shape": [3], "data": [1, 2, 3] }],
    "lines": [{
      "code":
        "tf.ragged.mapFlatValues((v) => tf.mul(v, v), tf.RaggedTensor.fromRowLengths(tf.RaggedTensor.fromRowLengths($0, [2, 0, 1]), [0, 3])).toTensor()",
      "operands": [0],
    }],
    "outputs": [1],
  },
  // function of unknown dims
  {
    "inputs": [{
      "dtype": "float32",
      "shape": [2, 1, 1, 2],
      "data": [1, 2, 3, 5],
    }],
    "lines": [{
      "code":
        "tf.batchNorm($0, tf.mean($0, [0, 1, 2]), tf.moments($0, [0, 1, 2]).variance, [0.5, 1], [2, 1])",
      "operands": [0],
    }],
    "outputs": [1],
  },
  // function of unknown dims
  {
    "inputs": [
      { "dtype": "float32", "shape": [2, 2], "data": [1, 2, 3, 5] },
      { "dtype": "float32", "shape": [2], "data": [1, 2] },
      { "dtype": "float32", "shape": [1], "data": [2] },
    ],
    "lines": [{ "code": "tf.batchNorm($0, $1, $2, [1, 2], $1)", "operands": [0, 1, 2] }],
    "outputs": [3],
  },
  // gradient, function
  {
    "inputs": [{ "dtype": "float32", "shape": [0], "data": [] }, {
      "dtype": "float32",
      "shape": [0],
      "data": [],
    }],
    "lines": [{
      "code": 'new tf.TensorArray("float32", 2).write(0, $0).write(1, $1).read(1)',
      "operands": [0, 1],
    }],
    "outputs": [2],
  },
  // gradient
  {
    "inputs": [{ "dtype": "float32", "shape": [3, 0], "data": [] }, {
      "dtype": "int32",
      "shape": [2, 2],
      "data": [0, 2, 1, 1],
    }, { "dtype": "int32", "shape": [], "data": [1] }],
    "lines": [
      { "code": "tf.gather($0, $1)", "operands": [0, 1] },
      { "code": "tf.gather($0, $1)", "operands": [0, 2] },
    ],
    "outputs": [3, 4],
  },
  // gradient, function of unknown rank
  {
    "inputs": [{ "dtype": "float32", "shape": [3, 2], "data": [1, 2, 3, 4, 5, 6] }, {
      "dtype": "int32",
      "shape": [2, 2],
      "data": [0, 2, 1, 1],
    }],
    "lines": [{ "code": "tf.square(tf.gather($0, $1))", "operands": [0, 1] }],
    "outputs": [2],
  },
  // function
  {
    "inputs": [{ "dtype": "float32", "shape": [1, 1], "data": [1], "variable": true }],
    "lines": [{
      "code": "tf.grad((a) => tf.sum(tf.sigmoid(tf.add(a, $1))))($0)",
      "operands": [0, 0],
    }],
    "outputs": [1],
  },
  // session of a file
  {
    "inputs": [{ "dtype": "float16", "shape": [1, 1, 1, 1], "data": [1] }],
    "lines": [
      {
        "code":
          "tf.ragged.mapFlatValues((v) => tf.mul(v, v), tf.RaggedTensor.fromRowLengths($0, [1, 0, 0])).toTensor()",
        "operands": [0],
      },
      { "code": "tf.expandDims($0, 0)", "operands": [1] },
      {
        "code": "tf.scan((a, e) => tf.where(tf.greater(a, tf.mul(a, a)), a, e), $0)",
        "operands": [2],
      },
    ],
    "outputs": [3],
  },
  // gradient, function, on WebGPU
  {
    "inputs": [{ "dtype": "float32", "shape": [3], "data": [0, 0, 1] }],
    "lines": [{
      "code":
        'tf.whileLoop((i, a) => tf.logicalAnd(tf.less(i, 3), tf.less(tf.sum(a), 9)), (i, a) => [tf.add(i, 1), tf.add(tf.abs(a), tf.sub(a, tf.max(a)))], [tf.constant(0, "int32"), $0])[1]',
      "operands": [0],
    }],
    "outputs": [1],
  },
  // gradient, function of unknown rank
  {
    "inputs": [{ "dtype": "float32", "shape": [], "data": [0] }],
    "lines": [{ "code": "tf.euclideanNorm($0, undefined, false)", "operands": [0] }],
    "outputs": [1],
  },
  // function of unknown dims
  {
    "inputs": [{
      "dtype": "float32",
      "shape": [2, 3, 2],
      "data": [1, 2, 2, 4, 3, 6, 1, 0, 0, 1, -1, 2],
    }],
    "lines": [
      { "code": "tf.linalg.matrixRank(tf.stopGradient($0))", "operands": [0] },
      { "code": "tf.linalg.pinv(tf.add($0, tf.sin($0)))", "operands": [0] },
    ],
    "outputs": [1, 2],
  },
  // gradient, forward
  {
    "inputs": [{ "dtype": "float32", "shape": [0, 1, 3], "data": [] }],
    "lines": [{ "code": "tf.euclideanNorm($0, [0,1], false)", "operands": [0] }],
    "outputs": [1],
  },
  // function of unknown dims
  {
    "inputs": [{ "dtype": "float32", "shape": [2, 0], "data": [] }],
    "lines": [{
      "code":
        "tf.experimental.numpy.histogram(tf.cumsum(tf.onesLike(tf.stopGradient($0)), -1), { bins: 1 })[1]",
      "operands": [0],
    }],
    "outputs": [1],
  },
  // gradient of a call
  {
    "inputs": [{ "dtype": "float32", "shape": [1, 1], "data": [1] }],
    "lines": [
      { "code": "tf.stopGradient($0)", "operands": [0] },
      {
        "code":
          'tf.whileLoop((i) => tf.less(i, 0), (i, a) => [tf.add(i, 1), tf.mul(tf.sub(a, $1), 0.5)], [tf.constant(0, "int32"), $0])[1]',
        "operands": [1, 1],
      },
    ],
    "outputs": [2],
  },
];
