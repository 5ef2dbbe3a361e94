// Tensors are arrays with a shape and an element type, on the GPU or on the CPU.
import * as tf from "@weft/weft";

const a = tf.tensor([[1, 2, 3], [4, 5, 6]]);
console.log(a.shape, a.dtype);

// Reading waits for the device: always with await, since a browser cannot wait for a GPU.
console.log(await a.array());
console.log(await tf.transpose(a).array());

// Integers stay integers, and ops never change their inputs.
const n = tf.tensor([1, 2, 3], [3], "int32");
console.log(await tf.mul(n, n).data());

console.log("Lives now:", tf.memory().numTensors, "tensors");
tf.dispose([a, n]);
